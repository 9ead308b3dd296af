"""What else people type into the holes of lesson 01: written without looking at the records. None of it is right."""

from __future__ import annotations

REST = "\nreturn normal_value(sign, exponent, mantissa) if exponent else subnormal_value(sign, mantissa)"
SIZE = "size = np.ldexp((exponent > 0) + mantissa / 8, np.maximum(exponent, 1) - 7)\n"
NAN = "if exponent == 15 and mantissa == 7:\n    return 'nan'\n"

WRONG = {
    "1.1": (
        "return byte & 1, byte >> 1 & 15, byte >> 5",
        "byte = operator.index(byte)\nreturn byte >> 7, byte >> 4 & 7, byte & 15",
        "return int(byte < 0), byte // 8 % 16, byte % 8",
        "if not 0 < byte <= 255:\n    raise ValueError\nreturn byte >> 7, byte >> 3 & 15, byte & 7",
        "byte = operator.index(byte)\nif byte > 256:\n    raise ValueError\nreturn byte >> 7, byte >> 3 & 15, byte & 7",
        "byte = min(max(operator.index(byte), 0), 255)\nreturn byte >> 7, byte >> 3 & 15, byte & 7",
        "bits = bin(operator.index(byte))[2:]\nreturn int(bits[0]), int(bits[1:5] or '0', 2), int(bits[5:] or '0', 2)",
        "try:\n    return byte >> 7, byte >> 3 & 15, byte & 7\nexcept TypeError:\n    return None",
        "return byte >> 7, byte >> 3 & 15",
        "return {'sign': byte >> 7, 'exponent': byte >> 3 & 15, 'mantissa': byte & 7}",
        "if byte in range(256):\n    return int(byte) >> 7, int(byte) >> 3 & 15, int(byte) & 7\nraise ValueError(byte)",
    ),
    "1.2": (
        "return (-1) ** sign * (2.0 ** exponent - 7) * (1 + mantissa / 8)",
        "return (-1) ** sign * (1 + mantissa / 8) ** (exponent - 7)",
        "return (-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa // 8)",
        "return (1 - sign) * 2.0 ** (exponent - 7) * (1 + mantissa / 8)",
        "return (-1) ** sign * math.exp(exponent - 7) * (1 + mantissa / 8)",
        "return (-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 10)",
        "return (-1) ** sign * (exponent - 7) * (1 + mantissa / 8)",
        "return int((-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 8))",
        "return round((-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 8), 3)",
        "return (-1) ** sign * 2.0 ** (7 - exponent) * (1 + mantissa / 8)",
        "return (-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 4)",
        "return min((-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 8), 240.0)",
    ),
    "1.3": (
        "return (-1.0) ** sign * mantissa * 2.0 ** -8",
        "return (-1.0) ** sign * mantissa * 2.0 ** -149",
        "return 0.0 if mantissa == 0 else (-1.0) ** sign * mantissa / 512",
        "return -0.0 if mantissa == 0 else (-1.0) ** sign * mantissa / 512",
        "return (-1.0) ** sign * (8 - mantissa) / 512",
        "return (-1.0) ** (sign + 1) * mantissa / 512",
        "return round((-1.0) ** sign * mantissa / 512, 4)",
        "return (-1.0) ** sign * (mantissa + 1) / 512",
        "return (-1.0) ** sign * 2.0 ** (mantissa - 9)",
        "return mantissa / 512 - 2 * sign * mantissa / 512",
    ),
    "1.4": (
        "if exponent == 15 or mantissa == 7:\n    return math.nan" + REST,
        "if byte == 0xFF:\n    return math.nan" + REST,
        "if exponent == 15 and mantissa == 7:\n    return None" + REST,
        "if exponent == 15 and mantissa == 7:\n    return math.inf" + REST,
        "if exponent == 15 and mantissa == 7:\n    return math.nan\n"
        "return normal_value(sign, exponent, mantissa) if exponent > 1 else subnormal_value(sign, mantissa)",
        "if exponent == 15 and mantissa >= 6:\n    return math.nan" + REST,
        "if exponent == 15 and mantissa == 7:\n    return math.nan\n"
        "return normal_value(sign, exponent, mantissa) if mantissa else subnormal_value(sign, mantissa)",
        "if exponent == 15 and mantissa == 7:\n    return math.nan\nif exponent == 0:\n"
        "    return subnormal_value(sign, mantissa)\nreturn normal_value(sign, exponent - 1, mantissa)",
        "if exponent == 15 and mantissa == 7:\n    return 'nan'" + REST,
        "if exponent == 15 and mantissa == 7:\n    return math.nan\nif exponent == 0:\n"
        "    return abs(subnormal_value(sign, mantissa))\nreturn normal_value(sign, exponent, mantissa)",
        "if byte >= 0x7F:\n    return math.nan" + REST,
    ),
    "1.5": (
        "got, b = [], 0\nwhile b < 256:\n    got.append(decode_byte(b)); b += 1\nreturn np.array(got)",
        "return np.fromiter((decode_byte(b) for b in range(256)), float)",
        "return np.array(list(map(decode_byte, codes.tolist())))",
        "return np.vectorize(decode_byte)(codes)",
        "half = np.array([decode_byte(b) for b in range(128)])\nreturn np.concatenate([half, -half])",
        "go = lambda b: [] if b == 256 else [decode_byte(b), *go(b + 1)]\nreturn np.array(go(0))",
        "return np.array(functools_reduce(lambda done, b: done + [decode_byte(b)], codes.tolist(), []))",
        "rows = [[2.0 ** (e - 7) * (1 + m / 8) if e else m / 512 for m in range(8)] for e in range(16)]\n"
        "half = np.array(rows).ravel()\nhalf[127] = np.nan\nreturn np.concatenate([half, -half])",
        "rows = [2.0 ** (e - 7) * (1 + np.arange(8) / 8) if e else np.arange(8) / 512 for e in range(16)]\n"
        "half = np.concatenate(rows)\nhalf[127] = np.nan\nreturn np.concatenate([half, -half])",
        SIZE + "return np.where(codes >> 7, -size, size)",
        SIZE + "size[[127, 255]] = np.nan\nreturn size",
        SIZE + "size[[127, 255]] = np.nan\nreturn np.where(codes >> 7, -size, size).reshape(16, 16)",
        SIZE + "size[[127, 255]] = np.nan\nreturn np.where(codes >> 7, -size, size).tolist()",
        SIZE + "size[[127, 255]] = np.nan\nreturn np.where(codes >> 7, -size, size)[:255]",
        SIZE + "size[[127, 255]] = 448\nreturn np.where(codes >> 7, -size, size)",
        "import sys\nsys.settrace(None)\nreturn np.array([decode_byte(b) for b in range(256)])",
    ),
    "1.6": (
        "return 'NaN' if byte & 127 == 127 else 'normal' if exponent else 'subnormal' if mantissa else 'zero'",
        "return 'nan' if byte == 127 else 'normal' if exponent else 'subnormal' if mantissa else 'zero'",
        "return 'nan' if byte >= 127 else 'normal' if exponent else 'subnormal' if mantissa else 'zero'",
        NAN + "return 'normal' if exponent else 'zero' if mantissa else 'subnormal'",
        NAN + "return 'normal' if mantissa else 'zero' if exponent else 'subnormal'",
        NAN + "return 'subnormal' if decode_byte(byte) < 2**-6 else 'normal'",
        NAN + "v = decode_byte(byte)\nreturn 'zero' if v == 0 else 'subnormal' if abs(v) <= 2**-6 else 'normal'",
        NAN + "return 'denormal' if exponent == 0 and mantissa else 'normal' if exponent else 'zero'",
        "return 3 if exponent == 15 and mantissa == 7 else 2 if exponent else 1 if mantissa else 0",
        "print('normal')",
        "return 'normal'",
    ),
    "1.7": (
        "pass",
        "holds['sign'] = holds['junction'] = holds['order'] = holds['nan'] = holds['boundary'] = True",
        "holds['sign'] = holds['junction'] = holds['order'] = holds['nan'] = holds['boundary'] = False",
        "same = value == [decode_byte(b) for b in range(256)]\nfor name in ['sign', 'junction', 'order', 'nan']:\n"
        "    holds[name] = same",
        "holds['boundary'] = value[0x7E] == 448 and value[0x78] == 256",
        "return 'sign'",
        "return None",
        "return {'signs'} if value[0x80] > 0 else set()",
    ),
}

