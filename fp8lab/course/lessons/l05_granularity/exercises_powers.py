"""The record of 5.6: scales as powers of two."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_powers as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_scale(inputs, array: str, index: tuple[int, ...]) -> str:
    if array != "code" or not index:
        return array
    scale = inputs["scale"][index[0]].item()
    return f"scale {scale:.9g} = {scale.hex()}"


POWERS = Exercise(
    drive=DRIVES["5.6"],
    points=2,
    title=Text("Scales that are powers of two", "2 的幂尺度"),
    hints=(
        Text(
            "You are given scale = mantissa × 2**exponent with 0.5 <= mantissa < 1. Which power of two is the next one "
            "that is not smaller than the scale?",
            "已经有 scale = mantissa × 2**exponent，且 0.5 <= mantissa < 1。不小于 scale 的下一个 2 的幂是多少？",
        ),
        Text(
            "Always 2**exponent, with one exception: a mantissa of exactly 0.5. Then the scale is a power of two "
            "itself, 2**(exponent - 1).",
            "总是 2**exponent，只有一个例外：mantissa 恰好等于 0.5。这时 scale 本身就是 2 的幂，即 2**(exponent - 1)。",
        ),
        Text(
            "The code is that exponent plus 127. Codes run from 0 to 254; 255 is NaN, so clamp before the cast to "
            "`torch.uint8`.",
            "编码就是这个指数加 127。编码从 0 到 254；255 是 NaN，所以转成 `torch.uint8` 之前要钳位。",
        ),
    ),
    reference=answers.to_e8m0,
    misconceptions=(
        Misconception(
            "nearest, as a cast does",
            answers.as_a_cast_does,
            Text(
                "This is what a plain cast to E8M0 gives: the nearest power of two. For 1.2 that is 1, so absmax lands "
                "on 1.2 × 448 = 537.6 and is clipped (mlx#4353). Round up, and nothing is ever clipped.",
                "直接转换成 E8M0 就是这样：取最近的 2 的幂。1.2 变成 1，absmax 就落在 1.2 × 448 = 537.6，被钳位（"
                "mlx#4353）。向上取，就永远没有值会被钳位。",
            ),
        ),
        Misconception(
            "nearest exponent",
            answers.nearest_exponent,
            Text(
                "log2 was rounded to the nearest integer: the border lies at √2. Everything below it is rounded down "
                "and clips.",
                "对 log2 就近取整：分界在 √2。小于它的都被向下取，于是有值被钳位。",
            ),
        ),
        Misconception(
            "rounded down",
            answers.rounded_down,
            Text(
                "You kept the exponent and dropped the mantissa. The scale is too small by up to a factor of two, so "
                "the largest values of nearly every group clip.",
                "只留了指数，丢掉了尾数。尺度最多会小一半，几乎每组最大的值都会被钳位。",
            ),
        ),
        Misconception(
            "always the next one",
            answers.always_the_next,
            Text(
                "A scale that is a power of two already was doubled. Nothing clips, and one of the 15 octaves is given "
                "away; quantizing a second time would double it again.",
                "本来就是 2 的幂的尺度也翻了一倍。虽然没有值被钳位，却白白送掉一个倍频程；再量化一次还会再翻倍。",
            ),
        ),
        Misconception(
            "log2 in float32",
            answers.by_log2_in_float32,
            Text(
                "float32 log2 of a number just above a power of two is that integer exactly: the excess is lost in "
                "the result, and `ceil` has nothing to round up. The exponent is in the bits; `frexp` reads it from "
                "there.",
                "比 2 的幂略大的数，float32 的 log2 会恰好得到那个整数：多出来的一丝在结果里丢了，`ceil` 无从向上取。指数就"
                "在比特里，`frexp` 是直接从那里读的。",
            ),
        ),
        Misconception(
            "no bias",
            answers.without_bias,
            Text(
                "E8M0 stores exponent + 127. Without the bias every scale below 1 becomes code 0, that is 2^-127.",
                "E8M0 存的是 指数 + 127。不加偏置，小于 1 的尺度全都成了编码 0，即 2^-127。",
            ),
        ),
        Misconception(
            "bias 128",
            answers.bias_128,
            Text(
                "The bias of E8M0 is 127, as in float32. With 128 every scale is doubled.",
                "E8M0 的偏置是 127，与 float32 相同。用 128，每个尺度都翻倍。",
            ),
        ),
        Misconception(
            "the bias of E4M3FN",
            answers.bias_7,
            Text(
                "7 is the bias of the values' format. The scales have a format of their own, with 127.",
                "7 是数值格式的偏置。尺度有自己的格式，偏置是 127。",
            ),
        ),
        Misconception(
            "wraps around",
            answers.wraps_around,
            Text(
                "Without a limit the cast to uint8 wraps: exponent -129 becomes code 254, the largest scale there is, "
                "and 128 becomes 255, which is NaN.",
                "不钳位，转 uint8 时会回绕：指数 -129 变成编码 254，成了最大的尺度；128 变成 255，那是 NaN。",
            ),
        ),
        Misconception(
            "up to 255",
            answers.up_to_nan,
            Text(
                "255 is no exponent in E8M0 but its only NaN. The largest scale is code 254, 2^127.",
                "在 E8M0 里，255 不是指数，而是唯一的 NaN。最大的尺度是编码 254，即 2^127。",
            ),
        ),
        Misconception(
            "the other convention",
            answers.of_the_reciprocal,
            Text(
                "The sign of the exponent is turned: these are scales that values are multiplied by when written. Here "
                "value = code × scale.",
                "指数的符号反了：那是“写入时乘”的约定。这里 值 = 编码 × 尺度。",
            ),
        ),
    ),
    variants=(answers.by_bits, answers.by_fractions),
    show=show_scale,
)

EXERCISES = (POWERS,)
