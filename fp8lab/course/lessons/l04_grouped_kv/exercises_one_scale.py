"""The records of 4.1 and 4.2: absmax and scale."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_sim as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.lessons.l04_grouped_kv.driving_sim import EPS
from fp8lab.course.text import Text


def show_values(inputs, array: str, index: tuple[int, ...]) -> str:
    values = inputs["values"][index[0]]
    if values.numel() > 6:
        return f"{array}, values of shape {list(values.shape)}, eps {EPS}"
    return f"{array}, values {values.tolist()}, eps {EPS}"


def show_scale(inputs, array: str, index: tuple[int, ...]) -> str:
    absmax, qmax, eps = inputs["cases"][index[0]]
    return f"absmax {absmax:.6g}, fp8_qmax {qmax}, eps {eps:g}"


ABSMAX = Exercise(
    drive=DRIVES["4.1"],
    points=1,
    title=Text("absmax", "absmax：最大绝对值"),
    hints=(
        Text(
            "The ruler must reach the value that is farthest from zero, on whichever side it lies.",
            "尺子必须够得着离零最远的那个值，不管它在哪一边。",
        ),
        Text("First the sizes, then the largest of them.", "先取绝对值，再取其中最大的。"),
        Text(
            "`tensor.abs()` is elementwise and makes a new tensor; `tensor.max()` without arguments is one number for "
            "everything, as a tensor without axes.",
            "`tensor.abs()` 逐元素取绝对值，得到新张量；`tensor.max()` 不带参数时对全部元素取一个最大值，结果是零维张量。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "max without abs",
            answers.signed_max,
            Text(
                "You take the largest value, with its sign. In [1, -3, 2] that is 2, so -3 is scaled beyond the grid "
                "and clipped. In a row of negative numbers it is the smallest size of all, or not even positive.",
                "你取的是带符号的最大值。对 [1, -3, 2] 得到 2，于是 -3 缩放后超出网格，被钳位。整行都是负数时，得到的"
                "反而是绝对值最小的那个，而且是负数。",
            ),
        ),
        Misconception(
            "abs after max",
            answers.abs_of_max,
            Text(
                "First the largest value, then its size: -3 in [1, -3, 2] is still not seen. The order matters: sizes "
                "first.",
                "你先取最大值，再取绝对值：[1, -3, 2] 里的 -3 还是没看到。次序有讲究：先取绝对值。",
            ),
        ),
        Misconception(
            "distance from min to max",
            answers.peak_to_peak,
            Text(
                "max - min is the ruler of asymmetric quantization, which also stores a zero point. Here the grid is "
                "symmetric about zero, and with this absmax half of its codes are never used.",
                "max - min 是非对称量化用的尺度，那里还要存零点。这里的网格关于零对称，用它做 absmax 会让一半的编码闲"
                "置。",
            ),
        ),
        Misconception(
            "one per row",
            answers.row_maxima,
            Text(
                "`amax(-1)` gives one number for each row. This method is asked for one number for all the values "
                "that it is given; the caller decides which values those are.",
                "`amax(-1)` 每行给一个数。这个方法要的是：对交给它的所有值只给一个数；至于交给它哪些值，由调用者决定。",
            ),
        ),
        Misconception(
            "eps added",
            answers.eps_on_top,
            Text(
                "You add eps. It is there for groups of zeros only; added, it stretches the ruler of every group. "
                "With eps = 1e-8 nobody notices, until the data are of that size. The next hole takes care of eps.",
                "你加上了 eps。它只为全零的组准备；一加上去，每个组的尺子都被拉长。eps = 1e-8 时没人看得出来，除非数据"
                "本身就这么小。eps 由下一个空来处理。",
            ),
        ),
        Misconception(
            "input changed in place",
            answers.absmax_in_place,
            Text(
                "`abs_()` writes into the tensor that you were given. `float()` and `flatten()` copy nothing when "
                "there is nothing to do, so these are the caller's own keys and values, and their signs are gone.",
                "`abs_()` 会改写传进来的张量。`float()` 和 `flatten()` 在无事可做时并不复制，所以你改的正是调用者的 K "
                "和 V，它们的符号全丢了。",
            ),
        ),
        Misconception(
            "mean size",
            answers.mean_size,
            Text(
                "The mean size is no bound: about half of all values are larger, and every one of them would be "
                "clipped.",
                "平均绝对值不是上界：大约一半的值比它大，这些值全都会被钳位。",
            ),
        ),
        Misconception(
            "a Python number",
            answers.plain_number,
            Text(
                "The number is right, but `item()` makes it a Python float. On a GPU each such call waits for the "
                "device; and the next line calls tensor methods on it. Return the tensor without axes.",
                "数是对的，但 `item()` 把它变成了 Python 浮点数。在 GPU 上，每次这样的调用都要等设备跑完；而且下一步还要"
                "对它调用张量的方法。请返回零维张量。",
            ),
        ),
    ),
    variants=(answers.by_both_ends, answers.by_norm, answers.clamped_already),
    tolerance=Tolerance(rtol=1e-6),
    show=show_values,
)

SCALE = Exercise(
    drive=DRIVES["4.2"],
    points=1,
    title=Text("Scale", "尺度"),
    hints=(
        Text(
            "Here values are *multiplied* by the scale. Which factor takes absmax to fp8_qmax?",
            "在这里，值要*乘以*尺度。乘多少才能把 absmax 变成 fp8_qmax？",
        ),
        Text(
            "A group of zeros would divide by zero. Let no absmax be smaller than `self.eps`; larger ones must stay "
            "exactly as they are.",
            "全零的组会除以零。让 absmax 不小于 `self.eps`；比它大的必须原封不动。",
        ),
        Text(
            "`absmax.clamp(min=...)` raises what is below a limit, and leaves the rest alone. The largest code is "
            "`self.fp8_qmax`, not a constant.",
            "`absmax.clamp(min=...)` 只抬高低于下限的数，其余不变。最大编码是 `self.fp8_qmax`，不是常数。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "inverse convention",
            answers.inverse,
            Text(
                "absmax / qmax is the scale of the other convention, x = code × scale, in which one divides when "
                "quantizing. Most libraries store that one. This class multiplies: q = round(x · scale). Either works; "
                "mixed, nearly every code is 0 or clipped.",
                "absmax / qmax 是另一种约定的尺度：x = 编码 × 尺度，量化时用除法，多数库存的是它。这个类用乘法：q = "
                "round(x · scale)。两种都行；混用的话，编码不是 0 就是被钳位，几乎没有例外。",
            ),
        ),
        Misconception(
            "eps added",
            answers.eps_added,
            Text(
                "absmax + eps changes every scale a little, and the scale of small groups a lot: with absmax = eps it "
                "is half of what it should be. A floor changes only what lies below it.",
                "absmax + eps 让每个尺度都偏一点，小的组偏得很多：absmax = eps 时尺度只剩一半。设下限则只改动低于下限的"
                "组。",
            ),
        ),
        Misconception(
            "no eps",
            answers.without_eps,
            Text(
                "A group of zeros has absmax 0, so its scale is inf, and 0 · inf is NaN: one empty page poisons "
                "attention. Libraries shipped exactly this (vllm#26174).",
                "全零的组 absmax 为 0，尺度成了 inf，而 0 · inf 是 NaN：一个空页就能毒害整个注意力。真有库这样发布过（"
                "vllm#26174）。",
            ),
        ),
        Misconception(
            "qmax 128",
            answers.qmax_128,
            Text(
                "int8 reaches from -128 to 127, so 128 exists on one side only. With 128 the largest positive value "
                "becomes code 128 and is clipped to 127: absmax itself is wrong by 0.8 %.",
                "int8 的范围是 -128 到 127，只有负的一边有 128。用 128，最大的正值会变成编码 128，再被钳到 127：偏偏是"
                " absmax 自己错了 0.8 %。",
            ),
        ),
        Misconception(
            "qmax 100",
            answers.qmax_100,
            Text(
                "100 looks like a round number and throws away 54 of 255 codes: every error grows by 27 %.",
                "100 看着整齐，却白白扔掉 255 个编码中的 54 个：所有误差都大 27 %。",
            ),
        ),
        Misconception(
            "qmax 448",
            answers.qmax_448,
            Text(
                "448 is the largest E4M3FN *value*. The container here is int8, whose largest code is fp8_qmax; "
                "whatever lies above 28 % of absmax would be clipped. Exercise 4.9 is where 448 belongs.",
                "448 是 E4M3FN 的最大*值*。这里的容器是 int8，最大编码是 fp8_qmax；超过 absmax 的 28 % 就全被钳位。"
                "448 属于练习 4.9。",
            ),
        ),
        Misconception(
            "127, whatever fp8_qmax is",
            answers.always_127,
            Text(
                "Right for the default only. The class was asked for codes up to `self.fp8_qmax`: with 7 it simulates "
                "four bits.",
                "只在默认值下正确。类的使用者要求编码不超过 `self.fp8_qmax`：设成 7 就是模拟 4 比特。",
            ),
        ),
        Misconception(
            "all codes for one side",
            answers.two_sided,
            Text(
                "There are 2·qmax + 1 codes, but they are shared by both signs: absmax lands on code qmax, and -absmax "
                "on -qmax. With this scale half of the range is clipped.",
                "编码共有 2·qmax + 1 个，但正负各用一半：absmax 落在 qmax，-absmax 落在 -qmax。用这个尺度，一半的范围"
                "都会被钳位。",
            ),
        ),
    ),
    variants=(answers.scale_by_number, answers.scale_by_reciprocal),
    tolerance=Tolerance(rtol=1e-6),
    show=show_scale,
)

EXERCISES = (ABSMAX, SCALE)