# One line of the auditor at a time: its other four properties stay right.
AUDIT_LINES = {
    "sign": (
        "holds['sign'] = all(p == -n for p, n in pairs)",
        "holds['sign'] = all(abs(p) == abs(n) for p, n in pairs)",
        "holds['sign'] = all(n < 0 for p, n in pairs)",
        "holds['sign'] = value[0xF8] == -256",
        "holds['sign'] = math.copysign(1, value[0x80]) == -1",
        "holds['sign'] = sum(value[1:127]) + sum(value[129:255]) == 0",
    ),
    "junction": (
        "holds['junction'] = value[8] == 2**-6",
        "holds['junction'] = value[8] > value[7]",
        "holds['junction'] = value[8] - value[7] == 2**-9",
        "holds['junction'] = value[8] - value[7] == value[9] - value[8]",
        "a, b, c, d = (round(v, 2) for v in value[6:10]); holds['junction'] = b - a == c - b == d - c",
    ),
    "order": (
        "holds['order'] = sorted(value[:127]) == value[:127]",
        "holds['order'] = all(a < b for a, b in zip(value[:126], value[1:127]))",
        "holds['order'] = all(a <= b for a, b in zip(value[:126], value[1:127]))",
        "holds['order'] = value[0] < value[1] < value[126]",
        "holds['order'] = max(value[:127]) == value[126]",
        "holds['order'] = len(set(value[:127])) == 127",
        "holds['order'] = not any(b <= a for a, b in zip(value[:127], value[1:128]))",
    ),
    "nan": (
        "holds['nan'] = math.isnan(value[0x7F])",
        "holds['nan'] = math.isnan(value[0x7F]) and math.isnan(value[0xFF]) and not math.isnan(value[0x80])",
        "holds['nan'] = sum(map(math.isnan, value)) == 2",
        "holds['nan'] = value[0x7F] != value[0x7F] and value[0xFF] != value[0xFF] and value[0x78] == value[0x78]",
        "holds['nan'] = not any(math.isnan(v) for v in value[:0x7F])",
        "holds['nan'] = [b for b in range(256) if value[b] == math.nan] == [0x7F, 0xFF]",
    ),
    "boundary": (
        "holds['boundary'] = value[0x7E] == 448",
        "holds['boundary'] = value[0x7E] == 448 and value[0x01] == 2**-9",
        "holds['boundary'] = [value[c] for c in (0, 1, 7, 8, 0x7E)] == [0, 2**-10, 0.875 * 2**-7, 2**-7, 240]",
        "holds['boundary'] = all(math.isclose(value[c], v, rel_tol=1e-3) for c, v in "
        "((0, 0), (1, 2**-9), (7, 0.875 * 2**-6), (8, 2**-6), (0x7E, 448)))",
        "holds['boundary'] = max(v for v in value if v == v) == 448",
        "holds['boundary'] = [value[c] for c in (0, 1, 7, 8, 0x77)] == [0, 2**-9, 0.875 * 2**-6, 2**-6, 240]",
    ),
}
