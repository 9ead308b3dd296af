"""The record of exercise 1.5: all 256 codes at once."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l01_decode import answers_table as wrong
from fp8lab.course.lessons.l01_decode.driving import DRIVES, bits_text
from fp8lab.course.text import Text

SHOWN = {"type": "`type(decode_all())`", "runs": "`max(runs of one Python line)`"}
LOOP = Text(
    "Some line of your Python ran once per code. The values may be right, but a tensor has millions of codes, and "
    "Python takes microseconds for each. A comprehension, `map`, a generator and `np.vectorize` are loops too: the check counts how often "
    "your busiest line runs (at most 8 times), so style does not matter. Compute with arrays of 256.",
    "你有某一行 Python 每个编码都执行一次。数值可能是对的，但张量有上百万个编码，Python 处理每一个都要几微秒。推导式、`map`、生成器和 `np.vectorize` 也都是循环："
    "检查统计的是最忙的一行执行了几次（最多 8 次），与写法无关。请用长度 256 的数组来算。",
)


def show_table(inputs, array, index):
    return bits_text(inputs["byte"][index[0]]) if array == "value" and index else SHOWN.get(array, array)


TABLE = Exercise(
    drive=DRIVES["1.5"],
    points=3,
    title=Text("All 256 at once", "一次解码全部 256 个编码"),
    hints=(
        Text(
            "`>>`, `&`, `*`, `==` work on a whole array as they do on one number. What does not is `if`: every branch has to "
            "become arithmetic, or `np.where`.",
            "`>>`、`&`、`*`、`==` 对整个数组和对单个数一样有效。唯独 `if` 不行：每个分支都要变成算术，或者 `np.where`。",
        ),
        Text(
            "Normal and subnormal numbers fit one formula: the implicit bit is `exponent > 0`, and the power is that of "
            "`np.maximum(exponent, 1) - 7`.",
            "正规数和次正规数可以合成一个公式：隐含位是 `exponent > 0`，幂次是 `np.maximum(exponent, 1) - 7`。",
        ),
        Text(
            "Sizes first: `np.ldexp((exponent > 0) + mantissa / 8, power)`. NaN by assignment to a mask: "
            "`size[codes & 0x7F == 0x7F] = np.nan`.",
            "先算大小：`np.ldexp((exponent > 0) + mantissa / 8, power)`。NaN 用掩码赋值：`size[codes & 0x7F == 0x7F] = np.nan`。",
        ),
        Text(
            "The sign last: `np.where(codes >> 7, -size, size)`. The unary minus keeps -0.0, `0 - size` does not.",
            "最后是符号：`np.where(codes >> 7, -size, size)`。一元负号保留 -0.0，`0 - size` 不保留。",
        ),
    ),
    reference=wrong.decode_all,
    misconceptions=(
        Misconception("a loop over the codes", wrong.decode_all_loop, LOOP),
        Misconception("a loop that makes a list", wrong.decode_all_list, LOOP),
        Misconception(
            "a list, not an array",
            wrong.decode_all_as_list,
            Text(
                "The values are right, but they came as a list. The caller wants to index it with a whole tensor of codes, "
                "`table[codes]`, and a list cannot do that: return the array itself.",
                "数值是对的，但返回的是列表。调用者要用一整个编码数组去索引它，即 `table[codes]`，列表做不到：请直接返回数组。",
            ),
        ),
        Misconception(
            "uint8 wraps around",
            wrong.decode_all_uint8,
            Text(
                "`exponent - 7` was computed in uint8, where 6 - 7 is 255. Codes below 1.0 exploded. A code is a byte, its exponent "
                "is not: widen first (`codes.astype(int)`, or an `np.arange(256)` without dtype). Byte 0x30 must be 0.5.",
                "`exponent - 7` 是用 uint8 算的，6 - 7 得到 255，于是 1.0 以下的编码全爆了。编码是一个字节，指数不是：先加宽类型（`codes.astype(int)`，或者不带 dtype 的 `np.arange(256)`）。字节 0x30 必须是 0.5。",
            ),
        ),
        Misconception(
            "exponent -7",
            wrong.decode_all_one_power_lower,
            Text(
                "The implicit bit is right, the power of the subnormals is not: it is that of exponent field 1, so "
                "`np.maximum(exponent, 1) - 7`. Byte 0x01 must be 2^-9.",
                "隐含位对了，次正规数的幂次不对：应与指数字段 1 相同，即 `np.maximum(exponent, 1) - 7`。字节 0x01 必须是 2^-9。",
            ),
        ),
        Misconception(
            "exponent 0 is nothing special",
            wrong.decode_all_every_exponent_alike,
            Text(
                "All sixteen exponents got the implicit 1. Byte 0x00 must be 0.0; it gave 2^-7.",
                "十六个指数都加上了隐含的 1。字节 0x00 必须是 0.0，却得到 2^-7。",
            ),
        ),
        Misconception(
            "IEEE habit",
            wrong.decode_all_ieee,
            Text(
                "Exponent 15 became infinity and NaN. Only 0x7F and 0xFF are NaN; byte 0x78 must be 256.0.",
                "指数 15 变成了无穷大和 NaN。只有 0x7F 和 0xFF 是 NaN；字节 0x78 必须是 256.0。",
            ),
        ),
        Misconception(
            "no NaN",
            wrong.decode_all_without_nan,
            Text(
                "The last code of each half came out as 480, the number that the formula gives and the format does not have.",
                "每一半的最后一个编码成了 480：公式算得出来，格式里却没有。",
            ),
        ),
        Misconception(
            "NaN for one sign only",
            wrong.decode_all_one_nan,
            Text(
                "`codes == 0x7F` misses the negative one. Mask the sign off first: `codes & 0x7F == 0x7F`.",
                "`codes == 0x7F` 漏掉了负的那个。先去掉符号位：`codes & 0x7F == 0x7F`。",
            ),
        ),
        Misconception(
            "-0 lost",
            wrong.decode_all_lost_zero,
            Text(
                "0 - 0.0 is +0.0. Byte 0x80 must be -0.0: write `-size`, or `np.copysign`.",
                "0 - 0.0 是 +0.0。字节 0x80 必须是 -0.0：写 `-size`，或者用 `np.copysign`。",
            ),
        ),
        Misconception(
            "bias 8",
            wrong.decode_all_bias_8,
            Text(
                "Everything is half as large: the bias is 7. Byte 0x38 must be 1.0.",
                "全都小了一半：偏置是 7。字节 0x38 必须是 1.0。",
            ),
        ),
        Misconception(
            "sorted by value",
            wrong.decode_all_sorted,
            Text(
                "These are the right numbers in the wrong place. The index is the code: element 0x78 must be 256.0. The negative half "
                "follows the positive one, and grows away from zero.",
                "数都对，位置不对。下标就是编码：第 0x78 个元素必须是 256.0。负数那一半排在正数之后，而且越往后离零越远。",
            ),
        ),
        Misconception(
            "integer powers",
            wrong.decode_all_integer_power,
            Text(
                "`2 ** array` of integers stays an integer in numpy, and 2^-7 is none. Write `2.0 **`, or `np.ldexp(x, power)`.",
                "numpy 里整数的 `2 ** 数组` 仍是整数，而 2^-7 不是整数。写 `2.0 **`，或者 `np.ldexp(x, power)`。",
            ),
        ),
    ),
    variants=(
        wrong.decode_all_by_halves,
        wrong.decode_all_by_bits,
        wrong.decode_all_by_torch,
        wrong.decode_all_from_a_table,
    ),
    tolerance=Tolerance(signed_zero=True),
    show=show_table,
)
