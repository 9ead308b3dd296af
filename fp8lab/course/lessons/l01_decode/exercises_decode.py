"""The records of exercises 1.4 and 1.6: a whole byte, and its class."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l01_decode import answers_bytes as wrong
from fp8lab.course.lessons.l01_decode.driving import CLASSES, DRIVES, bits_text
from fp8lab.course.text import Text


def show_byte(inputs, array, index):
    return bits_text(inputs["byte"][index[0]])


def show_class(inputs, array, index):
    return show_byte(inputs, array, index) if array == "class" else f'count["{CLASSES[index[0]]}"]'


DECODE = Exercise(
    drive=DRIVES["1.4"],
    points=3,
    title=Text("Any byte, and the only NaN", "任意字节与唯一的 NaN"),
    hints=(
        Text(
            "Three cases, and the order matters: not a number, exponent field 0, everything else. Which one does 0x78 belong to?",
            "三种情况，顺序有讲究：不是数、指数字段为 0、其他。0x78 属于哪一种？",
        ),
        Text(
            "NaN is one pattern of exponent *and* mantissa, all seven bits 1. The sign is free, which makes two codes.",
            "NaN 只是指数*和*尾数的一种组合：七位全是 1。符号任意，所以有两个编码。",
        ),
        Text(
            "`if exponent == 15 and mantissa == 7: return math.nan`; then exponent 0 goes to `subnormal_value(sign, mantissa)`.",
            "`if exponent == 15 and mantissa == 7: return math.nan`；然后指数为 0 的交给 `subnormal_value(sign, mantissa)`。",
        ),
        Text(
            "The last line is `return normal_value(sign, exponent, mantissa)`: exponent 15 needs no case of its own.",
            "最后一行是 `return normal_value(sign, exponent, mantissa)`：指数 15 不需要单独处理。",
        ),
    ),
    reference=wrong.decode_byte,
    misconceptions=(
        Misconception(
            "IEEE habit",
            wrong.decode_ieee,
            Text(
                "Exponent all ones is read as infinity or NaN, as in every IEEE format. E4M3FN has no infinity and one NaN "
                "pattern; the habit throws away 14 numbers and the top binade, and the largest value sinks from 448 to 240. Byte "
                "0x78 = 0 1111 000 must be 256.0.",
                "把指数全 1 读成了无穷大或 NaN，和所有 IEEE 格式一样。E4M3FN 没有无穷大，NaN 只有一种组合；这个习惯会丢掉 14 个数和最高的一个二进区间，最大值从 448 掉到 240。"
                "字节 0x78 = 0 1111 000 必须是 256.0。",
            ),
        ),
        Misconception(
            "IEEE habit, without its sign",
            wrong.decode_ieee_without_sign,
            Text(
                "Two habits in one: exponent 15 is read as infinity or NaN, as in IEEE 754, and the infinity has lost its sign. "
                "E4M3FN has no infinity at all: byte 0x78 must be 256.0 and byte 0xF8 must be -256.0.",
                "两个习惯叠在一起：像 IEEE 754 那样把指数 15 读成无穷大或 NaN，而且无穷大还丢了符号。E4M3FN 根本没有无穷大：字节 0x78 必须是 256.0，字节 0xF8 必须是 -256.0。",
            ),
        ),
        Misconception(
            "infinity for NaN",
            wrong.decode_infinity_for_nan,
            Text(
                "The place is right, the value is not: 0x7F and 0xFF are NaN. The F in E4M3FN says that everything else is finite, "
                "and the N that there is a NaN; infinity has no code.",
                "位置对了，值不对：0x7F 和 0xFF 是 NaN。E4M3FN 里的 F 表示其余的值都是有限的，N 表示有 NaN；无穷大没有编码。",
            ),
        ),
        Misconception(
            "every all-ones exponent is NaN",
            wrong.decode_all_ones_is_nan,
            Text(
                "No infinity, rightly, but the whole top exponent went to NaN. Only mantissa 7 is NaN there; mantissa 0 to 6 "
                "are 256, 288, ... 448. Byte 0x7E must be 448.0.",
                "没有无穷大，这是对的，但整个最高指数都成了 NaN。那里只有尾数 7 是 NaN，尾数 0 到 6 是 256、288……448。字节 0x7E 必须是 448.0。",
            ),
        ),
        Misconception(
            "no NaN",
            wrong.decode_without_nan,
            Text(
                "0x7F follows the rule of the normal numbers and gives 480. There is no 480 in E4M3FN. MLX decoded it so, on the CPU "
                "and on the GPU, and the two agreed (mlx#4135): a comparison of backends could not find it.",
                "0x7F 按正规数的规则算成了 480，而 E4M3FN 里没有 480。MLX 就这样解码过，CPU 和 GPU 都错，而且错得一致（mlx#4135）：比较两个后端是发现不了的。",
            ),
        ),
        Misconception(
            "NaN for one sign only",
            wrong.decode_one_nan,
            Text(
                "0x7F is NaN, but 0xFF came out as -480. The sign bit has no say in whether a code is NaN: test the exponent and the "
                "mantissa, not the byte.",
                "0x7F 是 NaN，可 0xFF 成了 -480。是不是 NaN 与符号位无关：要判断指数和尾数，而不是整个字节。",
            ),
        ),
        Misconception(
            "exponent 0 is nothing special",
            wrong.decode_every_exponent_alike,
            Text(
                "Exponent field 0 went through `normal_value`. It comes out without an error and without a zero: byte 0x00 gives "
                "2^-7.",
                "指数字段 0 走了 `normal_value`。不报错，却也没有零：字节 0x00 得到 2^-7。",
            ),
        ),
        Misconception(
            "only zero is special",
            wrong.decode_zero_alone,
            Text(
                "Zero is handled, the seven subnormals beside it are not: 0x01 comes out as 1.125 * 2^-7. It is a common half of the "
                "fix (AiDotNet.Tensors#801). Byte 0x01 must be 2^-9.",
                "零处理了，旁边的七个次正规数没有：0x01 成了 1.125 * 2^-7。常见的“只修了一半”（AiDotNet.Tensors#801）。字节 0x01 必须是 2^-9。",
            ),
        ),
        Misconception(
            "18 codes of 256",
            wrong.decode_tilelang,
            Text(
                "Every byte is treated as a normal number: 238 codes are right, 18 are not (2 zeros, 14 subnormals, 2 NaN). Test data "
                "drawn from a bell curve hardly meet them. tilelang shipped such a decoder (tilelang#2702).",
                "所有字节都当成正规数：238 个编码对，18 个错（2 个零、14 个次正规数、2 个 NaN）。正态分布的测试数据几乎碰不到它们。tilelang 发布过这样的解码器（tilelang#2702）。",
            ),
        ),
        Misconception(
            "-0 lost",
            wrong.decode_zero_first,
            Text(
                "A shortcut for zero returns 0.0 for both signs. Byte 0x80 must be -0.0; the sign is stored, and a decoder that "
                "drops it cannot be undone.",
                "为零走的捷径对两种符号都返回 0.0。字节 0x80 必须是 -0.0；符号存着，解码时丢了就找不回来了。",
            ),
        ),
        Misconception(
            "E4M3FNUZ",
            wrong.decode_fnuz,
            Text(
                "This is E4M3FNUZ (AMD MI300): bias 8, NaN only at 0x80, no -0, largest value 240. The two formats share a name "
                "in many APIs, and a byte of one is half as much in the other. Byte 0x38 must be 1.0 here, 0x80 must be -0.0.",
                "这是 E4M3FNUZ（AMD MI300）：偏置 8，只有 0x80 是 NaN，没有 -0，最大 240。很多 API 里两者同名，同一个字节的值差一倍。这里字节 0x38 必须是 1.0，0x80 必须是 -0.0。",
            ),
        ),
        Misconception(
            "the largest value is 240",
            wrong.decode_saturated,
            Text(
                "Cut off at 240, which is the largest value of the *IEEE-like* E4M3 and of E4M3FNUZ, and stands in many tables without "
                "that remark. The F and N of E4M3FN buy one more binade: byte 0x7E must be 448.0.",
                "在 240 处截断了。240 是*类 IEEE* 的 E4M3 和 E4M3FNUZ 的最大值，许多表格不加说明地写着它。E4M3FN 的 F 和 N 换来了多一个二进区间：字节 0x7E 必须是 448.0。",
            ),
        ),
        Misconception(
            "NaN becomes the largest value",
            wrong.decode_nan_is_largest,
            Text(
                "A clamp swallowed the NaN: 0x7F came out as 448. NaN is how a broken computation makes itself heard; a decoder must "
                "not silence it.",
                "截断把 NaN 吞掉了：0x7F 成了 448。NaN 是出错的计算发出的信号，解码器不能让它沉默。",
            ),
        ),
    ),
    variants=(wrong.decode_in_one_formula, wrong.decode_from_halves),
    tolerance=Tolerance(signed_zero=True),
    show=show_byte,
)

CLASSIFY = Exercise(
    drive=DRIVES["1.6"],
    points=2,
    title=Text("Zero, subnormal, normal, NaN", "零、次正规数、正规数、NaN"),
    hints=(
        Text(
            "The class never depends on the sign, so every count is even. Two of the sixteen exponent fields need a second look.",
            "类别与符号无关，所以每个计数都是偶数。十六个指数字段中，有两个要再看一眼。",
        ),
        Text(
            "Exponent 15: look at the mantissa before saying NaN. Exponent 0: look at the mantissa before saying subnormal.",
            "指数 15：先看尾数再说 NaN。指数 0：先看尾数再说次正规数。",
        ),
        Text(
            '(15, 7) is "nan", (0, 0) is "zero", any other exponent 0 is "subnormal", the rest is "normal". Lower case.',
            '(15, 7) 是 "nan"，(0, 0) 是 "zero"，其余指数 0 是 "subnormal"，剩下都是 "normal"。全部小写。',
        ),
    ),
    reference=wrong.classify,
    misconceptions=(
        Misconception(
            "NaN in capitals",
            wrong.classify_in_capitals,
            Text(
                'The classes are right, one word is not: the text asks for `"nan"` in small letters, as Python prints it. A name that '
                "programs compare has one spelling.",
                '分类是对的，只有一个词写错了：题目要的是小写的 `"nan"`，和 Python 打印的一样。要由程序来比较的名字，只能有一种写法。',
            ),
        ),
        Misconception(
            "IEEE habit",
            wrong.classify_ieee,
            Text(
                "Exponent all ones was called infinity or NaN. E4M3FN has no infinity: 0x78 is 256, a normal number like the six that "
                "follow it.",
                "把指数全 1 当成了无穷大或 NaN。E4M3FN 没有无穷大：0x78 是 256，和后面六个一样是正规数。",
            ),
        ),
        Misconception(
            "every all-ones exponent is NaN",
            wrong.classify_all_ones_is_nan,
            Text(
                "16 codes were called NaN; there are two. 0x7E = 0 1111 110 is 448, a normal number.",
                "把 16 个编码都叫做 NaN，其实只有两个。0x7E = 0 1111 110 是 448，正规数。",
            ),
        ),
        Misconception(
            "NaN for one sign only",
            wrong.classify_one_nan,
            Text(
                "0xFF is NaN as well: the class does not depend on the sign.",
                "0xFF 也是 NaN：类别与符号无关。",
            ),
        ),
        Misconception(
            "no NaN",
            wrong.classify_no_nan,
            Text(
                "0x7F was called normal. It looks like the next number after 448, but 480 is not in the format.",
                "0x7F 被当成了正规数。它看起来像 448 之后的下一个数，但格式里没有 480。",
            ),
        ),
        Misconception(
            "one zero",
            wrong.classify_one_zero,
            Text(
                "0x80 was called subnormal. Its mantissa is 0: it is the second zero, -0.0.",
                "0x80 被当成了次正规数。它的尾数是 0：它是第二个零，-0.0。",
            ),
        ),
        Misconception(
            "-0 is normal",
            wrong.classify_negative_zero_is_normal,
            Text(
                "0x80 was called normal, as happens with `byte == 0`. Ask for exponent 0 and mantissa 0, whatever the sign.",
                "0x80 被当成了正规数，写 `byte == 0` 就会这样。应判断指数为 0 且尾数为 0，不管符号。",
            ),
        ),
        Misconception(
            "zero is subnormal",
            wrong.classify_zero_is_subnormal,
            Text(
                "Zero has the exponent field of the subnormals, and that is all they share: a subnormal number is not 0. Counting 16 "
                "subnormals is the sign of it; there are 14. 0x00 is a zero.",
                "零和次正规数的指数字段相同，但也仅此而已：次正规数不等于 0。数出 16 个次正规数就是这个错误，实际是 14 个。0x00 是零。",
            ),
        ),
        Misconception(
            "the smallest normal is subnormal",
            wrong.classify_min_normal_is_subnormal,
            Text(
                "0x08 = 2^-6 has exponent field 1 and its implicit 1: it is the smallest *normal* number. `<=` where `<` was meant "
                "does this.",
                "0x08 = 2^-6 的指数字段是 1，有隐含的 1：它是最小的*正规*数。该写 `<` 却写了 `<=` 就会这样。",
            ),
        ),
        Misconception(
            "subnormals are zeros",
            wrong.classify_two_classes,
            Text(
                "Everything with exponent field 0 was called zero. Byte 0x07 is 0.0137, and a format that loses it has a hole around zero.",
                "指数字段为 0 的全叫成了零。字节 0x07 是 0.0137；丢掉它，零的周围就是一个空洞。",
            ),
        ),
    ),
    variants=(wrong.classify_by_size, wrong.classify_by_code),
    show=show_class,
)
