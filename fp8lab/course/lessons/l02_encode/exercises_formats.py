"""The records of 2.7 and 2.8."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l02_encode import answers_formats as answers
from fp8lab.course.lessons.l02_encode.driving import DRIVES
from fp8lab.course.lessons.l02_encode.facts import pair_facts, record_facts
from fp8lab.course.text import Text
from fp8lab.formats import value

ODD = "value(c, E4M3FN) != 2 * value(c, fnuz)"
QUESTIONS = {
    "listed": f"`all({ODD} for c in exceptions)`",
    "not listed": f"`all(c in exceptions for c in range(256) if {ODD})`",
}


def show_record(inputs, array: str, index: tuple[int, ...]) -> str:
    """Arrays are named "E5M2 decode", "E5M2 encode"; of the exceptions, as a question in Python."""
    if array in QUESTIONS:
        return QUESTIONS[array]
    name, _, part = array.partition(" ")
    if part == "decode":
        return f"{name}: byte 0x{index[0]:02X}"
    if part == "encode":
        return f"{name}: x = {inputs[name][index[0]]!r}"
    return array


def show_pair(inputs, array: str, index: tuple[int, ...]) -> str:
    low, high = inputs["pairs"][index[0]]
    return f"0x{low:02X} ({value(low)!r}), 0x{high:02X} ({value(high)!r}): {array}"


FORMATS = Exercise(
    drive=DRIVES["2.7"],
    points=2,
    title=Text("Other records, no new code", "换一条记录，不写新代码"),
    hints=(
        Text(
            "Read the numbers off the table above: exponent bits, mantissa bits, bias. The special rule is one of "
            '"ieee", "fn", "fnuz".',
            '从上面的表里读出：指数位数、尾数位数、偏置。特殊规则是 "ieee"、"fn"、"fnuz" 之一。',
        ),
        Text(
            "E5M2 is fp16 with eight bits cut off: it keeps fp16's bias and its infinity. FNUZ means finite, NaN, "
            "unsigned zero.",
            "E5M2 就是砍掉八位的 fp16：偏置和无穷都照旧。FNUZ 的意思是：只有有限值和 NaN，零没有符号。",
        ),
        Text(
            "For the exceptions compare `value(code, E4M3FN)` with twice `value(code, fnuz)` over range(256). NaN "
            "equals nothing, so what is NaN on one side only is in the list.",
            "求例外：对 range(256) 比较 `value(code, E4M3FN)` 与两倍的 `value(code, fnuz)`。NaN 不等于任何数，所以只在"
            "一边是 NaN 的编码自然会进到列表里。",
        ),
        Text(
            '`FloatFormat("my E5M2", 5, 2, bias=15, signed=True, special="ieee")` and, for the other, 4, 3, bias=8, '
            '"fnuz".',
            '`FloatFormat("my E5M2", 5, 2, bias=15, signed=True, special="ieee")`；另一个是 4、3、bias=8、"fnuz"。',
        ),
    ),
    reference=answers.other_formats,
    misconceptions=(
        Misconception(
            "bias 7 for FNUZ",
            answers.bias_of_seven,
            Text(
                "You gave E4M3FNUZ the bias of E4M3FN. The bits look alike, and that is the trap: its bias is 8, so "
                "every number is half as large and the largest is 240, not 480.",
                "你给 E4M3FNUZ 用了 E4M3FN 的偏置。比特看起来一样，陷阱就在这里：它的偏置是 8，每个数都小一半，最大值"
                "是 240，不是 480。",
            ),
        ),
        Misconception(
            "E5M2 without infinity",
            answers.infinity_missing,
            Text(
                "You gave E5M2 the rule of E4M3FN. E5M2 follows IEEE: exponent all ones is infinity (0x7C) or NaN, "
                "and the largest number is 57344 (0x7B).",
                "你给 E5M2 用了 E4M3FN 的规则。E5M2 遵循 IEEE：指数全 1 是无穷（0x7C）或 NaN，最大值是 57344（0x7B）。",
            ),
        ),
        Misconception(
            "NaN at the top of FNUZ",
            answers.nan_at_the_top,
            Text(
                'In E4M3FNUZ 0x7F is a number, 240. Its only NaN sits where -0 would be, at 0x80: special="fnuz".',
                'E4M3FNUZ 的 0x7F 是一个数：240。它唯一的 NaN 放在 -0 的位置，即 0x80：special="fnuz"。',
            ),
        ),
        Misconception(
            "IEEE rule for FNUZ",
            answers.ieee_everywhere,
            Text(
                "With the IEEE rule E4M3FNUZ would end at 120 and have infinities. FNUZ spends one code on NaN and "
                "none on infinity.",
                "套用 IEEE 规则，E4M3FNUZ 会止于 120，还会有无穷。FNUZ 只拿一个编码当 NaN，不设无穷。",
            ),
        ),
        Misconception(
            "bias 16 for E5M2",
            answers.bias_is_half,
            Text(
                "The bias is 2^(bits-1) - 1 for the OCP formats: 15 for five exponent bits, as in fp16. 16 belongs to "
                "E5M2FNUZ.",
                "OCP 格式的偏置是 2^(位数-1) - 1：五位指数就是 15，与 fp16 相同。16 是 E5M2FNUZ 的。",
            ),
        ),
        Misconception(
            "only 0x80",
            answers.minus_zero_only,
            Text(
                "0x80 is one exception. 0x7F and 0xFF are the others: NaN in E4M3FN, and in FNUZ ±240. A NaN turns "
                "into the largest number there is.",
                "0x80 是例外之一，另外两个是 0x7F 和 0xFF：在 E4M3FN 里是 NaN，在 FNUZ 里是 ±240。NaN 一下子成了最大的"
                "数。",
            ),
        ),
        Misconception(
            "0x80 forgotten",
            answers.minus_zero_forgotten,
            Text(
                "Both NaN codes of E4M3FN are in your list, the third exception is not: 0x80 is -0 in E4M3FN and NaN in FNUZ. `==` "
                "between -0 and NaN is False, so the loop over all bytes would have found it.",
                "E4M3FN 的两个 NaN 编码都在，第三个例外却漏了：0x80 在 E4M3FN 里是 -0，在 FNUZ 里是 NaN。-0 与 NaN 用 `==` 比较为 False，逐个字节比一遍就能发现它。",
            ),
        ),
        Misconception(
            "0x7F forgotten",
            answers.positive_nan_forgotten,
            Text(
                "0xFF is in your list, 0x7F is not. Without its sign it is the same pattern: NaN in E4M3FN, and 240, the largest "
                "number, in FNUZ.",
                "0xFF 在，0x7F 却不在。去掉符号位，两者是同一个组合：在 E4M3FN 里是 NaN，在 FNUZ 里是最大的数 240。",
            ),
        ),
        Misconception(
            "0xFF forgotten",
            answers.negative_nan_forgotten,
            Text(
                "0x7F is in your list, 0xFF is not. The sign has no say in what is NaN: 0xFF is NaN in E4M3FN too, and -240 in FNUZ.",
                "0x7F 在，0xFF 却不在。是不是 NaN 与符号无关：0xFF 在 E4M3FN 里也是 NaN，在 FNUZ 里是 -240。",
            ),
        ),
        Misconception(
            "0x00 as well",
            answers.zeros_listed,
            Text(
                "0x00 is in your list. It is 0 in both formats, and 0 is twice 0: no exception. Only its negative twin 0x80 is one.",
                "你把 0x00 也列了进去。它在两种格式里都是 0，而 0 等于 0 的两倍，不算例外；只有带负号的 0x80 才是。",
            ),
        ),
        Misconception(
            "no exceptions",
            answers.nothing_breaks,
            Text(
                '"Everything is halved" is true for 253 bytes. For three it is not: look at the byte of -0, and at '
                "the NaNs.",
                "“全都减半”对 253 个字节成立，对另外三个不成立：看看 -0 的那个字节，再看看 NaN。",
            ),
        ),
    ),
    variants=(answers.by_name,),
    show=show_record,
    facts=record_facts,
)

TWICE = Exercise(
    drive=DRIVES["2.8"],
    points=3,
    title=Text("Rounded twice", "双重舍入"),
    hints=(
        Text(
            "The first rounding must destroy what the second one needs to know. Where does FP8 rounding hang on the "
            "last bit of x?",
            "第一次舍入要毁掉第二次需要知道的信息。FP8 舍入在哪里取决于 x 的最后一位？",
        ),
        Text(
            "At the middle. Take a number so close to the middle that float32 cannot tell them apart: then the tie "
            "rule decides.",
            "在中点。取一个离中点极近、float32 分辨不出的数：第二次舍入就只能按平局规则来。",
        ),
        Text(
            "The tie goes to the even code. So x must lie on the side of the *odd* one: above the middle if low is "
            "even, below it if low is odd.",
            "平局取偶编码。所以 x 必须在“奇”编码那一侧：low 为偶数就在中点之上，low 为奇数就在中点之下。",
        ),
        Text(
            "`middle = (value(low) + value(high)) / 2`, then `math.nextafter(middle, value(high))` or "
            "`math.nextafter(middle, value(low))`.",
            "`middle = (value(low) + value(high)) / 2`，然后 `math.nextafter(middle, value(high))` 或 "
            "`math.nextafter(middle, value(low))`。",
        ),
    ),
    reference=answers.double_rounding,
    misconceptions=(
        Misconception(
            "the middle itself",
            answers.exact_middle,
            Text(
                "The middle is a float32 number, so nothing happens to it on the way: both roads see the same tie. x "
                "must be a little off.",
                "中点本身就是 float32 能表示的数，途中毫发无损：两条路遇到的是同一个平局。x 要偏离一点点。",
            ),
        ),
        Misconception(
            "always above the middle",
            answers.always_up,
            Text(
                "You always go up. That works when the tie goes down (low is even). For 0x39 and 0x3A the tie goes "
                "up, to 0x3A, and your x goes there anyway: on both roads.",
                "你总是往上偏。平局向下取（low 为偶）时可行。对 0x39 与 0x3A，平局向上取 0x3A，而你的 x 本来也去那里："
                "两条路结果相同。",
            ),
        ),
        Misconception(
            "toward the even one",
            answers.toward_the_even,
            Text(
                "You go toward the even code. There the direct road leads as well, so both agree. The second rounding "
                "must take x *away* from where it belongs: put it on the odd side.",
                "你往偶编码那边偏了。直接舍入也去那里，两条路一致。要让第二次舍入把 x 带离它该去的地方，就得放在奇编码"
                "一侧。",
            ),
        ),
        Misconception(
            "too far from the middle",
            answers.too_far,
            Text(
                "Your x is so far from the middle that float32 still sees the difference: its step there is 2^-23 of "
                "the number, about 1e-7. float64 is 500 million times finer; use that.",
                "你的 x 离中点太远，float32 还分辨得出：它在那里的步长约为数值的 2^-23，即 1e-7 左右。float64 能细到它"
                "的几亿分之一，用上它。",
            ),
        ),
        Misconception(
            "a float32 neighbour",
            answers.float32_neighbour,
            Text(
                "You took the float32 next to the middle. A float32 number passes through float32 unchanged; only "
                "what lies *between* two float32 numbers gets rounded.",
                "你取了中点旁边的 float32 数。float32 数经过 float32 不会变；只有落在两个 float32 数“之间”的数才会被舍"
                "入。",
            ),
        ),
        Misconception(
            "right for positive pairs only",
            answers.outward_from_even,
            Text(
                "Right where both values are positive. `middle * (1 + small)` moves away from zero, and below zero that is *down*: "
                "there your x lies on the even side, where both roads agree. Go toward a value (`math.nextafter(middle, "
                "value(high))`), not by a factor.",
                "两个值都为正时是对的。`middle * (1 + 小量)` 是往远离零的方向移，到了零以下就成了*往下*：x 落在偶编码一侧，两条路又一致了。"
                "要朝着某个值移动（`math.nextafter(middle, value(high))`），而不是乘一个系数。",
            ),
        ),
        Misconception(
            "away from zero",
            answers.away_from_zero,
            Text(
                "You go away from zero. For half of the pairs that is the odd side, for the other half it is the even "
                "one. Ask the code: `low % 2`.",
                "你往远离零的方向偏。一半的数对里那是奇编码一侧，另一半里是偶编码一侧。要看编码：`low % 2`。",
            ),
        ),
    ),
    variants=(answers.by_a_factor, answers.fixed_share),
    show=show_pair,
    facts=pair_facts,
)

EXERCISES = (FORMATS, TWICE)
