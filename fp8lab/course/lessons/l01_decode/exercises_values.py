"""The records of exercises 1.2 and 1.3: what three fields are worth."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l01_decode import answers_bytes as wrong
from fp8lab.course.lessons.l01_decode.driving import DRIVES
from fp8lab.course.text import Text

EXACT = Tolerance(signed_zero=True)


def show_normal(inputs, array, index):
    sign, exponent, mantissa = inputs["fields"][index[0]]
    return f"`normal_value({sign}, {exponent}, {mantissa})`, 0x{sign << 7 | exponent << 3 | mantissa:02X}"


def show_subnormal(inputs, array, index):
    sign, mantissa = inputs["fields"][index[0]]
    return f"`subnormal_value({sign}, {mantissa})`, 0x{sign << 7 | mantissa:02X}"


NORMAL = Exercise(
    drive=DRIVES["1.2"],
    points=2,
    title=Text("Normal numbers", "正规数"),
    hints=(
        Text(
            "Three factors: a sign, a power of two, a significand between 1 and 2. Work out 1.0 backwards: which exponent field "
            "must give 2^0?",
            "三个因子：符号、2 的幂、1 到 2 之间的有效数。从 1.0 倒推：哪个指数字段应该给出 2^0？",
        ),
        Text(
            "The three mantissa bits count eighths behind a 1 that is not stored: 1, 1 + 1/8, 1 + 2/8, ... 1 + 7/8.",
            "三位尾数数的是八分之几，前面还有一个不存储的 1：1、1 + 1/8、1 + 2/8……1 + 7/8。",
        ),
        Text(
            "The exponent is stored with 7 added, so the power is `2.0 ** (exponent - 7)`. Mind that `-1 ** sign` is "
            "`-(1 ** sign)` in Python.",
            "指数存储时加了 7，所以是 `2.0 ** (exponent - 7)`。注意 Python 里 `-1 ** sign` 等于 `-(1 ** sign)`。",
        ),
        Text(
            "`(-1.0) ** sign`, times the power of two, times `(1 + mantissa / 8)`.",
            "`(-1.0) ** sign` 乘以 2 的幂，再乘以 `(1 + mantissa / 8)`。",
        ),
    ),
    reference=wrong.normal_value,
    misconceptions=(
        Misconception(
            "no implicit 1",
            wrong.normal_without_implicit_one,
            Text(
                "The leading 1 is missing. It is not stored, because a normal number always has it, so reading only what is "
                "stored is the honest mistake. Byte 0x38 has mantissa 0 and must be 1.0, not 0.0.",
                "少了开头的 1。正规数总有这个 1，所以不存储它；只读存储内容就会犯这个错。字节 0x38 的尾数是 0，值必须是 1.0，而不是 0.0。",
            ),
        ),
        Misconception(
            "bias 8",
            wrong.normal_bias_8,
            Text(
                "Everything is half as large. 8 is the bias of E4M3FNUZ, the format of AMD's MI300, and half of 16 looks natural; "
                "IEEE's rule is half of 16 minus one. Byte 0x38 must be 1.0. The mix-up has cost a model its accuracy (0.97 to 0.01, "
                "vllm#45562).",
                "所有值都小了一半。8 是 AMD MI300 所用 E4M3FNUZ 的偏置，而且“16 的一半”看起来很自然；IEEE 的规则是一半再减一。字节 0x38 必须是 1.0。"
                "两者混用曾让一个模型的准确率从 0.97 掉到 0.01（vllm#45562）。",
            ),
        ),
        Misconception(
            "bias 15",
            wrong.normal_bias_15,
            Text(
                "15 is the bias of E5M2 and of float16, which have five exponent bits. Four bits go with 7. Byte 0x38 must be 1.0.",
                "15 是 E5M2 和 float16 的偏置，它们有五位指数。四位指数配 7。字节 0x38 必须是 1.0。",
            ),
        ),
        Misconception(
            "no bias",
            wrong.normal_without_bias,
            Text(
                "The exponent is used as stored, so no number is below 2. The field cannot be negative, the power must be able to: "
                "subtract 7. Byte 0x38 must be 1.0.",
                "直接用了存储的指数，于是没有小于 2 的数。字段不会是负数，幂次却必须可以为负：要减 7。字节 0x38 必须是 1.0。",
            ),
        ),
        Misconception(
            "no sign",
            wrong.normal_without_sign,
            Text(
                "The sign is not used. Half of all codes are negative: byte 0xF8 must be -256.0.",
                "没有用到符号。一半的编码是负数：字节 0xF8 必须是 -256.0。",
            ),
        ),
        Misconception(
            "minus binds last",
            wrong.normal_minus_binds_last,
            Text(
                "Everything is negative: in Python the power binds tighter than the minus, so `-1 ** sign` is `-(1 ** sign)`, always "
                "-1. Write `(-1.0) ** sign`. Byte 0x38 must be 1.0.",
                "全变成了负数：Python 里乘方比负号优先，`-1 ** sign` 就是 `-(1 ** sign)`，永远是 -1。写成 `(-1.0) ** sign`。字节 0x38 必须是 1.0。",
            ),
        ),
        Misconception(
            "sevenths",
            wrong.normal_sevenths,
            Text(
                "The mantissa is divided by its largest value instead of by the number of its steps, as one scales 0..255 to "
                "0..1. Mantissa 7 would then give 2.0, which is already the next exponent's first number. Byte 0x7E must be 448.0.",
                "尾数除以了它的最大值，而不是步数（就像把 0..255 归一到 0..1）。那样尾数 7 会得到 2.0，而这已经是下一个指数的第一个数了。字节 0x7E 必须是 448.0。",
            ),
        ),
        Misconception(
            "mantissa not scaled",
            wrong.normal_mantissa_added_last,
            Text(
                "The eighths are added after the scaling. They are part of the significand, so the power of two applies to them too: "
                "`2^e * (1 + m/8)`. Byte 0x7E must be 448.0.",
                "八分之几是在缩放之后才加上的。它属于有效数，2 的幂也要乘到它上面：`2^e * (1 + m/8)`。字节 0x7E 必须是 448.0。",
            ),
        ),
        Misconception(
            "mantissa as an integer",
            wrong.normal_whole_mantissa,
            Text(
                "The mantissa counts eighths, not ones: the three bits stand behind the binary point. Byte 0x7E must be 448.0 = "
                "1.75 * 256.",
                "尾数数的是八分之几，不是几：三位都在二进制小数点之后。字节 0x7E 必须是 448.0 = 1.75 * 256。",
            ),
        ),
        Misconception(
            "integer division",
            wrong.normal_integer_division,
            Text(
                "`mantissa // 8` is 0 for every mantissa from 0 to 7: integer division throws the fraction away, and only the powers "
                "of two are left. One slash: `mantissa / 8`. Byte 0x7E must be 448.0, not 256.0.",
                "`mantissa // 8` 对 0 到 7 的尾数都是 0：整除把小数丢掉了，只剩下 2 的幂。用一个斜杠：`mantissa / 8`。字节 0x7E 必须是 448.0，而不是 256.0。",
            ),
        ),
        Misconception(
            "IEEE habit",
            wrong.normal_ieee_habit,
            Text(
                "In IEEE 754 an exponent of all ones means infinity or NaN, and every float you have met did so. E4M3FN does not: "
                "it spends those codes on numbers. Byte 0x78, exponent 15, must be 256.0.",
                "在 IEEE 754 里，指数全 1 表示无穷大或 NaN，你见过的浮点数都是这样。E4M3FN 不是：它把这些编码留给了普通的数。字节 0x78 的指数是 15，值必须是 256.0。",
            ),
        ),
    ),
    variants=(wrong.normal_by_ldexp, wrong.normal_by_fraction),
    tolerance=EXACT,
    show=show_normal,
)

SUBNORMAL = Exercise(
    drive=DRIVES["1.3"],
    points=2,
    title=Text("Subnormal numbers and the two zeros", "次正规数与正负零"),
    hints=(
        Text(
            "Where the exponent field is 0 there is no hidden 1: the eight codes 0x00 to 0x07 are an ordinary ruler, 0, 1, 2 ... 7 "
            "steps from zero. All that is missing is the length of a step.",
            "指数字段为 0 时没有隐含的 1：0x00 到 0x07 这八个编码就是一把普通的尺子，离零 0、1、2……7 步。只差一步有多长。",
        ),
        Text(
            "The ruler must meet the first normal number, 0x08 = 2^-6, at its eighth mark. So the power is 2^-6, that of "
            "exponent field *one*, and a step is 2^-6 / 8.",
            "这把尺子的第八个刻度必须正好是第一个正规数 0x08 = 2^-6。所以幂次是 2^-6，和指数字段为 *1* 时相同，一步是 2^-6 / 8。",
        ),
        Text(
            "The sign of zero: `-1 * 0` is 0 for integers, but `-1.0 * 0` is -0.0. Let a float carry the sign.",
            "零的符号：整数 `-1 * 0` 等于 0，而 `-1.0 * 0` 等于 -0.0。让浮点数来带符号。",
        ),
        Text(
            "`(-1.0) ** sign` times `mantissa` times the step, `2.0 ** -9`.",
            "`(-1.0) ** sign` 乘以 `mantissa`，再乘以步长 `2.0 ** -9`。",
        ),
    ),
    reference=wrong.subnormal_value,
    misconceptions=(
        Misconception(
            "exponent -7",
            wrong.subnormal_one_power_lower,
            Text(
                "Half as large as it should be: 0 - 7 = -7 is what the rule of the normal numbers says, and the subnormals leave that "
                "rule. They share the power of exponent field 1, which is 2^-6. Byte 0x01 is 2^-9; with 2^-7 there would be a hole "
                "between 0x07 and 0x08.",
                "小了一半：按正规数的规则 0 - 7 = -7，可次正规数不按那条规则。它们与指数字段 1 共用同一个幂 2^-6。字节 0x01 是 2^-9；若用 2^-7，0x07 和 0x08 之间会出现一个空洞。",
            ),
        ),
        Misconception(
            "implicit 1 kept",
            wrong.subnormal_with_implicit_one,
            Text(
                "The hidden 1 is still there, and so zero cannot be written: byte 0x00 gives 2^-6. Where the exponent field is 0 the "
                "hidden bit is 0. That is what makes a zero possible.",
                "隐含的 1 还在，于是写不出零：字节 0x00 得到 2^-6。指数字段为 0 时，隐含位是 0。正因如此才有零。",
            ),
        ),
        Misconception(
            "treated as normal",
            wrong.subnormal_as_normal,
            Text(
                "Exponent field 0 went through the rule of the normal numbers. Byte 0x00 then is 2^-7, and a tensor of zeros "
                "decodes to a tensor of 0.0078. tilelang shipped this: 16 codes wrong (tilelang#2702).",
                "指数字段 0 套用了正规数的规则。这样字节 0x00 是 2^-7，全零张量会解码成一片 0.0078。tilelang 发布过这样的代码，错了 16 个编码（tilelang#2702）。",
            ),
        ),
        Misconception(
            "-0 lost",
            wrong.subnormal_integer_sign,
            Text(
                "Every value is right but one: byte 0x80 is -0.0, and `(-1) ** 1 * 0` is the integer 0, which has no sign. `==` cannot "
                "see it, since -0.0 == 0.0; `math.copysign(1, x)` can. Let a float carry the sign. (A kernel library fixed its own lost -0 in llm-scaler#569.)",
                "只错了一个：字节 0x80 是 -0.0，而 `(-1) ** 1 * 0` 是整数 0，没有符号。`==` 看不出来，因为 -0.0 == 0.0；`math.copysign(1, x)` 能看出来。"
                "让浮点数来带符号。（llm-scaler#569 修的也是丢失的 -0。）",
            ),
        ),
        Misconception(
            "no sign",
            wrong.subnormal_without_sign,
            Text(
                "The sign is not used. Byte 0x81 must be -2^-9, and byte 0x80 must be -0.0.",
                "没有用到符号。字节 0x81 必须是 -2^-9，字节 0x80 必须是 -0.0。",
            ),
        ),
        Misconception(
            "flushed to zero",
            wrong.subnormal_flushed,
            Text(
                "All are zero. Some hardware flushes subnormals, and in float32 one hardly notices; here they are 14 of 254 numbers "
                "and reach up to 0.0137. Byte 0x07 must be 0.875 * 2^-6.",
                "全成了零。有些硬件会把次正规数清零，在 float32 里几乎察觉不到；但在这里它们占 254 个数中的 14 个，最大到 0.0137。字节 0x07 必须是 0.875 * 2^-6。",
            ),
        ),
        Misconception(
            "mantissa as an integer",
            wrong.subnormal_whole_mantissa,
            Text(
                "The mantissa counts eighths of 2^-6 here too. Byte 0x07 must be 0.875 * 2^-6, just below 0x08 = 2^-6, not seven "
                "times above it.",
                "这里的尾数同样数的是 2^-6 的八分之几。字节 0x07 必须是 0.875 * 2^-6，略小于 0x08 = 2^-6，而不是它的七倍。",
            ),
        ),
    ),
    variants=(wrong.subnormal_by_copysign, wrong.subnormal_by_ldexp),
    tolerance=EXACT,
    show=show_subnormal,
)
