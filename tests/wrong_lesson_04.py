"""Wrong answers to the exercises of lesson 04, as lines in their holes. Made up from the text of the exercises alone:
none is a copy of a misconception of the records, and each must be refused."""

from __future__ import annotations

CLAMP = ".clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)"
PAD = "padded = torch.nn.functional.pad(values, (0, -head_dim % group_size))\n"
FOLD = PAD + "groups = padded.unflatten(-1, (-1, group_size))\n"
SCALES = "scales = qmax / groups.abs().amax(-1).clamp(min=eps)\n"
PRODUCT = "codes = (groups * scales.unsqueeze(-1)).round().clamp(-qmax, qmax).to(torch.int8)\n"
UNFOLD = "codes = codes.flatten(-2)[..., :head_dim]"
SCALE8 = "scales = 448 / groups.abs().amax(-1).clamp(min=eps)\n"
CODES8 = "codes = encode(groups * scales.unsqueeze(-1))\n"
BACK8 = "restored = decode(codes) / scales.unsqueeze(-1)"
GROUPS = "n_groups = -(-head_dim // size)\n"
PLACE = "start, stop = g * size, (g + 1) * size\n"
FIRST = "smallest = next((size for size in {range} if row_bytes(size) < plain), None)"

WRONG = {
    "4.1": {
        "min": "return values.abs().min()",
        "minus min": "return -values.min()",
        "root mean square": "return values.square().mean().sqrt()",
        "square": "return values.square().max()",
        "sum": "return values.abs().sum()",
        "norm": "return values.norm()",
        "first value": "return values.flatten()[0].abs()",
        "99th percentile": "return values.abs().flatten().quantile(0.99)",
        "at least one": "return values.abs().max().clamp(min=1.0)",
        "rounded": "return values.abs().max().round()",
        "a power of two": "return 2 ** values.abs().max().log2().ceil()",
        "of the mean-free values": "return (values - values.mean()).abs().max()",
        "with an axis": "return values.abs().max().reshape(1)",
        "index": "return values.abs().argmax().float()",
        "relu": "return values.relu().max()",
        "sorted in place": "return values.abs().max() if values.ndim != 1 else values.sort(out=None).values[-1]",
    },
    "4.2": {
        "qmax + 1": "return (self.fp8_qmax + 1) / absmax.clamp(min=self.eps)",
        "qmax - 1": "return (self.fp8_qmax - 1) / absmax.clamp(min=self.eps)",
        "255": "return 255 / absmax.clamp(min=self.eps)",
        "eps above": "return (self.fp8_qmax + self.eps) / absmax.clamp(min=self.eps)",
        "clamp to a maximum": "return self.fp8_qmax / absmax.clamp(max=self.eps)",
        "eps fixed": "return self.fp8_qmax / absmax.clamp(min=1e-8)",
        "absmax itself": "return absmax.clamp(min=self.eps)",
        "reciprocal only": "return 1 / absmax.clamp(min=self.eps)",
        "a power of two": "return 2 ** (self.fp8_qmax / absmax.clamp(min=self.eps)).log2().floor()",
        "zero gets scale 1": "return torch.where(absmax == 0, 1.0, self.fp8_qmax / absmax)",
        "in half": "return (self.fp8_qmax / absmax.clamp(min=self.eps)).half()",
        "rounded": "return (self.fp8_qmax / absmax.clamp(min=self.eps)).round()",
        "integer division": "return self.fp8_qmax // absmax.clamp(min=self.eps)",
        "per range of both signs": "return self.fp8_qmax / (2 * absmax.clamp(min=self.eps))",
    },
    "4.3": {
        "ceil": "return (values * scale).ceil()" + CLAMP,
        "clamp, then no rounding": "return (values * scale)" + CLAMP,
        "rounded to one digit": "return (values * scale).round(decimals=1)" + CLAMP,
        "rounded before scaling": "return (values.round() * scale)" + CLAMP,
        "scaled twice": "return (values * scale * scale).round()" + CLAMP,
        "absolute": "return (values.abs() * scale).round()" + CLAMP,
        "negated": "return (-values * scale).round()" + CLAMP,
        "only the upper end": "return (values * scale).round().clamp(max=self.fp8_qmax).to(torch.int8)",
        "only the lower end": "return (values * scale).round().clamp(min=-self.fp8_qmax).to(torch.int8)",
        "one short": "return (values * scale).round().clamp(1 - self.fp8_qmax, self.fp8_qmax - 1).to(torch.int8)",
        "uint8": "return (values * scale).round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.uint8)",
        "int16": "return (values * scale).round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int16)",
        "no scale": "return values.round()" + CLAMP,
        "cast before the limits": "return (values * scale).round().to(torch.int8).clamp(-self.fp8_qmax, self.fp8_qmax)",
        "half to odd": "v = values * scale\nr = v.round()\nodd = torch.where((v - r).abs() == 0.5, 2 * v - r, r)\n"
        "return odd" + CLAMP,
        "stochastic": "return (values * scale + torch.rand_like(values) - 0.5).round()" + CLAMP,
    },
    "4.4": {
        "of the values": "self.fp8_shape = tuple(values.shape)",
        "rank": "self.fp8_shape = x.ndim",
        "size of the first axis": "self.fp8_shape = (len(x.flatten()),)",
        "flattened": "self.fp8_shape = (-1,)",
        "rows and the rest": "self.fp8_shape = (x.shape[0] if x.ndim else 1, -1)",
        "with a batch axis": "self.fp8_shape = (1, *x.shape)",
        "squeezed": "self.fp8_shape = tuple(x.squeeze().shape)",
        "not at all": "pass",
        "of an old buffer": "self.fp8_shape = tuple(self.fp8_q.shape)",
        "in another name": "self.shape = tuple(x.shape)",
        "as text": "self.fp8_shape = str(tuple(x.shape))",
        "last two swapped": "self.fp8_shape = tuple(x.mT.shape) if x.ndim > 1 else tuple(x.shape)",
    },
    "4.5": {
        "plus one, then floor": "n_groups = (kv.shape[-1] + 1) // size",
        "plus size, then floor": "n_groups = (kv.shape[-1] + size) // size",
        "at least one, floor": "n_groups = max(1, kv.shape[-1] // size)",
        "number of values": "n_groups = kv.shape[-1]",
        "of all values": "n_groups = -(-kv.numel() // size)",
        "of the rows": "n_groups = -(-len(rows) // size)",
        "always two": "n_groups = 2",
        "64": "n_groups = -(-kv.shape[-1] // 64)",
        "of the first axis": "n_groups = -(-kv.shape[0] // size)",
        "remainder": "n_groups = kv.shape[-1] % size",
        "multiples only": "n_groups = kv.shape[-1] // size + (kv.shape[-1] % size > size // 2)",
        "at most two": "n_groups = min(2, -(-kv.shape[-1] // size))",
    },
    "4.6": {
        "whole row": PLACE + "restored[r] = codes[r].float() / scales[r, g]",
        "from the start on": "restored[r, g * size :] = codes[r, g * size :].float() / scales[r, 0]",
        "one value": "restored[r, g * size] = codes[r, g * size].float() / scales[r, g]",
        "one value short": PLACE + "restored[r, start : stop - 1] = codes[r, start : stop - 1] / scales[r, g]",
        "one value late": "start, stop = g * size + 1, (g + 1) * size + 1\n"
        "restored[r, start:stop] = codes[r, start:stop] / scales[r, g]",
        "group and row swapped": PLACE
        + "restored[r, start:stop] = codes[r, start:stop] / scales.T.reshape(scales.shape)[r, g]",
        "other row's codes": PLACE + "restored[r, start:stop] = codes[-1, start:stop] / scales[r, g]",
        "divided by qmax too": PLACE + "restored[r, start:stop] = codes[r, start:stop] / scales[r, g] / self.fp8_qmax",
        "scale of the column": PLACE + "restored[r, start:stop] = codes[r, start:stop] / scales[:, g].mean()",
        "largest scale of the row": PLACE + "restored[r, start:stop] = codes[r, start:stop] / scales[r].max()",
        "sign lost": PLACE + "restored[r, start:stop] = codes[r, start:stop].abs() / scales[r, g]",
        "into a copy": PLACE + "restored[r, start:stop].clone().copy_(codes[r, start:stop] / scales[r, g])",
        "last group dropped": PLACE + "if g < scales.shape[1] - 1:\n"
        "    restored[r, start:stop] = codes[r, start:stop] / scales[r, g]",
        "integer division": PLACE + "restored[r, start:stop] = codes[r, start:stop] // scales[r, g]",
    },
    "4.7": {
        "of the original only": "return original.float().square().mean()",
        "relative": "return ((original.float() - restored.float()) / original.float()).square().mean()",
        "difference of squares": "return (original.float().square() - restored.float().square()).mean()",
        "largest": "return (original.float() - restored.float()).square().max()",
        "median": "return (original.float() - restored.float()).square().median()",
        "variance": "return (original.float() - restored.float()).var()",
        "half": "return (original.float() - restored.float()).square().mean() / 2",
        "first axis": "return (original.float() - restored.float()).square().sum() / len(original)",
        "signed": "return (original.float() - restored.float()).mean()",
        "norm": "return (original.float() - restored.float()).norm()",
        "of rounded values": "return (original.float().round() - restored.float().round()).square().mean()",
        "unsquared power": "return (original.float() - restored.float()).pow(3).mean()",
        "clipped at one": "return (original.float() - restored.float()).square().clamp(max=1).mean()",
        "as a text": "return str((original.float() - restored.float()).square().mean().item())",
    },
    "4.8": {
        "padding kept": FOLD + SCALES + PRODUCT + "codes = codes.flatten(-2)",
        "padded in front": "padded = torch.nn.functional.pad(values, (-head_dim % group_size, 0))\n"
        "groups = padded.unflatten(-1, (-1, group_size))\n"
        + SCALES
        + PRODUCT
        + "codes = codes.flatten(-2)[..., -head_dim % group_size :]",
        "padded with ones": "padded = torch.nn.functional.pad(values, (0, -head_dim % group_size), value=1.0)\n"
        "groups = padded.unflatten(-1, (-1, group_size))\n" + SCALES + PRODUCT + UNFOLD,
        "interleaved groups": PAD + "groups = padded.unflatten(-1, (group_size, -1)).mT\n" + SCALES + PRODUCT + UNFOLD,
        "scales with an axis too many": FOLD + SCALES + PRODUCT + UNFOLD + "\nscales = scales.unsqueeze(-1)",
        "inverse scales": FOLD + SCALES + PRODUCT + UNFOLD + "\nscales = 1 / scales",
        "scales tiled": PAD
        + "groups = padded.unflatten(-1, (-1, group_size))\n"
        + SCALES
        + "wide = torch.cat([scales] * group_size, -1)[..., :head_dim]\n"
        "codes = (values * wide).round().clamp(-qmax, qmax).to(torch.int8)",
        "qmax fixed": FOLD + "scales = 127 / groups.abs().amax(-1).clamp(min=eps)\n"
        "codes = (groups * scales.unsqueeze(-1)).round().clamp(-127, 127).to(torch.int8)\n" + UNFOLD,
        "eps fixed": FOLD + "scales = qmax / groups.abs().amax(-1).clamp(min=1e-8)\n" + PRODUCT + UNFOLD,
        "floor": FOLD
        + SCALES
        + "codes = (groups * scales.unsqueeze(-1)).floor().clamp(-qmax, qmax).to(torch.int8)\n"
        + UNFOLD,
        "map over rows": FOLD + "scales = torch.stack([qmax / row.abs().amax(-1).clamp(min=eps) for row in "
        "groups.flatten(0, -3)]).reshape(groups.shape[:-1])\n" + PRODUCT + UNFOLD,
        "codes in int16": FOLD + SCALES + PRODUCT.replace("int8", "int16") + UNFOLD,
        "divided by the inverse": FOLD + SCALES + PRODUCT.replace("* scales", "/ scales") + UNFOLD,
        "scales in half": FOLD
        + "scales = (qmax / groups.abs().amax(-1).clamp(min=eps)).half().float()\n"
        + PRODUCT
        + UNFOLD,
        "first of the group": FOLD + "scales = qmax / groups[..., 0].abs().clamp(min=eps)\n" + PRODUCT + UNFOLD,
    },
    "4.9": {
        "scale one": "scales = torch.ones(groups.shape[:-1])\n" + CODES8 + BACK8,
        "one scale for all": "scales = (448 / groups.abs().max()).expand(groups.shape[:-1])\n" + CODES8 + BACK8,
        "nothing stored": SCALE8 + CODES8 + "restored = groups",
        "eps added": "scales = 448 / (groups.abs().amax(-1) + 0.01)\n" + CODES8 + BACK8,
        "signed maximum": "scales = 448 / groups.amax(-1).clamp(min=eps)\n" + CODES8 + BACK8,
        "in int8": SCALE8 + "codes = (groups * scales.unsqueeze(-1)).round().clamp(-127, 127).to(torch.int8)\n"
        "restored = codes / scales.unsqueeze(-1)",
        "codes as int16": SCALE8 + CODES8 + BACK8 + "\ncodes = codes.to(torch.int16)",
        "codes as float8": SCALE8 + CODES8 + BACK8 + "\ncodes = codes.view(torch.float8_e4m3fn)",
        "ties away": SCALE8 + "codes = encode(groups * scales.unsqueeze(-1), rounding='nearest_away')\n" + BACK8,
        "encoded before scaling": SCALE8 + "codes = encode(groups)\nrestored = decode(codes)",
        "power of two": "scales = 2 ** (448 / groups.abs().amax(-1).clamp(min=eps)).log2().floor()\n" + CODES8 + BACK8,
        "decoded twice": SCALE8 + CODES8 + "restored = decode(encode(decode(codes) / scales.unsqueeze(-1)))",
        "inverse scales returned": SCALE8 + CODES8 + BACK8 + "\nscales = 1 / scales",
    },
    "4.10": {
        "divided down": "n_groups = max(1, head_dim // size)\n"
        "return -(-head_dim * code_bits // 8) + n_groups * scale_bytes",
        "scale bits": GROUPS + "return -(-head_dim * code_bits // 8) + n_groups * scale_bytes // 8",
        "eight scales": GROUPS + "return head_dim * code_bits // 8 + n_groups * scale_bytes * 8",
        "a float": GROUPS + "return head_dim * code_bits / 8 + n_groups * scale_bytes",
        "fractional groups": "return -(-head_dim * code_bits // 8) + head_dim / size * scale_bytes",
        "number of groups times size": GROUPS + "return -(-head_dim * code_bits // 8) + size * scale_bytes",
        "group size of the argument": "n_groups = -(-head_dim // group_size)\n"
        "return -(-head_dim * code_bits // 8) + n_groups * scale_bytes",
        "each code padded": GROUPS + "return head_dim * -(-code_bits // 8) + n_groups * scale_bytes",
        "scales in one byte": GROUPS + "return -(-head_dim * code_bits // 8) + n_groups",
        "each group padded": GROUPS + "return n_groups * (-(-size * code_bits // 8) + scale_bytes)",
        "largest size": {1: FIRST.format(range="range(head_dim, 0, -1)")},
        "powers of two": {1: FIRST.format(range="[2**k for k in range(12) if 2**k <= head_dim]")},
        "head_dim left out": {1: FIRST.format(range="range(1, head_dim)")},
        "from two on": {1: FIRST.format(range="range(3, head_dim + 1)")},
        "beyond the row": {1: FIRST.format(range="range(1, 10**4)") + " or head_dim"},
        "by the formula": {1: "smallest = int(scale_bytes / (2 - code_bits / 8)) + 1"},
        "by the given size": {1: "smallest = group_size if row_bytes(group_size) < plain else None"},
    },
}
