"""The records of 2.1 and 2.2."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l02_encode import answers_neighbours as answers
from fp8lab.course.lessons.l02_encode.driving import DRIVES
from fp8lab.course.lessons.l02_encode.driving_points import where
from fp8lab.course.text import Text
from fp8lab.formats import get_format


def show_number(inputs, array: str, index: tuple[int, ...]) -> str:
    """Arrays are named after their format: "low E4M3FN"."""
    fmt = get_format(array.split()[-1])
    return f"{fmt}: {where(inputs[fmt.name][index[0]], fmt)}"


NEIGHBOURS = Exercise(
    drive=DRIVES["2.1"],
    points=2,
    title=Text("The table and the neighbours", "数值表与相邻的两个值"),
    hints=(
        Text(
            "Two steps: make one sorted list of (value, code), then find where x stands in it. In what order do the "
            "codes 0x00, 0x01, … 0xFF come if you sort by value?",
            "分两步：先做一张按数值排序的 (value, code) 表，再看 x 落在表中哪里。按数值排序时，0x00、0x01…0xFF 这些编"
            "码是什么次序？",
        ),
        Text(
            "Keep only codes whose value is finite (`math.isfinite` refuses NaN and infinity at once), and only one "
            "of the two zeros. Tuples sort by their first entry, so `sorted` needs no key.",
            "只保留数值有限的编码（`math.isfinite` 一次排除 NaN 和无穷），两个零只留一个。元组按第一个元素排序，所以 "
            "`sorted` 不用 key。",
        ),
        Text(
            "`low` is the largest entry with value ≤ x, `high` the smallest with value ≥ x. If x is in the table, "
            "both are x.",
            "`low` 是数值 ≤ x 的最大一项，`high` 是数值 ≥ x 的最小一项。x 恰好在表中时，两者都是它自己。",
        ),
        Text(
            "Table: a list comprehension over range(256) with `math.isfinite(value(code, fmt)) and code != 0x80`, "
            "then `sorted`. Neighbours: `max(...)` over the entries with `entry[0] <= x`, `min(...)` over those with "
            "`entry[0] >= x`.",
            "表：对 range(256) 写列表推导，条件是 `math.isfinite(value(code, fmt)) and code != 0x80`，再 `sorted`。相"
            "邻值：在 `entry[0] <= x` 的项里取 `max(...)`，在 `entry[0] >= x` 的项里取 `min(...)`。",
        ),
    ),
    reference=answers.neighbours_of,
    misconceptions=(
        Misconception(
            "NaN in the table",
            answers.nan_sorted_in,
            Text(
                "NaN is in your table. `sorted` does not complain, and that is the danger: NaN is neither smaller nor "
                "larger than anything, so the list comes out in no order at all. Look for 17.0: its neighbours are "
                "0x58 and 0x59.",
                "你的表里有 NaN。`sorted` 不会报错，危险正在这里：NaN 与任何数都比不出大小，排出来的表根本没有次序。用"
                " 17.0 试试：它的相邻编码应是 0x58 和 0x59。",
            ),
        ),
        Misconception(
            "infinity is a value",
            answers.infinity_is_a_value,
            Text(
                "You left out NaN and kept infinity. E4M3FN has none, so nothing shows there; in E5M2 the neighbour "
                "of 60000 becomes inf, and every distance to it is infinite. Only finite values belong in the table.",
                "你排除了 NaN，却留下了无穷。E4M3FN 没有无穷，所以看不出来；在 E5M2 里，60000 的相邻值就成了 inf，到它"
                "的距离永远是无穷大。表里只应有有限值。",
            ),
        ),
        Misconception(
            "two zeros",
            answers.two_zeros,
            Text(
                "0x00 and 0x80 are the same number, so the table must hold one of them; yours holds both, and x = 0.0 "
                "has two different neighbours. Leave out 0x80 here; the sign of zero comes back in 2.4.",
                "0x00 与 0x80 是同一个数，表里只能留一个；你两个都留了，x = 0.0 就有了两个不同的邻居。这里去掉 0x80，"
                "零的符号留到 2.4 处理。",
            ),
        ),
        Misconception(
            "code order is value order",
            answers.code_order,
            Text(
                "You searched a table in the order of the codes. For positive numbers that works, and it is a gift "
                "worth remembering. For negative ones the order is reversed: 0xFE is -448, 0x81 is -2^-9. Sort by "
                "value.",
                "你在按编码次序排列的表里查找。对正数这没有问题，而且是个值得记住的好性质；负数的次序却正好相反：0xFE "
                "是 -448，0x81 是 -2^-9。要按数值排序。",
            ),
        ),
        Misconception(
            "IEEE top",
            answers.ieee_top,
            Text(
                "You dropped every code whose exponent is all ones. That is the IEEE habit; E4M3FN gives up only 0x7F "
                "and 0xFF, and uses 0x78 to 0x7E for 256 to 448. x = 250 lies between 0x77 (240) and 0x78 (256).",
                "你把指数全 1 的编码都扔掉了。这是 IEEE 的习惯；E4M3FN 只拿 0x7F 和 0xFF 当 NaN，0x78 到 0x7E 表示"
                " 256 到 448。x = 250 位于 0x77（240）与 0x78（256）之间。",
            ),
        ),
        Misconception(
            "never itself",
            answers.never_itself,
            Text(
                "A number that is in the table is its own neighbour on both sides: for x = 16 the answer is (0x58, "
                "0x58). You step to the next entry. `bisect_left` and `bisect_right` differ exactly here.",
                "表里有的数，左右邻居都是它自己：x = 16 的答案是 (0x58, 0x58)。你却走到了下一项。`bisect_left` 与 "
                "`bisect_right` 的区别正在这里。",
            ),
        ),
    ),
    variants=(answers.by_comparison, answers.by_bracket),
    show=show_number,
)

NEAREST = Exercise(
    drive=DRIVES["2.2"],
    points=3,
    title=Text("Nearest, ties to even", "就近舍入到偶数"),
    hints=(
        Text(
            "Measure two distances: from x down to the lower value, and up to the higher one. The smaller wins.",
            "量两段距离：x 到较小值的、x 到较大值的。近的那个胜出。",
        ),
        Text(
            "When the distances are equal, look at the codes. Two neighbouring codes differ by one, so exactly one is "
            "even.",
            "距离相等时看编码。相邻两个编码相差 1，恰有一个是偶数。",
        ),
        Text(
            "`low, high = neighbours_of(x, fmt)`, then `below = x - value(low, fmt)` and "
            "`above = value(high, fmt) - x`. Three cases: below < above, below > above, equal.",
            "`low, high = neighbours_of(x, fmt)`，再算 `below = x - value(low, fmt)`、`above = value(high, fmt) - x`。"
            "三种情况：below < above、below > above、相等。",
        ),
        Text(
            "In the case of a tie: `low if low % 2 == 0 else high`.",
            "平局时：`low if low % 2 == 0 else high`。",
        ),
    ),
    reference=answers.nearest,
    misconceptions=(
        Misconception(
            "truncation",
            answers.truncated,
            Text(
                "You keep the neighbour nearer to zero, whatever the distance. That is what cutting off bits does, "
                "and why so many first kernels do it: it is one shift. 17.9 becomes 16 though 18 is a tenth away; "
                "every number shrinks, so the errors add up instead of cancelling.",
                "你总是取靠近零的那个，不看距离。直接砍掉低位就是这个效果，一条移位指令就够，所以很多内核的第一版都这"
                "么写。17.9 变成 16，而 18 只差 0.1；所有的数都变小，误差不会相互抵消，只会累积。",
            ),
        ),
        Misconception(
            "floor",
            answers.floored,
            Text(
                "You always take the lower neighbour. On positive numbers this looks like truncation; on negative "
                "ones it goes the other way: -17.1 becomes -18. Compare the two distances.",
                "你总是取较小的那个。对正数，这和截断一样；对负数则相反：-17.1 变成了 -18。应当比较两段距离。",
            ),
        ),
        Misconception(
            "half away from zero",
            answers.half_away,
            Text(
                "Your ties go away from zero, as at school. 17 is halfway between 16 (0x58) and 18 (0x59): it goes to "
                "the even code, 0x58. Rounding all ties outward makes numbers larger on average; the standard sends "
                "half of them each way.",
                "平局时你远离零取值，就像学校里的四舍五入。17 在 16（0x58）与 18（0x59）正中，应取偶编码 0x58。平局一"
                "律向外会让数值平均偏大；标准的做法是一半向上、一半向下。",
            ),
        ),
        Misconception(
            "half up",
            answers.half_up,
            Text(
                "Your ties go toward +inf, as floor(x + 0.5) does. It is tempting because it is one addition. 17 must "
                "become 16 (0x58, even) and 19 must become 20 (0x5A, even); and with this rule -17 and 17 are not "
                "mirror images.",
                "平局时你总是向 +∞ 取，就像 floor(x + 0.5)：一次加法，很省事。但 17 应变成 16（0x58，偶），19 应变成"
                " 20（0x5A，偶）；按你的规则，-17 与 17 也不再对称。",
            ),
        ),
        Misconception(
            "half toward zero",
            answers.half_down,
            Text(
                "Your ties go toward zero. A comparison like `above < below` does that without saying so. 19 is "
                "halfway between 0x59 (18) and 0x5A (20): the even code is 0x5A.",
                "平局时你向零取。写成 `above < below` 就会不知不觉变成这样。19 在 0x59（18）与 0x5A（20）正中，偶编码"
                "是 0x5A。",
            ),
        ),
        Misconception(
            "odd code",
            answers.odd_code,
            Text(
                "Ties go to the odd code in yours: the test is turned round. The last bit of the result must be 0: 17 "
                "becomes 0x58.",
                "你的平局取了奇编码，条件写反了。结果的最低位应为 0：17 变成 0x58。",
            ),
        ),
        Misconception(
            "even value, not even code",
            answers.even_value,
            Text(
                'You ask whether the *value* is even. "Even" means the last bit of the *code*. Between 18 (0x59) and '
                "20 (0x5A) both values are even numbers, and below 1 no value is.",
                "你看的是“数值”是不是偶数。“舍入到偶数”说的是“编码”的最低位。18（0x59）与 20（0x5A）作为数值都是偶数；"
                "而小于 1 的数值没有偶数可言。",
            ),
        ),
        Misconception(
            "even significand after normalising",
            answers.even_significand,
            Text(
                "You take the last bit of the significand as frexp normalises it. For normal numbers that is the last "
                "bit of the code; for subnormals it is not, because they are not normalised. At the junction 7.5 · "
                "2^-9 lies between 0x07 and 0x08: frexp makes both look even, the code says 0x08.",
                "你看的是 frexp 规格化之后尾数的最低位。对正规数，它就是编码的最低位；次正规数没有规格化，两者就不一样"
                "了。在交界处，7.5 · 2^-9 位于 0x07 与 0x08 之间：frexp 看来两个都是偶数，看编码则应取 0x08。",
            ),
        ),
        Misconception(
            "subnormals flushed",
            answers.flush_subnormals,
            Text(
                "Everything below 2^-6 becomes 0 in yours. Some hardware does this for speed; the format has seven "
                "more steps there. 0.01 lies between 0x05 and 0x06 and is nearest to 0x05.",
                "小于 2^-6 的数在你这里都变成了 0。有些硬件为了速度会这样做，但格式在那里还有七级台阶：0.01 位于 0x05 "
                "与 0x06 之间，离 0x05 最近。",
            ),
        ),
        Misconception(
            "nearest by ratio",
            answers.by_ratio,
            Text(
                "You compare by factor: the middle in yours is the geometric mean. It feels right for a format that "
                "is almost logarithmic. But between 16 and 18 the border is 17, not √288 = 16.97, and next to 0 no "
                "factor exists.",
                "你按比例比较远近，分界成了几何平均。浮点近似对数刻度，这样想很自然。但 16 与 18 的分界是 17，不是"
                " √288 = 16.97；而紧挨着 0 的地方根本没有比例可言。",
            ),
        ),
        Misconception(
            "carry lost",
            answers.carry_lost,
            Text(
                "When the mantissa rounds up from 111 it becomes 1000; you keep three bits and lose the carry, so the "
                "number falls to the bottom of its binade: 15.9 must be 0x58 (16), not 0x50 (8). Adding 1 to the "
                "whole code carries by itself.",
                "尾数从 111 进位成 1000，你只留下三位，丢了进位，数值就掉回本区间的起点：15.9 应是 0x58（16），不是"
                " 0x50（8）。在整个编码上加 1，进位会自然传到指数。",
            ),
        ),
    ),
    variants=(answers.by_middle, answers.by_sorting),
    show=show_number,
)

EXERCISES = (NEIGHBOURS, NEAREST)
