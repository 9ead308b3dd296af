"""The record of 5.3: a token comes with its own scales and leaves the others alone."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_tokens as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_token(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    codes, _, token = inputs["cases"][case]
    if what not in ("scales", "codes"):
        return f"{case}: {what}"
    head, place = index[:2]
    age = "the new token" if place == codes.shape[1] else "an old token"
    return (
        f"{case}: {what}{list(index)}, {age}; absmax of head {head} in the new one {token[head].abs().max().item():.4g}"
    )


APPEND = Exercise(
    drive=DRIVES["5.3"],
    points=2,
    title=Text("One scale per token: it comes with the token", "每个 token 一个尺度：随 token 而来"),
    hints=(
        Text(
            "`token` is [kv_heads, head_dim]: one vector for each head. Each vector has an absmax of its own, along "
            "the last axis.",
            "`token` 是 [kv_heads, head_dim]：每个头一个向量。每个向量沿最后一轴有自己的 absmax。",
        ),
        Text(
            "`scale_of(token.abs().amax(-1, keepdim=True))` is [kv_heads, 1] and broadcasts against the token. Codes: "
            "`encode(token / scale)`.",
            "`scale_of(token.abs().amax(-1, keepdim=True))` 的形状是 [kv_heads, 1]，可以与 token 广播。编码是 "
            "`encode(token / scale)`。",
        ),
        Text(
            "The cache has one axis more than the token: the tokens, axis 1. `unsqueeze(1)` makes room for it, then "
            "`torch.cat([old, new], dim=1)`, for codes and for scales.",
            "缓存比 token 多一个轴：第 1 轴，token。先 `unsqueeze(1)` 补出这个轴，再 `torch.cat([old, new], dim=1)`，"
            "编码和尺度都要拼。",
        ),
    ),
    reference=answers.append_token,
    misconceptions=(
        Misconception(
            "one scale for all heads of the token",
            answers.one_for_all_heads,
            Text(
                "One absmax over the whole token: the heads share it, and the small ones lose bits or vanish. What "
                "engines call per token is mostly per (token, head).",
                "整个 token 只取了一个 absmax：各个头共用，小的头丢精度，甚至消失。推理引擎所说的 per token，多数是每"
                "个（token，头）一个。",
            ),
        ),
        Misconception(
            "the first scale for ever",
            answers.first_scale_for_ever,
            Text(
                "You reused the scale of the first token. A frozen scale clips whatever is larger later, at 448 times "
                "that scale, and no error is raised. Hugging Face's FP8 layer freezes its scale at the first update "
                "in this way.",
                "你一直用第一个 token 的尺度。尺度冻结之后，后来的值凡是超过尺度的 448 倍，都会被钳位，而且不报错。"
                "Hugging Face 的 FP8 缓存层就在第一次更新时这样冻结尺度。",
            ),
        ),
        Misconception(
            "scale of the token before",
            answers.scale_of_the_token_before,
            Text(
                "The new token was written under the scale of its neighbour. Neighbours are often alike, so this looks "
                "fine until one is not: 10 times larger means clipped to a tenth.",
                "新 token 用了前一个 token 的尺度。相邻的 token 往往差不多，所以看上去没问题，直到有一个不一样：大 10 "
                "倍，就被钳到十分之一。",
            ),
        ),
        Misconception(
            "a scale that only grows",
            answers.never_smaller,
            Text(
                "You took the largest scale so far. After one sink token, 5000 times larger, every later token is "
                "measured with the sink's ruler. A scale per token forgets at once: that is its merit.",
                "你取的是迄今最大的尺度。只要来过一个大 5000 倍的 sink token，后面所有 token 都得用它的尺子。每 token 一个"
                "尺度的好处，正是立刻忘掉别人。",
            ),
        ),
        Misconception(
            "the old tokens written again",
            answers.everything_again,
            Text(
                "The old codes were decoded and written again under a common scale. Each rewriting rounds once more, "
                "costs a pass over the whole cache for each token, and breaks every block that somebody else shares.",
                "旧的编码被解开，又按共同的尺度重写了一遍。每重写一次就多舍入一次，每来一个 token 要扫一遍整个缓存，还会弄坏"
                "别人正在共享的块。",
            ),
        ),
        Misconception(
            "the scale is not kept",
            answers.only_the_codes,
            Text(
                "Right codes, and the scale that they were made with is not in the cache: the last old one stands in. A "
                "block without its scale is noise.",
                "编码没错，可是写它们时用的尺度没有进缓存，读的时候用了上一个的。没有尺度的块，只是噪声。",
            ),
        ),
        Misconception(
            "scale 1",
            answers.scale_one,
            Text(
                "Scale 1.0 is what a loader takes when it finds none. Values above 448 are clipped, small heads fall "
                "among the subnormals.",
                "加载时找不到尺度，才会用 1.0 代替。大于 448 的值会被钳位，小的头会落进次正规数。",
            ),
        ),
        Misconception(
            "absmax kept instead of the scale",
            answers.absmax_kept,
            Text(
                "You stored absmax, 448 times the scale. Whoever reads multiplies by it and gets 448 times the value.",
                "你存的是 absmax，等于尺度的 448 倍。读的人乘上它，得到 448 倍的值。",
            ),
        ),
        Misconception(
            "multiplied instead of divided",
            answers.multiplied,
            Text(
                "Here value = code × scale, so codes come from token / scale. Multiplying by it was a kernel's bug, too "
                "(vllm-xpu-kernels#475).",
                "这里 值 = 编码 × 尺度，所以编码来自 token / scale。把除写成乘，也是某个内核真实犯过的错"
                "（vllm-xpu-kernels#475）。",
            ),
        ),
        Misconception(
            "absmax without abs",
            answers.signed_absmax,
            Text(
                "`amax` looks at signs. A vector whose largest size is negative is clipped.",
                "`amax` 看的是带符号的值。绝对值最大的数如果是负的，这个向量就会被钳位。",
            ),
        ),
        Misconception(
            "truncation",
            answers.truncated,
            Text(
                "The codes are rounded toward zero. `encode` rounds to nearest unless it is told otherwise.",
                "编码是向零舍入的。`encode` 默认就近舍入，除非另外指定。",
            ),
        ),
        Misconception(
            "put in front",
            answers.put_in_front,
            Text(
                "The new token stands before the old ones. Attention without positions would not notice; a causal mask "
                "and a slot mapping do.",
                "新 token 排到了旧的前面。没有位置信息的注意力察觉不到；因果掩码和槽位映射可不会放过。",
            ),
        ),
        Misconception(
            "scale in float16",
            answers.scale_in_half,
            Text(
                "The scale went through float16: 11 bits, nothing below 6e-8. It differs from the one that somebody "
                "else computes in float32, and small heads suffer most.",
                "尺度在 float16 里走了一趟：只有 11 位有效位，小于 6e-8 就没了。它与别处用 float32 算出的不一致，小的头受"
                "害最深。",
            ),
        ),
    ),
    variants=(answers.with_room, answers.by_quantize),
    tolerance=Tolerance(rtol=1e-6),
    show=show_token,
)

EXERCISES = (APPEND,)
