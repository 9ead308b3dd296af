"""The records of 4.6 and 4.7: the way back, and the error."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_sim as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.text import Text
from fp8lab.sim import FP8KVCacheSim as Vectorised


def show_restored(inputs, array: str, index: tuple[int, ...]) -> str:
    codes, scales, size = inputs["caches"][int(array.split()[1])]
    code, scale = codes[index].item(), scales[index[:-1]][index[-1] // size].item()
    return f"kv_q{list(index)} = {code}, group {index[-1] // size} of its row, scale {scale:g}"


def show_mse(inputs, array: str, index: tuple[int, ...]) -> str:
    if not index:
        return array
    original, restored = inputs["pairs"][index[0]]
    if original.numel() > 4:
        return f"original and restored of shape {list(original.shape)}, {original.dtype}"
    return f"original {original.tolist()}, restored {restored.tolist()}, {original.dtype}"


RESTORE = Exercise(
    drive=DRIVES["4.6"],
    points=2,
    title=Text("Restore one group", "还原一个组"),
    hints=(
        Text(
            "The way back undoes the way there: values were multiplied by the scale.",
            "还原就是把量化倒过来做：当时值是乘以尺度的。",
        ),
        Text(
            "Group g of a row begins at `g * size` and ends before `(g + 1) * size`. A slice that reaches past the "
            "end simply stops there, so the short group needs no special case.",
            "一行的第 g 组从 `g * size` 开始，到 `(g + 1) * size` 之前结束。切片超出末尾会自动停住，所以短的组不需要特"
            "殊处理。",
        ),
        Text(
            "Left: a slice of `restored[r]`. Right: the same slice of `codes[r]` as float, divided by `scales[r, g]`, "
            "the scale of this very row and group.",
            "等号左边：`restored[r]` 的一段切片。右边：`codes[r]` 的同一段转成浮点，除以 `scales[r, g]`，正是这一行这一"
            "组的尺度。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "multiplied back",
            answers.multiplied_back,
            Text(
                "x · scale became the code, so code / scale becomes x again. You multiply once more; that is the "
                "other convention.",
                "x · scale 成了编码，所以 code / scale 才变回 x。你又乘了一次；那是另一种约定。",
            ),
        ),
        Misconception(
            "the neighbour's scale",
            answers.scale_of_the_group_before,
            Text(
                "You read the scale of the group before (and for the first group, the last of the row). An offset by "
                "one crashes nothing and makes noise of everything.",
                "你读的是前一组的尺度（第一组则读到了本行最后一组的）。差一个位置，程序不崩溃，内容却全成了噪声。",
            ),
        ),
        Misconception(
            "the next group's scale",
            answers.scale_of_the_next_group,
            Text(
                "You read the scale of the group after. The last group alone comes out right, which is all that a "
                "glance at the end of a row shows.",
                "你读的是后一组的尺度。只有最后一组是对的，所以只看行尾会以为没问题。",
            ),
        ),
        Misconception(
            "one scale for the row",
            answers.first_scale_of_the_row,
            Text(
                "Every group is restored with the first scale of its row. The codes were made with another ruler.",
                "每个组都用了本行的第一个尺度。编码当初可是用另一把尺子量的。",
            ),
        ),
        Misconception(
            "one scale for the tensor",
            answers.first_scale_of_all,
            Text(
                "Every group is restored with the very first scale of the cache.",
                "每个组都用了整个缓存里的第一个尺度，其余的尺度白存了。",
            ),
        ),
        Misconception(
            "scales of the first row",
            answers.scale_of_the_first_row,
            Text(
                "The group is right, the row is not: you always read row 0. With one token in the cache this passes.",
                "组对了，行不对：你总是读第 0 行。缓存里只有一个 token 时能通过。",
            ),
        ),
        Misconception(
            "tail forgotten",
            answers.tail_forgotten,
            Text(
                "Only full groups are restored; the short one at the end of each row stays zero. Its codes and its "
                "scale were stored for nothing.",
                "只还原了完整的组；每行末尾较短的那组仍是零，它的编码和尺度都白存了。",
            ),
        ),
        Misconception(
            "codes as they are",
            answers.codes_as_they_are,
            Text(
                "The codes without their scale: integers up to 127 where keys around 1 were. A block without its "
                "scale is noise.",
                "只有编码、没有尺度：本来在 1 附近的 K 成了高达 127 的整数。没有尺度的块就是噪声。",
            ),
        ),
        Misconception(
            "whole numbers",
            answers.whole_numbers,
            Text(
                "The restored values are rounded to integers. Codes are integers; values are not.",
                "还原的值被取整了。编码是整数，值不是。",
            ),
        ),
    ),
    variants=(answers.by_reciprocal, Vectorised),
    tolerance=Tolerance(rtol=1e-6),
    show=show_restored,
)

MSE = Exercise(
    drive=DRIVES["4.7"],
    points=1,
    title=Text("Mean squared error", "均方误差"),
    hints=(
        Text("The name read from right to left: error, squared, mean.", "把名字倒过来读：误差，平方，平均。"),
        Text(
            "Compare values with values: the two tensors that are handed in, not anything that the object keeps.",
            "拿值和值比较：就是传进来的两个张量，与对象里存的东西无关。",
        ),
        Text(
            "The squares of float16 numbers above 256 overflow: make both tensors float32 first, with `.float()`.",
            "float16 里大于 256 的数一平方就溢出：先用 `.float()` 把两个张量变成 float32。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "always 0",
            answers.mse_zero,
            Text(
                "A measure that cannot rise measures nothing. Every report built on it would be perfect.",
                "不会变大的度量什么也没量。用它写出来的报告，个个完美。",
            ),
        ),
        Misconception(
            "mean absolute error",
            answers.mean_absolute,
            Text(
                "The mean of |error| is another measure. Squares weigh an error of 2 as four errors of 1.",
                "|误差| 的平均是另一种度量。平方会把一个大小为 2 的误差当成四个 1。",
            ),
        ),
        Misconception(
            "on the KV codes",
            answers.on_codes,
            Text(
                "You compare values with codes. Codes live on another scale, one for each group; what the model sees "
                "are the restored values, which are handed in.",
                "你拿值和编码比较。编码在另一个尺度上，而且每组不同；模型看到的是还原后的值，就是传进来的那个张量。",
            ),
        ),
        Misconception(
            "on the hidden codes",
            answers.on_hidden_codes,
            Text(
                "You compare with `self.fp8_q`. Those are codes, integers up to fp8_qmax, and they belong to the "
                "hidden state; compare the two tensors that are handed in.",
                "你拿 `self.fp8_q` 来比较。那是编码，是不超过 fp8_qmax 的整数，而且属于隐藏状态；该比较的是传进来的两个张"
                "量。",
            ),
        ),
        Misconception(
            "sum instead of mean",
            answers.summed,
            Text(
                "The sum grows with the size of the tensor, so two caches cannot be compared.",
                "总和随张量大小增长，两个缓存就没法比较了。",
            ),
        ),
        Misconception(
            "root",
            answers.rooted,
            Text(
                "That is the RMS error: useful, since it has the unit of the data, and not what the name says.",
                "那是均方根误差：单位与数据相同，很有用，但不是这个名字的意思。",
            ),
        ),
        Misconception(
            "square of the mean",
            answers.square_of_mean,
            Text(
                "The mean of the signed errors comes first, and there they cancel: +2 and -2 give 0.",
                "你先对带符号的误差求平均，正负就抵消了：+2 和 -2 得到 0。",
            ),
        ),
        Misconception(
            "one per row",
            answers.per_row,
            Text(
                "`mean(-1)` gives one number per row; asked is one number for everything.",
                "`mean(-1)` 每行给一个数；要的是总共一个数。",
            ),
        ),
        Misconception(
            "in half precision",
            answers.in_half,
            Text(
                "300² is 90,000, and float16 ends at 65,504: your error is inf. In bf16 it loses all but three "
                "digits. Measure in float32 at least.",
                "300² 是 90,000，而 float16 到 65,504 为止：你的误差成了 inf。bf16 则只剩不到三位数字。至少要用 float32 "
                "来量。",
            ),
        ),
    ),
    variants=(answers.by_library, Vectorised),
    tolerance=Tolerance(rtol=1e-5),
    show=show_mse,
)

EXERCISES = (RESTORE, MSE)
