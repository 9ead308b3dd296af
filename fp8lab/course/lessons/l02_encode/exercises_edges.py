"""The records of 2.3 and 2.4."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l02_encode import answers_edges as answers
from fp8lab.course.lessons.l02_encode.driving import DRIVES
from fp8lab.course.text import Text


def show_case(inputs, array: str, index: tuple[int, ...]) -> str:
    x, fmt, policy = inputs["cases"][index[0]]
    return f"x = {x!r}, {fmt}, overflow={policy!r}"


OVERFLOW = Exercise(
    drive=DRIVES["2.3"],
    points=3,
    title=Text("Where overflow begins", "溢出从哪里开始"),
    hints=(
        Text(
            "Round first, as if the table went on, and only then ask whether the result exists. Which number would "
            "come after 448?",
            "先假装表还能往上走，照常舍入，再问结果存不存在。448 之后的下一个数会是多少？",
        ),
        Text(
            "The step before the largest value would be the step after it too. The border lies half a step above the "
            "largest value.",
            "最大值之前的一步有多大，之后的一步也就有多大。分界线在最大值之上半步。",
        ),
        Text(
            "On the border itself there is a tie between max_code and max_code + 1, and the even one wins. 0x7E is "
            "even; E5M2's 0x7B and E4M3FNUZ's 0x7F are odd.",
            "恰好落在分界线上，就是 max_code 与 max_code + 1 的平局，偶数胜出。0x7E 是偶数；E5M2 的 0x7B、E4M3FNUZ 的"
            " 0x7F 是奇数。",
        ),
        Text(
            "`limit = fmt.max_finite + (fmt.max_finite - value(fmt.max_code - 1, fmt)) / 2`; it overflows if "
            "`abs(x) > limit`, and also if `abs(x) == limit and fmt.max_code % 2 == 1`. Then return `beyond`, with "
            "`fmt.sign_mask` for a negative x; else `nearest(x, fmt)`.",
            "`limit = fmt.max_finite + (fmt.max_finite - value(fmt.max_code - 1, fmt)) / 2`；`abs(x) > limit` 时溢出，"
            "`abs(x) == limit and fmt.max_code % 2 == 1` 时也溢出。溢出就返回 `beyond`，x 为负时加上 `fmt.sign_mask`；"
            "否则返回 `nearest(x, fmt)`。",
        ),
    ),
    reference=answers.encode_finite,
    misconceptions=(
        Misconception(
            "decided before rounding",
            answers.before_rounding,
            Text(
                "You compare x with the largest value before rounding. 450 is larger than 448, but it *rounds* to "
                "448, so it has not overflowed; neither has anything up to 464. The standard decides after rounding.",
                "你在舍入之前就拿 x 和最大值比。450 大于 448，但它“舍入后”是 448，并没有溢出；464 以内都一样。标准规定"
                "舍入之后再判断。",
            ),
        ),
        Misconception(
            "480",
            answers.next_step,
            Text(
                "Your border is the next value that does not exist: 480. Tempting, since that is where the table "
                "would go on. But 470 is nearer to 480 than to 448, so it overflows; the border lies halfway, at 464.",
                "你把下一个不存在的值 480 当成了分界。表接下去确实是 480，但 470 离 480 比离 448 近，它已经溢出了；分"
                "界在正中，即 464。",
            ),
        ),
        Misconception(
            "clamped before rounding",
            answers.clamped_first,
            Text(
                'You clamp x to the range first. With overflow="saturate" nobody sees a difference, and so this bug '
                'lives long. With "nan" or "inf" nothing overflows any more: 1e9 must be NaN, and yours says 448.',
                '你先把 x 钳位到范围内。overflow="saturate" 时看不出区别，所以这个 bug 能活很久；换成 "nan" 或 "inf"，'
                "就再没有东西会溢出了：1e9 应为 NaN，你给出 448。",
            ),
        ),
        Misconception(
            "the tie always overflows",
            answers.tie_overflows,
            Text(
                "You let 464 overflow. It is a tie between 448 (0x7E) and the 480 that would be 0x7F; the even code "
                "wins, and that is 448. In E5M2 and E4M3FNUZ the last code is odd, and there the tie does overflow.",
                "你让 464 溢出了。它是 448（0x7E）与假想的 480（0x7F）之间的平局，偶编码胜出，即 448。E5M2 与"
                " E4M3FNUZ 的最大编码是奇数，那里的平局才真的溢出。",
            ),
        ),
        Misconception(
            "the tie always stays",
            answers.tie_stays,
            Text(
                "You keep every tie at the border. For E4M3FN that is right by luck: 0x7E is even. E5M2's largest "
                "code is 0x7B, odd, so 61440 goes to 0x7C, which is infinity.",
                "你让分界上的平局一律留下。E4M3FN 碰巧是对的，因为 0x7E 是偶数。E5M2 的最大编码 0x7B 是奇数，所以"
                " 61440 应进到 0x7C，也就是无穷。",
            ),
        ),
        Misconception(
            "E4M3FN's number for every format",
            answers.numbers_of_e4m3fn,
            Text(
                "464 stands in your code. It belongs to one format; E5M2 goes to 57344 and E4M3FNUZ only to 240. "
                "Compute the border from `fmt.max_finite` and `fmt.max_code`.",
                "你的代码里写死了 464。它只属于一种格式；E5M2 能到 57344，E4M3FNUZ 只到 240。用 `fmt.max_finite` 和 "
                "`fmt.max_code` 算出分界。",
            ),
        ),
        Misconception(
            "240",
            answers.ieee_maximum,
            Text(
                "You overflow from 248 on: that is the border of a format that ends at 240 (E4M3FNUZ, or an IEEE-like "
                "E4M3). E4M3FN uses the last exponent for numbers: 300 is 0x79, 448 is 0x7E.",
                "你从 248 起就算溢出：那是最大值为 240 的格式（E4M3FNUZ 或 IEEE 式 E4M3）的分界。E4M3FN 的最高指数也用"
                "来表示数：300 是 0x79，448 是 0x7E。",
            ),
        ),
        Misconception(
            "sign lost",
            answers.sign_lost,
            Text(
                "What overflows loses its sign in yours: -1000 saturates to -448 (0xFE), not to +448 (0x7E). One "
                "wrong sign of the largest number there is.",
                "溢出的数在你这里丢了符号：-1000 应饱和到 -448（0xFE），而不是 +448（0x7E）。偏偏错的是最大的那个数的"
                "符号。",
            ),
        ),
    ),
    variants=(answers.by_size,),
    show=show_case,
)

SPECIALS = Exercise(
    drive=DRIVES["2.4"],
    points=2,
    title=Text("Sign, -0, NaN, infinity", "符号、-0、NaN 与无穷"),
    hints=(
        Text(
            "Treat them one after another: NaN first, since it compares with nothing; then infinity; then the size; "
            "the sign last.",
            "一个一个来：先 NaN，因为它跟什么都比不了；再无穷；再算绝对值；最后是符号。",
        ),
        Text(
            "Infinity is what overflows most, so the policy decides about it: `overflow_code(fmt, overflow)`. "
            "`-0.0 < 0` is False: ask `math.copysign(1.0, x)` instead.",
            "无穷是溢出得最彻底的数，由溢出策略决定：`overflow_code(fmt, overflow)`。`-0.0 < 0` 为 False：要问 "
            "`math.copysign(1.0, x)`。",
        ),
        Text(
            "The sign is one bit: `code | fmt.sign_mask`. One exception: a format without -0 (E4M3FNUZ) has NaN at "
            "that code, so a negative number that rounds to zero becomes 0x00 there: `fmt.has_negative_zero`.",
            "符号就是一个比特：`code | fmt.sign_mask`。一个例外：没有 -0 的格式（E4M3FNUZ）把 NaN 放在那个编码上，所以"
            "舍入到零的负数要写成 0x00：看 `fmt.has_negative_zero`。",
        ),
        Text(
            "`if math.isnan(x): return fmt.nan_code`; then "
            "`code = overflow_code(...) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)`; then the sign "
            "bit if copysign says so and `code != 0 or fmt.has_negative_zero`.",
            "`if math.isnan(x): return fmt.nan_code`；然后 "
            "`code = overflow_code(...) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)`；最后，copysign 为"
            "负且 `code != 0 or fmt.has_negative_zero` 时置符号位。",
        ),
    ),
    reference=answers.encode,
    misconceptions=(
        Misconception(
            "-0 lost",
            answers.minus_zero_lost,
            Text(
                "You ask `x < 0` for the sign. For -0.0 that is False, so it becomes 0x00; the byte is 0x80. Who "
                "cares? 1/x does, and every test that compares bytes.",
                "你用 `x < 0` 判断符号。对 -0.0 它是 False，结果成了 0x00；应是 0x80。有谁在乎？1/x 在乎，逐字节比较的"
                "测试也在乎。",
            ),
        ),
        Misconception(
            "the sign of tiny numbers lost",
            answers.small_sign_lost,
            Text(
                "What rounds to zero loses its sign in yours. -1e-5 is 0x80, negative zero: rounding changes the "
                "size, never the sign.",
                "舍入到零的数在你这里丢了符号。-1e-5 应是 0x80，即负零：舍入只改变大小，不改变符号。",
            ),
        ),
        Misconception(
            "sign bit onto zero in FNUZ",
            answers.always_sign_bit,
            Text(
                "You set the sign bit always. In E4M3FNUZ the code 0x80 is not -0, it is NaN: -1e-5 becomes NaN and "
                "spreads through everything it meets. It must be 0x00 (onnx#5764, triton#10745 had exactly this).",
                "你无条件地置符号位。在 E4M3FNUZ 里，0x80 不是 -0，而是 NaN：-1e-5 变成 NaN，碰到谁就污染谁。它应是"
                " 0x00（onnx#5764、triton#10745 就是这个 bug）。",
            ),
        ),
        Misconception(
            "NaN overflows",
            answers.nan_overflows,
            Text(
                'NaN falls through your comparisons and is treated as too large: with "saturate" it turns into 448, a '
                'number like any other. The one value that says "something is broken" must not be repaired by the '
                "codec.",
                'NaN 从你的比较语句里漏了过去，被当成太大的数："saturate" 时它成了 448，看上去和普通数没有两样。NaN 的'
                "用处就是报告“出错了”，编码器不能把它悄悄修好。",
            ),
        ),
        Misconception(
            "NaN becomes 0",
            answers.nan_is_zero,
            Text(
                "NaN becomes 0 in yours. Every comparison with NaN is False, so a chain of `if` ends in its last "
                "branch. Ask `math.isnan(x)` first.",
                "NaN 在你这里变成了 0。NaN 参与的比较都是 False，一串 `if` 就走到了最后一个分支。先问 "
                "`math.isnan(x)`。",
            ),
        ),
        Misconception(
            "0x7F for every format",
            answers.nan_of_e4m3fn,
            Text(
                "You return 0x7F for NaN. In E4M3FNUZ that byte is 240, its largest number; its only NaN is 0x80. The "
                "record knows: `fmt.nan_code`.",
                "你对 NaN 返回 0x7F。在 E4M3FNUZ 里，这个字节是 240，即它的最大值；它唯一的 NaN 是 0x80。记录里有："
                "`fmt.nan_code`。",
            ),
        ),
        Misconception(
            "inf saturates without saying so",
            answers.infinity_is_clamped,
            Text(
                'Infinity becomes the largest number in yours, whatever the policy. With overflow="nan" it must be '
                'NaN, with "inf" in E5M2 it must stay infinity. A silent 448 hides the division by zero that made it.',
                '无论哪种策略，无穷在你这里都成了最大值。overflow="nan" 时它应是 NaN；E5M2 用 "inf" 时它应仍是无穷。悄'
                "悄变成 448，产生它的那次除零就再也找不到了。",
            ),
        ),
        Misconception(
            "inf is always NaN",
            answers.infinity_is_nan,
            Text(
                'You make infinity NaN under every policy. "Saturate" is a promise for infinity too: the OCP table '
                'says ±448 for E4M3, and E5M2 with "inf" has a code for it, 0x7C.',
                "你让无穷在任何策略下都变成 NaN。“饱和”的承诺对无穷同样有效：OCP 的转换表里 E4M3 取 ±448；E5M2 用"
                ' "inf" 时有专门的编码 0x7C。',
            ),
        ),
        Misconception(
            "-inf loses its sign",
            answers.infinity_is_positive,
            Text(
                "-inf comes out positive in yours. It passes an early return before the sign is set: -inf saturates "
                "to 0xFE.",
                "-inf 在你这里成了正的：还没处理符号就提前返回了。-inf 应饱和到 0xFE。",
            ),
        ),
    ),
    variants=(answers.without_abs,),
    show=show_case,
)

EXERCISES = (OVERFLOW, SPECIALS)
