"""The record of lesson 00's warm-up."""

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l00_start import answers as wrong
from fp8lab.course.lessons.l00_start.driving import DRIVES
from fp8lab.course.text import Text

WARM_UP = Exercise(
    drive=DRIVES["0.1"],
    points=1,
    title=Text("Patterns of n bits", "n 位的组合数"),
    hints=(
        Text(
            "Write down every pattern of one bit, of two bits, of three bits. How many are there each time?",
            "分别写出一位、两位、三位的所有组合。每次有几种？",
        ),
        Text(
            "One more bit doubles the number: every old pattern comes back twice, once with a 0 and once with a 1 in front.",
            "每多一位，数量翻倍：原来的每种组合都出现两次，前面一次加 0，一次加 1。",
        ),
        Text(
            "Doubling `bits` times, starting at 1, is a power: in Python `**`.",
            "从 1 开始翻倍 `bits` 次就是乘方：Python 里写 `**`。",
        ),
    ),
    reference=wrong.patterns,
    misconceptions=(
        Misconception(
            "doubled, not raised",
            wrong.patterns_doubled,
            Text(
                "Twice the number of bits. Tempting, since every bit has two values; but the choices multiply, they do not "
                "add up: 8 bits have 256 patterns, not 16.",
                "这是位数的两倍。每位有两种取值，很容易这样想；但选择是相乘而不是相加：8 位有 256 种组合，不是 16 种。",
            ),
        ),
        Misconception(
            "squared",
            wrong.patterns_squared,
            Text(
                "`bits ** 2` has base and exponent the wrong way round: the base is the number of values of one bit. "
                "One bit has 2 patterns, not 1.",
                "`bits ** 2` 把底数和指数写反了：底数是一位的取值个数。1 位有 2 种组合，不是 1 种。",
            ),
        ),
        Misconception(
            "largest instead of count",
            wrong.patterns_largest,
            Text(
                "That is the largest unsigned integer. Counting starts at 0, so there is one pattern more: 0 to 255 are 256.",
                "这是最大的无符号整数。计数从 0 开始，所以还要多一个：0 到 255 共 256 个。",
            ),
        ),
        Misconception(
            "^ is not a power",
            wrong.patterns_xor,
            Text(
                "In Python `^` is exclusive or: `2 ^ 8` is 10. A power is `**`.",
                "Python 里 `^` 是异或：`2 ^ 8` 等于 10。乘方写 `**`。",
            ),
        ),
        Misconception(
            "without the sign bit",
            wrong.patterns_without_sign,
            Text(
                "One bit was put aside for the sign. It counts as well: a pattern with the sign set is another pattern.",
                "留出了一位当符号位。它也要算：符号不同就是不同的组合。",
            ),
        ),
        Misconception(
            "a byte, always",
            wrong.patterns_always_a_byte,
            Text(
                "Right for 8 bits only. Use `bits`: 16 bits have 65536.",
                "只对 8 位成立。要用到 `bits`：16 位有 65536 种。",
            ),
        ),
        Misconception(
            "no return",
            wrong.patterns_printed,
            Text(
                "The function returns nothing, that is `None`. Put `return` before the expression.",
                "函数没有返回值，也就是返回了 `None`。请在表达式前加 `return`。",
            ),
        ),
    ),
    variants=(wrong.patterns_by_shift, wrong.patterns_as_numpy),
    show=lambda inputs, array, index: f"`patterns({inputs['bits'][index[0]]})`",
)

EXERCISES = (WARM_UP,)
