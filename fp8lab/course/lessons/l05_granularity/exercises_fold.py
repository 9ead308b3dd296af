"""The record of 5.8: where scales fold."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_fold as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_fold(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    query, codes, k_scale, _, v_scale = inputs["cases"].get(case) or inputs["groups"][case]
    shapes = (
        f"query {list(query.shape)}, codes {list(codes.shape)}, scales {list(k_scale.shape)}, {list(v_scale.shape)}"
    )
    return f"{case}: {what}{list(index) if index else ''}; {shapes}"


FOLD = Exercise(
    drive=DRIVES["5.8"],
    points=4,
    title=Text("Scales that fold, and scales that do not", "能折叠的尺度，和不能折叠的尺度"),
    hints=(
        Text(
            "A factor comes out of a sum when it does not change along the axis that is summed. q · k sums over "
            "channels; probabilities · v sums over tokens.",
            "一个因子如果不随求和的轴变化，就能提到求和号外面。q · k 沿通道求和；概率 · v 沿 token 求和。",
        ),
        Text(
            "A scale that changes along one axis only always folds somewhere. One that changes along both, "
            "`scale.shape[-2] > 1` and `scale.shape[-1] > 1`, folds nowhere.",
            "只随一个轴变化的尺度，总有地方可以折叠。两个轴都变的，即 `scale.shape[-2] > 1` 且 `scale.shape[-1] > 1`，"
            "就无处可折。",
        ),
        Text(
            "K per channel: onto the query, `query * k_scale`. K per token or per head: onto the scores. There tokens are "
            "columns, so turn the scale: `k_scale.mT`.",
            "K 每通道：乘到 query 上，`query * k_scale`。K 每 token 或每头：乘到分数上。分数里 token 是列，所以要转置尺度："
            "`k_scale.mT`。",
        ),
        Text(
            "V per token: onto the probabilities, *after* the softmax, `probabilities * v_scale.mT`. V per channel or per "
            "head: onto the output.",
            "V 每 token：乘到概率上，而且要在 softmax *之后*，`probabilities * v_scale.mT`。V 每通道或每头：乘到输出上。",
        ),
    ),
    reference=answers.folded_attention,
    misconceptions=(
        Misconception(
            "dequantized first",
            answers.dequantized_first,
            Text(
                "Right output, and the whole cache was multiplied by its scales: one product for each cached value, "
                "and room for a cache of full size. Put the scale on the small side of the product.",
                "输出没错，但整个缓存都乘了一遍尺度：每个缓存值一次乘法，还要一份全尺寸的空间。把尺度放到乘积里小的那一边"
                "去。",
            ),
        ),
        Misconception(
            "K's scale dropped",
            answers.k_scale_dropped,
            Text(
                "The scores lack K's scale. Its fast path forgot the descale, and the model went on speaking "
                "(vllm#42580, flashinfer#4979). The same K stored with s and with 4s must give the same attention.",
                "分数里少了 K 的尺度。有的快速路径就这样漏乘了尺度，而模型照样往下说（vllm#42580、flashinfer#4979）。"
                "同一个 K 用 s 存和用 4s 存，注意力必须一样。",
            ),
        ),
        Misconception(
            "V's scale dropped",
            answers.v_scale_dropped,
            Text(
                "The output lacks V's scale. A normalisation behind it may hide one number per head, never one per token.",
                "输出里少了 V 的尺度。后面的归一化也许能掩盖“每头一个数”，却掩盖不了“每 token 一个数”。",
            ),
        ),
        Misconception(
            "divided by K's scale",
            answers.k_divided,
            Text(
                "value = code × scale: multiply. Dividing is the other convention.",
                "值 = 编码 × 尺度：要乘。除是另一种约定。",
            ),
        ),
        Misconception(
            "K's scale twice",
            answers.k_scale_twice,
            Text(
                "K's scale was applied twice: once on the query or the scores, once more on the way.",
                "K 的尺度乘了两遍：query 或分数上一遍，路上又一遍。",
            ),
        ),
        Misconception(
            "K's token scale on the query's row",
            answers.scale_of_the_query_row,
            Text(
                "With as many queries as tokens [heads, tokens, 1] broadcasts along the wrong axis: score (i, j) got the "
                "scale of token i instead of j. In every other shape it fails loudly, in this one it does not.",
                "query 与 token 一样多时，[heads, tokens, 1] 会沿错误的轴广播：分数 (i, j) 乘的是 token i 而不是 j 的尺度。别"
                "的形状会报错，唯独这一种不会。",
            ),
        ),
        Misconception(
            "V's token scale on the output's row",
            answers.scale_of_the_output_row,
            Text(
                "With as many queries as tokens V's scales fit the rows of the output, too. But rows of the output are "
                "queries. The tokens are gone by then: they were summed over.",
                "query 与 token 一样多时，V 的尺度也能对上输出的行。可输出的行是 query；到那一步，token 已经被求和掉了。",
            ),
        ),
        Misconception(
            "V's scale before the softmax",
            answers.v_before_the_softmax,
            Text(
                "V's token scales were put on the scores. The softmax is not linear: a factor in front of it changes who "
                "is attended to, not how large the value is.",
                "V 的 token 尺度乘到了分数上。softmax 不是线性的：乘在它前面，改变的是注意力看向谁，而不是值有多大。",
            ),
        ),
        Misconception(
            "V's scales averaged",
            answers.mean_of_v_scales,
            Text(
                "The mean of the token scales was taken out of the sum. That is right only when they are all alike.",
                "把各 token 尺度的平均值提到了求和号外。只有它们全都相等时才对。",
            ),
        ),
        Misconception(
            "the sum made one again",
            answers.sum_made_one_again,
            Text(
                "After V's scales the weights do not sum to one any more, and they must not: dividing by their sum takes "
                "the scale out again.",
                "乘上 V 的尺度之后，权重之和不再是 1，也不该是 1：再除以总和，就把尺度又除掉了。",
            ),
        ),
        Misconception(
            "groups accepted",
            answers.groups_accepted,
            Text(
                "Scales that change along tokens and along channels went through. Neither side of a product can take "
                "them: dequantize first, or split the sum by group. Refuse, instead of using the first group's.",
                "沿 token 和沿通道都变的尺度被放行了。乘积的哪一边都收不下它们：要么先还原，要么按组拆开求和。应当拒"
                "绝，而不是凑合用第一组的。",
            ),
        ),
        Misconception(
            "only one number per head accepted",
            answers.token_scales_refused,
            Text(
                "Scales per token and per channel fold as well: onto scores, query, probabilities or output. Refuse only "
                "those that change along both axes.",
                "每 token、每通道的尺度同样可以折叠，折到分数、query、概率或输出上。只有两个轴都变的才该拒绝。",
            ),
        ),
    ),
    variants=(answers.by_einsum, answers.in_float64),
    tolerance=Tolerance(rtol=2e-4, atol=1e-5),
    show=show_fold,
)

EXERCISES = (FOLD,)
