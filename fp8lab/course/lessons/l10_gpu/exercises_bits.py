"""The record of 10.8: FP8 without FP8 hardware, by integer bits."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_number, named, only_interpreted
from fp8lab.course.text import Text

# Compiled for a card the native cast is right (sm_90), rounds twice (sm_89, by way of float16) or is refused (below):
# only the interpreter's has a name of its own.
NATIVE = only_interpreted(
    {
        "native cast": Text(
            "You use Triton's own cast. Under the interpreter it is wrong (ties go away from zero, 500 becomes 256: "
            "triton#8322), and below sm_89 it does not compile. This exercise is about the cards that have none.",
            "你用了 Triton 自带的转换。在解释器里它是错的（平局远离零，500 变成 256：triton#8322），在 sm_89 以下的卡上根"
            "本编译不过。这道练习要解决的正是没有这种转换的卡。",
        ),
    }
)
GIVEN = Misconception(
    "a given function called",
    answers.given_code,
    Text(
        "The bytes are right, and they are not yours: you call `to_code`, or the function behind it. The exercise is to "
        "write what stands in there, with shifts, additions and comparisons.",
        "字节都对，却不是你写的：你调用了 `to_code`，或者它背后的函数。这道练习要写的正是它里面的内容：移位、加法和比较。",
    ),
)

BITS = Exercise(
    drive=DRIVES["10.8"],
    points=4,
    title=Text("No FP8 in the hardware", "硬件里没有 FP8"),
    hints=(
        Text(
            "A float32 and an E4M3 code have the same order of fields: exponent, then mantissa. Dropping the 20 lowest "
            "bits of the magnitude leaves eeeeeeee mmm, only with another bias.",
            "float32 与 E4M3 编码的字段次序相同：先指数，后尾数。把绝对值的低 20 位去掉，剩下 eeeeeeee mmm，只是偏置不同。",
        ),
        Text(
            "Round before you drop: add half of the last place minus one (`0x7FFFF`), and one more if the last kept bit "
            "is 1. A carry runs into the exponent by itself. The biases differ by 120, and `120 << 3` is 960.",
            "先舍入再去掉：加上“半个末位减一”（`0x7FFFF`），保留部分的最低位为 1 时再加 1。进位会自己传进指数。偏置相差 "
            "120，而 `120 << 3` 是 960。",
        ),
        Text(
            "Below 2⁻⁶ a code counts in steps of 2⁻⁹. Near 16384 float32 counts in steps of 2⁻⁹ as well: add 16384.0, and "
            "the adder rounds for you, ties to even. The low bits of the sum are the code.",
            "小于 2⁻⁶ 时，编码以 2⁻⁹ 为一步。float32 在 16384 附近恰好也以 2⁻⁹ 为一步：加上 16384.0，加法器就替你舍入了，而"
            "且平局取偶。和的低位就是编码。",
        ),
        Text(
            "`normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960`; "
            "`subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000`; choose by "
            "`magnitude < 0x3C800000`, then 0x7E from `0x43E00000` on, 0x7F above `0x7F800000`, and `code | sign`.",
            "`normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960`；"
            "`subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000`；按 "
            "`magnitude < 0x3C800000` 二选一，从 `0x43E00000` 起取 0x7E，大于 `0x7F800000` 取 0x7F，最后 `code | sign`。",
        ),
    ),
    reference=answers.coded,
    misconceptions=named(
        answers.bits_as,
        {
            "truncation": Text(
                "You drop the bits without rounding: 1.9 steps become 1. That pulls every number toward zero, half a "
                "step on average (vllm#45361 was such a store, to an INT8 cache).",
                "你直接去掉低位，没有舍入：1.9 步变成 1 步。每个数都被拉向零，平均半步（vllm#45361 写 int8 缓存时就是这样）。",
            ),
            "truncation everywhere": Text(
                "You cut off the bits in both ranges, normal and subnormal: every number is pulled toward zero, half a step "
                "on average. Round in both.",
                "正规和次正规两个范围里，你都直接截掉了低位：每个数都被拉向零，平均半步。两处都要舍入。",
            ),
            "sum before the and": Text(
                "`+` binds more tightly than `&`: `magnitude + 0x7FFFF + (magnitude >> 20) & 1` is the last bit of the whole "
                "sum. Brackets: `((magnitude >> 20) & 1)`.",
                "`+` 比 `&` 结合得更紧：`magnitude + 0x7FFFF + (magnitude >> 20) & 1` 得到的是整个和的最低位。要加括号："
                "`((magnitude >> 20) & 1)`。",
            ),
            "half away from zero": Text(
                "You add exactly half: every tie goes up. 17 becomes 18 where the even code says 16. Add half minus one, "
                "plus the last kept bit, which is bit 20 (bit 19 is 1 at every tie).",
                "你加的正好是一半：平局全部向上。17 变成 18，而偶数编码给的是 16。应加“一半减一”，再加保留部分的最低位，即"
                "第 20 位（第 19 位在平局处总是 1）。",
            ),
            "half toward zero": Text(
                "You add half minus one and nothing more: every tie goes down. The last kept bit, added, lets the odd "
                "ones go up.",
                "你只加了“一半减一”：平局全部向下。再加上保留部分的最低位，奇数那一半才会向上。",
            ),
            "bias 8": Text(
                "The exponents are rebased by 119: that is bias 8, the byte of E4M3FNUZ. Read as E4M3FN everything is "
                "twice as large. 127 - 7 = 120.",
                "指数换偏置时用了 119：那是偏置 8，即 E4M3FNUZ 的字节。按 E4M3FN 去读，全都大了一倍。127 - 7 = 120。",
            ),
            "bias not moved": Text(
                "The exponent still has float32's bias: 1.0 has 127 there and 7 in E4M3. What does not fit into the byte "
                "is cut off. Take 120 << 3 away, in the exponent's place.",
                "指数还带着 float32 的偏置：1.0 在那里是 127，在 E4M3 里是 7。一个字节装不下的部分被截掉了。要在指数的位置"
                "上减去 120 << 3。",
            ),
            "bias in the mantissa's place": Text(
                "You take 120 away from the shifted bits as they are: that is 15 from the exponent, for it stands three "
                "bits further up. `120 << 3` is 960.",
                "你从移位后的整数里直接减了 120：指数在高三位的地方，所以只减掉了 15。应当减 `120 << 3`，即 960。",
            ),
            "carry lost": Text(
                "You round the mantissa alone: 15.9 rounds up to 16, the carry is cut off, and 8 is left. Round the whole "
                "number, exponent included; then the carry arrives.",
                "你只对尾数舍入：15.9 应进到 16，进位却被截掉，只剩 8。要连指数一起当成一个整数来舍入，进位才不会丢。",
            ),
            "subnormals flushed": Text(
                "Everything below 2⁻⁶ becomes zero in yours. E4M3 has seven subnormals on either side, down to 2⁻⁹.",
                "小于 2⁻⁶ 的数在你这里全成了零。E4M3 的正负两边各有七个次正规数，最小到 2⁻⁹。",
            ),
            "subnormals as normals": Text(
                "The formula for normal numbers is used below 2⁻⁶ too: the exponent becomes zero or negative, and the "
                "code wraps round. There the step no longer shrinks.",
                "小于 2⁻⁶ 时你仍用正规数的公式：指数成了零或负数，编码就回绕了。那里的步长不再变小。",
            ),
            "subnormals truncated": Text(
                "Normal numbers are rounded, subnormal ones cut off. Adding 16384.0 rounds them; converting to an "
                "integer does not.",
                "正规数你舍入了，次正规数却是截断的。加 16384.0 能舍入，转成整数则只会截断。",
            ),
            "subnormals half up": Text(
                "Subnormal numbers are rounded by adding a half: their ties all go up. 1.5 steps are 2 either way, 2.5 "
                "steps must be 2. Adding 16384.0 sends ties to the even code.",
                "次正规数你用“加一半再取整”来舍入：平局全部向上。1.5 步本来就得 2，2.5 步却也应得 2。加 16384.0 时平局归偶"
                "数编码。",
            ),
            "240": Text(
                "You saturate at 240 (0x77): the end of an IEEE-like E4M3. In E4M3FN the last exponent holds numbers, "
                "up to 448 (0x7E).",
                "你在 240（0x77）处饱和：那是 IEEE 式 E4M3 的最大值。E4M3FN 的最高指数也用来表示数，直到 448（0x7E）。",
            ),
            "inf and large are NaN": Text(
                "What is too large becomes NaN in yours. A store into a cache saturates: one outlier must not poison a "
                "whole attention row.",
                "太大的数在你这里成了 NaN。写缓存要饱和：不能让一个离群值毒害整行注意力。",
            ),
            "infinity is NaN": Text(
                "Infinity becomes NaN in yours, though everything finite saturates. Its bits are `0x7F800000` exactly; "
                "only what is above them is NaN: `>`, not `>=`.",
                "有限的数你都饱和了，无穷却成了 NaN。无穷的比特恰好是 `0x7F800000`，大于它的才是 NaN：用 `>`，不用 `>=`。",
            ),
            "480 is 0x7F": Text(
                "Numbers between 464 and 480 round to 0x7F, and that is NaN. Saturate from 448 on: `0x43E00000`.",
                "464 到 480 之间的数舍入成了 0x7F，而它是 NaN。从 448 起就要饱和：`0x43E00000`。",
            ),
            "large wraps": Text(
                "Numbers beyond the range run into the sign bit and come out as anything. Saturation is a line of its "
                "own in integer code; no adder does it for you.",
                "超出范围的数一直进到符号位里，变成什么都有可能。整数代码里饱和要单独写一行，没有哪个加法器会替你做。",
            ),
            "NaN saturates": Text(
                "NaN becomes 448. Its bits are larger than those of infinity, so it passes for a large number unless "
                "you ask: above `0x7F800000` the code is 0x7F.",
                "NaN 变成了 448。它的比特比无穷的还大，不专门判断就会被当成很大的数：大于 `0x7F800000` 时编码是 0x7F。",
            ),
            "sign lost": Text(
                "The sign is missing from the code. It was moved to bit 7 for you: `code | sign`.",
                "编码里没有符号。符号已经替你移到第 7 位了：`code | sign`。",
            ),
            "sign bit by value": Text(
                "You ask `x < 0` for the sign: -0.0 and NaN answer False, so the bit is lost. Copy the bit.",
                "你用 `x < 0` 判断符号：-0.0 和 NaN 都得到 False，符号位就丢了。应当直接搬运那一位。",
            ),
            "through float16": Text(
                "x passes through float16 on its way: rounded twice. The float32 just above a tie becomes the tie, and "
                "goes the wrong way (triton#11753: 1.0625001 must be 0x39).",
                "x 途中经过了 float16：舍入了两次。紧挨着平局的 float32 变成了平局，于是走错方向（triton#11753：1.0625001 "
                "应为 0x39）。",
            ),
            **NATIVE,
        },
    )
    + (GIVEN,),
    variants=(answers.bits_as("otherwise"),),
    show=by_number,
)

EXERCISES = (BITS,)
