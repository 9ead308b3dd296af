"""The record of 5.4: K per channel, in groups of tokens."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l05_granularity import answers_channels as answers
from fp8lab.course.lessons.l05_granularity.driving import DRIVES
from fp8lab.course.text import Text


def show_channel(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    k, size, fmt = inputs["cases"][case]
    if what == "scales":
        head, group, channel = index
        peak = k[head, group * size : (group + 1) * size, channel].abs().max().item()
        return f"{case}, {fmt}: scale of head {head}, group {group}, channel {channel}, absmax {peak:.4g}"
    return f"{case}, {fmt}: restored{list(index)} of {k[index].item():.4g}"


PER_CHANNEL = Exercise(
    drive=DRIVES["5.4"],
    points=3,
    title=Text("One scale per channel: K has loud channels", "每个通道一个尺度：K 有几个大通道"),
    hints=(
        Text(
            "Which axis is shared now? In [kv_heads, tokens, head_dim] a channel keeps its place, and the tokens of "
            "a group give way.",
            "现在共用的是哪个轴？在 [kv_heads, tokens, head_dim] 里，通道留下，一组里的 token 归约掉。",
        ),
        Text(
            "Only the first `full` tokens fill groups. `k[:, :full].unflatten(1, (full // size, size))` is [kv_heads, "
            "groups, size, head_dim].",
            "只有前 `full` 个 token 凑得满组。`k[:, :full].unflatten(1, (full // size, size))` 的形状是 [kv_heads, "
            "groups, size, head_dim]。",
        ),
        Text(
            "Scales: `scale_of(groups.abs().amax(-2), fmt)`, [kv_heads, groups, head_dim]. To store the groups, give the "
            "scales the lost axis back: `unsqueeze(-2)`.",
            "尺度：`scale_of(groups.abs().amax(-2), fmt)`，形状 [kv_heads, groups, head_dim]。存组的时候，用 "
            "`unsqueeze(-2)` 把少掉的轴补回来。",
        ),
        Text(
            "Restored: `stored(groups, ...)`, then `flatten(1, 2)` makes tokens of groups again, and `torch.cat` puts "
            "`k[:, full:]`, untouched, behind them.",
            "还原：先 `stored(groups, ...)`，再用 `flatten(1, 2)` 把组摊回 token，最后用 `torch.cat` 接上原封不动的 "
            "`k[:, full:]`。",
        ),
    ),
    reference=answers.per_channel,
    misconceptions=(
        Misconception(
            "per token",
            answers.one_scale_per_token,
            Text(
                "One scale for each token, over its channels: the loud channel sits in every token, so every token pays "
                "for it. Here the channel keeps its own scale.",
                "你给了每个 token 一个尺度，由它的所有通道共用：每个 token 里都有那个大通道，于是每个 token 都要替它付"
                "账。这里要让通道各有各的尺度。",
            ),
        ),
        Misconception(
            "absmax over the channels as well",
            answers.over_the_channels,
            Text(
                "The absmax was taken over tokens and channels: one number per group, repeated for each channel.",
                "absmax 把 token 和通道一起归约了：每组只有一个数，再复制给各个通道。",
            ),
        ),
        Misconception(
            "heads share the channel scales",
            answers.over_the_heads,
            Text(
                "Channel 5 of head 0 and channel 5 of head 1 got the same scale. Head_dim is a private matter of each "
                "head; the channels have only their numbers in common.",
                "0 号头的 5 号通道和 1 号头的 5 号通道用了同一个尺度。head_dim 是每个头自己的事，两个通道只是编号相同。",
            ),
        ),
        Misconception(
            "one scale for all groups",
            answers.over_all_groups,
            Text(
                "Each channel has one scale for all tokens. For that you must know all tokens, and while text is being "
                "generated you never do. A group is closed when it is full, and no later token can change it.",
                "每个通道对所有 token 只有一个尺度。这需要事先知道所有 token，而生成时永远不知道。组满就封口，后来的 token "
                "再也改不了它。",
            ),
        ),
        Misconception(
            "absmax without abs",
            answers.signed_channels,
            Text(
                "`amax` looks at signs. A channel around -300 has a maximum of, say, -297: its absmax is lost altogether.",
                "`amax` 看的是带符号的值。一个在 -300 附近的通道，最大值可能是 -297：真正的 absmax 完全丢了。",
            ),
        ),
        Misconception(
            "scale from the first token",
            answers.first_token_only,
            Text(
                "The scale is the size of the first token of the group; every later one that is larger is clipped.",
                "尺度取自组里第一个 token，后面凡是比它大的都被钳位。",
            ),
        ),
        Misconception(
            "scales of the group before",
            answers.group_before,
            Text(
                "Each group was stored under another group's scales. Tempting, since those are known when the first "
                "token of a group arrives; and where the level has changed it clips or wastes codes.",
                "每个组用了别的组的尺度。这很诱人，因为组里第一个 token 到来时，前一组的尺度已经有了；可是幅度一变，不"
                "是被钳位，就是浪费编码。",
            ),
        ),
        Misconception(
            "the waiting tokens are dropped",
            answers.tail_dropped,
            Text(
                "Tokens that do not fill a group are zeros now. They are the most recent ones, which attention needs "
                "most.",
                "凑不满一组的 token 变成了零。它们恰恰是最新的，注意力最需要的。",
            ),
        ),
        Misconception(
            "the waiting tokens under the last scales",
            answers.tail_under_the_last_scale,
            Text(
                "The tokens that wait were stored under the scales of the last full group, which have never seen them. "
                "KIVI keeps them in 16 bits until the group is full.",
                "等待中的 token 用了上一个满组的尺度，那些尺度从没见过它们。KIVI 的做法是：组满之前一直以 16 位保存。",
            ),
        ),
        Misconception(
            "a short group for the rest",
            answers.short_group_too,
            Text(
                "The rest got a short group with scales of its own. The next token would change those scales, and the "
                "codes already written would mean something else.",
                "剩下的 token 成了一个短组，有自己的尺度。下一个 token 一来，尺度就要变，已经写下的编码就变了意思。",
            ),
        ),
        Misconception(
            "every n-th token in a group",
            answers.every_size_th_token,
            Text(
                "`unflatten` with its two lengths exchanged: tokens 0, n, 2n, … share a scale. The shape of the result "
                "is another, or, with as many groups as tokens in one, only the numbers are.",
                "`unflatten` 的两个长度写反了：第 0、n、2n……个 token 共用尺度。形状会不一样；若组数恰好等于组大小，就只有"
                "数值不一样了。",
            ),
        ),
    ),
    variants=(answers.by_loop, answers.by_group),
    tolerance=Tolerance(rtol=1e-6),
    show=show_channel,
)

EXERCISES = (PER_CHANNEL,)
