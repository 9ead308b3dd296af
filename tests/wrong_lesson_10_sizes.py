"""More wrong answers to the exercises of lesson 10, as lines in their holes: right for the sizes and for the values of
one input, and no further. Each must be refused."""

from __future__ import annotations

from wrong_lesson_10 import (
    ACC,
    CHOOSE,
    CODE_PLACE,
    CODES,
    END,
    FLOOR,
    GROUPS,
    KEEP_CODES,
    KEEP_SCALE,
    LOAD,
    MOVED,
    NAN,
    NORMAL,
    PEAK,
    PLACE,
    READ,
    SATURATE,
    SCALE,
    SCALE_PLACE,
    SCORE,
    SLOT,
    SOURCE,
    STORE_CODES,
    STORE_SCALE,
    SUBNORMAL,
    THEIR_SCALE,
    TOTAL,
    WEIGHT,
    step,
)

REAL = "real = (lane < GROUP) & (column < width)\n"
ABSMAX = f"tl.store({PLACE}, tl.max(tl.abs(x)))"
MASKED = f"x = tl.load({SOURCE}, mask=real, other=0.0)"
PRODUCT = "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)"
VALUE = "tl.store(out_ptr + row * width + column, value * scale, mask=real)"
MERGED = "out = tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)"
BYTE = "wide = codes.to(tl.uint32)\nsign = (wide & 0x80) << 24\n"


def absmax_at(place: str) -> str:
    return LOAD + f"tl.store(absmax_ptr + {place}, tl.max(tl.abs(x)))"


def quantized(scale: str = SCALE, codes: str = CODES, store: str = STORE_CODES) -> str:
    return scale + codes + store + STORE_SCALE


def codes_at(place: str) -> str:
    return quantized(store=f"tl.store(codes_ptr + {place} + lane, codes)\n")


def masked(real: str) -> dict[int, str]:
    return {0: f"real = {real}\n{MASKED}"}


def page(codes: str = CODE_PLACE, scale: str = SCALE_PLACE, before: str = SLOT, kept: str = "slot >= 0") -> str:
    return (
        f"{before}tl.store(codes_ptr + {codes}, codes, mask=real & ({kept}))\n"
        f"tl.store(scales_ptr + {scale}, scale, mask={kept})"
    )


