"""The record of 10.6: decode attention over FP8 pages, split and merged."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_head, named, only_interpreted
from fp8lab.course.text import Text

# Compiled, a loop from 9.5 on is an error with the compiler's own words.
FRACTION = only_interpreted(
    {
        "a fraction of a token": Text(
            "`length / splits` is a float: 19 / 2 is 9.5, and no token has that number. Count in integers and round up: "
            "`-(-length // splits)`.",
            "`length / splits` 是浮点数：19 / 2 得 9.5，而没有哪个 token 的编号是 9.5。要用整数，并且向上取整：`-(-length // splits)`。",
        ),
    }
)

ATTENTION = Exercise(
    drive=DRIVES["10.6"],
    points=6,
    title=Text("Attention that reads FP8", "读 FP8 的注意力"),
    hints=(
        Text(
            "exp overflows in float32 beyond 88, so every exponential is taken of score minus the largest score so far. "
            "When a larger one comes, what was summed before must be made smaller by the same factor.",
            "float32 的 exp 超过 88 就溢出，所以每次都取（分数减去目前最大分数）的指数。等到更大的分数出现，之前累加的"
            "东西要按同样的比例缩小。",
        ),
        Text(
            "One step: score, `-inf` where there is no token, new peak, weight = exp(score - new peak), "
            "shrink = exp(peak - new peak); `total` and `acc` are shrunk, then added to. The number of tokens per split "
            "is rounded *up*.",
            "一步是这样：分数；没有 token 处置为 `-inf`；新峰值；权重 = exp(分数 - 新峰值)；收缩 = exp(旧峰值 - 新峰值)；"
            "`total` 与 `acc` 先收缩再累加。每段的 token 数要“向上”取整。",
        ),
        Text(
            "Merging is one more such step over the splits: each has its own peak, so weight = exp(peaks - largest "
            "peak), for `sums` and for `accs` alike. Divide once, at the end.",
            "合并就是对各段再做一次同样的事：各段峰值不同，所以权重 = exp(peaks - 最大峰值)，`sums` 与 `accs` 都要乘。最"
            "后只除一次。",
        ),
        Text(
            "`per_split = -(-length // splits)`; `score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, "
            'float("-inf"))`; `total = total * shrink + tl.sum(weight)`; `acc = acc * shrink + '
            "tl.sum(weight[:, None] * v, 0)`; merge: `tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)`.",
            "`per_split = -(-length // splits)`；`score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, "
            'float("-inf"))`；`total = total * shrink + tl.sum(weight)`；`acc = acc * shrink + '
            "tl.sum(weight[:, None] * v, 0)`；合并：`tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)`。",
        ),
    ),
    reference=answers.attention,
    misconceptions=named(
        answers.attention_as,
        {
            "no maximum subtracted": Text(
                "You take exp of the score itself. The second head has a score of 150: exp overflows at 88.7, inf / inf "
                "is NaN. Softmax does not change when a number is subtracted from all scores; subtract the largest.",
                "你直接对分数取了 exp。第二个头有一个 150 的分数：exp 在 88.7 处溢出，inf / inf 就是 NaN。所有分数同减一"
                "个数，softmax 不变；所以要减去最大的那个。",
            ),
            "peak never updated": Text(
                "Everything is NaN: the stored peaks are still -inf, and the merge takes exp(-inf - (-inf)). Two ways "
                "lead there: `peak = new_peak` is missing at the end of the step, or exp was taken of the bare score "
                "and no peak was kept at all.",
                "全是 NaN：存下来的峰值还是 -inf，合并时算的是 exp(-inf - (-inf))。有两种写法会走到这里：一步的末尾漏了 "
                "`peak = new_peak`；或者直接对分数取 exp，根本没有维护峰值。",
            ),
            "shrink upside down": Text(
                "The peaks are right and the sums are NaN. In the first step the old peak is -inf, and exp(new - old) is "
                "infinite; times 0, what was summed until then, it is NaN. Shrinking is `tl.exp(peak - new_peak)`: old "
                "minus new.",
                "峰值是对的，累加的和却成了 NaN。第一步里旧峰值是 -inf，exp(新 - 旧) 就是无穷大；再乘上此前累加的 0，便是 "
                "NaN。收缩系数是 `tl.exp(peak - new_peak)`：旧减新。",
            ),
            "maximum of this tile only": Text(
                "Your new peak is that of the tile alone. When the tile before had a larger one, shrink is the "
                "exponential of a large positive number and overflows: `tl.maximum(peak, ...)`.",
                "你的新峰值只看这一块。前一块的峰值更大时，收缩系数就成了一个很大的正数的指数，于是溢出：要用 "
                "`tl.maximum(peak, ...)`。",
            ),
            "tail lost": Text(
                "You divide the tokens by the splits and round down: 19 // 2 is 9, and the last token belongs to "
                "nobody. It is the newest one, too. Round up.",
                "你用 token 数除以段数并向下取整：19 // 2 得 9，最后一个 token 没有人管，而它偏偏是最新的。要向上取整。",
            ),
            **FRACTION,
            "one split reads all": Text(
                "The result is right and nothing is split: `per_split` is the whole length, so one program per head "
                "reads every token and the others find nothing to do. Share the tokens out: length / splits, rounded up.",
                "结果是对的，却没有切分：`per_split` 等于全长，每个头只有一个程序读完所有 token，其余的无事可做。要把 "
                "token 分开：length / splits，向上取整。",
            ),
            "score 0 where there is no token": Text(
                "Lanes without a token have the score 0, and exp gives them a weight. Their V is zero, so they only "
                "water the average down, which looks like a plausible result. Their score is minus infinity.",
                "没有 token 的 lane 分数是 0，取 exp 后也有了权重。它们的 V 是零，所以只是把平均值冲淡，看上去还挺像样。"
                "它们的分数应为负无穷。",
            ),
            "first peak kept": Text(
                "You keep the peak of the first tile for good. In the next tile a score may be higher by 100, and exp of that "
                "overflows: the peak follows the largest score so far.",
                "你把第一块的峰值一直用到最后。后面的分数可能比它高出 100，取 exp 就溢出了：峰值要跟随目前为止最大的分数。",
            ),
            "divided in every step": Text(
                "You divide `acc` by the sum in every step; the next step then shrinks and adds to what is an average already. "
                "Divide once, after the merge.",
                "你每一步都把 `acc` 除以累加的和；下一步再收缩、再累加时，它已经是平均值了。只在合并之后除一次。",
            ),
            "nothing shrunk": Text(
                "A new peak arrives and what was summed before keeps its old measure. `total` and `acc` count in units "
                "of exp(peak): when peak changes, both are multiplied by exp(old - new).",
                "来了新的峰值，之前累加的量却还是旧的单位。`total` 与 `acc` 都以 exp(peak) 为单位：峰值一变，两者都要乘"
                "以 exp(旧 - 新)。",
            ),
            "accumulator not shrunk": Text(
                "`total` is shrunk, `acc` is not: the values of earlier tiles weigh too much.",
                "`total` 收缩了，`acc` 却没有：前面几块的值权重过大。",
            ),
            "sum not shrunk": Text(
                "`acc` is shrunk, `total` is not: you divide by too much, and the result is too small.",
                "`acc` 收缩了，`total` 却没有：除数偏大，结果就偏小。",
            ),
            "sums in float16": Text(
                "Your sums are kept in float16. Each tile rounds to eleven bits, and over thousands of tokens small "
                "weights no longer count at all. Sums are kept in float32, whatever K and V are stored in.",
                "你的累加放在 float16 里。每一块都舍入到十一位；token 上千以后，小的权重根本加不进去。无论 K、V 用什么格"
                "式存放，累加都用 float32。",
            ),
            "softmax scale forgotten": Text(
                "The scores are not multiplied by `softmax_scale` (1 / sqrt(head_dim)): the softmax is too sharp.",
                "分数没有乘 `softmax_scale`（即 1 / sqrt(head_dim)）：softmax 会过于尖锐。",
            ),
            "splits merged without their maxima": Text(
                "You add up the splits as they are. Each counts in units of its own exp(peak), so a split with small "
                "scores weighs as much as one with large ones. Weight them by exp(peak - largest peak).",
                "你把各段直接相加。每段都以自己的 exp(peak) 为单位，于是分数小的段与分数大的段分量一样重。要按 "
                "exp(peak - 最大峰值) 加权。",
            ),
            "merged on the first peak": Text(
                "You weight by exp(peak - peak of split 0). When another split has a peak higher by 100, that overflows. "
                "Subtract the largest peak.",
                "你按 exp(峰值 - 第 0 段的峰值) 加权。别的段峰值要是高出 100，就溢出了。应当减去最大的峰值。",
            ),
            "splits averaged": Text(
                "You average the results of the splits. The softmax of the whole is no average of softmaxes of parts; "
                "a split that saw nothing would count as well.",
                "你对各段的结果求了平均。整体的 softmax 不是各部分 softmax 的平均；而且什么都没看到的段也会算进去。",
            ),
            "sums not weighted": Text(
                "The accumulators are weighted, the sums are not: numerator and denominator are in different units.",
                "累加器加了权，分母的和却没有加权：分子和分母的单位不一致。",
            ),
            "not divided": Text(
                "You never divide by the sum of the weights: the result is a sum of V, not an average.",
                "你始终没有除以权重之和：得到的是 V 的加权和，而不是加权平均。",
            ),
        },
    ),
    variants=(answers.attention_as("otherwise"), answers.attention_as("")),
    tolerance=Tolerance(rtol=1e-4, atol=3e-5),
    show=by_head,
)

EXERCISES = (ATTENTION,)
