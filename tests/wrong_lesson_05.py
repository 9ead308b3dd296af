"""Wrong answers to the exercises of lesson 05, as lines in their holes: a text for the first hole, or {hole: text}.

Made up from the text of the exercises alone: none is a copy of a misconception of the records, and each must be
refused.
"""

from __future__ import annotations

SCALE = "scale = scale_of(token.abs().amax(-1, keepdim=True))\n"
CAT = "codes = torch.cat([codes, code.unsqueeze(1)], dim=1)\n"
GROUPS = "groups = k[:, :full].unflatten(1, (full // size, size))\n"
SHAPE = "shape = [1] * cache.ndim\nshape[0], shape[axis] = scales.shape\n"
MISS = "miss = attention(query, kept_k, kept_v, causal=False) - exact\n"
K_ELSE = "else:\n    scores = query @ k_codes.mT * k_scale.mT"
V_IF = "if v_scale.shape[-2] > 1:\n    return (probabilities * v_scale.mT) @ v_codes\n"

WRONG = {
    "5.1": {
        "mean of sizes": "scale = scale_of(kv.abs().mean((-3, -2, -1), keepdim=True), fmt)",
        "99th percentile": "scale = scale_of(kv.abs().flatten().quantile(0.99), fmt)",
        "no scale": "scale = torch.ones(1, 1, 1)",
        "always 448": "scale = scale_of(kv.abs().amax((-3, -2, -1), keepdim=True))",
        "absmax itself": "scale = kv.abs().amax((-3, -2, -1), keepdim=True)",
        "inverted": "scale = 1 / scale_of(kv.abs().amax((-3, -2, -1), keepdim=True), fmt)",
        "twice as large": "scale = 2 * scale_of(kv.abs().amax((-3, -2, -1), keepdim=True), fmt)",
        "per token": "scale = scale_of(kv.abs().amax(-1, keepdim=True), fmt)",
        "last head": "scale = scale_of(kv[-1].abs().amax(), fmt)",
        "smallest head": "scale = scale_of(kv.abs().amax((-2, -1)).min(), fmt)",
        "square root": "scale = scale_of(kv.abs().amax((-3, -2, -1), keepdim=True), fmt).sqrt()",
        "worst channel": {1: "worst = relative.median(dim=-2).values.max()"},
        "the median again": {1: "worst = relative.median()"},
        "of the first head": {1: "worst = relative[0].median()"},
        "of the last head": {1: "worst = relative[-1].median()"},
        "90th percentile": {1: "worst = relative.flatten(1).quantile(0.9, dim=1).max()"},
        "a list": {1: "worst = relative.flatten(1).median(dim=1).values"},
        "its index": {1: "worst = relative.flatten(1).median(dim=1).values.argmax()"},
        "clamped": {1: "worst = relative.flatten(1).median(dim=1).values.max().clamp(max=0.5)"},
    },
    "5.2": {
        "mean of sizes": "scales = scale_of(cache.abs().mean([a for a in range(1, cache.ndim) if a != axis]))",
        "tokens only": "scales = scale_of(cache.abs().amax(-2)).flatten(1)[:, : cache.shape[axis]]",
        "layers reduced": "scales = scale_of(cache.abs().amax([a for a in range(cache.ndim) if a != axis]))[None]",
        "heads reduced": "scales = scale_of(cache.abs().amax(list(range(1, cache.ndim))))[:, None]",
        "head axis 1": "scales = scale_of(cache.abs().flatten(2).amax(-1))",
        "absmax": "scales = cache.abs().amax([a for a in range(1, cache.ndim) if a != axis])",
        "amin": "scales = scale_of(cache.abs().amin([a for a in range(1, cache.ndim) if a != axis]))",
        "first values": "scales = scale_of(cache.movedim(axis, 1).flatten(2)[..., 0].abs())",
        "half the data": "half = cache[..., ::2]\n"
        "scales = scale_of(half.abs().amax([a for a in range(1, cache.ndim) if a != axis]))",
        "sorted": "scales = scale_of(cache.abs().amax([a for a in range(1, cache.ndim) if a != axis])).sort(-1).values",
        "int8 scales": "scales = scale_of(cache.abs().amax([a for a in range(1, cache.ndim) if a != axis]), 'int8')",
        "at the end": {1: "spread = scales.reshape(*scales.shape, *[1] * (cache.ndim - 2))"},
        "in front": {1: "spread = scales.reshape(*[1] * (cache.ndim - 2), *scales.shape)"},
        "the largest": {1: "spread = scales.max()"},
        "one layer late": {1: SHAPE + "spread = scales.roll(1, 0).reshape(shape)"},
        "one head late": {1: SHAPE + "spread = scales.roll(1, 1).reshape(shape)"},
        "inverted": {1: SHAPE + "spread = (1 / scales).reshape(shape)"},
        "mean over layers": {1: SHAPE + "spread = scales.mean(0, keepdim=True).expand(scales.shape).reshape(shape)"},
    },
    "5.3": {
        "scale without axis": "scale = scale_of(token.abs().amax(-1))\ncode = encode(token / scale[:, None])",
        "per channel": "scale = scale_of(token.abs().amax(0, keepdim=True)).amax(-1).expand(len(token), 1)\n"
        "code = encode(token / scale)",
        "codes as integers": SCALE + "code = (token / scale).round().clamp(0, 255).to(torch.uint8)",
        "codes as floats": SCALE + "code = token / scale",
        "not scaled": SCALE + "code = encode(token)",
        "E5M2": SCALE + "code = encode(token / scale, 'E5M2')",
        "bf16 quotient": SCALE + "code = encode((token / scale).bfloat16())",
        "int8 scale": "scale = scale_of(token.abs().amax(-1, keepdim=True), 'int8')\ncode = encode(token / scale)",
        "mean of sizes": "scale = scale_of(token.abs().mean(-1, keepdim=True))\ncode = encode(token / scale)",
        "twice the scale": "scale = 2 * scale_of(token.abs().amax(-1, keepdim=True))\ncode = encode(token / scale)",
        "scales not appended": {1: CAT + "return codes, scales"},
        "codes not appended": {1: "scales = torch.cat([scales, scale.unsqueeze(1)], dim=1)\nreturn codes, scales"},
        "replaced": {1: "return code.unsqueeze(1), scale.unsqueeze(1)"},
        "oldest dropped": {
            1: CAT + "return codes[:, 1:], torch.cat([scales, scale.unsqueeze(1)], dim=1)[:, 1:]",
        },
        "exchanged": {1: CAT + "return torch.cat([scales, scale.unsqueeze(1)], dim=1), codes"},
        "scales flat": {1: CAT + "return codes, torch.cat([scales, scale.unsqueeze(1)], dim=1).squeeze(-1)"},
        "old scales rescaled": {1: CAT + "return codes, torch.cat([scales * 2, scale.unsqueeze(1)], dim=1)"},
        "reciprocal": {1: CAT + "return codes, torch.cat([scales, 1 / scale.unsqueeze(1)], dim=1)"},
    },
    "5.4": {
        "per head": GROUPS + "scales = scale_of(groups.abs().amax((-3, -2), keepdim=True)[:, 0].expand("
        "len(k), full // size, k.shape[-1]).contiguous(), fmt) if full else scale_of(groups.abs().amax(-2), fmt)",
        "mean": GROUPS + "scales = scale_of(groups.abs().mean(-2), fmt)",
        "last token": GROUPS + "scales = scale_of(groups[:, :, -1].abs(), fmt)",
        "other format": GROUPS + "scales = scale_of(groups.abs().amax(-2))",
        "groups of 32": "groups = k[:, :full].unflatten(1, (full // size, size))\n"
        "scales = scale_of(groups[:, :, :2].abs().amax(-2), fmt)",
        "absmax": GROUPS + "scales = groups.abs().amax(-2)",
        "per token in the group": GROUPS + "scales = scale_of(groups.abs().amax(-1), fmt)",
        "range": GROUPS + "scales = scale_of((groups.amax(-2) - groups.amin(-2)) / 2, fmt)",
        "minimum": GROUPS + "scales = scale_of(-groups.amin(-2), fmt)",
        "power of two": GROUPS + "scales = 2 ** scale_of(groups.abs().amax(-2), fmt).log2().ceil()",
        "without the rest": {1: "restored = stored(groups, scales.unsqueeze(-2), fmt).flatten(1, 2)"},
        "rest in front": {
            1: "restored = stored(groups, scales.unsqueeze(-2), fmt).flatten(1, 2)\n"
            "restored = torch.cat([k[:, full:], restored], dim=1)"
        },
        "nothing stored": {1: "restored = k"},
        "in E4M3FN": {
            1: "restored = stored(groups, scales.unsqueeze(-2)).flatten(1, 2)\n"
            "restored = torch.cat([restored, k[:, full:]], dim=1)"
        },
        "rest per token": {
            1: "restored = stored(groups, scales.unsqueeze(-2), fmt).flatten(1, 2)\nlate = k[:, full:]\n"
            "late = stored(late, scale_of(late.abs().amax(-1, keepdim=True), fmt), fmt)\n"
            "restored = torch.cat([restored, late], dim=1)"
        },
        "one group's scales": {
            1: "restored = stored(groups, scales[:, :1].unsqueeze(-2), fmt).flatten(1, 2)\n"
            "restored = torch.cat([restored, k[:, full:]], dim=1)"
        },
        "still in groups": {1: "restored = stored(groups, scales.unsqueeze(-2), fmt)"},
    },
    "5.5": {
        "squared": MISS + "error = (miss.square().sum((-2, -1)) / exact.square().sum((-2, -1))).max().item()",
        "largest value": MISS + "error = (miss.abs().amax((-2, -1)) / exact.abs().amax((-2, -1))).max().item()",
        "elementwise": MISS + "error = (miss / exact).abs().median().item()",
        "best head": MISS + "error = (miss.norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).min().item()",
        "first head": MISS + "error = (miss[0].norm() / exact[0].norm()).item()",
        "worst query": MISS + "error = (miss.norm(dim=-1) / exact.norm(dim=-1)).max().item()",
        "1-norm": MISS + "error = (miss.abs().sum((-2, -1)) / exact.abs().sum((-2, -1))).max().item()",
        "by the stored output": "made = attention(query, kept_k, kept_v, causal=False)\n"
        "error = ((made - exact).norm(dim=(-2, -1)) / made.norm(dim=(-2, -1))).max().item()",
        "SQNR of K": "error = -sqnr_db(k, kept_k)",
        "mse": MISS + "error = miss.square().mean().item()",
        "K and V exchanged": "miss = attention(query, kept_v, kept_k, causal=False) - exact\n"
        "error = (miss.norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).max().item()",
        "always zero": "error = 0.0",
        "cosine": "made = attention(query, kept_k, kept_v, causal=False)\n"
        "error = 1 - torch.cosine_similarity(made.flatten(), exact.flatten(), dim=0).item()",
        "KIVI whatever comes": {1: "k_way, v_way = 'channel', 'token'"},
        "the first pair": {1: "k_way, v_way = next(iter(table))"},
        "the last pair": {1: "pass"},
        "the middle": {1: "k_way, v_way = sorted(table, key=table.get)[len(table) // 2]"},
        "same for both": {1: "k_way = v_way = min(ways, key=lambda way: table[way, way])"},
    },
    "5.6": {
        "one lower": "return (exponent + 126).clamp(0, 254).to(torch.uint8)",
        "exponent only": "return exponent.to(torch.uint8)",
        "up from 0.6 on": "return (exponent + (mantissa > 0.6).int() + 126).clamp(0, 254).to(torch.uint8)",
        "power itself": "return (2.0**exponent).to(torch.uint8)",
        "of absmax": "return (torch.frexp(scale * 448).exponent + 127).clamp(0, 254).to(torch.uint8)",
        "int": "return (exponent - (mantissa == 0.5).int() + 127).clamp(0, 254)",
        "int8": "return (exponent - (mantissa == 0.5).int()).clamp(-128, 127).to(torch.int8)",
        "from 1 on": "return (exponent - (mantissa == 0.5).int() + 127).clamp(1, 254).to(torch.uint8)",
        "up to 253": "return (exponent - (mantissa == 0.5).int() + 127).clamp(0, 253).to(torch.uint8)",
        "mantissa below one half": "return (exponent - (mantissa < 0.5).int() + 127).clamp(0, 254).to(torch.uint8)",
        "mantissa nearly one half": "up = exponent - (mantissa < 0.5000002).int()\n"
        "return (up + 127).clamp(0, 254).to(torch.uint8)",
        "one code for all": "return torch.full_like(exponent, int(exponent.max()) + 127).clamp(0, 254).to(torch.uint8)",
        "log2 in half": "return (scale.half().float().log2().ceil().int() + 127).clamp(0, 254).to(torch.uint8)",
        "flat": "return (exponent - (mantissa == 0.5).int() + 127).clamp(0, 254).to(torch.uint8).flatten()",
        "255 minus": "return (127 - exponent + (mantissa == 0.5).int()).clamp(0, 254).to(torch.uint8)",
    },
    "5.7": {
        "query stored": "query = store(query @ h)\nkept_k, kept_v = store(k @ h), store(v @ h)",
        "V first": "query = query @ h\nkept_v, kept_k = store(v @ h), store(k @ h)",
        "K twice": "query = query @ h\nkept_k, kept_v = store(k @ h), store(k @ h)",
        "stored twice": "query = query @ h\nkept_k, kept_v = store(store(k @ h)), store(store(v @ h))",
        "K rotated twice": "query = query @ h\nkept_k, kept_v = store(k @ h @ h), store(v @ h)",
        "together": "query = query @ h\nkept_k, kept_v = store(torch.cat([k, v]) @ h).chunk(2)",
        "halved": "query = query @ h\nkept_k, kept_v = store(k @ h / 2) * 2, store(v @ h)",
        "only the signs": "query = query @ h\nkept_k, kept_v = store(k @ h.sign()), store(v @ h)",
        "query halved": "query = query @ h / 2\nkept_k, kept_v = store(k @ h), store(v @ h)",
        "V as it is": "query = query @ h\nkept_k, kept_v = store(k @ h), store(v)",
        "rotated twice": {1: "return output @ h @ h"},
        "output divided": {1: "return output @ h / h.shape[0] ** 0.5"},
        "output stored": {1: "return store(output @ h)"},
        "minus": {1: "return -(output @ h)"},
        "wrong side": {1: "return (h[: output.shape[1], : output.shape[1]] @ output)"},
        "last query": {1: "return (output @ h)[:, -1:]"},
    },
    "5.8": {
        "always": "folds = True",
        "never": "folds = False",
        "tokens only": "folds = scale.shape[-1] == 1",
        "channels only": "folds = scale.shape[-2] == 1",
        "both at once": "folds = scale.shape[-2] == 1 and scale.shape[-1] == 1",
        "mean for channels": {1: "scores = query @ k_codes.mT * k_scale.mean(-1, keepdim=True).mT"},
        "mean for tokens": {1: "scores = (query * k_scale.mean(-2, keepdim=True)) @ k_codes.mT"},
        "divided by head_dim": {1: "scores = query @ (k_codes * k_scale).mT / query.shape[-1]"},
        "K multiplied": {1: "scores = query @ (k_codes * k_scale).mT"},
        "K multiplied after the turn": {1: "scores = query @ (k_codes.mT * k_scale.mT)"},
        "V's scale on K": {1: "scores = query @ k_codes.mT * v_scale.mean() * k_scale.mean()"},
        "query scaled twice": {
            1: "if k_scale.shape[-1] > 1:\n    scores = (query * k_scale * k_scale) @ k_codes.mT\n" + K_ELSE
        },
        "V multiplied": {2: "return probabilities @ (v_codes * v_scale)"},
        "V into the query": {2: "return probabilities @ v_codes * v_scale.mean((-2, -1), keepdim=True)"},
        "V's head forgotten": {2: V_IF + "return probabilities @ v_codes * v_scale[:1]"},
        "V divided": {2: V_IF + "return probabilities @ v_codes / v_scale"},
        "V doubled": {2: V_IF + "return probabilities @ v_codes * v_scale * v_scale"},
        "softmax again": {2: "return (probabilities.softmax(-1) @ v_codes) * v_scale.mean(-2, keepdim=True)"},
    },
}  # fmt: skip
