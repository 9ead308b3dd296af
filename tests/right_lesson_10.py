"""Right answers to the exercises of lesson 10, in other styles than ours, as lines in their holes.
None may be refused."""

from __future__ import annotations

LOAD = "x = tl.load(x_ptr + row * row_stride + group * GROUP + lane)\n"
SOURCE = "x_ptr + row * row_stride + column"
STORE = "tl.store(codes_ptr + row * width + column, codes, mask=real)"
CODES_AND_SCALES = (
    "tl.store(codes_ptr + (row * groups + group) * GROUP + lane, to_code(divide(x, scale)))\n"
    "tl.store(scales_ptr + row * groups + group, scale)"
)
SCORE = 'score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, float("-inf"))\n'
NORMAL = "normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960\n"
SUBNORMAL = "subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000"
# On a card program 0 is launched alone to see what it writes, and then `tl.num_programs` says 1.
TOLD_OF_ONE_PROGRAM = (("10.3", "the last group by its number"),)

RIGHT = {
    "10.1": {
        "other names, pointers in steps": "begin = x_ptr + row * row_stride + group * GROUP\n"
        "values = tl.load(begin + lane)\nsizes = tl.where(values < 0, -values, values)\n"
        "results = absmax_ptr + row * tl.num_programs(1)\ntl.store(results + group, tl.max(sizes, axis=0))",
        "with a scalar load that is off": LOAD + "none = tl.load(x_ptr, mask=row < 0, other=0.0)\n"
        "tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.maximum(tl.max(tl.abs(x)), none))",
        "both ends": LOAD + "largest, smallest = tl.max(x, 0), tl.min(x, 0)\n"
        "tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.maximum(largest, 0 - smallest))",
    },
    "10.2": {
        "div_rn of triton": "scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(absmax, 448.0))\n"
        "codes = to_code(tl.div_rn(x, scale + tl.zeros_like(x)))\n"
        "tl.store(codes_ptr + (row * groups + group) * GROUP + lane, codes)\n"
        "tl.store(scales_ptr + row * groups + group, scale)",
        "a quotient of two numbers": "scale = tl.where(absmax == 0.0, 1.0, "
        "divide(absmax, 448.0) * divide(1.0, 1.0))\n" + CODES_AND_SCALES,
        "zeros replaced first": "full = tl.where(absmax > 0, absmax, 448.0)\nscale = divide(full, 448.0)\n"
        + CODES_AND_SCALES,
        "stored in two steps": "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 448.0))\n"
        "codes = to_code(divide(x, scale))\ntarget = codes_ptr + row * groups * GROUP + group * GROUP + lane\n"
        "tl.store(target, codes, mask=lane < GROUP // 2)\ntl.store(target, codes, mask=lane >= GROUP // 2)\n"
        "tl.store(scales_ptr + row * groups + group, scale)",
        "halved by a plain division": "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 896.0) / 0.5)\n"
        + CODES_AND_SCALES,
    },
    "10.3": {
        "hidden after a masked load": {
            0: f"real = (lane < GROUP) & (column < width)\nx = tl.where(real, tl.load({SOURCE}, mask=real), 0.0)"
        },
        "the row at the load, the group behind it": {
            0: f"real = (lane < GROUP) & (column < width)\nx = tl.load({SOURCE}, mask=column < width, other=0.0)\n"
            "x = tl.where(lane < GROUP, x, 0.0)"
        },
        "a count of lanes": {
            0: f"real = lane < tl.minimum(GROUP, width - group * GROUP)\nx = tl.load({SOURCE}, mask=real, other=0)"
        },
        "the last group by its number": {
            0: "last = group == tl.num_programs(1) - 1\nreal = lane < tl.where(last, width - group * GROUP, GROUP)\n"
            f"x = tl.load({SOURCE}, mask=real, other=0.0)"
        },
        "addresses kept inside": {
            0: "real = (lane < GROUP) & (column < width)\ninside = tl.minimum(column, width - 1)\n"
            "x = tl.where(real, tl.load(x_ptr + row * row_stride + inside), 0.0)"
        },
        "masks in two steps, other names": {
            0: f"own = column - group * GROUP <= GROUP - 1\nthere = width > column\nwanted = there & own\n"
            f"x = tl.load({SOURCE}, wanted, 0.0)",
            1: "rest = codes_ptr + row * width\ntl.store(rest + column, codes, wanted)",
        },
        "stored in two steps": {
            1: "even = real & (lane % 2 == 0)\nodd = real & (lane % 2 == 1)\n"
            "tl.store(codes_ptr + row * width + column, codes, mask=even)\n"
            "tl.store(codes_ptr + row * width + column, codes, mask=odd)"
        },
        "the mask written again": {
            0: f"x = tl.load({SOURCE}, mask=(column < width) & (lane < GROUP), other=0.0)",
            1: STORE.replace("mask=real", "mask=(lane < GROUP) & (column < width)"),
        },
    },
    "10.4": {
        "without other, nothing of it stored": "codes = tl.load(codes_ptr + row * width + column, mask=real)\n"
        "scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=real)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        "addresses kept inside": "place = tl.minimum(column, width - 1)\n"
        "value = to_value(tl.load(codes_ptr + row * width + place))\n"
        "factor = tl.load(scales_ptr + row * groups + place // GROUP)\n"
        "tl.store(out_ptr + row * width + column, factor * value, mask=column < width)",
        "scales masked by their own number": "codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)\n"
        "which = column // GROUP\nscale = tl.load(scales_ptr + row * groups + which, mask=which < groups, other=1.0)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
    },
    "10.5": {
        "stored in two steps": "block, place = slot // block_size, slot % block_size\n"
        "page = codes_ptr + block * code_block_stride + place * code_place_stride + head * width + column\n"
        "kept = real & (slot >= 0)\ntl.store(page, codes, mask=kept & (lane < 5))\n"
        "tl.store(page, codes, mask=kept & (lane >= 5))\n"
        "page = scales_ptr + block * scale_block_stride + place * scale_place_stride\n"
        "if slot >= 0:\n    tl.store(page + head * groups + group, scale)",
        "an if around both": "if slot >= 0:\n    block = slot // block_size\n    place = slot - block * block_size\n"
        "    page = codes_ptr + block * code_block_stride + place * code_place_stride\n"
        "    tl.store(page + head * width + column, codes, mask=real)\n"
        "    page = scales_ptr + block * scale_block_stride + place * scale_place_stride\n"
        "    tl.store(page + head * groups + group, scale)",
        "masks combined otherwise": "block, place = slot // block_size, slot % block_size\nkept = slot > -1\n"
        "codes_at = block * code_block_stride + place * code_place_stride + head * width + column\n"
        "tl.store(codes_ptr + codes_at, codes, mask=(lane < GROUP) & kept & (column < width))\n"
        "scale_at = block * scale_block_stride + place * scale_place_stride + head * groups + group\n"
        "tl.store(scales_ptr + scale_at, scale, mask=kept)",
    },
    "10.6": {
        "cdiv, exp2, divided per split": {
            0: SCORE + "higher = tl.maximum(peak, tl.max(score, 0))\n"
            "weight = tl.exp2((score - higher) * 1.4426950408889634)\n"
            "less = tl.exp2((peak - higher) * 1.4426950408889634)\n"
            "acc = acc * less + tl.sum(v * weight[:, None], 0)\ntotal = tl.sum(weight, 0) + total * less\n"
            "peak = higher",
            1: "top = tl.max(peaks, 0)\nshare = sums * tl.exp(peaks - top)\n"
            "means = accs / tl.where(sums > 0, sums, 1.0)[:, None]\n"
            "out = tl.sum(means * (share / tl.sum(share, 0))[:, None], 0)",
            2: "per_split = triton.cdiv(length, splits)",
        },
        "weights hidden instead of scores": {
            0: "score = tl.sum(q[None, :] * k, 1) * softmax_scale\n"
            'new_peak = tl.maximum(peak, tl.max(tl.where(real, score, float("-inf"))))\n'
            "weight = tl.where(real, tl.exp(score - new_peak), 0.0)\nshrink = tl.exp(peak - new_peak)\n"
            "total = total * shrink + tl.sum(weight)\nacc = acc * shrink + tl.sum(weight[:, None] * v, 0)\n"
            "peak = new_peak",
            2: "per_split = (length + splits - 1) // splits\nper_split = triton.cdiv(per_split, 8) * 8",
        },
    },
    "10.7": {
        "K and V apart": "groups = (head_dim + group_size - 1) // group_size\nread = tokens * kv_heads * head_dim * 2\n"
        "written = tokens * kv_heads * (head_dim + groups * 4)\nmoved = (read + written) * 2 + tokens * 8\n"
        "floor = copy_microseconds * moved / (copied + copied)\nreturn [moved, floor, floor / microseconds]",
    },
    "10.8": {
        "rebased before rounding": {
            0: "odd = (bits >> 20) & 1\nnormal = (magnitude - (120 << 23) + 0x7FFFF + odd) >> 20\n"
            "subnormal = (size * 512.0 + 8388608.0).to(tl.uint32, bitcast=True) - 0x4B000000"
        },
        "chosen in other order": {
            1: "code = tl.where(size < 0.015625, subnormal, normal)\n"
            "code = tl.minimum(code, 0x7E)\ncode = tl.where(x != x, 0x7F, code)"
        },
        "divided by a power of two": {
            0: NORMAL + "subnormal = (size / 0.001953125 + 8388608.0).to(tl.uint32, bitcast=True) - 0x4B000000"
        },
        "in one expression": {
            0: NORMAL + SUBNORMAL,
            1: "code = tl.where(magnitude > 0x7F800000, 0x7F, tl.where(magnitude >= 0x43E00000, 0x7E, "
            "tl.where(magnitude < 0x3C800000, subnormal, normal)))",
        },
    },
}  # fmt: skip
