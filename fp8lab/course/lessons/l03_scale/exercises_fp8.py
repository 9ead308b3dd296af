"""The records of 3.5 and 3.6."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l03_scale import answers_fp8, answers_int8
from fp8lab.course.lessons.l03_scale.driving import DRIVES
from fp8lab.course.text import Text


def show_scale_case(inputs, array: str, index: tuple[int, ...]) -> str:
    name, x, qmax = inputs["cases"][index[0]]
    return f"[{name}], absmax {x.float().abs().amax().item():.6g}, qmax = {qmax:g}"


def show_fp8(inputs, array: str, index: tuple[int, ...]) -> str:
    name, _, _ = array.rpartition(" ")
    x = inputs[name].float()
    absmax = x.abs().amax().item()
    if index:
        return f"[{array}] {x[index].item():.6g} in a tensor with absmax {absmax:.6g}"
    return f"[{array}] of a tensor with absmax {absmax:.6g}"


SCALE = Exercise(
    drive=DRIVES["3.5"],
    points=3,
    title=Text("A scale that is always one", "永远靠得住的尺度"),
    hints=(
        Text(
            "Four cases: not finite, zero, so small that the quotient leaves the normal float32 range, and everything "
            "else.",
            "四种情形：不是有限数、为零、小到商跌出 float32 的正规数范围，以及其余一切。",
        ),
        Text(
            "NaN and infinity both arrive in absmax, so one test of absmax finds them: `math.isfinite`. Refuse them "
            "with a ValueError.",
            "NaN 和无穷都会反映到 absmax 上，检查 absmax 一处就够：`math.isfinite`。用 ValueError 拒绝。",
        ),
        Text(
            "A floor is a `max(..., SCALE_FLOOR)`, not an addition: it must change nothing for ordinary tensors. "
            "Zeros get the scale 1.0.",
            "下限要写成 `max(..., SCALE_FLOOR)`，不是加法：它不应改变正常张量的结果。全零的尺度取 1.0。",
        ),
        Text(
            "`absmax = find_absmax(x)`; raise ValueError if it is not finite; return 1.0 if it is 0; else "
            "`max(absmax / qmax, SCALE_FLOOR)`.",
            "`absmax = find_absmax(x)`；不是有限数就抛 ValueError；为 0 就返回 1.0；否则返回 "
            "`max(absmax / qmax, SCALE_FLOOR)`。",
        ),
    ),
    reference=answers_int8.choose_scale,
    misconceptions=(
        Misconception(
            "eps added",
            answers_int8.eps_added,
            Text(
                "You add eps to absmax. It looks harmless at absmax 1, changes a tenth of a percent at 1e-5, and at "
                "1e-8 the scale is twice what it should be: half of the codes are never used. A floor must be a "
                "maximum, not a sum.",
                "你给 absmax 加了 eps。absmax 为 1 时看不出来，1e-5 时差千分之一，1e-8 时尺度成了应有的两倍：一半编码"
                "永远用不到。下限要用 max，不要用加法。",
            ),
        ),
        Misconception(
            "a floor that bites",
            answers_int8.floor_too_high,
            Text(
                "Your floor of 1e-6 is higher than scales that occur. A tensor with absmax 1e-5 gets a scale 13 "
                "times too large at qmax 127 and loses almost four bits. Real systems do this: vLLM's floor is 1e-6, "
                "FlashMLA's 1e-4 (56 % error on normal data of size 1e-7).",
                "你的下限 1e-6 比真实会出现的尺度还大。absmax 为 1e-5、qmax 为 127 时，尺度大了十几倍，丢掉将近四位。真"
                "有系统这样做：vLLM 的下限是 1e-6，FlashMLA 是 1e-4（大小为 1e-7 的正态数据误差 56 %）。",
            ),
        ),
        Misconception(
            "scale 0 for zeros",
            answers_int8.zero_scale,
            Text(
                "A tensor of zeros gets the scale 0, and 0 / 0 is NaN. One unused head, one padded block, and NaN "
                "spreads through the attention (vllm#26174). torchao 0.18 and optimum-quanto 0.2.7 still do this for "
                "64 zeros.",
                "全零张量的尺度成了 0，而 0 / 0 是 NaN。一个没用到的头、一个填充块，就足以让 NaN 传遍注意力（"
                "vllm#26174）。torchao 0.18、optimum-quanto 0.2.7 遇到 64 个零至今如此。",
            ),
        ),
        Misconception(
            "no floor",
            answers_int8.no_floor,
            Text(
                "absmax 1e-38 divided by 448 is a float32 subnormal: it has lost bits, its reciprocal is inf, and on "
                "hardware that flushes subnormals it is 0. Floor the scale at 2^-126.",
                "absmax 为 1e-38，除以 448 就成了 float32 的次正规数：精度丢了，倒数是 inf，在把次正规数刷成零的硬件上"
                "它就是 0。尺度的下限取 2^-126。",
            ),
        ),
        Misconception(
            "zeros at the floor",
            answers_int8.zeros_at_the_floor,
            Text(
                "A tensor of zeros gets the floor, 2^-126. The codes are 0 all right; but a static scale measured on "
                "zeros then meets real values, and 1 / 2^-126 saturates them all. This course uses 1.0 for zeros.",
                "全零张量得到了下限 2^-126。编码确实是 0；可是在零上量出的静态尺度，之后遇到真实数值，1 / 2^-126 会让"
                "它们全部饱和。本课程规定全零取 1.0。",
            ),
        ),
        Misconception(
            "NaN goes through",
            answers_int8.whatever_comes,
            Text(
                "NaN and infinity become the scale, and one bad value makes the whole group NaN or 0. Say so where it "
                "happens: raise ValueError.",
                "NaN 和无穷直接成了尺度，一个坏值就让整组变成 NaN 或 0。要在出事的地方说出来：抛 ValueError。",
            ),
        ),
        Misconception(
            "repaired in silence",
            answers_int8.repaired,
            Text(
                "You replace NaN by 0 and infinity by a huge number, and nobody is told. With 3.4e38 as absmax every "
                "other value of the group becomes 0. Refuse, do not repair.",
                "你把 NaN 换成 0、把无穷换成一个巨大的数，却没告诉任何人。absmax 成了 3.4e38，组里其余的值全变成 0。要"
                "拒绝，不要修补。",
            ),
        ),
        Misconception(
            "only infinity refused",
            answers_int8.only_infinity_refused,
            Text(
                "You refuse infinity and let NaN pass as 0. `isinf` does not see NaN; `isfinite` sees both.",
                "你拒绝了无穷，却让 NaN 当成 0 混了过去。`isinf` 看不见 NaN，`isfinite` 两个都看得见。",
            ),
        ),
        Misconception(
            "kept in float16",
            answers_int8.kept_in_float16,
            Text(
                "You keep the scale in float16. Below 6e-5 it has fewer and fewer bits and below 3e-8 it is 0: absmax "
                "1e-7 gives 0, and then NaN. For absmax 3e38 it is inf.",
                "你把尺度存成 float16。低于 6e-5 它的位数越来越少，低于 3e-8 就是 0：absmax 为 1e-7 得到 0，接着就是"
                " NaN；absmax 为 3e38 则是 inf。",
            ),
        ),
    ),
    variants=(answers_int8.chosen_as_a_tensor,),
    tolerance=Tolerance(rtol=1e-6),
    show=show_scale_case,
)


FP8 = Exercise(
    drive=DRIVES["3.6"],
    points=3,
    title=Text("The same loop with real FP8", "换成真正的 FP8"),
    hints=(
        Text(
            "The same three steps: scale, divide, store. Two things are new: where the grid ends, and who does the "
            "rounding.",
            "还是那三步：求尺度、除、存。不同的只有两点：网格到哪里为止，由谁来舍入。",
        ),
        Text(
            "E4M3FN ends at 448. `encode` from fp8lab (lesson 02 in the library) rounds and saturates; no "
            "`torch.round` before it.",
            "E4M3FN 到 448 为止。fp8lab 的 `encode`（就是第二课的内容）负责舍入和饱和；之前不要再 `torch.round`。",
        ),
        Text(
            "Divide in float32: `x.float() / scale`. A bfloat16 tensor divided by a Python number stays bfloat16, and "
            "is rounded once too often.",
            "在 float32 里做除法：`x.float() / scale`。bfloat16 张量除以 Python 数仍是 bfloat16，会多舍入一次。",
        ),
        Text(
            "`scale = choose_scale(x, 448.0)`, then `return encode(x.float() / scale), scale`.",
            "`scale = choose_scale(x, 448.0)`，然后 `return encode(x.float() / scale), scale`。",
        ),
    ),
    reference=answers_fp8.quantize_fp8,
    misconceptions=(
        Misconception(
            "FP8 as integers up to 127",
            answers_fp8.integers_to_127,
            Text(
                "You round to integers up to 127 and store those in FP8. That is int8 with fewer codes: E4M3FN cannot "
                "even hold 17, it has 16 and 18. Its values go to 448, and it does its own rounding.",
                "你先舍入成 127 以内的整数，再存进 FP8。这不过是编码更少的 int8：E4M3FN 连 17 都表示不了，只有 16 和"
                " 18。它的数值到 448，舍入由它自己完成。",
            ),
        ),
        Misconception(
            "qmax 127",
            answers_fp8.range_of_int8,
            Text(
                "qmax is still 127, int8's. Nothing breaks, and that is why it survives: the codes above 127, almost "
                "two octaves, are never used, and the smallest values fall into the subnormals earlier.",
                "qmax 还是 int8 的 127。什么都不会坏，所以它活得下来：127 以上将近两个倍频程的编码白白空着，最小的那些"
                "值也更早落进次正规数。",
            ),
        ),
        Misconception(
            "qmax 240",
            answers_fp8.range_of_fnuz,
            Text(
                "240 is the largest value of E4M3FNUZ (and of an IEEE-like E4M3). E4M3FN ends at 448, code 0x7E. The "
                "other way round, 448 into FNUZ storage, would overflow (vllm#32976).",
                "240 是 E4M3FNUZ（以及 IEEE 式 E4M3）的最大值。E4M3FN 到 448 为止，编码 0x7E。反过来拿 448 去写 FNUZ "
                "就会溢出（vllm#32976）。",
            ),
        ),
        Misconception(
            "rounded to integers first",
            answers_fp8.rounded_to_integers,
            Text(
                "You call round before the cast. FP8 has fractions: half of its codes are below 2. Everything less "
                "than half a step of 1 becomes 0 in yours, and the rest is rounded twice.",
                "你在转换之前先 round 了。FP8 有小数：一半以上的编码都小于 2。小于 0.5 的在你这里全成了 0，其余的被舍"
                "入了两次。",
            ),
        ),
        Misconception(
            "multiplied by the scale",
            answers_fp8.multiplied,
            Text(
                "You multiply where this convention divides. Small tensors vanish, large ones saturate; at absmax 448 "
                "nothing shows.",
                "按这里的约定要除，你却乘了。小的张量化为零，大的全部饱和；absmax 恰为 448 时则什么都看不出来。",
            ),
        ),
        Misconception(
            "divided in bfloat16",
            answers_fp8.divided_in_bfloat16,
            Text(
                "The quotient is rounded to bfloat16 and then to FP8: twice. About three codes in a hundred come out "
                "one step off. Widen to float32 before the division.",
                "商先舍入到 bfloat16，再舍入到 FP8：两次。一百个编码里大约有三个差一步。先加宽到 float32 再除。",
            ),
        ),
        Misconception(
            "scale rounded afterwards",
            answers_fp8.scale_rounded_afterwards,
            Text(
                "You quantize with one scale and return another, rounded to a power of two. The reader multiplies by "
                "the second: ones come back as 1.75 (transformers#46763). Round the scale to its storage format "
                "first, then divide by what is stored.",
                "你用一个尺度量化，却返回舍入成 2 的幂的另一个尺度。读的人乘的是后者：1 读回来成了 1.75（"
                "transformers#46763）。要先把尺度舍入到存储格式，再用存下来的那个去除。",
            ),
        ),
        Misconception(
            "without a scale",
            answers_fp8.without_scale,
            Text(
                'You cast as it is, with scale 1.0. It works for values around 1 and is what "just use fp8" means in '
                "many places; values beyond 448 clip, and those below 2^-10 are zero.",
                "你原样转换，尺度为 1.0。数值在 1 附近时没问题，很多地方说的“直接用 fp8”就是这样；超过 448 的被钳住，"
                "小于 2^-10 的变成零。",
            ),
        ),
        Misconception(
            "int8 bytes in a uint8 tensor",
            answers_fp8.integer_codes,
            Text(
                "Your bytes are two's complement integers, not FP8. 0x7F would be 127 for you; for everybody who "
                "reads E4M3FN it is NaN.",
                "你的字节是补码整数，不是 FP8。0x7F 对你来说是 127，对按 E4M3FN 来读的人是 NaN。",
            ),
        ),
    ),
    variants=(answers_fp8.with_torchs_cast,),
    tolerance=Tolerance(rtol=1e-6),
    show=show_fp8,
)


EXERCISES = (SCALE, FP8)
