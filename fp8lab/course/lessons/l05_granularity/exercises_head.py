"""The records of 5.1 and 5.2: one scale, and one per layer and KV head."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_axes as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_tensor(inputs, array: str, index: tuple[int, ...]) -> str:
    """Arrays are named "worst, <case>"."""
    what, _, case = array.partition(", ")
    kv, fmt = inputs["cases"][case]
    peaks = ", ".join(f"{head.abs().max().item():.3g}" for head in kv)
    return f"{what}: kv {list(kv.shape)} in {fmt}, absmax of the heads {peaks}"


def show_heads(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    cache, axis = inputs["cases"][case]
    if what == "scales":
        return f"{case}: scales{list(index)}, cache {list(cache.shape)}"
    return f"{case}: restored{list(index)} of {cache[index].item():.4g}, cache {list(cache.shape)}"


ONE_SCALE = Exercise(
    drive=DRIVES["5.1"],
    points=2,
    title=Text("One scale, and an honest report", "一个尺度，和一份诚实的报告"),
    hints=(
        Text(
            "First hole: one absmax over all three axes. Second hole: `relative` has the shape of kv; the first axis is "
            "the head.",
            "第一个空：对三个轴一起求 absmax。第二个空：`relative` 的形状与 kv 相同，第一轴是头。",
        ),
        Text(
            "`amax` takes several axes at once, and `keepdim=True` leaves them with length 1. It looks at signs, so "
            "`abs()` comes first.",
            "`amax` 可以一次对多个轴归约，`keepdim=True` 让它们保留长度 1。它看符号，所以要先 `abs()`。",
        ),
        Text(
            "Worst: flatten everything behind the head axis, take each head's median, then the largest of them: "
            "`relative.flatten(1)`, `.median(dim=1).values`, `.max()`.",
            "worst：把头轴之后的全部展平，先取每个头的中位数，再取其中最大的：`relative.flatten(1)`、"
            "`.median(dim=1).values`、`.max()`。",
        ),
    ),
    reference=answers.one_scale,
    misconceptions=(
        Misconception(
            "absmax without abs",
            answers.signed_absmax,
            Text(
                "`amax` looks at signs. Where the largest size is a negative number, it is clipped.",
                "`amax` 看的是带符号的值。绝对值最大的数如果是负的，就会被钳位。",
            ),
        ),
        Misconception(
            "one scale for each head",
            answers.one_for_each_head,
            Text(
                "That is 5.2, and better. Here the question is what happens with a single scale, so reduce the head "
                "axis as well.",
                "那是 5.2 的做法，而且更好。这里要看的是只有一个尺度时会怎样，所以头轴也要归约。",
            ),
        ),
        Misconception(
            "one scale for each channel",
            answers.one_for_each_channel,
            Text(
                "You reduced heads and tokens and kept the channels. A single scale keeps no axis at all.",
                "你归约了头和 token，留下了通道。只要一个尺度，就一个轴也不留。",
            ),
        ),
        Misconception(
            "scale of the first head",
            answers.first_head_only,
            Text(
                "The scale was taken from head 0 alone. Every louder head is clipped.",
                "尺度只取自第 0 个头。比它大的头全都被钳位了。",
            ),
        ),
        Misconception(
            "the largest single error",
            answers.largest_error,
            Text(
                "`relative.max()` is one value's error, and some tiny value is always lost: it reads 100 % for every "
                "FP8 tensor and tells nothing apart. Take the median within a head first.",
                "`relative.max()` 是单个值的误差，总有某个极小的值丢掉，于是任何 FP8 张量读出来都差不多 100 %，什么也"
                "区分不了。先在每个头内部取中位数。",
            ),
        ),
        Misconception(
            "the mean over heads",
            answers.mean_over_heads,
            Text(
                "A mean lets three good heads hide a dead one: with 32 heads it would read 5 %. A model does not "
                "average its heads. Take the maximum.",
                "取平均，三个好的头就能掩护一个全毁的头；有 32 个头时，平均值不过 5 % 左右。模型不会把各个头平均。要取"
                "最大值。",
            ),
        ),
        Misconception(
            "the median over heads",
            answers.median_over_heads,
            Text(
                "The median of the medians is the middle head. The head that is gone lies at the end.",
                "中位数的中位数，是排在中间的那个头。丢掉的头排在末尾。",
            ),
        ),
        Misconception(
            "mean error within a head",
            answers.worst_mean,
            Text(
                "Within a head the mean of relative errors hangs on the few values next to zero. The median says what "
                "a typical value of that head suffers.",
                "在一个头内部，相对误差的平均值取决于少数接近零的值。中位数说的才是这个头里典型的值受了多少损失。",
            ),
        ),
        Misconception(
            "the worst token",
            answers.worst_token,
            Text(
                "You took the median within each token of each head and then the largest. With thousands of tokens "
                "some token is always unlucky. One number per head: flatten tokens and channels together.",
                "你先在每个头的每个 token 内取中位数，再取最大。token 有几千个，总有一个运气差。每个头只要一个数：把 "
                "token 和通道一起展平。",
            ),
        ),
        Misconception(
            "the best head",
            answers.smallest,
            Text(
                "That is the smallest of the heads' medians: the head that suffers least.",
                "这是各头中位数里最小的：受损最轻的那个头。",
            ),
        ),
    ),
    variants=(answers.with_python_max, answers.by_fp8lab),
    tolerance=Tolerance(rtol=1e-5),
    show=show_tensor,
)

PER_HEAD = Exercise(
    drive=DRIVES["5.2"],
    points=3,
    title=Text("One scale per KV head: an array, not a flag", "每个 KV 头一个尺度：是数组，不是开关"),
    hints=(
        Text(
            "Two axes survive: axis 0, the layers, and `axis`, the heads. Everything else is reduced, whatever the "
            "layout.",
            "只有两个轴留下：第 0 轴（层）和 `axis`（头）。其余的轴不管怎么排列，都要归约。",
        ),
        Text(
            "List the axes that go: `[a for a in range(1, cache.ndim) if a != axis]`, and hand the list to `amax`.",
            "把要归约的轴列出来：`[a for a in range(1, cache.ndim) if a != axis]`，交给 `amax`。",
        ),
        Text(
            "[layers, kv_heads] does not broadcast against the cache by itself. Make a shape of ones, put the two "
            "lengths in their places 0 and `axis`, and reshape.",
            "[layers, kv_heads] 不会自己对齐到缓存的轴上。先造一个全 1 的形状，把两个长度放到 0 和 `axis` 这两个位置，再 "
            "reshape。",
        ),
    ),
    reference=answers.per_head,
    misconceptions=(
        Misconception(
            "a flag instead of an array",
            answers.one_number_everywhere,
            Text(
                "The array has the right shape and holds one number, the absmax of everything. A configuration that "
                "says `per_head: true` above a single number is exactly this; the small heads are erased as before.",
                "形状对了，里面却是同一个数：全体的 absmax。配置里写着 `per_head: true`、底下只有一个数，就是这种情况；小"
                "的头照样被抹掉。",
            ),
        ),
        Misconception(
            "one scale per layer",
            answers.one_per_layer,
            Text(
                "All heads of a layer got the same scale. Per layer is per tensor: the loudest head pays for nobody, "
                "and everybody pays for it.",
                "同一层的各个头用了同一个尺度。“每层一个”就是“每张量一个”：尺度由最大的头来定，账由其他头来付。",
            ),
        ),
        Misconception(
            "one scale per head for all layers",
            answers.one_per_head,
            Text(
                "The layers share their scales. Head 3 of layer 0 and head 3 of layer 17 have nothing in common but "
                "the number.",
                "各层共用了尺度。第 0 层的 3 号头和第 17 层的 3 号头，除了编号没有任何共同点。",
            ),
        ),
        Misconception(
            "layer 0 for all layers",
            answers.first_layer_for_all,
            Text(
                "Every layer has the scales of layer 0. A loader that takes the first `k_scale` that it finds does "
                "that.",
                "每一层用的都是第 0 层的尺度。加载时见到第一个 `k_scale` 就到处套用，结果就是这样。",
            ),
        ),
        Misconception(
            "absmax without abs",
            answers.signed_heads,
            Text(
                "`amax` looks at signs: heads whose largest size is negative are clipped.",
                "`amax` 看的是带符号的值：绝对值最大的数如果是负的，这个头就会被钳位。",
            ),
        ),
        Misconception(
            "always axis -3",
            answers.always_minus_three,
            Text(
                "The head axis is where the caller says, not where one layout has it. In [layers, tokens, kv_heads, "
                "head_dim] axis -3 is the token, so token 0 lends its scale to head 0 (sgl-kernel-xpu#252). With as "
                "many tokens as heads even the shapes agree.",
                "头轴在调用者所说的位置，而不是某种布局里的位置。在 [layers, tokens, kv_heads, head_dim] 里，-3 轴是 "
                "token，于是 0 号头用了 0 号 token 的尺度（sgl-kernel-xpu#252）。token 数恰好等于头数时，连形状都对得上。",
            ),
        ),
        Misconception(
            "always axis -2",
            answers.always_axis_minus_two,
            Text(
                "Axis -2 is the head in [layers, tokens, kv_heads, head_dim] and the token in [layers, kv_heads, "
                "tokens, head_dim]. Both layouts are in use, so take `head_axis`.",
                "-2 轴在 [layers, tokens, kv_heads, head_dim] 里是头，在 [layers, kv_heads, tokens, head_dim] 里是 token。"
                "两种布局都有人用，所以要用 `head_axis`。",
            ),
        ),
        Misconception(
            "heads in another order",
            answers.heads_in_reverse,
            Text(
                "The scales are right, and each was used for another head. The small head under the loud one's scale "
                "is zeros, the loud one under the small one's scale is clipped. No shape complains.",
                "尺度算对了，却用在了别的头上。小的头用了大头的尺度，变成零；大的头用了小头的尺度，被钳位。形状上毫无"
                "破绽。",
            ),
        ),
        Misconception(
            "layers and heads exchanged",
            answers.layers_and_heads_swapped,
            Text(
                "The [layers, kv_heads] array was read as [kv_heads, layers]. `reshape` counts elements and asks no "
                "further.",
                "[layers, kv_heads] 被当成 [kv_heads, layers] 来读。`reshape` 只数元素个数，别的不问。",
            ),
        ),
        Misconception(
            "layer 0 when read",
            answers.first_layer_when_read,
            Text(
                "Measured for each layer, used from layer 0 only.",
                "尺度是逐层量的，用的却总是第 0 层的。",
            ),
        ),
        Misconception(
            "the first sequence only",
            answers.first_sequence_only,
            Text(
                "You took the absmax of the first sequence of the batch. A sequence that is louder is clipped. A "
                "shared scale has to have seen everybody who uses it.",
                "absmax 只取自批里的第一条序列，更大的序列会被钳位。共用的尺度，必须见过所有使用它的数据。",
            ),
        ),
    ),
    variants=(answers.by_moving_axes, answers.by_quantize),
    tolerance=Tolerance(rtol=1e-6),
    show=show_heads,
)

EXERCISES = (ONE_SCALE, PER_HEAD)
