"""The record of 5.7: rotate, store, attend, rotate back."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_rotation as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_rotation(inputs, array: str, index: tuple[int, ...]) -> str:
    case = next(case for case in inputs["cases"] if array.endswith(case))
    return f"{case}: {array.removesuffix(f', {case}')}{list(index) if index else ''}"


ROTATION = Exercise(
    drive=DRIVES["5.7"],
    points=3,
    title=Text("Rotate before you store", "先旋转，再存储"),
    hints=(
        Text(
            "A rotation of both factors changes no dot product. Which two vectors meet in a score? So which of the "
            "three tensors have to be rotated?",
            "两个因子同时旋转，点积不变。一个分数里相遇的是哪两个向量？那么三个张量里哪些要旋转？",
        ),
        Text(
            "`x @ h` rotates the last axis. The order is: rotate, then `store`. What comes out of `store` stays rotated.",
            "`x @ h` 旋转最后一轴。次序是：先旋转，再 `store`。从 `store` 里取出来的，就让它保持旋转后的样子。",
        ),
        Text(
            "The query is never stored: `query @ h`. K and V: `store(k @ h)`, `store(v @ h)`.",
            "query 从不存储：`query @ h`。K 和 V：`store(k @ h)`、`store(v @ h)`。",
        ),
        Text(
            "The output is a mixture of rotated values, so it is rotated itself. `h` is its own inverse: `output @ h`.",
            "输出是旋转过的 V 的加权和，所以它本身也是旋转过的。`h` 的逆就是自己：`output @ h`。",
        ),
    ),
    reference=answers.rotated_attention,
    misconceptions=(
        Misconception(
            "query not rotated",
            answers.query_forgotten,
            Text(
                "The keys are rotated and the query is not: scores of two vectors in different coordinates. With a "
                "lossless store the output should not change at all; yours is another one.",
                "K 旋转了，query 没有：两个向量不在同一套坐标里。存储无损时，输出本应一点不变；你的变了。",
            ),
        ),
        Misconception(
            "output left rotated",
            answers.output_left_rotated,
            Text(
                "The output is still in rotated coordinates. Either rotate it back, or, as QuaRot does for V, fold the "
                "rotation into the weights of the next layer.",
                "输出还停留在旋转后的坐标里。要么转回来，要么像 QuaRot 处理 V 那样，把旋转折进下一层的权重。",
            ),
        ),
        Misconception(
            "stored without rotation",
            answers.stored_before_rotating,
            Text(
                "The store saw the outliers as they are. A rotation behind the store spreads nothing but the damage, and with a "
                "lossless store the output is right all the same: look at what was stored.",
                "存储看到的仍是离群值。在存储之后再旋转，摊开的只是已经造成的损失。存储无损时输出照样正确，所以要看存进去的是什么。",
            ),
        ),
        Misconception(
            "V not rotated",
            answers.only_k_rotated,
            Text(
                "Only K was rotated. A fair choice in practice, since outlier channels live in K; the exercise asks for "
                "both.",
                "只旋转了 K。实际中这样做也说得过去，大通道多在 K 里；但这道题要求两个都转。",
            ),
        ),
        Misconception(
            "not stored",
            answers.not_stored,
            Text(
                "K and V never went through `store`: rotated attention in full precision.",
                "K 和 V 根本没有经过 `store`：这是全精度的旋转注意力。",
            ),
        ),
        Misconception(
            "V not stored",
            answers.v_not_stored,
            Text(
                "V was rotated and not stored. The cache holds both.",
                "V 旋转了，却没有存。缓存里两个都有。",
            ),
        ),
        Misconception(
            "query stored as well",
            answers.query_stored_too,
            Text(
                "The query was quantized, too. It belongs to the present step and never enters the cache.",
                "query 也被量化了。它只属于当前这一步，从不进缓存。",
            ),
        ),
        Misconception(
            "not normalised",
            answers.not_normalised,
            Text(
                "Entries of ±1 without 1 / √n: no rotation but a rotation times √n. Scores grow by n and the softmax "
                "freezes on one token.",
                "元素是 ±1，没有除以 √n：这不是旋转，而是旋转再乘 √n。分数放大 n 倍，softmax 死死盯住一个 token。",
            ),
        ),
        Misconception(
            "tokens rotated",
            answers.tokens_rotated,
            Text(
                "You mixed tokens, axis -2, not channels. The softmax stands between the tokens of K and the query, so "
                "that cannot be undone.",
                "你混合的是 token（-2 轴），不是通道。K 的 token 与 query 之间隔着 softmax，这样转了就转不回来。",
            ),
        ),
    ),
    variants=(answers.by_butterflies, answers.transposed, answers.rotated_back_first),
    tolerance=Tolerance(rtol=1e-6, atol=1e-9),
    show=show_rotation,
)

EXERCISES = (ROTATION,)
