"""The records of 3.1 and 3.2."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l03_scale import answers_int8
from fp8lab.course.lessons.l03_scale.driving import DRIVES
from fp8lab.course.text import Text


def show_tensor(inputs, array: str, index: tuple[int, ...]) -> str:
    x = inputs[array]
    size = list(x.shape)
    return f"[{array}] {str(x.dtype).removeprefix('torch.')}{size}, from {x.min().item():.6g} to {x.max().item():.6g}"


def show_case(inputs, array: str, index: tuple[int, ...]) -> str:
    absmax, qmax = inputs["cases"][index[0]]
    return f"{array}, absmax = {absmax:g}, qmax = {qmax:g}"


ABSMAX = Exercise(
    drive=DRIVES["3.1"],
    points=1,
    title=Text("absmax", "absmax：最大的绝对值"),
    hints=(
        Text(
            "Which number of the tensor is farthest from zero? It may be a negative one.",
            "张量里哪个数离零最远？它可能是负数。",
        ),
        Text("`x.abs()` first, then the maximum over everything.", "先 `x.abs()`，再对全部元素取最大值。"),
        Text(
            "`.amax()` without an axis takes all axes; `.item()` makes a Python float of a tensor with one element.",
            "`.amax()` 不给轴就是对所有轴；`.item()` 把只有一个元素的张量变成 Python 的 float。",
        ),
    ),
    reference=answers_int8.find_absmax,
    misconceptions=(
        Misconception(
            "maximum without abs",
            answers_int8.signed_maximum,
            Text(
                "You take the largest value, signs included. In [0.1, 2.3, -7.5] that is 2.3, and -7.5 will be "
                "clipped to a third of itself. Half of all outliers are negative; on symmetric test data nobody sees "
                "it.",
                "你取的是带符号的最大值。[0.1, 2.3, -7.5] 得到 2.3，于是 -7.5 被削到三分之一。离群值有一半是负的；拿对"
                "称的数据测试，谁也看不出来。",
            ),
        ),
        Misconception(
            "abs of the maximum",
            answers_int8.size_of_the_maximum,
            Text(
                "You take the maximum first and its size afterwards: |max|, not max of |x|. For a tensor of negative "
                "numbers that gives the *smallest* size; for [-7.5, 2.3] it gives 2.3.",
                "你先取最大值再取绝对值：得到 |max|，而不是 |x| 的最大值。全是负数时，这恰好是绝对值*最小*的那个；"
                "[-7.5, 2.3] 则得到 2.3。",
            ),
        ),
        Misconception(
            "half the range",
            answers_int8.half_the_range,
            Text(
                "(max - min) / 2 belongs to asymmetric quantization, which also stores a zero point. Here zero maps "
                "to zero, so the scale must reach the farther end: for [-7.5, 2.3] that is 7.5, not 4.9.",
                "(max - min) / 2 属于非对称量化，那里还要存零点。这里零对应零，尺度必须够到较远的一端：[-7.5, 2.3] 是"
                " 7.5，不是 4.9。",
            ),
        ),
        Misconception(
            "root mean square",
            answers_int8.root_mean_square,
            Text(
                "You measure the typical size (RMS). It is the other half of the story, and exercise 3.8 needs it; "
                "but a grid that ends at the RMS clips a third of a normal distribution.",
                "你量的是典型大小（RMS）。它是故事的另一半，练习 3.8 会用到；但网格若止于 RMS，正态分布会有三分之一被"
                "截掉。",
            ),
        ),
        Misconception(
            "one row only",
            answers_int8.last_row_only,
            Text(
                "You look at the last row only. The largest number can be anywhere; in [first row] it is in the first.",
                "你只看了最后一行。最大的数可能在任何位置；在 [first row] 里它就在第一行。",
            ),
        ),
        Misconception(
            "99th percentile",
            answers_int8.percentile,
            Text(
                "You take the 99th percentile, so one value in a hundred will be clipped. That can be the better "
                "choice, when it is chosen; absmax means the largest.",
                "你取的是第 99 百分位，于是每一百个数会有一个被钳住。有意为之时它可能更好；但 absmax 指的是"
                "最大的那个。",
            ),
        ),
        Misconception(
            "a tensor, not a float",
            answers_int8.still_a_tensor,
            Text(
                "The number is right, but it is still a tensor with one element. What is asked for is a Python float: it has no dtype "
                "that later quotients inherit, no device to wait for and no gradient. `.item()` makes one.",
                "数是对的，可它还是只有一个元素的张量。这里要的是 Python 的 float：没有 dtype 会传给后面的商，不用等设备，也不带梯度。用 `.item()` 转换。",
            ),
        ),
    ),
    variants=(answers_int8.absmax_of_both_ends, answers_int8.absmax_in_numpy),
    show=show_tensor,
)


CONVENTIONS = Exercise(
    drive=DRIVES["3.2"],
    points=2,
    title=Text("Two conventions, one mix-up", "两种约定，一种混淆"),
    hints=(
        Text(
            "absmax has to land on qmax. What must it be multiplied by? And what must the code qmax be multiplied by "
            "to come back?",
            "absmax 要落在 qmax 上，该乘多少？编码 qmax 要变回去，又该乘多少？",
        ),
        Text(
            "They are each other's reciprocal. The mix-up: the writer multiplied by the first number, and the reader "
            "multiplies by it again.",
            "两者互为倒数。混淆是这样的：写的人乘了第一个数，读的人又乘了一次。",
        ),
        Text(
            "`multiplier = qmax / absmax`, `scale = absmax / qmax`; a value that was multiplied twice is off by "
            "`multiplier * multiplier`.",
            "`multiplier = qmax / absmax`，`scale = absmax / qmax`；乘了两次的数，偏差是 `multiplier * multiplier` "
            "倍。",
        ),
    ),
    reference=answers_int8.conventions,
    misconceptions=(
        Misconception(
            "inverted",
            answers_int8.swapped,
            Text(
                "The two are exchanged. Check with a number: absmax 0.02 has to become 127, so it is multiplied by "
                "6350. Multiplied by your number it becomes 0.000003, and every code is 0.",
                "两个反了。拿数验一下：absmax 为 0.02，要变成 127，得乘 6350。乘上你的数只有 0.000003，编码全是 0。",
            ),
        ),
        Misconception(
            "the same number both ways",
            answers_int8.both_the_same,
            Text(
                "You use one number in both directions. What was multiplied on the way in must be divided on the way "
                "out.",
                "你来回用了同一个数。进去时乘的，出来时要除。",
            ),
        ),
        Misconception(
            "the mix-up cancels",
            answers_int8.harmless_mix,
            Text(
                "multiplier × scale is 1: that is what a *correct* pair does. The mix-up reads the multiplier as if "
                "it were the scale, so the value is multiplied by it twice.",
                "multiplier × scale 等于 1，那是*正确*的一对。混淆是把乘数当成尺度来读，于是同一个数乘了两次。",
            ),
        ),
        Misconception(
            "off by one factor only",
            answers_int8.mixed_once,
            Text(
                "The codes are already x · multiplier. The wrong reader multiplies by it again: twice in all.",
                "编码已经是 x · multiplier，读错的人又乘了一次，总共两次。",
            ),
        ),
        Misconception(
            "off the other way",
            answers_int8.mixed_other_way,
            Text(
                "scale² would come out if both multiplied by `scale`: everything shrinks. Here both multiply by "
                "`multiplier`.",
                "如果两人都乘 `scale`，结果才是 scale²，所有数都缩小。这里两人乘的都是 `multiplier`。",
            ),
        ),
        Misconception(
            "kept in float16",
            answers_int8.in_float16,
            Text(
                "You keep the numbers in float16. 448 / 0.001 is 448,000, and float16 ends at 65,504: the multiplier "
                "is inf, and 0 × inf is NaN. Small scales fail at the other end: below 3e-8 they are 0.",
                "你把它们存成了 float16。448 / 0.001 = 448,000，而 float16 到 65,504 就到头了：乘数变成 inf，0 × inf "
                "是 NaN。小的尺度在另一头出事：低于 3e-8 就成了 0。",
            ),
        ),
        Misconception(
            "twice qmax",
            answers_int8.two_qmax,
            Text(
                "Your grid holds absmax across its full width, 2 · qmax. But the grid is symmetric: absmax has one "
                "side of it, 0 to qmax. Everything beyond half of absmax would clip.",
                "你让 absmax 占满了网格的整个宽度 2 · qmax。但网格是对称的，absmax 只有一侧可用，即 0 到 qmax。超过"
                " absmax 一半的数都会被钳住。",
            ),
        ),
    ),
    variants=(answers_int8.conventions_as_tensors,),
    tolerance=Tolerance(rtol=1e-6),
    show=show_case,
)


EXERCISES = (ABSMAX, CONVENTIONS)
