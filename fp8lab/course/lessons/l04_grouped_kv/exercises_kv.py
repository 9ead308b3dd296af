"""The records of 4.4 and 4.5: the recorded shape and the number of groups."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_sim as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.lessons.l04_grouped_kv.driving_sim import SHAPES, groups_of_case
from fp8lab.course.text import Text
from fp8lab.sim import FP8KVCacheSim as Vectorised


def show_shape(inputs, array: str, index: tuple[int, ...]) -> str:
    return f"{array}, x of shape {list(SHAPES[index[0]])}" if index else array


def show_group(inputs, array: str, index: tuple[int, ...]) -> str:
    if array == "shape of kv_scale":
        return f"kv of shape {list(inputs['kv'][index[0]].shape)}, kv_group_size {inputs['size'][index[0]]}"
    shape, size, row, group = groups_of_case(inputs)[index[0]]
    return f"{array}: kv of shape {list(shape)}, kv_group_size {size}, row {row}, group {group}"


SHAPE = Exercise(
    drive=DRIVES["4.4"],
    points=1,
    title=Text("Recorded shape", "记录形状"),
    hints=(
        Text(
            "`dequantize_fp8` has nothing but what was kept: codes, scale, and this shape. What does it need to give x "
            "back?",
            "`dequantize_fp8` 手里只有存下来的东西：编码、尺度和这个形状。要还原 x，它需要什么？",
        ),
        Text("`values` and `codes` are flat by now. x is not.", "到这里，`values` 和 `codes` 都已经展平了。x 没有。"),
        Text(
            "Every tensor has `.shape`; `tuple(...)` makes it independent of the tensor. Store it as `self.fp8_shape`.",
            "每个张量都有 `.shape`；用 `tuple(...)` 就与张量无关了。存为 `self.fp8_shape`。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "shape of the codes",
            answers.shape_of_codes,
            Text(
                "The codes are flat at this line, so a hidden state [2, 5] comes back as [10]. Nothing crashes here; "
                "the next matrix product does, or broadcasts. Record the shape of the input.",
                "到这一行编码已经展平，所以隐藏状态 [2, 5] 还原出来是 [10]。这里不会报错，报错的是下一个矩阵乘法，或者更"
                "糟，悄悄广播了。要记录的是输入的形状。",
            ),
        ),
        Misconception(
            "shape of the scale",
            answers.shape_of_scale,
            Text(
                "The scale is one number without axes. What has to come back is the hidden state.",
                "尺度只是一个零维的数。要还原的是隐藏状态。",
            ),
        ),
        Misconception(
            "without the last axis",
            answers.shape_without_last,
            Text(
                "`x.shape[:-1]` is the shape of scales, one for each row. The values themselves need every axis.",
                "`x.shape[:-1]` 是“每行一个”的尺度的形状。值本身需要所有的轴。",
            ),
        ),
        Misconception(
            "as a matrix",
            answers.shape_as_matrix,
            Text(
                "Rows and a last axis: right for two axes. A batch of hidden states has three, and yours come back as "
                "two.",
                "行数加最后一轴：两个轴时没错。一批隐藏状态有三个轴，还原出来却只剩两个。",
            ),
        ),
        Misconception(
            "axes reversed",
            answers.shape_reversed,
            Text(
                "The axes are in reverse order. The number of values fits, so reshape is content, and every value "
                "stands in another place.",
                "轴的次序反了。元素个数对得上，reshape 不会抱怨，可是每个值都换了地方。",
            ),
        ),
    ),
    variants=(answers.shape_as_size, Vectorised),
    show=show_shape,
)

GROUPS = Exercise(
    drive=DRIVES["4.5"],
    points=2,
    title=Text("Number of groups", "组数"),
    hints=(
        Text(
            "head_dim 96 in groups of 64: how many rulers are needed? The last one measures only 32 values.",
            "head_dim 96，每组 64 个：要几把尺子？最后一把只量 32 个值。",
        ),
        Text(
            "Divide `kv.shape[-1]` by the group size and round *up*. `//` rounds down.",
            "用 `kv.shape[-1]` 除以组大小，*向上*取整。`//` 是向下取整。",
        ),
        Text(
            "Rounding up with integers only: (n + size - 1) // size, or minus the floor of the negative. Not through "
            "float division: `range` wants an integer.",
            "只用整数向上取整：(n + size - 1) // size，或者对负数取 floor 再取负。别用浮点除法：`range` 要的是整数。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "tail dropped",
            answers.floored_groups,
            Text(
                "`//` rounds down: of head_dim 96 in groups of 64 the last 32 values have no group, no scale and no "
                "codes. They come back as zeros. With head_dim 128 all tests pass; Phi-3 has 96.",
                "`//` 向下取整：head_dim 96、每组 64 时，最后 32 个值没有组、没有尺度、没有编码，还原出来是零。"
                "head_dim 128 时测试全过；而 Phi-3 的是 96。",
            ),
        ),
        Misconception(
            "always one more",
            answers.one_group_more,
            Text(
                "One more than the full groups: right for 96, wrong for 128, where the third group is empty, and an "
                "empty group has no maximum.",
                "整组数再加一：对 96 没错，对 128 就错了，第三组是空的，空的组没有最大值。",
            ),
        ),
        Misconception(
            "one group for the row",
            answers.one_group,
            Text(
                "One group, and the loop stops after its first `kv_group_size` values; what follows has no codes at "
                "all. A row has one group only when the group is at least as long as the row.",
                "只有一个组，循环处理完前 `kv_group_size` 个值就停了，后面的根本没有编码。只有组不短于行时，一行才是一个"
                "组。",
            ),
        ),
        Misconception(
            "rounded to nearest",
            answers.rounded_groups,
            Text(
                "round(96 / 64) is 2 and round(65 / 64) is 1: any tail shorter than half a group is lost.",
                "round(96 / 64) 是 2，round(65 / 64) 却是 1：不到半组的尾组都会丢掉。",
            ),
        ),
        Misconception(
            "group size taken for the number of groups",
            answers.group_size_as_number,
            Text(
                "`kv_group_size` is how many values share a scale. How many scales a row has depends on how long it "
                "is.",
                "`kv_group_size` 是多少个值共用一个尺度。一行有多少个尺度，要看行有多长。",
            ),
        ),
        Misconception(
            "groups of tokens",
            answers.groups_of_the_tokens,
            Text(
                "`shape[-2]` counts tokens. The groups of this class lie inside head_dim, the last axis.",
                "`shape[-2]` 是 token 数。这个类的组在 head_dim 内部，也就是最后一轴。",
            ),
        ),
        Misconception(
            "a fraction",
            answers.fractional_groups,
            Text(
                "`/` gives a float: 96 / 64 is 1.5, and `range` and shapes take integers only.",
                "`/` 得到浮点数：96 / 64 是 1.5，而 `range` 和形状都只接受整数。",
            ),
        ),
        Misconception(
            "one scale for the row",
            answers.scale_of_the_row,
            Text(
                "The number of scales is right, but every group was measured with the whole row. All scales of a row "
                "are equal then: you pay for groups and have one scale per token.",
                "尺度的个数没错，但每个组量的都是整行。于是一行的尺度全都相等：付了分组的钱，得到的还是每 token 一个尺"
                "度。",
            ),
        ),
        Misconception(
            "one scale for the tensor",
            answers.scale_of_the_tensor,
            Text(
                "Every group was measured with the whole tensor, so one outlier anywhere makes the ruler coarse for "
                "all. A group's absmax is taken over its own values.",
                "每个组量的都是整个张量，所以任何地方的一个离群值都会让所有人的尺子变粗。组的 absmax 只看自己的值。",
            ),
        ),
    ),
    variants=(answers.groups_by_range, Vectorised),
    tolerance=Tolerance(rtol=1e-6),
    show=show_group,
)

EXERCISES = (SHAPE, GROUPS)
