"""The records of 3.3 and 3.4."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l03_scale import answers_int8
from fp8lab.course.lessons.l03_scale.driving import DRIVES
from fp8lab.course.text import Text


def show_scaled(inputs, array: str, index: tuple[int, ...]) -> str:
    x, scale = inputs[array]
    number = x[index].item() if index else x
    return f"[{array}] {number:.9g} with scale {scale:.9g} ({number / scale:.9g} steps)"


def show_code(inputs, array: str, index: tuple[int, ...]) -> str:
    codes, scale = inputs[array]
    return f"[{array}] code {codes[index].item() if index else ''} with scale {scale:.9g}"


QUANTIZE = Exercise(
    drive=DRIVES["3.3"],
    points=2,
    title=Text("int8: round, clamp, cast", "int8：舍入、钳位、转换"),
    hints=(
        Text(
            "Three steps, and their order matters. What does a cast to int8 do with 2.7? And with 130?",
            "三步，次序很要紧。直接转成 int8，2.7 会变成多少？130 呢？",
        ),
        Text(
            "The cast cuts off the fraction and wraps around. So round before it, and clamp before it.",
            "转换会砍掉小数部分，还会回绕。所以在它之前要先舍入、先钳位。",
        ),
        Text(
            "`torch.round` sends ties to even, as lesson 02 did. The grid is symmetric: `.clamp(-127, 127)`, so that "
            "-x gets the code -q.",
            "`torch.round` 与第二课一样，平局取偶。网格是对称的：`.clamp(-127, 127)`，这样 -x 的编码就是 -q。",
        ),
        Text(
            "All in one line: `torch.round(x / scale).clamp(-127, 127).to(torch.int8)`.",
            "一行写完：`torch.round(x / scale).clamp(-127, 127).to(torch.int8)`。",
        ),
    ),
    reference=answers_int8.quantize_int8,
    misconceptions=(
        Misconception(
            "floor",
            answers_int8.floored,
            Text(
                "You round down. 2.9 steps become 2, -0.1 steps become -1: everything moves down by half a step on "
                "average, and a sum over 128 values is off by 64 steps.",
                "你向下取整了。2.9 步变成 2，-0.1 步变成 -1：所有的数平均下移半步，128 个数一加就差 64 步。",
            ),
        ),
        Misconception(
            "truncated by the cast",
            answers_int8.truncated,
            Text(
                "Nothing rounds in yours: the cast to int8 cuts off the fraction. 1.5 and -0.6 become 1 and 0, they "
                "should be 2 and -1. In vLLM such a store passed every test that compared values with a tolerance "
                "(vllm#45361).",
                "你没有舍入：转 int8 时小数部分直接被砍掉。1.5 和 -0.6 变成 1 和 0，应是 2 和 -1。vLLM 里有过这样的写"
                "入，凡是带容差比较数值的测试都能通过（vllm#45361）。",
            ),
        ),
        Misconception(
            "half away from zero",
            answers_int8.half_away,
            Text(
                "Your ties go away from zero. 0.5, 1.5 and 2.5 steps must become 0, 2 and 2: ties to even, like every "
                "cast in this course.",
                "你的平局远离零。0.5、1.5、2.5 步应变成 0、2、2：平局取偶，与本课程所有的转换一致。",
            ),
        ),
        Misconception(
            "half up",
            answers_int8.half_up,
            Text(
                "floor(q + 0.5) sends every tie up: 0.5 becomes 1 and -0.5 becomes 0, so x and -x are no mirror "
                "images. `torch.round` sends ties to even.",
                "floor(q + 0.5) 让平局一律向上：0.5 变成 1，-0.5 变成 0，x 与 -x 不再对称。`torch.round` 是平局取偶。",
            ),
        ),
        Misconception(
            "[-128, 127]",
            answers_int8.down_to_128,
            Text(
                "You use the code -128. Tempting, since int8 has it; but then a value below -127.5 steps gets a code "
                "that no positive value has, and negating a code (or taking its abs in int8, where -128 stays -128) "
                "goes wrong.",
                "你用上了 -128。int8 确实有这个编码，很诱人；但这样一来，低于 -127.5 步的值得到一个没有正数对应的编"
                "码，对编码取负（或在 int8 里取绝对值，-128 还是 -128）就会出错。",
            ),
        ),
        Misconception(
            "multiplied by the scale",
            answers_int8.multiplied,
            Text(
                "You multiply by the scale: the other convention. Here code × scale has to give the value, so the "
                "value is divided. With a scale of 1 both are the same, and that is how tests miss it.",
                "你乘了尺度，那是另一种约定。这里“编码 × 尺度 = 数值”，所以要除。尺度为 1 时两者相同，测试就是这样漏掉"
                "它的。",
            ),
        ),
        Misconception(
            "multiplied by the reciprocal",
            answers_int8.by_reciprocal,
            Text(
                "You multiply by 1/scale, which has been rounded already. The product misses the tie that the true "
                "quotient is, and the code moves by one. When it has to be bit-exact, divide.",
                "你乘的是 1/scale，而它本身已经舍入过一次。真正的商恰好是平局，你的乘积却偏了一点，编码就差 1。要逐比"
                "特一致，就得用除法。",
            ),
        ),
        Misconception(
            "wraps around",
            answers_int8.wraps,
            Text(
                "You cast without clamping: 130 becomes -126. The worst error there is, on the largest values, with "
                "the wrong sign.",
                "你没有钳位就转换：130 变成 -126。出错的偏偏是最大的数，错得最大，连符号都反了。",
            ),
        ),
        Misconception(
            "no negative codes",
            answers_int8.positive_half_lost,
            Text(
                "You clamp at 0, so all negative values become 0. The grid is symmetric: from -127 to 127.",
                "你从 0 开始钳位，负数全成了 0。网格是对称的：从 -127 到 127。",
            ),
        ),
    ),
    variants=(answers_int8.with_rint, answers_int8.clamped_first, answers_int8.divided_in_double),
    show=show_scaled,
)


DEQUANTIZE = Exercise(
    drive=DRIVES["3.4"],
    points=1,
    title=Text("Back again", "变回去"),
    hints=(
        Text("One multiplication. In which type?", "一次乘法。用什么类型来算？"),
        Text(
            "The codes are small integers, the result has fractions: go to float32 first.",
            "编码是小整数，结果有小数：先转成 float32。",
        ),
        Text("Widened, then multiplied: `codes.float() * scale`.", "先加宽，再相乘：`codes.float() * scale`。"),
    ),
    reference=answers_int8.dequantize_int8,
    misconceptions=(
        Misconception(
            "divided by the scale",
            answers_int8.divided,
            Text(
                "You divide, as the other convention does. Here the value was divided on the way in, so it is "
                "multiplied on the way out: code 4 with scale 0.25 is 1.0, not 16.",
                "你用了除法，那是另一种约定。这里进去时是除，出来时就要乘：编码 4、尺度 0.25 是 1.0，不是 16。",
            ),
        ),
        Misconception(
            "bytes read as unsigned",
            answers_int8.read_as_unsigned,
            Text(
                "You read the bytes as 0 to 255. Code -1 is the byte 0xFF and came back as 255: the smallest negative "
                "value became the largest of all. It happens wherever int8 is stored in a uint8 buffer.",
                "你把字节读成了 0 到 255。编码 -1 的字节是 0xFF，读出来成了 255：最小的负数变成了最大的数。只要拿"
                " uint8 缓冲区存 int8，就可能这样。",
            ),
        ),
        Misconception(
            "a zero point of 128",
            answers_int8.with_zero_point,
            Text(
                "You subtract 128 first. That is for uint8 codes with a zero point; a symmetric int8 grid has code 0 "
                "at value 0.",
                "你先减了 128。那是带零点的 uint8 编码；对称的 int8 网格里，编码 0 就是数值 0。",
            ),
        ),
        Misconception(
            "the scale as an integer",
            answers_int8.scale_rounded_to_int8,
            Text(
                "You round the scale to an integer. A scale of 0.25 becomes 0, and the whole tensor with it.",
                "你把尺度取整了。0.25 变成 0，整个张量也跟着变成 0。",
            ),
        ),
        Misconception(
            "in float16",
            answers_int8.half_result,
            Text(
                "You multiply in float16. With scale 4321.5 the code 127 gives 548,830, beyond 65,504: inf. With "
                "scale 3.2e-8 the scale itself has one bit left. Widen first.",
                "你在 float16 里相乘。尺度 4321.5、编码 127 得 548,830，超过 65,504 就成了 inf；尺度 3.2e-8 时，尺度本"
                "身只剩一位有效数字。要先加宽。",
            ),
        ),
        Misconception(
            "still int8",
            answers_int8.stays_int8,
            Text(
                "Your result is int8 again, so its fractions are gone. Dequantized values are floats.",
                "你的结果又成了 int8，小数全没了。还原之后应是浮点数。",
            ),
        ),
    ),
    variants=(answers_int8.dequantized_in_double,),
    tolerance=Tolerance(rtol=1e-6),
    show=show_code,
)


EXERCISES = (QUANTIZE, DEQUANTIZE)
