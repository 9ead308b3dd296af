"""The records of 4.9 and 4.10: real E4M3FN bytes, and the bytes of the scales."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_groups as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.text import Text


def show_byte(inputs, array: str, index: tuple[int, ...]) -> str:
    what, _, case = array.partition(", ")
    kv, size = inputs["cases"][case]
    if what == "scales":
        group = kv[index[:-1]][index[-1] * size : (index[-1] + 1) * size]
        return f"kv {case}: scale{list(index)}, group absmax {group.abs().max().item():.5g}"
    return f"kv {case}: {what}{list(index)} of {kv[index].item():.5g}" if index else array


def show_entry(inputs, array: str, index: tuple[int, ...]) -> str:
    head_dim, size, bits, scale_bytes = inputs["cases"][index[0]]
    return f"{array}: head_dim {head_dim}, group_size {size}, code_bits {bits}, scale_bytes {scale_bytes}"


REAL_FP8 = Exercise(
    drive=DRIVES["4.9"],
    points=3,
    title=Text("A real E4M3FN container", "换成真正的 E4M3FN 容器"),
    hints=(
        Text(
            "Only two things change: what absmax is scaled to, and what turns a scaled number into a byte.",
            "只有两处要变：absmax 缩放到多少，以及用什么把缩放后的数变成字节。",
        ),
        Text(
            "The largest finite value of E4M3FN is 448. And the grid of a float format has fractions: whoever rounds "
            "to integers first throws them away.",
            "E4M3FN 的最大有限值是 448。浮点格式的网格带小数：先取整，小数就都丢了。",
        ),
        Text(
            "`encode(groups * scales.unsqueeze(-1))` is rounding, clamping and casting in one. Back: "
            "`decode(codes)`, divided by the same scales.",
            "`encode(groups * scales.unsqueeze(-1))` 一步完成舍入、钳位和转换。读出时：`decode(codes)` 除以同样的尺"
            "度。",
        ),
    ),
    reference=answers.grouped_fp8,
    misconceptions=(
        Misconception(
            "qmax 127",
            answers.qmax_127,
            Text(
                "127 belongs to int8. Nothing is clipped, so it looks well; but the 14 codes from 0x71 to 0x7E are "
                "never used on either side, and small values slide into the subnormals sooner.",
                "127 属于 int8。没有值被钳位，所以看上去没事；但 0x71 到 0x7E 这 14 个编码（正负两边）从来用不到，小的"
                "值也更早滑进次正规数。",
            ),
        ),
        Misconception(
            "qmax 240",
            answers.qmax_240,
            Text(
                "240 is the largest value of E4M3FNUZ and of the IEEE-like E4M3. E4M3FN ends at 448.",
                "240 是 E4M3FNUZ 以及 IEEE 式 E4M3 的最大值。E4M3FN 到 448 为止。",
            ),
        ),
        Misconception(
            "qmax 480",
            answers.qmax_480,
            Text(
                "480 is where 0x7F would be, and 0x7F is NaN. Scaled to 480, the largest value of every group "
                "overflows; here it saturates and is 7 % too small, elsewhere it becomes NaN.",
                "480 本该是 0x7F，而 0x7F 是 NaN。缩放到 480，每组最大的值都会溢出：这里是饱和，小了 7 %；换个地方就是 "
                "NaN。",
            ),
        ),
        Misconception(
            "rounded to integers first",
            answers.whole_numbers_only,
            Text(
                "You kept `.round()`. On a grid from 0 to 448 everything below a half becomes 0, and the fractions, "
                "which are most of what E4M3FN offers below 16, are gone. FP8 is not an integer up to 448.",
                "你保留了 `.round()`。在 0 到 448 的网格上，小于一半的全变成 0；而 E4M3FN 在 16 以下多半是小数，全没了。"
                "FP8 不是最大到 448 的整数。",
            ),
        ),
        Misconception(
            "cast to uint8",
            answers.cast_to_uint8,
            Text(
                "`.to(torch.uint8)` converts the *number*, modulo 256: 448 becomes 192 and -1 becomes 255. A code is a "
                "bit pattern, and `encode` makes it (or a cast to float8, whose bytes one then views).",
                "`.to(torch.uint8)` 转换的是*数值*，模 256：448 变成 192，-1 变成 255。编码是比特模式，要由 `encode` 产"
                "生（或者先转成 float8，再把它的字节按 uint8 来看）。",
            ),
        ),
        Misconception(
            "bytes taken for values",
            answers.codes_taken_for_values,
            Text(
                "You divided the bytes by the scales. 0x7E is 126 as an integer and 448 as E4M3FN: `decode` first.",
                "你直接拿字节去除以尺度。0x7E 作为整数是 126，作为 E4M3FN 是 448：要先 `decode`。",
            ),
        ),
        Misconception(
            "multiplied back",
            answers.multiplied_back,
            Text(
                "Values were multiplied by the scale, so the way back divides by it.",
                "写入时乘了尺度，读出时就要除以它。",
            ),
        ),
        Misconception(
            "read as FNUZ",
            answers.read_as_fnuz,
            Text(
                "The same bytes read as E4M3FNUZ are exactly half. Store and read in one format (vllm#45562).",
                "同样的字节按 E4M3FNUZ 读，正好是一半。写和读要用同一种格式（vllm#45562）。",
            ),
        ),
        Misconception(
            "E5M2",
            answers.in_e5m2,
            Text(
                "E5M2 has two mantissa bits: twice the error. Its larger range is of no use once every group has its "
                "own scale.",
                "E5M2 只有两位尾数，误差翻倍。每组都有自己的尺度之后，它更大的范围派不上用场。",
            ),
        ),
        Misconception(
            "truncation",
            answers.truncating,
            Text(
                "Your codes are those of truncation: everything shrinks toward zero.",
                "你的编码是截断得到的，没有就近舍入：所有值都向零收缩。",
            ),
        ),
    ),
    variants=(answers.by_torch, answers.by_table),
    tolerance=Tolerance(rtol=1e-5, atol=1e-12),
    show=show_byte,
)

LEDGER = Exercise(
    drive=DRIVES["4.10"],
    points=3,
    title=Text("The bill", "算账"),
    hints=(
        Text(
            "A row holds head_dim codes and one scale for each group, the short one included.",
            "一行里有 head_dim 个编码，每组一个尺度，较短的那组也有一个。",
        ),
        Text(
            "Codes of 4 bits lie two in a byte; a row of 7 such codes takes 4 bytes. Both divisions round up: "
            "`-(-a // b)`.",
            "4 比特的编码两个占一字节；一行 7 个这样的编码占 4 字节。两个除法都要向上取整：`-(-a // b)`。",
        ),
        Text(
            "Second hole: try the sizes 1, 2, 3 … head_dim in this order, and return the first with "
            "`row_bytes(size) < plain`. None when there is none.",
            "第二个空：按 1、2、3……head_dim 的次序尝试，返回第一个满足 `row_bytes(size) < plain` 的；一个都没有就是 "
            "None。",
        ),
    ),
    reference=answers.ledger,
    misconceptions=(
        Misconception(
            "scales forgotten",
            answers.scales_forgotten,
            Text(
                "Codes only: FP8 then is always exactly 2×, and int4 always 4×. A host-side pool that was sized so "
                "overflows. Scales are stored, moved and read, too.",
                "只算了编码：这样 FP8 永远正好是 2×，int4 永远 4×。照这样给内存池定大小，是会装不下的。尺度同样要存、"
                "要搬、要读。",
            ),
        ),
        Misconception(
            "the tail's scale forgotten",
            answers.tail_scale_forgotten,
            Text(
                "`head_dim // size` counts full groups. The short group at the end has a scale as well.",
                "`head_dim // size` 只数完整的组。末尾较短的组也有一个尺度。",
            ),
        ),
        Misconception(
            "one scale for each value",
            answers.scale_for_each_value,
            Text(
                "You count a scale for each value. The values of a group share one; that is the whole idea.",
                "你给每个值都算了一个尺度。一组的值共用一个，分组的意义就在这里。",
            ),
        ),
        Misconception(
            "one scale for the row",
            answers.one_scale,
            Text(
                "One scale for each row is right only if the group is the whole row.",
                "只有组就是整行时，才是每行一个尺度。",
            ),
        ),
        Misconception(
            "bits for bytes",
            answers.bits_for_bytes,
            Text(
                "code_bits are bits: eight of them are a byte. As you count it, no group size ever saves anything.",
                "code_bits 的单位是比特，八个才是一字节。照你的算法，无论组多大都省不下来。",
            ),
        ),
        Misconception(
            "a byte for each code",
            answers.a_byte_per_code,
            Text(
                "Right for 8 bits. Codes of 4 bits are packed two to a byte, or they would save nothing over int8.",
                "8 比特时没错。4 比特的编码两个装进一字节，否则比起 int8 什么也没省。",
            ),
        ),
        Misconception(
            "half a byte lost",
            answers.half_bytes,
            Text(
                "`head_dim * code_bits // 8` rounds down: seven codes of 4 bits do not fit in three bytes.",
                "`head_dim * code_bits // 8` 向下取整：七个 4 比特的编码装不进三个字节。",
            ),
        ),
        Misconception(
            "equal counts as saving",
            answers.equal_counts,
            Text(
                "With 4-byte scales, groups of 4 cost 2 bytes per value: as much as bf16, and with an error. That is "
                "no saving; the first size that saves is larger.",
                "尺度占 4 字节时，每 4 个一组就是每个值 2 字节：和 bf16 一样大，还多了误差。这不叫省；真正省的第一个大小"
                "还要更大。",
            ),
        ),
        Misconception(
            "tail stored as a full group",
            answers.full_tail,
            Text(
                "You store the padding of the short group. Codes are cut back to head_dim; only the scale is one more.",
                "你把短组的补零也存了下来。编码要切回 head_dim 个；多出来的只有一个尺度。",
            ),
        ),
    ),
    variants=(answers.by_math,),
    tolerance=Tolerance(rtol=1e-9),
    show=show_entry,
)

EXERCISES = (REAL_FP8, LEDGER)
