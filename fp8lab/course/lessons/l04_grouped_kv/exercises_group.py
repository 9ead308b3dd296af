"""The record of 4.8: the same codes and scales without a Python loop."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_groups as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.lessons.l04_grouped_kv.driving_groups import RUNS
from fp8lab.course.text import Text


def show_element(inputs, array: str, index: tuple[int, ...]) -> str:
    """Arrays are named "codes, <case>"; a scale is shown with its group, a code with its value."""
    if array == RUNS:
        return "all cases of the check: how often the busiest line of Python runs in one call"
    what, _, case = array.partition(", ")
    kv, size, _ = inputs["cases"][case]
    if what == "codes":
        return f"kv {case}: code{list(index)} of {kv[index].item():.5g}"
    if what == "scales":
        group = kv[index[:-1]][index[-1] * size : (index[-1] + 1) * size]
        return f"kv {case}: scale{list(index)}, group absmax {group.abs().max().item():.5g}"
    return f"kv {case}: {what}"


WITHOUT_LOOP = Exercise(
    drive=DRIVES["4.8"],
    points=4,
    title=Text("Remove the loops", "去掉循环"),
    hints=(
        Text(
            "Give the groups an axis of their own: [..., head_dim] becomes [..., n_groups, group_size], and every loop "
            "becomes an operation along an axis.",
            "让组拥有自己的轴：[..., head_dim] 变成 [..., n_groups, group_size]，每个循环就变成沿某个轴的一次运算。",
        ),
        Text(
            "A short last group has to be filled up first. With what? With something that no absmax can notice.",
            "较短的最后一组要先补齐。补什么？补一个任何 absmax 都察觉不到的数。",
        ),
        Text(
            "`torch.nn.functional.pad(values, (0, missing))` appends zeros to the last axis; missing is "
            "`-head_dim % group_size`. Then `unflatten(-1, (-1, group_size))`.",
            "`torch.nn.functional.pad(values, (0, missing))` 在最后一轴末尾补零；missing 就是 "
            "`-head_dim % group_size`。然后 `unflatten(-1, (-1, group_size))`。",
        ),
        Text(
            "absmax: `groups.abs().amax(-1)`, [..., n_groups]. For the product the scales need an axis of length 1 at "
            "the end: `scales.unsqueeze(-1)`. Last: `flatten(-2)`, and cut the padding off again.",
            "absmax 是 `groups.abs().amax(-1)`，形状 [..., n_groups]。做乘法时尺度末尾要多一个长度为 1 的轴："
            "`scales.unsqueeze(-1)`。最后 `flatten(-2)`，再把补的部分切掉。",
        ),
    ),
    reference=answers.quantize_groups,
    misconceptions=(
        Misconception(
            "the double loop",
            answers.group_by_group,
            Text(
                "Right codes, and Python still runs a line for every group. An [2, 8, 4096, 128] tensor has 131,072 "
                "groups of 64: seconds, for what a memory copy does in milliseconds.",
                "编码没错，可 Python 仍要为每个组执行一遍。[2, 8, 4096, 128] 的张量每 64 个一组就有 131,072 组：内存拷贝"
                "几毫秒的事，它要好几秒。",
            ),
        ),
        Misconception(
            "a loop over the groups of a row",
            answers.column_by_column,
            Text(
                "One loop is left, over the groups of a row. With groups of 64 it is short, with groups of 3 it runs "
                "32 times, and every round reads memory with gaps. The group can be an axis like any other.",
                "还剩一个循环：遍历一行里的各组。每组 64 个时它很短，每组 3 个时要跑 32 遍，而且每遍都在跳着读内存。组完"
                "全可以是一个普通的轴。",
            ),
        ),
        Misconception(
            "tail dropped",
            answers.tail_dropped,
            Text(
                "Only full groups are measured; the tail of each row has no scale and its codes are 0.",
                "只量了完整的组；每行的尾组没有尺度，编码全是 0。",
            ),
        ),
        Misconception(
            "padded with garbage",
            answers.padded_with_garbage,
            Text(
                "What you filled the last group up with takes part in its absmax. `torch.empty` leaves whatever was "
                "in memory; so the scale of every tail depends on what ran before. Zeros never enter an absmax.",
                "你补进最后一组的东西参与了 absmax。`torch.empty` 里是内存里的残留，于是每行尾组的尺度，取决于此前运行"
                "过什么。补零则永远不影响 absmax。",
            ),
        ),
        Misconception(
            "padded with the row itself",
            answers.padded_with_the_beginning,
            Text(
                "The tail is filled up with values from the beginning of the row, so a large value there makes the "
                "tail's ruler coarse. Harmless in half of the rows, which is why a quick look does not find it.",
                "你用行首的值来补尾组，行首如果有大的值，尾组的尺子就变粗了。一半的行不受影响，所以粗看发现不了。",
            ),
        ),
        Misconception(
            "groups straddle rows",
            answers.over_the_row_end,
            Text(
                "You grouped the flattened tensor. Where head_dim is no multiple of the group, a group begins in one "
                "row and ends in the next: two tokens, or two heads, share a ruler (mase#321). Even the number of "
                "scales is another.",
                "你是在展平的张量上分的组。head_dim 不是组大小的整数倍时，一个组会从一行跨到下一行：两个 token、甚至两个"
                "头共用一把尺子（mase#321）。连尺度的个数都变了。",
            ),
        ),
        Misconception(
            "groups along the tokens",
            answers.along_the_tokens,
            Text(
                "You grouped along the tokens, axis -2. That is KIVI's layout for K and a good one, but another: here "
                "groups lie inside head_dim.",
                "你是沿 token 轴（-2）分的组。KIVI 对 K 就是这样做的，是好布局，但不是这里的：这里的组在 head_dim 内"
                "部。",
            ),
        ),
        Misconception(
            "absmax without abs",
            answers.signed_absmax,
            Text(
                "`amax` alone looks at the sign: the group whose largest size is negative is clipped.",
                "单用 `amax` 看的是带符号的值：一个组里绝对值最大的数如果是负的，就会被钳位。",
            ),
        ),
        Misconception(
            "one scale for the row",
            answers.one_scale_per_row,
            Text(
                "The absmax was taken over both axes, groups and values: every group of a row has the same scale.",
                "你把“组”和“值”两个轴一起取了最大值：一行里各组的尺度全都一样。",
            ),
        ),
        Misconception(
            "one scale for the tensor",
            answers.one_scale_per_tensor,
            Text(
                "One absmax for everything. The head that is 1,000 times smaller becomes zeros.",
                "全体共用一个 absmax。那个小一千倍的头会全部变成零。",
            ),
        ),
        Misconception(
            "the neighbour's scale",
            answers.neighbours_scale,
            Text(
                "The scales are right, and each group was multiplied by that of another one. `repeat` tiles "
                "(a b a b), `repeat_interleave` stretches (a a b b).",
                "尺度算对了，但每个组乘的是别组的尺度。`repeat` 是整体平铺（a b a b），`repeat_interleave` 才是逐个重复（a "
                "a b b）。",
            ),
        ),
        Misconception(
            "truncation",
            answers.truncated,
            Text(
                "The fraction is cut off instead of rounded. In one whole-tensor expression `.round()` is easily lost.",
                "小数部分被砍掉了，没有舍入。写成一个长表达式时，`.round()` 很容易漏掉。",
            ),
        ),
        Misconception(
            "eps added",
            answers.eps_on_top,
            Text(
                "`absmax + eps` shifts every scale; `clamp(min=eps)` only those that need it.",
                "`absmax + eps` 让每个尺度都偏移；`clamp(min=eps)` 只动需要的那些。",
            ),
        ),
        Misconception(
            "in the input's precision",
            answers.in_half_precision,
            Text(
                "float16 and bfloat16 input was multiplied in its own precision: the product is rounded to 8 or 11 "
                "bits before it is rounded to a code, and scales lose digits, too. Compute in float32.",
                "float16、bfloat16 的输入按自身精度相乘：乘积在取整成编码之前，先被舍入到 8 或 11 位，尺度也丢了数字。要"
                "用 float32 计算。",
            ),
        ),
        Misconception(
            "input changed in place",
            answers.with_input_changed,
            Text(
                "The caller's tensor is not what it was. `detach()` and `float()` share memory with it, so `mul_` on "
                "them, or `x *= scale`, multiplies the model's own keys.",
                "调用者的张量被改了。`detach()` 和 `float()` 与它共享内存，在上面做 `mul_`，或写 `x *= scale`，乘的就是模"
                "型自己的 K。",
            ),
        ),
    ),
    variants=(answers.by_repeating, answers.by_fp8lab),
    tolerance=Tolerance(rtol=1e-6),
    show=show_element,
)

EXERCISES = (WITHOUT_LOOP,)
