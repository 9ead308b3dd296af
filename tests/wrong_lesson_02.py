"""Wrong answers to the exercises of lesson 02, as lines in their holes. Made up from the text of the exercises alone:
none is a copy of a misconception of the records, and each must be refused."""

from __future__ import annotations

NEIGHBOURS = "low, high = neighbours_of(x, fmt)\n"
DISTANCES = NEIGHBOURS + "below, above = x - value(low, fmt), value(high, fmt) - x\n"
LIMIT = "gap = fmt.max_finite - value(fmt.max_code - 1, fmt)\nlimit = fmt.max_finite + gap / 2\n"
OUT = "    return beyond | fmt.sign_mask if x < 0 else beyond\nreturn nearest(x, fmt)"
FNUZ = "b = FloatFormat('b', 4, 3, 8, True, 'fnuz')\n"
RECORDS = "a = FloatFormat('a', 5, 2, 15, True, 'ieee')\nb = FloatFormat('b', 4, 3, 8, True, 'fnuz')\nreturn a, b, "
SIGN = (
    "negative = torch.signbit(x) & ((codes != 0) | fmt.has_negative_zero)\n"
    "codes = torch.where(negative, codes | fmt.sign_mask, codes)\n"
)
MIDDLES = "middles = (values[1:] + values[:-1]) / 2\n"
TIES = "tie = size == middles[codes.clamp(max=len(middles) - 1)]\n"

