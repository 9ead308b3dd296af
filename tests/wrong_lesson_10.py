"""Wrong answers to the exercises of lesson 10, as lines in their holes. Made up from the text of the exercises alone:
none is a copy of a misconception of the records, and each must be refused."""

from __future__ import annotations

LOAD = "x = tl.load(x_ptr + row * row_stride + group * GROUP + lane)\n"
PLACE = "absmax_ptr + row * tl.num_programs(1) + group"
SCALE = "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 448.0))\n"
CODES = "codes = to_code(divide(x, scale))\n"
STORE_CODES = "tl.store(codes_ptr + (row * groups + group) * GROUP + lane, codes)\n"
STORE_SCALE = "tl.store(scales_ptr + row * groups + group, scale)"
SOURCE = "x_ptr + row * row_stride + column"
READ = "codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)\n"
THEIR_SCALE = "scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=real, other=1.0)\n"
SLOT = "block, place = slot // block_size, slot % block_size\n"
CODE_PLACE = "block * code_block_stride + place * code_place_stride + head * width + column"
SCALE_PLACE = "block * scale_block_stride + place * scale_place_stride + head * groups + group"
KEEP_CODES = f"tl.store(codes_ptr + {CODE_PLACE}, codes, mask=real & (slot >= 0))\n"
KEEP_SCALE = f"tl.store(scales_ptr + {SCALE_PLACE}, scale, mask=slot >= 0)"
SCORE = 'score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, float("-inf"))\n'
PEAK = "new_peak = tl.maximum(peak, tl.max(score))\n"
WEIGHT = "weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)\n"
TOTAL = "total = total * shrink + tl.sum(weight)\n"
ACC = "acc = acc * shrink + tl.sum(weight[:, None] * v, 0)\n"
END = "peak = new_peak"
GROUPS = "groups = -(-head_dim // group_size)\n"
MOVED = "moved = 2 * tokens * kv_heads * (3 * head_dim + 4 * groups) + 8 * tokens\n"
FLOOR = "floor = moved / (2 * copied / copy_microseconds)\n"
RETURN = "return moved, floor, floor / microseconds"
NORMAL = "normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960\n"
SUBNORMAL = "subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000"
CHOOSE = "code = tl.where(magnitude < 0x3C800000, subnormal, normal)\n"
SATURATE = "code = tl.where(magnitude >= 0x43E00000, 0x7E, code)\n"
NAN = "code = tl.where(magnitude > 0x7F800000, 0x7F, code)"


def step(score=SCORE, peak=PEAK, weight=WEIGHT, total=TOTAL, acc=ACC, end=END) -> str:
    return score + peak + weight + total + acc + end


