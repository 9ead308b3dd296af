"""The record of 10.7: bytes, floor, fraction of the copy bandwidth."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_case
from fp8lab.course.text import Text

BYTES = Exercise(
    drive=DRIVES["10.7"],
    points=3,
    title=Text("Count the bytes, find the floor", "数字节，找下限"),
    hints=(
        Text(
            "Count what crosses the memory bus, in both directions: what is read, and what is written. Once for K, "
            "once for V.",
            "数一数经过显存总线的字节，两个方向都算：读了多少，写了多少。K 一遍，V 一遍。",
        ),
        Text(
            "Per vector of head_dim: 2 bytes read and 1 byte written for each value, and 4 bytes for each group, of "
            "which the last may be short. Besides, 8 bytes per token for its slot.",
            "每个 head_dim 长的向量：每个值读 2 字节、写 1 字节；每个分组 4 字节，最后一组可能不满。另外每个 token 的槽位 "
            "8 字节。",
        ),
        Text(
            "A copy reads its bytes *and* writes them: it moves `2 * copied`. The floor is the time that the same rate "
            "needs for your bytes.",
            "拷贝既要读又要写：搬动的是 `2 * copied` 字节。时间下限就是以同样的速率搬完你这些字节所需的时间。",
        ),
        Text(
            "`groups = -(-head_dim // group_size)`; `moved = 2 * tokens * kv_heads * (3 * head_dim + 4 * groups) + "
            "8 * tokens`; `floor = moved / (2 * copied / copy_microseconds)`; "
            "`return moved, floor, floor / microseconds`.",
            "`groups = -(-head_dim // group_size)`；`moved = 2 * tokens * kv_heads * (3 * head_dim + 4 * groups) + "
            "8 * tokens`；`floor = moved / (2 * copied / copy_microseconds)`；"
            "`return moved, floor, floor / microseconds`。",
        ),
    ),
    reference=answers.roofline,
    misconceptions=(
        Misconception(
            "K only",
            answers.roofline_as(both=1),
            Text(
                "You counted K and forgot V. Every token has both.",
                "你只数了 K，忘了 V。每个 token 两样都有。",
            ),
        ),
        Misconception(
            "reads not counted",
            answers.roofline_as(lambda dim, groups: dim + 4 * groups),
            Text(
                "You count what is written and not what is read. The bf16 input is two thirds of the traffic; the bus "
                "does not care about the direction.",
                "你只数了写的，没数读的。bf16 输入占了流量的三分之二；总线并不在乎方向。",
            ),
        ),
        Misconception(
            "writes not counted",
            answers.roofline_as(lambda dim, groups: 2 * dim),
            Text(
                "You count the input and not the codes and scales that are written. Both cross the bus.",
                "你只数了输入，没数写出去的编码和尺度。两者都要经过总线。",
            ),
        ),
        Misconception(
            "scales forgotten",
            answers.roofline_as(lambda dim, groups: 3 * dim),
            Text(
                "You left the scales out: 4 bytes for each group. With groups of 16 that is a quarter of a byte per "
                "value, as much as a codec saves elsewhere.",
                "你漏了尺度：每个分组 4 字节。组大小为 16 时，相当于每个值多出四分之一字节，别处省下的都贴进去了。",
            ),
        ),
        Misconception(
            "values alone",
            answers.roofline_as(lambda dim, groups: 3 * dim, slots=0),
            Text(
                "You count the values, in and out, and nothing that goes with them: 4 bytes of scale for each group, and "
                "8 bytes of slot for each token.",
                "你只数了数值的读和写，没数随行的东西：每个分组 4 字节的尺度，每个 token 8 字节的槽位。",
            ),
        ),
        Misconception(
            "one-byte scales",
            answers.roofline_as(lambda dim, groups: 3 * dim + groups),
            Text(
                "You count one byte per scale. That is E8M0; these scales are float32, four bytes.",
                "你按每个尺度一字节来算。那是 E8M0；这里的尺度是 float32，四字节。",
            ),
        ),
        Misconception(
            "tail of a head forgotten",
            answers.roofline_as(whole_groups=True),
            Text(
                "You round the number of groups down. head_dim 96 with groups of 64 has two groups, the second one short.",
                "分组数你向下取整了。head_dim 为 96、组大小为 64 时有两组，第二组不满。",
            ),
        ),
        Misconception(
            "float32 input",
            answers.roofline_as(lambda dim, groups: 5 * dim + 4 * groups),
            Text(
                "You count four bytes per input value. K and V arrive in bf16: two.",
                "你按每个输入值四字节来算。K 和 V 是以 bf16 到来的：两字节。",
            ),
        ),
        Misconception(
            "slots forgotten",
            answers.roofline_as(slots=0),
            Text(
                "The slot mapping is read as well: 8 bytes (int64) per token. Little, but a count is exact or it is a "
                "guess.",
                "槽位映射也要读：每个 token 8 字节（int64）。虽然不多，但计数要么精确，要么就是猜。",
            ),
        ),
        Misconception(
            "int32 slots",
            answers.roofline_as(slots=4),
            Text(
                "You count four bytes per slot. The slots are int64: eight.",
                "你按每个槽位四字节来算。槽位是 int64：八字节。",
            ),
        ),
        Misconception(
            "a copy moves its bytes once",
            answers.roofline_as(copy=1),
            Text(
                "A copy of N bytes reads N and writes N: it moves 2N. Counting N halves the limit: a kernel at 83 % of "
                "the copy's rate seems to reach 166 %.",
                "拷贝 N 字节要读 N、写 N，一共搬动 2N。按 N 来算，上限就少了一半：达到拷贝速率 83 % 的内核，看起来会达到 "
                "166 %。",
            ),
        ),
        Misconception(
            "fraction upside down",
            answers.roofline_as(fraction=lambda floor, took: took / floor),
            Text(
                "Your fraction is time over floor. It is at least 1 and grows when the kernel is slow; the fraction of "
                "the bandwidth is floor over time.",
                "你的比例是实际时间除以下限。它不小于 1，内核越慢越大；占带宽的比例应是下限除以实际时间。",
            ),
        ),
        Misconception(
            "per cent",
            answers.roofline_as(fraction=lambda floor, took: 100 * floor / took),
            Text(
                "Your fraction is in per cent: 100 times as large. A fraction of one half is 0.5.",
                "你的比例用的是百分数，大了 100 倍。一半就是 0.5。",
            ),
        ),
        Misconception(
            "fraction cut off at 1",
            answers.roofline_as(fraction=lambda floor, took: min(1.0, floor / took)),
            Text(
                "You cut the fraction off at 1. Nothing is faster than its floor: a fraction above 1 means that the time or "
                "the count is wrong, and you want to see it.",
                "你把比例截在了 1。没有什么能快过下限：比例大于 1，说明时间或字节数弄错了，正应该让人看见。",
            ),
        ),
        Misconception(
            "floor in GiB per second",
            answers.roofline_as(copy=2 * 1e9 / 2**30),
            Text(
                "Somewhere 10⁹ and 2³⁰ got mixed: your floor is off by 7.4 %. Bytes and microseconds need no unit in "
                "between.",
                "某个地方把 10⁹ 与 2³⁰ 混用了：下限差了 7.4 %。字节与微秒之间不需要经过别的单位。",
            ),
        ),
    ),
    variants=(answers.in_gigabytes,),
    tolerance=Tolerance(rtol=1e-9),
    show=by_case,
)

EXERCISES = (BYTES,)