WRONG = {
    "2.1": {
        "positive codes only": "return sorted((value(code, fmt), code) for code in range(fmt.max_code + 1))",
        "zero is 0x80": "return sorted((value(c, fmt), c) for c in range(1, 256) if math.isfinite(value(c, fmt)))",
        "descending": "c = [c for c in range(256) if math.isfinite(value(c, fmt)) and c != 0x80]\n"
        "return sorted(((value(c, fmt), c) for c in c), reverse=True)",
        "by size": "c = [c for c in range(256) if math.isfinite(value(c, fmt)) and c != 0x80]\n"
        "return sorted(((value(c, fmt), c) for c in c), key=lambda entry: abs(entry[0]))",
        "range stops one early": "c = [c for c in range(0xFE) if math.isfinite(value(c, fmt)) and c != 0x80]\n"
        "return sorted((value(c, fmt), c) for c in c)",
        "no subnormals": "c = [c for c in range(256) if math.isfinite(value(c, fmt)) and c != 0x80]\n"
        "return sorted((value(c, fmt), c) for c in c if abs(value(c, fmt)) >= fmt.min_normal)",
        "every second": "c = [c for c in range(0, 256, 2) if math.isfinite(value(c, fmt)) and c != 0x80]\n"
        "return sorted((value(c, fmt), c) for c in c)",
        "pair reversed": {1: "return min(e for e in table if e[0] >= x)[1], max(e for e in table if e[0] <= x)[1]"},
        "values, not codes": {1: "return max(e for e in table if e[0] <= x)[0], min(e for e in table if e[0] >= x)[0]"},
        "indices, not codes": {
            1: "low = max(i for i, e in enumerate(table) if e[0] <= x)\n"
            "return low, min(i for i, e in enumerate(table) if e[0] >= x)"
        },
        "high is low + 1": {1: "low = max(e for e in table if e[0] <= x)[1]\nreturn low, low + 1"},
        "high is the next entry": {
            1: "i = max(i for i, e in enumerate(table) if e[0] <= x)\n"
            "return table[i][1], table[min(i + 1, len(table) - 1)][1]"
        },
        "nearest twice": {1: "near = min(table, key=lambda e: abs(e[0] - x))[1]\nreturn near, near"},
        "by absolute value": {
            1: "low = max(e for e in table if e[0] <= abs(x))\nhigh = min(e for e in table if e[0] >= abs(x))\n"
            "return low[1], high[1]"
        },
    },
    "2.2": {
        "always high": NEIGHBOURS + "return high",
        "ties to the lower value": DISTANCES + "return low if below <= above else high",
        "a tie within 1e-6": DISTANCES + "if math.isclose(below, above, rel_tol=1e-6):\n"
        "    return low if low % 2 == 0 else high\nreturn low if below < above else high",
        "distances in float32": DISTANCES + "below, above = torch.tensor([below, above]).tolist()\n"
        "if below == above:\n    return low if low % 2 == 0 else high\nreturn low if below < above else high",
        "mean of the codes, rounded": NEIGHBOURS + "return round((low + high) / 2)",
        "even means divisible by four": DISTANCES + "if below == above:\n    return low if low % 4 == 0 else high\n"
        "return low if below < above else high",
        "the smaller code": DISTANCES + "if below == above:\n    return min(low, high)\n"
        "return low if below < above else high",
        "the larger code": DISTANCES + "if below == above:\n    return max(low, high)\n"
        "return low if below < above else high",
        "comparison turned round": DISTANCES + "if below == above:\n    return low if low % 2 == 0 else high\n"
        "return low if below > above else high",
        "value, not code": DISTANCES + "return value(low if below <= above else high, fmt)",
        "x rounded to a whole number first": "x = round(x)\n" + DISTANCES + "if below == above:\n"
        "    return low if low % 2 == 0 else high\nreturn low if below < above else high",
        "of the absolute value": "x = abs(x)\n" + DISTANCES + "if below == above:\n"
        "    return low if low % 2 == 0 else high\nreturn low if below < above else high",
        "x as float32": "x = torch.tensor(x, dtype=torch.float32).item()\n" + DISTANCES + "if below == above:\n"
        "    return low if low % 2 == 0 else high\nreturn low if below < above else high",
        "odd and even by the exponent": DISTANCES + "if below == above:\n"
        "    return low if (low >> 3) % 2 == 0 else high\nreturn low if below < above else high",
    },
    "2.3": {
        "never overflows": "return nearest(x, fmt)",
        "sign of x forgotten in the test": LIMIT
        + "if x > limit or (x == limit and fmt.max_code % 2 == 1):\n    return beyond\nreturn nearest(x, fmt)",
        "from the largest value on": "if abs(x) >= fmt.max_finite:\n" + OUT,
        "a quarter of a step": LIMIT.replace("gap / 2", "gap / 4") + "if abs(x) > limit:\n" + OUT,
        "a relative border": "if abs(x) > fmt.max_finite * (1 + 2.0**-5):\n" + OUT,
        "half the smallest step": "if abs(x) > fmt.max_finite + value(1, fmt) / 2:\n" + OUT,
        "two codes back": "gap = fmt.max_finite - value(fmt.max_code - 2, fmt)\n"
        "if abs(x) > fmt.max_finite + gap / 2:\n" + OUT,
        "parity turned round": LIMIT + "if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 0):\n" + OUT,
        "negative code": LIMIT + "if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):\n"
        "    return -beyond if x < 0 else beyond\nreturn nearest(x, fmt)",
        "sign bit on everything": LIMIT + "if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):\n"
        "    return beyond | fmt.sign_mask\nreturn nearest(x, fmt)",
        "whole numbers": LIMIT + "if int(abs(x)) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):\n" + OUT,
        "float32 in between": LIMIT + "size = torch.tensor(abs(x), dtype=torch.float32).item()\n"
        "if size > limit or (size == limit and fmt.max_code % 2 == 1):\n" + OUT,
        "saturates whatever was said": LIMIT + "if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):\n"
        "    return fmt.max_code | fmt.sign_mask if x < 0 else fmt.max_code\nreturn nearest(x, fmt)",
        "after rounding, but by value": "code = nearest(x, fmt)\n"
        "if abs(value(code, fmt)) == fmt.max_finite and abs(x) > fmt.max_finite:\n"
        "    return beyond | fmt.sign_mask if x < 0 else beyond\nreturn code",
    },
    "2.4": {
        "only the size": "return encode_finite(abs(x), fmt, overflow)",
        "nothing special": "return encode_finite(x, fmt, overflow)",
        "compared with NaN": "if x == math.nan:\n    return fmt.nan_code\n"
        "size = abs(x) if x == x else 0.0\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(size, fmt, overflow)\n"
        "return code | fmt.sign_mask if math.copysign(1.0, x) < 0 and (code or fmt.has_negative_zero) else code",
        "128 is added": "if math.isnan(x):\n    return fmt.nan_code\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(x, fmt, overflow)\n"
        "return code + 128 if math.copysign(1.0, x) < 0 else code",
        "two's complement": "if math.isnan(x):\n    return fmt.nan_code\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
        "return (256 - code) % 256 if math.copysign(1.0, x) < 0 else code",
        "NaN is refused": "if math.isnan(x):\n    raise ValueError('NaN')\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
        "return code | fmt.sign_mask if math.copysign(1.0, x) < 0 and (code or fmt.has_negative_zero) else code",
        "always saturates": "if math.isnan(x):\n    return fmt.nan_code\n"
        "code = fmt.max_code if math.isinf(x) else encode_finite(abs(x), fmt)\n"
        "return code | fmt.sign_mask if math.copysign(1.0, x) < 0 and (code or fmt.has_negative_zero) else code",
        "zero has no sign": "if math.isnan(x):\n    return fmt.nan_code\nif x == 0:\n    return 0\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
        "return code | fmt.sign_mask if x < 0 and (code or fmt.has_negative_zero) else code",
        "sign bit of another format": "if math.isnan(x):\n    return fmt.nan_code\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
        "return code | 0x40 if math.copysign(1.0, x) < 0 and (code or fmt.has_negative_zero) else code",
        'infinity is a NaN with "saturate"': "if not math.isfinite(x):\n    return fmt.nan_code\n"
        "code = encode_finite(abs(x), fmt, overflow)\n"
        "return code | fmt.sign_mask if math.copysign(1.0, x) < 0 and (code or fmt.has_negative_zero) else code",
        "no format has -0": "if math.isnan(x):\n    return fmt.nan_code\n"
        "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
        "return code | fmt.sign_mask if x < 0 and code else code",
        "E4M3FN whatever fmt says": "if math.isnan(x):\n    return 0x7F\n"
        "code = overflow_code(E4M3FN, overflow) if math.isinf(x) else encode_finite(abs(x), E4M3FN, overflow)\n"
        "return code | 0x80 if math.copysign(1.0, x) < 0 else code",
    },
    "2.5": {
        "tie moves even codes": MIDDLES
        + "codes = torch.searchsorted(middles, size)\n"
        + TIES
        + "codes = codes + (tie & (codes % 2 == 0))",
        "ties from the other side": MIDDLES
        + "codes = torch.searchsorted(middles, size, right=True)\n"
        + TIES
        + "codes = codes + (tie & (codes % 2 == 1))",
        "nearest value by argmin": "codes = (size.unsqueeze(-1) - values).abs().argmin(-1)",
        "geometric middles": "middles = (values[1:] * values[:-1]).sqrt()\ncodes = torch.searchsorted(middles, size)",
        "one too many": MIDDLES + "codes = torch.searchsorted(middles, size) + 1",
        "truncated bits": "codes = (torch.searchsorted(values, size.clamp(max=480.0), right=True) - 1).clamp(min=0)",
        "clamped to the largest value": MIDDLES + "size = size.clamp(max=fmt.max_finite)\n"
        "codes = torch.searchsorted(middles, size)\n" + TIES + "codes = codes + (tie & (codes % 2 == 1))",
        "float16 sizes": MIDDLES
        + "size = size.half().double()\ncodes = torch.searchsorted(middles, size)\n"
        + TIES
        + "codes = codes + (tie & (codes % 2 == 1))",
        "subnormals flushed": MIDDLES + "size = torch.where(size < fmt.min_normal, 0.0, size)\n"
        "codes = torch.searchsorted(middles, size)\n" + TIES + "codes = codes + (tie & (codes % 2 == 1))",
        "no sign": {1: "codes = torch.where(x.isnan(), fmt.nan_code, codes)"},
        "NaN is zero": {1: SIGN + "codes = torch.where(x.isnan(), 0, codes)"},
        "minus by subtraction": {
            1: "codes = torch.where(torch.signbit(x), 255 - codes, codes)\n"
            "codes = torch.where(x.isnan(), fmt.nan_code, codes)"
        },
        "0x7F for every format": {1: SIGN + "codes = torch.where(x.isnan(), 0x7F, codes)"},
        "sign before NaN only where x <= 0": {
            1: "codes = torch.where(x <= 0, codes | fmt.sign_mask, codes)\n"
            "codes = torch.where(x.isnan(), fmt.nan_code, codes)"
        },
        "writes into its input": MIDDLES
        + "x.abs_()\ncodes = torch.searchsorted(middles, size)\n"
        + TIES
        + "codes = codes + (tie & (codes % 2 == 1))",
        "numbers, not codes": {1: "return decode_table(fmt)[codes]"},
        "codes in int64": {1: SIGN + "return torch.where(x.isnan(), fmt.nan_code, codes)"},
    },
    "2.6": {
        "accepts all": "return True",
        "refuses all": "return False",
        "says None": {2: "pass"},
        "the negative half is not asked": {
            0: "if any(decode(c) != p for c, p in enumerate(points)):\n    return False\n"
            "if decode(0x7F) == decode(0x7F) or decode(0xFF) == decode(0xFF):\n    return False"
        },
        "-0 is not asked": {
            0: "for code, point in enumerate(points):\n"
            "    if decode(code) != point or decode(code + 0x80) != -point:\n        return False\n"
            "if not (math.isnan(decode(0x7F)) and math.isnan(decode(0xFF))):\n    return False"
        },
        "0xFF is not asked": {
            0: "for code, point in enumerate(points):\n"
            "    if decode(code) != point or decode(code + 0x80) != -point:\n        return False\n"
            "if not math.isnan(decode(0x7F)) or math.copysign(1, decode(0x80)) == 1:\n    return False"
        },
        "only the middle, not beside it": {1: "if encode(middle) != (up if code % 2 else code):\n    return False"},
        "only beside the middle": {
            1: "for x, want in ((math.nextafter(middle, 0), code), (math.nextafter(middle, 1e9), up)):\n"
            "    if encode(x) != want or encode(-x) != want + 0x80:\n        return False"
        },
        "a thousandth beside the middle": {
            1: "for x, want in ((middle * 0.999, code), (middle, up if code % 2 else code), (middle * 1.001, up)):\n"
            "    if encode(x) != want or encode(-x) != want + 0x80:\n        return False"
        },
        "the middles of its own decode": {
            1: "m = (decode(code) + decode(up)) / 2\n"
            "if abs(decode(encode(m)) - m) > abs(decode(up) - m):\n    return False"
        },
        "infinity is not asked": {2: "return encode(-0.0) == 0x80 and encode(math.nan) in (0x7F, 0xFF)"},
        "NaN is not asked": {
            2: "edges = [encode(x) for x in (0.0, -0.0, math.inf, -math.inf)]\nreturn edges == [0x00, 0x80, 0x7E, 0xFE]"
        },
        "one NaN byte only": {
            2: "edges = [encode(x) for x in (0.0, -0.0, math.inf, -math.inf, math.nan)]\n"
            "return edges == [0x00, 0x80, 0x7E, 0xFE, 0x7F]"
        },
        "-0 is not encoded": {
            2: "edges = [encode(x) for x in (0.0, math.inf, -math.inf)]\n"
            "return edges == [0x00, 0x7E, 0xFE] and encode(math.nan) in (0x7F, 0xFF)"
        },
    },
    "2.7": {
        "the two swapped": "a = FloatFormat('a', 5, 2, 15, True, 'ieee')\nb = FloatFormat('b', 4, 3, 8, True, 'fnuz')\n"
        "return b, a, [c for c in range(256) if value(c, E4M3FN) != 2 * value(c, b)]",
        "E5M2FNUZ": "a = FloatFormat('a', 5, 2, 16, True, 'fnuz')\n" + FNUZ + "return a, b, [0x7F, 0x80, 0xFF]",
        "bits swapped": "a = FloatFormat('a', 2, 5, 15, True, 'ieee')\n" + FNUZ + "return a, b, [0x7F, 0x80, 0xFF]",
        "bias 14": "a = FloatFormat('a', 5, 2, 14, True, 'ieee')\n" + FNUZ + "return a, b, [0x7F, 0x80, 0xFF]",
        "no special values": "a = FloatFormat('a', 5, 2, 15, True, 'none')\n"
        + FNUZ
        + "return a, b, [0x7F, 0x80, 0xFF]",
        "FNUZ with bias 9": "a = FloatFormat('a', 5, 2, 15, True, 'ieee')\n"
        "b = FloatFormat('b', 4, 3, 9, True, 'fnuz')\n"
        "return a, b, [0x7F, 0x80, 0xFF]",
        "both zeros": RECORDS + "[0x00, 0x7F, 0x80, 0xFF]",
        "the NaNs only": RECORDS + "[0x7F, 0xFF]",
        "all that differ": RECORDS + "[c for c in range(256) if value(c, E4M3FN) != value(c, b)]",
        "the factor the wrong way round": RECORDS + "[c for c in range(256) if 2 * value(c, E4M3FN) != value(c, b)]",
        "one NaN of two": RECORDS + "[0x7F, 0x80]",
        "codes as text": RECORDS + "['0x7F', '0x80', '0xFF']",
        "how many": RECORDS + "3",
        "names instead of records": "return 'E5M2', 'E4M3FNUZ', [0x7F, 0x80, 0xFF]",
        "E4M3FN again": "a = FloatFormat('a', 5, 2, 15, True, 'ieee')\nreturn a, E4M3FN, [0x7F, 0x80, 0xFF]",
    },
    "2.8": {
        "the lower value": "return value(low)",
        "a code": "return (low + high) / 2",
        "a third of the way": "return value(low) + (value(high) - value(low)) / 3",
        "always below the middle": "return math.nextafter(middle, value(low))",
        "toward zero": "return math.nextafter(middle, 0.0)",
        "far too little": "return middle + (1e-300 if low % 2 == 0 else -1e-300)",
        "just inside the bin": "return math.nextafter(value(low), value(high))",
        "a fixed amount": "return middle + (1e-9 if low % 2 == 0 else -1e-9)",
        "half a float32 step": "return middle * (1 + 2.0**-24) if low % 2 == 0 else middle * (1 - 2.0**-24)",
        "the answer of one pair": "return 1.0625 + 2.0**-40",
        "side by the lowest bit of high": "return math.nextafter(middle, value(high if high % 2 == 0 else low))",
        "the sides of the mirror image": "side = value(high if (low & 0x7F) % 2 == 0 else low)\n"
        "return math.nextafter(middle, side) if middle > 0 else math.nextafter(middle, 2 * middle - side)",
        "not a number": "return math.nan",
        "as text": "return str(math.nextafter(middle, value(high)))",
    },
}