WRONG = {
    "10.1": {
        "smallest size": LOAD + f"tl.store({PLACE}, tl.min(tl.abs(x)))",
        "mean": LOAD + f"tl.store({PLACE}, tl.sum(tl.abs(x)) / GROUP)",
        "minus the smallest": LOAD + f"tl.store({PLACE}, -tl.min(x))",
        "square": LOAD + f"tl.store({PLACE}, tl.max(x * x))",
        "half the group": LOAD + f"tl.store({PLACE}, tl.max(tl.where(lane < GROUP // 2, tl.abs(x), 0.0)))",
        "first lane lost": f"x = tl.load(x_ptr + row * row_stride + group * GROUP + lane + 1)\n"
        f"tl.store({PLACE}, tl.max(tl.abs(x)))",
        "row forgotten": f"x = tl.load(x_ptr + group * GROUP + lane)\ntl.store({PLACE}, tl.max(tl.abs(x)))",
        "nothing stored": LOAD + "absmax = tl.max(tl.abs(x))",
        "stored by GROUP": LOAD + "tl.store(absmax_ptr + row * GROUP + group, tl.max(tl.abs(x)))",
        "scale instead": LOAD + f"tl.store({PLACE}, tl.max(tl.abs(x)) / 448.0)",
    },
    "10.2": {
        "scales only": SCALE + STORE_SCALE,
        "codes only": SCALE + CODES + STORE_CODES,
        "qmax 127": "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 127.0))\n" + CODES + STORE_CODES + STORE_SCALE,
        "qmax 256": "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 256.0))\n" + CODES + STORE_CODES + STORE_SCALE,
        "zero for zeros": "scale = tl.where(absmax == 0.0, 0.0, divide(absmax, 448.0))\n"
        + CODES
        + STORE_CODES
        + STORE_SCALE,
        "power of two": "scale = tl.where(absmax == 0.0, 1.0, tl.exp2(tl.ceil(tl.log2(absmax / 448.0))))\n"
        + CODES
        + STORE_CODES
        + STORE_SCALE,
        "sizes encoded": SCALE + "codes = to_code(divide(tl.abs(x), scale))\n" + STORE_CODES + STORE_SCALE,
        "absmax stored": SCALE + CODES + STORE_CODES + "tl.store(scales_ptr + row * groups + group, absmax)",
        "groups swapped": SCALE + CODES + "tl.store(codes_ptr + (group * groups + row) * GROUP + lane, codes)\n"
        + STORE_SCALE,
        "one GROUP missing": SCALE + CODES + "tl.store(codes_ptr + row * groups + group * GROUP + lane, codes)\n"
        + STORE_SCALE,
        "last lane missing": SCALE + CODES
        + "tl.store(codes_ptr + (row * groups + group) * GROUP + lane, codes, mask=lane < GROUP - 1)\n"
        + STORE_SCALE,
    },
    "10.3": {
        "or for and": {0: f"real = (lane < GROUP) | (column < width)\nx = tl.load({SOURCE}, mask=real, other=0.0)"},
        "lane < width": {0: f"real = (lane < GROUP) & (lane < width)\nx = tl.load({SOURCE}, mask=real, other=0.0)"},
        "lane <= GROUP": {0: f"real = (lane <= GROUP) & (column < width)\nx = tl.load({SOURCE}, mask=real, other=0.0)"},
        "last column lost": {
            0: f"real = (lane < GROUP) & (column < width - 1)\nx = tl.load({SOURCE}, mask=real, other=0.0)"
        },
        "row_stride for width": {
            0: f"real = (lane < GROUP) & (column < row_stride)\nx = tl.load({SOURCE}, mask=real, other=0.0)"
        },
        "padded with infinity": {
            0: f"real = (lane < GROUP) & (column < width)\nx = tl.load({SOURCE}, mask=real, other=float('inf'))"
        },
        "width for row_stride": {
            0: "real = (lane < GROUP) & (column < width)\n"
            "x = tl.load(x_ptr + row * width + column, mask=real, other=0.0)"
        },
        "row_stride for the codes": {1: "tl.store(codes_ptr + row * row_stride + column, codes, mask=real)"},
        "lanes for columns": {1: "tl.store(codes_ptr + row * width + lane, codes, mask=real)"},
        "first group only": {1: "tl.store(codes_ptr + row * width + column, codes, mask=real & (group == 0))"},
        "only where x is": {1: "tl.store(codes_ptr + row * width + column, codes, mask=x > 0)"},
    },
    "10.4": {
        "nothing stored": READ + THEIR_SCALE,
        "inverse": READ + THEIR_SCALE
        + "tl.store(out_ptr + row * width + column, 1.0 / (to_value(codes) * scale), mask=real)",
        "sizes": READ + THEIR_SCALE
        + "tl.store(out_ptr + row * width + column, tl.abs(to_value(codes)) * scale, mask=real)",
        "scale squared": READ + THEIR_SCALE
        + "tl.store(out_ptr + row * width + column, to_value(codes) * scale * scale, mask=real)",
        "columns of the first block": "codes = tl.load(codes_ptr + row * width + column % BLOCK, mask=real, other=0)\n"
        + THEIR_SCALE
        + "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        "by BLOCK": READ + "scale = tl.load(scales_ptr + row * groups + column // BLOCK, mask=real, other=1.0)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        "row times width for scales": READ
        + "scale = tl.load(scales_ptr + row * width + column // GROUP, mask=real, other=1.0)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        "rows stored over one another": READ + THEIR_SCALE
        + "tl.store(out_ptr + column, to_value(codes) * scale, mask=real)",
        "groups for width": READ + THEIR_SCALE
        + "tl.store(out_ptr + row * groups + column, to_value(codes) * scale, mask=real)",
        "added": READ + THEIR_SCALE + "tl.store(out_ptr + row * width + column, to_value(codes) + scale, mask=real)",
    },
    "10.5": {
        "codes only": SLOT + KEEP_CODES,
        "scales only": SLOT + KEEP_SCALE,
        "absmax for scale": SLOT + KEEP_CODES + f"tl.store(scales_ptr + {SCALE_PLACE}, absmax, mask=slot >= 0)",
        "x for codes": SLOT + f"tl.store(codes_ptr + {CODE_PLACE}, to_code(x), mask=real & (slot >= 0))\n" + KEEP_SCALE,
        "place forgotten": SLOT
        + "tl.store(codes_ptr + block * code_block_stride + head * width + column, codes, mask=real & (slot >= 0))\n"
        + KEEP_SCALE,
        "next place": "slot = slot + 1\n" + SLOT + KEEP_CODES + KEEP_SCALE,
        "head times GROUP": SLOT
        + KEEP_CODES.replace("head * width", "head * GROUP")
        + KEEP_SCALE,
        "scale by width": SLOT
        + KEEP_CODES
        + f"tl.store(scales_ptr + {SCALE_PLACE.replace('head * groups', 'head * width')}, scale, mask=slot >= 0)",
        "scale at every lane": SLOT
        + KEEP_CODES
        + f"tl.store(scales_ptr + {SCALE_PLACE} + lane, scale + 0.0 * lane, mask=slot >= 0)",
        "only large slots": SLOT + f"if slot > 4:\n    tl.store(codes_ptr + {CODE_PLACE}, codes, mask=real)\n"
        f"    tl.store(scales_ptr + {SCALE_PLACE}, scale)",
        "heads turned round": "head = heads - 1 - head\n" + SLOT + KEEP_CODES + KEEP_SCALE,
    },
    "10.6": {
        "one split too many": {2: "per_split = length // (splits + 1)"},
        "one token too few": {2: "per_split = -(-(length - 1) // splits)"},
        "weights not summed": {0: step(total="total = total * shrink + tl.max(weight)\n")},
        "every lane counts": {0: step(total="total = total * shrink + tl.sum(weight * 0.0 + 1.0)\n")},
        "acc without weights": {0: step(acc="acc = acc * shrink + tl.sum(v, 0)\n")},
        "V and K confused": {0: step(acc="acc = acc * shrink + tl.sum(weight[:, None] * k, 0)\n")},
        "peak not carried": {0: step(end="peak = peak")},
        "exp2 for exp": {0: step(weight="weight, shrink = tl.exp2(score - new_peak), tl.exp2(peak - new_peak)\n")},
        "shrink upside down": {0: step(weight="weight, shrink = tl.exp(score - new_peak), tl.exp(new_peak - peak)\n")},
        "score scaled twice": {0: step(score=SCORE.replace("softmax_scale", "softmax_scale * softmax_scale"))},
        "smallest score": {0: step(peak="new_peak = tl.minimum(peak, tl.min(score))\n")},
        "first split only": {1: "weight = tl.exp(peaks - tl.max(peaks))\n"
                                "out = tl.sum(tl.where(split[:, None] == 0, accs, 0.0), 0) / tl.max(sums)"},
        "largest split only": {1: "weight = tl.where(peaks == tl.max(peaks), 1.0, 0.0)\n"
                                  "out = tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)"},
        "divided per split": {1: "weight = tl.exp(peaks - tl.max(peaks))\n"
                                 "own = accs / tl.where(sums > 0, sums, 1.0)[:, None]\n"
                                 "out = tl.sum(own * weight[:, None], 0) / tl.sum(weight)"},
    },
    "10.7": {
        "heads forgotten": GROUPS + MOVED.replace("kv_heads", "1") + FLOOR + RETURN,
        "one scale per vector": "groups = 1\n" + MOVED + FLOOR + RETURN,
        "two scales too many": "groups = -(-head_dim // group_size) + 1\n" + MOVED + FLOOR + RETURN,
        "int32 slots": GROUPS + MOVED.replace("8 * tokens", "4 * tokens") + FLOOR + RETURN,
        "slots per head": GROUPS + MOVED.replace("8 * tokens", "8 * tokens * kv_heads") + FLOOR + RETURN,
        "scales read as well": GROUPS + MOVED.replace("4 * groups", "8 * groups") + FLOOR + RETURN,
        "floor is a rate": GROUPS + MOVED + "floor = 2 * copied / copy_microseconds\n" + RETURN,
        "floor of the copy": GROUPS + MOVED + "floor = copy_microseconds\n" + RETURN,
        "per cent": GROUPS + MOVED + FLOOR + "return moved, floor, 100 * floor / microseconds",
        "against the copy's time": GROUPS + MOVED + FLOOR + "return moved, floor, copy_microseconds / microseconds",
        "milliseconds": GROUPS + MOVED + FLOOR + "return moved, floor / 1000, floor / microseconds",
        "two numbers": GROUPS + MOVED + FLOOR + "return moved, floor",
    },
    "10.8": {
        "one bit too many": {0: "normal = ((magnitude + 0x3FFFF) >> 19) - 1920\n" + SUBNORMAL},
        "half of float16": {0: "normal = ((magnitude + 0xFFF + ((magnitude >> 13) & 1)) >> 20) - 960\n" + SUBNORMAL},
        "odd of the wrong bit": {0: NORMAL.replace("(magnitude >> 20) & 1", "(magnitude >> 19) & 1") + SUBNORMAL},
        "even and odd swapped": {
            0: NORMAL.replace("((magnitude >> 20) & 1)", "(1 - ((magnitude >> 20) & 1))") + SUBNORMAL
        },
        "bias of float16": {0: NORMAL.replace("- 960", "- 896") + SUBNORMAL},
        "step of normals": {0: NORMAL + "subnormal = (size + 131072.0).to(tl.uint32, bitcast=True) - 0x48000000"},
        "step of E5M2": {0: NORMAL + "subnormal = (size + 128.0).to(tl.uint32, bitcast=True) - 0x43000000"},
        "junction at 2^-7": {1: CHOOSE.replace("0x3C800000", "0x3C000000") + SATURATE + NAN},
        "junction at 2^-5": {1: CHOOSE.replace("0x3C800000", "0x3D800000") + SATURATE + NAN},
        "saturates at 0x7F": {1: CHOOSE + SATURATE.replace("0x7E", "0x7F") + NAN},
        "saturates from 256": {1: CHOOSE + SATURATE.replace("0x43E00000", "0x43800000") + NAN},
        "infinity is NaN": {1: CHOOSE + SATURATE + NAN.replace("> 0x7F800000", ">= 0x7F800000")},
        "NaN is zero": {1: CHOOSE + SATURATE + NAN.replace("0x7F, code", "0, code")},
    },
}  # fmt: skip
