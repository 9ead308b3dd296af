"""The record of 5.5: axes by the attention output."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_choice as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_choice(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    place = f" ({'KV'[index[0]]})" if index else ""
    return f"{case}: {what}{place}"


CHOICE = Exercise(
    drive=DRIVES["5.5"],
    points=3,
    title=Text("Choose by the attention output", "按注意力输出来选轴"),
    hints=(
        Text(
            "`exact` is the output with K and V as they are. What is the output with `kept_k` and `kept_v`, and how far "
            "is it from `exact`?",
            "`exact` 是 K、V 原样时的输出。换成 `kept_k` 和 `kept_v`，输出是多少？离 `exact` 有多远？",
        ),
        Text(
            "The first axis of the output is the head. For each head: norm of the difference divided by norm of "
            "`exact`; then the largest of them.",
            "输出的第一轴是头。对每个头：差的范数除以 `exact` 的范数；再取最大的一个。",
        ),
        Text(
            "`x.norm(dim=(-2, -1))` gives one norm per head. Last hole: the key of `table` with the smallest value, "
            "`min(table, key=table.get)`.",
            "`x.norm(dim=(-2, -1))` 给出每个头一个范数。最后一个空：`table` 里值最小的键，`min(table, key=table.get)`。",
        ),
    ),
    reference=answers.choose_axes,
    misconceptions=(
        Misconception(
            "error of the tensors",
            answers.by_tensor_error,
            Text(
                "You measured how far K and V are from their originals. Nobody reads a key; it is multiplied by a query, "
                "and a softmax follows. The outlier channels hold nearly all of K's energy, so a tensor error is about "
                "them, whether queries read them or not.",
                "你量的是 K、V 与原值的距离。没有谁会直接用 K：它先与 query 相乘，再过 softmax。大通道占了 K 几乎全部"
                "能量，张量误差说的就是它们，不管 query 看不看。",
            ),
        ),
        Misconception(
            "over all heads at once",
            answers.over_all,
            Text(
                "One norm over all heads: a head whose output is 100 times smaller does not show. Take the ratio for "
                "each head and then the maximum.",
                "所有头合起来求一个范数：输出小 100 倍的头根本显不出来。先对每个头求比值，再取最大。",
            ),
        ),
        Misconception(
            "the mean over heads",
            answers.mean_over_heads,
            Text(
                "The mean forgives the worst head for the sake of the others.",
                "取平均，就是让其他头去掩护最差的那个头。",
            ),
        ),
        Misconception(
            "not relative",
            answers.absolute_error,
            Text(
                "The difference was not divided by the size of the output. Heads differ in size, so the loud one decides "
                "alone.",
                "差没有除以输出的大小。各个头大小不同，于是最大的那个头说了算。",
            ),
        ),
        Misconception(
            "error of the scores",
            answers.by_scores,
            Text(
                "The error of q · k says nothing about V; and a part of it, whatever is the same for all tokens, is "
                "removed by the softmax.",
                "q · k 的误差与 V 无关；而且其中对所有 token 相同的那部分，会被 softmax 消掉。",
            ),
        ),
        Misconception(
            "V left exact",
            answers.v_left_exact,
            Text(
                "Only K went through the cache. The choice for V is then the first that comes along.",
                "只有 K 过了缓存。这样选出来的 V 的轴，不过是碰巧排在最前的一个。",
            ),
        ),
        Misconception(
            "K left exact",
            answers.k_left_exact,
            Text(
                "Only V went through the cache. The choice for K is then the first that comes along.",
                "只有 V 过了缓存。这样选出来的 K 的轴，不过是碰巧排在最前的一个。",
            ),
        ),
        Misconception(
            "with a causal mask",
            answers.with_a_mask,
            Text(
                "A causal mask hides the last tokens from the first queries. `exact` was computed without one, as when "
                "one new token looks at all that came before. Compare like with like.",
                "因果掩码会让靠前的 query 看不到后面的 token。`exact` 是不带掩码算的，如同一个新 token 回看全部历史。要比就"
                "在同样的条件下比。",
            ),
        ),
        Misconception(
            "the largest error",
            answers.the_worst_pair,
            Text(
                "`max` over the table picks the worst pair. The maximum belongs over the heads, the minimum over the "
                "pairs.",
                "对表取 `max`，选出的是最差的一对。最大值用在头上，最小值用在轴的组合上。",
            ),
        ),
        Misconception(
            "names exchanged",
            answers.names_swapped,
            Text(
                "The axis of V was returned for K and the other way round.",
                "K 和 V 的轴返回反了：第一个应当是 K 的，第二个是 V 的。",
            ),
        ),
        Misconception(
            "one axis for both",
            answers.one_way_for_both,
            Text(
                "K and V were only tried with the same axis. K is summed over channels, V over tokens: they are two "
                "questions.",
                "只试了 K 和 V 同轴的组合。K 沿通道求和，V 沿 token 求和：这是两个问题。",
            ),
        ),
    ),
    variants=(answers.by_metric, answers.by_sorting),
    tolerance=Tolerance(rtol=1e-5),
    show=show_choice,
)

EXERCISES = (CHOICE,)