SIZES_AND_VALUES = {
    "10.1": {
        "two groups": absmax_at("row * 2 + group"),
        "groups of 16": f"x = tl.load(x_ptr + row * row_stride + group * 16 + tl.arange(0, 16))\n{ABSMAX}",
        "groups from the stride": absmax_at("row * (row_stride // GROUP) + group"),
        "never below 1e-10": LOAD + f"tl.store({PLACE}, tl.maximum(tl.max(tl.abs(x)), 1e-10))",
        "root of the square": LOAD + f"tl.store({PLACE}, tl.sqrt(tl.max(x * x)))",
        "maximum with what stands there": LOAD + f"tl.atomic_max({PLACE}, tl.max(tl.abs(x)))",
    },
    "10.2": {
        "two groups": codes_at("(row * 2 + group) * GROUP"),
        "groups of 64": codes_at("(row * groups + group) * 64"),
        "absmax never below 1e-10": quantized("absmax = tl.maximum(absmax, 1e-10)\n" + SCALE),
        "small groups are zeros": quantized("scale = tl.where(absmax < 1e-6, 1.0, divide(absmax, 448.0))\n"),
        "zero added": quantized(codes="codes = to_code(divide(x, scale) + 0.0)\n"),
        "zeros without a sign": quantized(codes="codes = to_code(tl.where(absmax == 0, 0.0, divide(x, scale)))\n"),
    },
    "10.3": {
        "58 columns": masked("(lane < GROUP) & (column < 58)"),
        "24 lanes": masked("(lane < 24) & (column < width)"),
        "the rest as the last group": {
            0: "last = group == tl.num_programs(1) - 1\nreal = lane < tl.where(last, width % GROUP, GROUP)\n" + MASKED
        },
        "padded with little": {0: REAL + f"x = tl.load({SOURCE}, mask=real, other=1e-8)"},
    },
    "10.4": {
        "seven groups": READ + THEIR_SCALE.replace("row * groups", "row * 7") + PRODUCT,
        "groups of 24": READ + THEIR_SCALE.replace("// GROUP", "// 24") + PRODUCT,
        "zero added": READ + THEIR_SCALE + PRODUCT.replace("* scale", "* scale + 0.0"),
        "NaN is zero": READ + THEIR_SCALE + "value = to_value(codes)\nvalue = tl.where(value != value, 0.0, value)\n"
        + VALUE,
        "no subnormal numbers": READ + THEIR_SCALE + BYTE
        + "size = tl.where((wide & 0x7F) < 8, 0, ((wide & 0x7F) << 20) + (120 << 23)) | sign\n"
        "value = tl.where((wide & 0x7F) == 0x7F, float('nan'), size.to(tl.float32, bitcast=True))\n" + VALUE,
        "0x7F is 480": READ + THEIR_SCALE
        + "value = tl.where((codes & 0x7F) == 0x7F, tl.where(codes > 0x7F, -480.0, 480.0), to_value(codes))\n" + VALUE,
        "scale never below 1e-6": READ + THEIR_SCALE + "scale = tl.maximum(scale, 1e-6)\n" + PRODUCT,
        "end of the last row alone": "real = row * width + column < tl.num_programs(0) * width\n" + READ
        + "scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=column < width, other=1.0)\n" + PRODUCT,
    },
    "10.5": {
        "blocks of 4": page(before="block, place = slot // 4, slot % 4\n"),
        "block size a power of two": page(before="block, place = slot // block_size, slot & (block_size - 1)\n"),
        "two groups": page(scale=SCALE_PLACE.replace("head * groups", "head * 2")),
        "groups from the stride": page(
            scale=SCALE_PLACE.replace("head * groups", "head * (scale_place_stride // heads)")
        ),
        "zeros without a sign": SLOT + "codes = tl.where(codes == 0x80, 0, codes)\n" + KEEP_CODES + KEEP_SCALE,
        "-1 alone is not kept": page(kept="slot != -1"),
    },
    "10.6": {
        "softmax scale of 32": {0: step(score=SCORE.replace("softmax_scale", "0.17677669529663687"))},
        "ten tokens each": {2: "per_split = 10"},
        "peak never below 0": {0: step(peak="new_peak = tl.maximum(tl.maximum(peak, tl.max(score)), 0.0)\n")},
        "top never below 0": {1: f"weight = tl.exp(peaks - tl.maximum(tl.max(peaks), 0.0))\n{MERGED}"},
        "masked lanes in the peak": {
            0: "score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, 0.0)\n" + PEAK
            + "weight, shrink = tl.where(real, tl.exp(score - new_peak), 0.0), tl.exp(peak - new_peak)\n"
            + TOTAL + ACC + END
        },
        "-100 for -inf": {0: step(score=SCORE.replace('float("-inf")', "-100.0"))},
        "first peak kept": {0: step(peak='new_peak = tl.where(peak == float("-inf"), tl.max(score), peak)\n')},
        "merged on the first peak": {
            1: f"weight = tl.exp(peaks - tl.sum(tl.where(split == 0, peaks, 0.0)))\n{MERGED}"
        },
        "weights of the tile alone": {0: SCORE + PEAK + WEIGHT + "total += tl.sum(weight)\n" + ACC + END},
    },
    "10.7": {
        "cut off at 1": GROUPS + MOVED + FLOOR + "return moved, floor, min(1.0, floor / microseconds)",
    },
    "10.8": {
        "quiet NaN alone": {1: CHOOSE + SATURATE + NAN.replace("> 0x7F800000", ">= 0x7FC00000")},
        "one NaN alone": {1: CHOOSE + SATURATE + NAN.replace("> 0x7F800000", "== 0x7FC00000")},
        "sum before the and": {0: NORMAL.replace("((magnitude >> 20) & 1)", "(magnitude >> 20) & 1") + SUBNORMAL},
    },
}  # fmt: skip
