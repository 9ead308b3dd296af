"""The record of exercise 1.1."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l01_decode import answers_fields as wrong
from fp8lab.course.lessons.l01_decode.driving import DRIVES, bits_text
from fp8lab.course.text import Text


def show_fields(inputs, array, index):
    if array in inputs:
        given = inputs[array][index[0]]
        return f"`fields({given!r})`, {type(given).__name__}"
    byte = inputs["byte"][index[0]]
    return f"`fields(0x{byte:02X})` {array}, {bits_text(byte)}"


HINTS = (
    Text(
        "Write 0x78 in binary, `0111 1000`, and draw two lines through it: one after the first bit, one before the last "
        "three. What is left of the first line is the sign, what is right of the second the mantissa.",
        "把 0x78 写成二进制 `0111 1000`，画两条线：一条在第一位之后，一条在最后三位之前。第一条线左边是符号位，第二条线右边是尾数。",
    ),
    Text(
        "A shift to the right throws away the bits below a field, a mask throws away the bits above it. The exponent needs "
        "both: `byte >> 3` still has the sign on top of it.",
        "右移丢掉字段下面的位，掩码丢掉字段上面的位。指数两样都需要：`byte >> 3` 的最高处还留着符号位。",
    ),
    Text(
        "`operator.index(byte)` returns a plain int for every integer, whoever made it (Python, numpy, torch), and raises "
        "TypeError for the rest. One thing slips through, because Python counts it among the integers: `True`.",
        "`operator.index(byte)` 对一切整数（Python、numpy、torch 的都行）返回普通 int，对其他类型抛出 TypeError。只有一样会漏网，因为 "
        "Python 把它算作整数：`True`。",
    ),
    Text(
        "Four steps: raise TypeError if `isinstance(byte, bool)`; `byte = operator.index(byte)`; raise ValueError unless "
        "`0 <= byte <= 255`; return `byte >> 7`, `byte >> 3 & 0xF` and the last three bits.",
        "四步：若 `isinstance(byte, bool)` 就抛 TypeError；`byte = operator.index(byte)`；若不满足 `0 <= byte <= 255` 就抛 "
        "ValueError；返回 `byte >> 7`、`byte >> 3 & 0xF` 和最低三位。",
    ),
)

MISCONCEPTIONS = (
    Misconception(
        "fields from the right",
        wrong.fields_from_the_right,
        Text(
            "The three fields come out in reverse. Bit 0 is the natural place to start counting, but the format is named and "
            "stored from the top: sign, exponent, mantissa. Byte 0x80 has only its sign bit set, so it must give (1, 0, 0).",
            "三个字段的顺序反了。从第 0 位开始数很自然，但格式的命名和存储都是从最高位开始：符号、指数、尾数。字节 0x80 只有符号位是 1，"
            "结果必须是 (1, 0, 0)。",
        ),
    ),
    Misconception(
        "E5M2 split",
        wrong.fields_of_e5m2,
        Text(
            "This is how E5M2, the other FP8, is cut: five exponent bits and two of mantissa. E4M3 has four and three. "
            "Byte 0x04 decides: its only 1 is bit 2, which is mantissa here, so (0, 0, 4).",
            "这是另一种 FP8 格式 E5M2 的切法：五位指数、两位尾数。E4M3 是四位和三位。看字节 0x04：唯一的 1 在第 2 位，这里属于尾数，所以是 (0, 0, 4)。",
        ),
    ),
    Misconception(
        "masked, not shifted",
        wrong.fields_masked_not_shifted,
        Text(
            "The masks are right, but the fields stay where they were in the byte. A field is a small number of its own: "
            "for 0x78 the exponent is 15, not 120.",
            "掩码是对的，但字段还停在字节里原来的位置。字段本身是一个小整数：0x78 的指数是 15，不是 120。",
        ),
    ),
    Misconception(
        "shifted, not masked",
        wrong.fields_shifted_not_masked,
        Text(
            "The sign bit is still on top of the exponent. Nothing shows it while the byte is below 0x80; 0xF8 gives 31 in "
            "the place of 15. Mask after the shift: four bits, `& 0xF`.",
            "符号位还留在指数的最高处。字节小于 0x80 时看不出来；0xF8 会得到 31 而不是 15。右移之后再取四位：`& 0xF`。",
        ),
    ),
    Misconception(
        "bias subtracted already",
        wrong.fields_without_bias,
        Text(
            "That is the power of two, one step too early. `fields` reports what is stored, and 1.3 and 1.4 need to see the "
            "stored 0 and 15. For 0x38 the field is 7.",
            "这已经是 2 的幂次了，早了一步。`fields` 只报告存储的内容，1.3 和 1.4 都要看到存储的 0 和 15。0x38 的指数字段是 7。",
        ),
    ),
    Misconception(
        "fields as text",
        wrong.fields_as_text,
        Text(
            "The bits are right, but they are characters. `'1111'` cannot be an exponent: `'1111' - 7` is an error, and "
            "`'0111' == 7` is False. Masks and shifts stay with numbers.",
            "位是对的，可它们是字符。`'1111'` 当不了指数：`'1111' - 7` 会报错，`'0111' == 7` 为 False。用掩码和移位，始终是数。",
        ),
    ),
    Misconception(
        "modulo 256",
        wrong.fields_modulo_256,
        Text(
            "`& 0xFF` makes a byte out of every integer, silently: 256 becomes 0.0 and -8 becomes 0xF8 = -256.0. A number outside "
            "0..255 is a mistake of the caller, and an error is the only way the caller will hear of it.",
            "`& 0xFF` 会悄悄把任何整数变成一个字节：256 变成 0.0，-8 变成 0xF8 = -256.0。超出 0..255 是调用者的错误，只有抛出异常才能让他知道。",
        ),
    ),
    Misconception(
        "booleans are integers",
        wrong.fields_of_booleans,
        Text(
            "In Python `True` is an integer, and `operator.index(True)` is 1, so a mask like `x > 0` that lands here by mistake "
            "decodes to 2^-9. Ask `isinstance(byte, bool)` first.",
            "Python 里 `True` 就是整数，`operator.index(True)` 等于 1，于是误传进来的掩码（比如 `x > 0`）会解码成 2^-9。先判断 `isinstance(byte, bool)`。",
        ),
    ),
    Misconception(
        "whole floats are integers",
        wrong.fields_of_whole_floats,
        Text(
            "120.0 is no byte, though it equals one. A float here means that somebody passed a *value* where a *code* was asked "
            "for, 120.0 where 0x6F was meant. TypeError finds that bug, a conversion hides it.",
            "120.0 虽然等于 120，却不是字节。这里出现浮点数，说明有人把*数值*当成了*编码*：想要 0x6F，却传了 120.0。抛 TypeError 能暴露这个错误，自动转换只会掩盖它。",
        ),
    ),
    Misconception(
        "int() accepts too much",
        wrong.fields_through_int,
        Text(
            "`int(byte)` converts where you want to ask: `int(7.5)` is 7, `int(True)` is 1, and for text it raises ValueError. "
            "`operator.index` asks for an integer and accepts nothing that merely can be made into one.",
            "`int(byte)` 是转换，而这里要的是询问：`int(7.5)` 得 7，`int(True)` 得 1，遇到字符串抛的是 ValueError。`operator.index` 只接受整数，不接受“能变成整数”的东西。",
        ),
    ),
    Misconception(
        "Python ints only",
        wrong.fields_of_python_ints_only,
        Text(
            "`np.uint8(0xF8)` is an integer too, and it is what you get from indexing a tensor of codes. `type(byte) is int` and "
            "`isinstance(byte, int)` both refuse it; `operator.index` does not.",
            "`np.uint8(0xF8)` 也是整数，从编码数组里取一个元素得到的就是它。`type(byte) is int` 和 `isinstance(byte, int)` 都会拒绝它；`operator.index` 不会。",
        ),
    ),
    Misconception(
        "isinstance(byte, int)",
        wrong.fields_isinstance_int,
        Text(
            "`isinstance(byte, int)` is the wrong gate on both sides: `True` walks through, because bool is a subclass of int, and "
            "`np.uint8(0xF8)` is turned away, though it is what a tensor of codes gives you. Refuse bool by name, then let "
            "`operator.index` decide.",
            "`isinstance(byte, int)` 这道门两头都不对：bool 是 int 的子类，`True` 能进来；`np.uint8(0xF8)` 是从编码数组里取出来的整数，却被挡在门外。"
            "先单独拒绝 bool，其余交给 `operator.index`。",
        ),
    ),
    Misconception(
        "isinstance(byte, int) and no range",
        wrong.fields_isinstance_alone,
        Text(
            "`isinstance(byte, int)` is the only question that you ask. It lets `True` through, refuses `np.uint8(0xF8)`, and says "
            "nothing about size: 256 gives sign 2, -1 gives sign -1. The type is one question, `0 <= byte <= 255` another.",
            "你只问了 `isinstance(byte, int)`。它放过 `True`，拒绝 `np.uint8(0xF8)`，也不管大小：256 得到符号 2，-1 得到符号 -1。类型是一回事，`0 <= byte <= 255` 是另一回事。",
        ),
    ),
    Misconception(
        "assert for input",
        wrong.fields_asserted,
        Text(
            "An `assert` guards your own reasoning, not the caller's input: `python -O` removes it, and then 256 decodes to "
            "something. Raise ValueError and TypeError.",
            "`assert` 用来守住自己的推理，不是用来检查输入：`python -O` 会把它去掉，256 就又能解码了。请抛出 ValueError 和 TypeError。",
        ),
    ),
    Misconception(
        "one error for all",
        wrong.fields_one_error,
        Text(
            "ValueError says: right kind, wrong size (256). TypeError says: wrong kind (`True`, 120.0, `'0x78'`). Callers catch "
            "them for different reasons, so keep them apart.",
            "ValueError 表示类型对、大小不对（256）；TypeError 表示类型就不对（`True`、120.0、`'0x78'`）。调用者捕获它们的理由不同，所以要分开。",
        ),
    ),
    Misconception(
        "nothing is checked",
        wrong.fields_unchecked,
        Text(
            "The fields are right, but nothing asks what came in: 256 gives sign 2, -1 gives sign -1, and `True` passes for "
            "byte 1. Check first, then cut.",
            "字段拆得对，但没有检查输入：256 得到符号 2，-1 得到符号 -1，`True` 被当成字节 1。先检查，再拆。",
        ),
    ),
)

FIELDS = Exercise(
    drive=DRIVES["1.1"],
    points=2,
    title=Text("The fields of a byte", "一个字节的三个字段"),
    hints=HINTS,
    reference=wrong.fields,
    misconceptions=MISCONCEPTIONS,
    variants=(wrong.fields_by_division, wrong.fields_from_text, wrong.fields_named),
    show=show_fields,
)
