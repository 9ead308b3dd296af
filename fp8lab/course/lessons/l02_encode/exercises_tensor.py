"""The records of 2.5 and 2.6."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l02_encode import answers_audit, answers_tensor
from fp8lab.course.lessons.l02_encode.driving import DRIVES
from fp8lab.course.lessons.l02_encode.driving_points import where
from fp8lab.course.text import Text
from fp8lab.formats import E4M3FN, get_format


def show_element(inputs, array: str, index: tuple[int, ...]) -> str:
    """Arrays are named after the tensor and, for bf16, the format or the policy: "bf16 E5M2", "float64"."""
    name, _, rest = array.partition(" ")
    if name == "runs":
        return "all tensors of the check: how often the busiest line of Python runs in one call"
    if name == "input":
        return "the tensor that was passed in"
    x = inputs[name] if name in inputs else inputs["shaped"][name]
    fmt = get_format(rest) if rest.upper().startswith("E") else E4M3FN
    return f"{array}: {where(float(x[index]), fmt, decimal=True)}"


def show_codec(inputs, array: str, index: tuple[int, ...]) -> str:
    return f"codec [{inputs['names'][index[0]]}]"


TENSOR = Exercise(
    drive=DRIVES["2.5"],
    points=4,
    title=Text("A whole tensor", "整个张量一次编码"),
    hints=(
        Text(
            "You need no distances. The border between two neighbours is their middle: count how many middles lie "
            "below the number, and that count is the code.",
            "不用算距离。相邻两值的分界就是它们的中点：数一数有多少个中点小于这个数，个数就是编码。",
        ),
        Text(
            "`torch.searchsorted(middles, size)` counts the middles that are smaller than each size, so a number that "
            "*is* a middle falls to the lower code. When is that wrong?",
            "`torch.searchsorted(middles, size)` 数的是严格小于 size 的中点，所以恰好等于中点的数会落到较小的编码。什"
            "么时候这是错的？",
        ),
        Text(
            "Add 1 where the size equals its middle and the code is odd. `codes` can be one past the end of `middles`"
            ": use `codes.clamp(max=len(middles) - 1)` as the index.",
            "size 等于那个中点且编码为奇数时加 1。`codes` 可能超出 `middles` 的末尾：下标用 "
            "`codes.clamp(max=len(middles) - 1)`。",
        ),
        Text(
            "Second hole: `torch.signbit(x)` also sees -0; the sign bit goes onto every code except 0 in a format "
            "without -0; `torch.where(x.isnan(), fmt.nan_code, codes)` comes last.",
            "第二个空：`torch.signbit(x)` 认得 -0；除了“没有 -0 的格式里的 0”，符号位都要置上；最后是 "
            "`torch.where(x.isnan(), fmt.nan_code, codes)`。",
        ),
    ),
    reference=answers_tensor.encode_all,
    misconceptions=(
        Misconception(
            "truncation",
            answers_tensor.truncation,
            Text(
                "You search among the values, so every number falls to the value below it: truncation. Search among "
                "the middles between the values.",
                "你在数值中查找，于是每个数都落到它下面的那个值：这是截断。应在数值之间的中点里查找。",
            ),
        ),
        Misconception(
            "ties to the lower code",
            answers_tensor.ties_to_lower,
            Text(
                "All your ties go down. One searchsorted does that, and so does an argmin over distances, which "
                "returns the first of two equals. 19 is the middle of 0x59 and 0x5A and belongs to 0x5A. Only 126 of "
                "the 65,536 inputs show it: random tests never do.",
                "你的平局全部取小。单用一次 searchsorted 是这样，对距离求 argmin 也是这样，因为相等时它返回第一个。19 "
                "是 0x59 与 0x5A 的中点，应取 0x5A。65,536 个输入里只有 126 个能暴露它：随机测试根本碰不到。",
            ),
        ),
        Misconception(
            "ties to the upper code",
            answers_tensor.ties_to_upper,
            Text(
                "All your ties go outward (`right=True`). 17 is the middle of 0x58 and 0x59 and belongs to 0x58.",
                "你的平局全部取大（`right=True`）。17 是 0x58 与 0x59 的中点，应取 0x58。",
            ),
        ),
        Misconception(
            "-0 lost",
            answers_tensor.minus_zero_lost,
            Text(
                "`x < 0` is False for -0.0: one input of 65,536. `torch.signbit(x)` looks at the bit.",
                "`x < 0` 对 -0.0 为 False：65,536 个输入里就错这一个。`torch.signbit(x)` 看的是比特本身。",
            ),
        ),
        Misconception(
            "sign bit onto zero in FNUZ",
            answers_tensor.fnuz_zero_is_nan,
            Text(
                "In E4M3FNUZ every negative number that rounds to zero becomes 0x80, which is NaN there: 14,849 bf16 "
                "inputs. See `fmt.has_negative_zero`.",
                "在 E4M3FNUZ 里，舍入到零的负数都变成了 0x80，而那里的 0x80 是 NaN：14,849 个 bf16 输入都错。见 "
                "`fmt.has_negative_zero`。",
            ),
        ),
        Misconception(
            "NaN overflows",
            answers_tensor.nan_overflows,
            Text(
                "searchsorted puts NaN behind every number, so it arrives as an overflow and saturates to 448. Put "
                "NaN back, last of all.",
                "searchsorted 把 NaN 排在所有数之后，于是它被当成溢出、饱和到 448。最后一步要把 NaN 放回去。",
            ),
        ),
        Misconception(
            "through float32",
            answers_tensor.through_float32,
            Text(
                "Right for bf16, fp16 and float32, but float64 is rounded twice: `x.float()` moves a number that lies "
                "just above a middle onto it, and the tie then goes the other way. Exercise 2.8 is about this.",
                "对 bf16、fp16、float32 都对，但 float64 被舍入了两次：`x.float()` 把紧挨着中点的数挪到了中点上，平局"
                "再把它送到另一边。练习 2.8 讲的就是这个。",
            ),
        ),
        Misconception(
            "element by element",
            answers_tensor.element_by_element,
            Text(
                "You call the scalar encode for every element. The codes are right, and a cache of a million numbers "
                "takes a minute or more; searchsorted takes a fraction of a second. Let torch do the loop.",
                "你对每个元素调用一次标量版的 encode。编码没错，但一百万个数的缓存要花一分多钟；searchsorted 用不了一秒。"
                "把循环交给 torch。",
            ),
        ),
        Misconception(
            "overflow before rounding",
            answers_tensor.overflow_before_rounding,
            Text(
                "Numbers from 448 to 464 overflow in yours; they round to 448. Compare the *code* with max_code, "
                "after rounding.",
                "448 到 464 之间的数在你这里溢出了；它们舍入后是 448。应在舍入之后，拿“编码”与 max_code 比。",
            ),
        ),
    ),
    variants=(answers_tensor.by_exponent, answers_tensor.in_numpy),
    show=show_element,
)

ACCEPTS = Exercise(
    drive=DRIVES["2.6"],
    points=4,
    title=Text("The round-trip trap", "往返测试的陷阱"),
    hints=(
        Text(
            "Whatever you compare the codec with must not come out of the codec. Where else can the value of a byte "
            "come from?",
            "拿来和编解码器比较的东西，不能出自编解码器自己。一个字节的值还能从哪里来？",
        ),
        Text(
            "`specified(code)` is the text of the standard as arithmetic: ask it for all 127 positive codes, and "
            "compare decode for code and for code + 0x80. Then the three that are not numbers or not ordinary: 0x7F, "
            "0xFF, 0x80.",
            "`specified(code)` 就是标准的文字写成的算式：对 127 个非负编码，分别比较 decode(code) 与 decode(code + "
            "0x80)。再看三个特殊的：0x7F、0xFF、0x80。",
        ),
        Text(
            "encode shows what it is at the middles. Ask it three questions per pair of neighbours: the middle, the "
            "float just below it (`math.nextafter(m, 0)`), the float just above; with both signs.",
            "encode 的真面目在中点上才看得到。每对相邻值问三个数：中点、紧挨着它的下一个浮点数（"
            "`math.nextafter(m, 0)`）、上一个浮点数；正负都要问。",
        ),
        Text(
            "For code c the three answers are c, the even one of c and c + 1, and c + 1. At the top (464) c + 1 does "
            "not exist: 0x7E. Last: encode of 0.0, -0.0, inf, -inf must be 0x00, 0x80, 0x7E, 0xFE, and of NaN 0x7F or "
            "0xFF.",
            "对编码 c，三个答案依次是 c、c 与 c + 1 中的偶数、c + 1。到了顶端（464），c + 1 不存在，应为 0x7E。最后："
            "0.0、-0.0、inf、-inf 应编码为 0x00、0x80、0x7E、0xFE，NaN 应为 0x7F 或 0xFF。",
        ),
    ),
    reference=answers_audit.accepts,
    misconceptions=(
        Misconception(
            "round trip",
            answers_audit.round_trip,
            Text(
                "You ask whether decode(encode(x)) gives x back for the codec's own numbers. A codec with bias 8 "
                "halves everything on the way in and doubles it on the way out: it passes. The two halves agree with "
                "each other, not with the standard.",
                "你问的是：对编解码器自己的数，decode(encode(x)) 是否还原 x。偏置写成 8 的编解码器，进去时减半、出来时"
                "加倍，照样通过。两半互相一致，不等于与标准一致。",
            ),
        ),
        Misconception(
            "round trip of bytes",
            answers_audit.byte_round_trip,
            Text(
                "encode(decode(code)) == code is the same circle, begun at another point. It never meets a number "
                "that lies between two codes, so truncation passes as well as any wrong table.",
                "encode(decode(code)) == code 是同一个圈，只是换了起点。它从不遇到两个编码之间的数，所以截断能通过，错"
                "表也能通过。",
            ),
        ),
        Misconception(
            "nearest among its own values",
            answers_audit.nearest_of_its_own,
            Text(
                "You check that encode picks the nearest value, and you take the values from decode. That tests "
                "rounding, but a wrong table stays unseen, and so do ties: both neighbours are equally near.",
                "你检查 encode 是否取了最近的值，而这些值来自 decode。这能测出舍入，却看不出错表；平局也看不出来，因为"
                "两边一样近。",
            ),
        ),
        Misconception(
            "known values only",
            answers_audit.anchors_only,
            Text(
                "The values of the specification, both ways: a good beginning. But a fault in any other code stays "
                "unseen, and a number that lies between two values is never asked, so truncation passes.",
                "用规范里列出的值双向核对：开头不错。但别的编码错了看不出来；也从没问过两个值之间的数，所以截断能通"
                "过。",
            ),
        ),
        Misconception(
            "decode only",
            answers_audit.decode_only,
            Text(
                "decode is now fully tested, and encode only where there is nothing to round. Truncation, ties away "
                "from zero and a lost carry all pass.",
                "decode 测全了，encode 却只测了不需要舍入的地方。截断、平局远离零、丢进位都能通过。",
            ),
        ),
        Misconception(
            "close enough",
            answers_audit.close_enough,
            Text(
                "You accept what is close. A relative error below 1/8 is what truncation has, too; and of all the "
                "numbers that show a wrong tie, random ones hit none. Compare codes, exactly.",
                "你接受“差不多”的结果。截断的相对误差也小于 1/8；而能暴露平局错误的数，随机抽样一个也碰不到。要比较编"
                "码，而且要精确相等。",
            ),
        ),
        Misconception(
            "positive numbers only",
            answers_audit.positive_only,
            Text(
                "You never ask a negative number. In one of the faulty codecs the negative half is stored in two's "
                "complement, in another 0xFF counts as -480.",
                "你从没问过负数。有一个坏的编解码器，负数部分是按补码存的；另一个把 0xFF 当成 -480。",
            ),
        ),
    ),
    variants=(answers_audit.accepts_with_fractions,),
    show=show_codec,
)

EXERCISES = (TENSOR, ACCEPTS)
