"""Wrong answers to the exercises of lesson 03, as lines in their holes. Made up from the text of the exercises alone:
none is a copy of a misconception of the records, and each must be refused."""

from __future__ import annotations

ABSMAX = "absmax = find_absmax(x)\n"
REFUSE = ABSMAX + "if not math.isfinite(absmax):\n    raise ValueError('not finite')\n"
ERROR = "x, error = x.double(), restored.double() - x.double()\n"
MSE = "mse = error.square().mean().item()\n"
SQNR = "sqnr = 10 * math.log10(x.square().mean().item() / mse)\n"
RELATIVE = "relative = (error.abs() / x.abs())[x != 0].median().item()\n"
THREE = "return mse, sqnr, relative"

WRONG = {
    "3.1": {
        "smallest value": "return x.amin().item()",
        "smallest size": "return x.abs().amin().item()",
        "sum of sizes": "return x.abs().sum().item()",
        "mean size": "return x.double().abs().mean().item()",
        "Euclidean norm": "return x.double().norm().item()",
        "the whole range": "return (x.amax() - x.amin()).item()",
        "sign kept": "return x.flatten()[x.abs().argmax()].item()",
        "per row": "return x.abs().amax(-1)",
        "as a whole number": "return int(x.abs().amax().item())",
        "median size": "return x.double().abs().median().item()",
        "six standard deviations": "return 6 * x.double().std(correction=0).item()",
        "in float16": "return x.half().abs().amax().item()",
        "through float32": "return x.float().abs().amax().item()",
        "next power of two": "return 2.0 ** math.ceil(math.log2(x.double().abs().amax().item() or 1.0))",
        "first dimension only": "return x.abs().amax(0).flatten()[0].item()",
        "an array": "return x.detach().double().abs().amax().numpy()",
        "a list of one": "return [x.abs().amax().item()]",
        "as text": "return str(x.abs().amax().item())",
    },
    "3.2": {
        "qmax - absmax": "return qmax - absmax, absmax - qmax, 1.0",
        "qmax + 1": "m = (qmax + 1) / absmax\nreturn m, 1 / m, m * m",
        "order exchanged": "return absmax / qmax, qmax / absmax, (qmax / absmax) ** 2",
        "mixed by addition": "m = qmax / absmax\nreturn m, 1 / m, m + m",
        "mixed by the quotient": "m = qmax / absmax\nreturn m, 1 / m, 1 / m",
        "eps added": "m = qmax / (absmax + 1e-5)\nreturn m, absmax / qmax, m * m",
        "powers of two": "m = 2.0 ** math.floor(math.log2(qmax / absmax))\nreturn m, 1 / m, m * m",
        "127 always": "m = 127.0 / absmax\nreturn m, 1 / m, m * m",
        "256 levels": "m = 256.0 / (2 * absmax)\nreturn m, 1 / m, m * m",
        "whole numbers": "m = round(qmax / absmax)\nreturn m, absmax / qmax, m * m",
        "as text": "m = qmax / absmax\nreturn f'{m}', f'{1 / m}', f'{m * m}'",
        "square root": "m = qmax / absmax\nreturn m, 1 / m, m**0.5",
    },
    "3.3": {
        "ceil": "return torch.ceil(x / scale).clamp(-127, 127).to(torch.int8)",
        "no clamp": "return torch.round(x / scale).to(torch.int32).to(torch.int8)",
        "rounded after the cast": "return (x / scale).clamp(-127, 127).to(torch.int8).float().round().to(torch.int8)",
        "a half added": "return (x / scale + 0.5).clamp(-127, 127).to(torch.int8)",
        "to 126": "return torch.round(x / scale).clamp(-126, 126).to(torch.int8)",
        "int16": "return torch.round(x / scale).clamp(-127, 127).to(torch.int16)",
        "floats": "return torch.round(x / scale).clamp(-127, 127)",
        "uint8": "return torch.round(x / scale).clamp(0, 255).to(torch.uint8)",
        "a zero point": "return (torch.round(x / scale) + 1).clamp(-127, 127).to(torch.int8)",
        "scale of its own": "own = x.abs().amax() / 127 if x.numel() else 1\n"
        "return torch.round(x / own).clamp(-127, 127).to(torch.int8)",
        "absolute values": "return torch.round(x.abs() / scale).clamp(-127, 127).to(torch.int8)",
        "divided by two": "return torch.round(x / scale / 2).clamp(-127, 127).to(torch.int8)",
        "floor division": "return (x // scale).clamp(-127, 127).to(torch.int8)",
        "in bfloat16": "return torch.round(x.bfloat16() / scale).clamp(-127, 127).to(torch.int8)",
        "numpy's astype": "return torch.from_numpy((x.numpy() / scale).clip(-127, 127).astype('int8'))",
        "rounded at one decimal first": "q = torch.round(x / scale, decimals=1)\n"
        "return torch.round(q).clamp(-127, 127).to(torch.int8)",
    },
    "3.4": {
        "added": "return codes.float() + scale",
        "no scale": "return codes.float()",
        "times 127": "return codes.float() * scale * 127",
        "over 127": "return codes.float() / 127 * scale",
        "sizes": "return codes.float().abs() * scale",
        "half a step up": "return (codes.float() + 0.5) * scale",
        "squared": "return codes.float() * scale**2",
        "in bfloat16": "return codes.to(torch.bfloat16) * scale",
        "-128 left out": "return codes.clamp(min=-127).float() * scale",
        "whole numbers": "return (codes.float() * scale).round()",
        "transposed": "return codes.float().mT * scale if codes.dim() > 1 else codes.float() * scale",
        "flattened": "return codes.float().flatten() * scale",
        "nibbles": "return (codes & 15).float() * scale",
        "int32 product": "return codes.to(torch.int32) * int(scale)",
    },
    "3.5": {
        "1e-12 for zeros": REFUSE + "return max(absmax, 1e-12) / qmax",
        "one for everything small": REFUSE + "return absmax / qmax if absmax > 1e-6 else 1.0",
        "the multiplier": REFUSE + "return min(qmax / absmax, 1 / SCALE_FLOOR) if absmax > 0 else 1.0",
        "TypeError": ABSMAX + "if not math.isfinite(absmax):\n    raise TypeError('not finite')\n"
        "return max(absmax / qmax, SCALE_FLOOR) if absmax > 0 else 1.0",
        "None for NaN": ABSMAX + "if not math.isfinite(absmax):\n    return None\n"
        "return max(absmax / qmax, SCALE_FLOOR) if absmax > 0 else 1.0",
        "compared with NaN": ABSMAX + "if absmax == math.nan or absmax == math.inf:\n    raise ValueError('x')\n"
        "return max(absmax / qmax, SCALE_FLOOR) if absmax > 0 else 1.0",
        "floor 2^-149": REFUSE + "return max(absmax / qmax, 2.0**-149) if absmax > 0 else 1.0",
        "floor before the division": REFUSE + "return max(absmax, SCALE_FLOOR) / qmax if absmax > 0 else 1.0",
        "floor added": REFUSE + "return absmax / qmax + 1e-9 if absmax > 0 else 1.0",
        "qmax ignored": REFUSE + "return max(absmax / 127, SCALE_FLOOR) if absmax > 0 else 1.0",
        "power of two": REFUSE
        + "return max(2.0 ** math.ceil(math.log2(absmax / qmax)), SCALE_FLOOR) if absmax > 0 else 1.0",
        "1/qmax for zeros": REFUSE + "return max(absmax / qmax, SCALE_FLOOR) if absmax > 0 else 1.0 / qmax",
        "zeros refused": REFUSE
        + "if absmax == 0:\n    raise ValueError('zeros')\nreturn max(absmax / qmax, SCALE_FLOOR)",
        "infinity saturates": ABSMAX + "if math.isnan(absmax):\n    raise ValueError('NaN')\n"
        "return max(min(absmax, 3.4e38) / qmax, SCALE_FLOOR) if absmax > 0 else 1.0",
        "a hard ceiling": REFUSE + "return min(max(absmax / qmax, SCALE_FLOOR), 1e4) if absmax > 0 else 1.0",
    },
    "3.6": {
        "the multiplier is returned": "scale = choose_scale(x, 448.0)\nreturn encode(x.float() / scale), 1 / scale",
        "pair exchanged": "scale = choose_scale(x, 448.0)\nreturn scale, encode(x.float() / scale)",
        "qmax 480": "scale = choose_scale(x, 480.0)\nreturn encode(x.float() / scale), scale",
        "qmax 256": "scale = choose_scale(x, 256.0)\nreturn encode(x.float() / scale), scale",
        "qmax 464": "scale = choose_scale(x, 464.0)\nreturn encode(x.float() / scale), scale",
        "E5M2": "scale = choose_scale(x, 448.0)\nreturn encode(x.float() / scale, 'E5M2'), scale",
        "values, not codes": "scale = choose_scale(x, 448.0)\nreturn decode(encode(x.float() / scale)), scale",
        "a float8 tensor": "scale = choose_scale(x, 448.0)\n"
        "return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale",
        "truncated": "scale = choose_scale(x, 448.0)\nreturn encode(x.float() / scale, rounding='toward_zero'), scale",
        "ties away": "scale = choose_scale(x.detach(), 448.0)\n"
        "return encode(torch.round(x.float() / scale * 16) / 16, rounding='nearest_away'), scale",
        "in float16": "scale = choose_scale(x, 448.0)\nreturn encode(x.half() / scale), scale",
        "clamped to 240": "scale = choose_scale(x, 448.0)\nreturn encode((x.float() / scale).clamp(-240, 240)), scale",
        "scale in bfloat16 afterwards": "scale = choose_scale(x, 448.0)\n"
        "return encode(x.float() / scale), torch.tensor(scale).bfloat16().item()",
        "sizes only": "scale = choose_scale(x, 448.0)\nreturn encode(x.float().abs() / scale), scale",
        "per row": "scale = choose_scale(x.flatten()[:8], 448.0)\nreturn encode(x.float() / scale), scale",
    },
    "3.7": {
        "sum instead of mean": ERROR + "mse = error.square().sum().item()\n" + SQNR + RELATIVE + THREE,
        "square of the mean": ERROR + "mse = error.mean().item() ** 2\n" + SQNR + RELATIVE + THREE,
        "error unsquared in dB": ERROR
        + MSE
        + "sqnr = 10 * math.log10(x.abs().mean().item() / error.abs().mean().item())\n"
        + RELATIVE
        + THREE,
        "variance": ERROR + MSE + "sqnr = 10 * math.log10(x.var().item() / error.var().item())\n" + RELATIVE + THREE,
        "log2": ERROR + MSE + "sqnr = 10 * math.log2(x.square().mean().item() / mse)\n" + RELATIVE + THREE,
        "bels": ERROR + MSE + "sqnr = math.log10(x.square().mean().item() / mse)\n" + RELATIVE + THREE,
        "relative to restored": ERROR
        + MSE
        + SQNR
        + "relative = (error.abs() / restored.double().abs())[x != 0].median().item()\n"
        + THREE,
        "signed": ERROR + MSE + SQNR + "relative = (error / x)[x != 0].median().item()\n" + THREE,
        "in percent": ERROR + MSE + SQNR + "relative = 100 * (error.abs() / x.abs())[x != 0].median().item()\n" + THREE,
        "eps in the denominator": ERROR
        + MSE
        + SQNR
        + "relative = (error.abs() / (x.abs() + 1e-2)).median().item()\n"
        + THREE,
        "norms": ERROR + MSE + SQNR + "relative = (error.norm() / x.norm()).item()\n" + THREE,
        "largest": ERROR + MSE + SQNR + "relative = (error.abs() / x.abs())[x != 0].max().item()\n" + THREE,
        "order": ERROR + MSE + SQNR + RELATIVE + "return sqnr, mse, relative",
        "signal is restored": ERROR
        + MSE
        + "sqnr = 10 * math.log10(restored.double().square().mean().item() / mse)\n"
        + RELATIVE
        + THREE,
    },
    "3.8": {
        "threshold 3": "return 'int8' if find_absmax(x) / x.square().mean().sqrt().item() < 3 else 'fp8'",
        "threshold 40": "return 'int8' if find_absmax(x) / x.square().mean().sqrt().item() < 40 else 'fp8'",
        "squared": "return 'int8' if find_absmax(x) ** 2 / x.square().mean().item() < 12 else 'fp8'",
        "rms alone": "return 'int8' if x.square().mean().sqrt().item() < 12 else 'fp8'",
        "mean instead of rms": "return 'int8' if find_absmax(x) / abs(x.mean().item()) < 12 else 'fp8'",
        "inverse": "return 'int8' if x.square().mean().sqrt().item() / find_absmax(x) < 12 else 'fp8'",
        "capital letters": "return 'INT8' if find_absmax(x) / x.square().mean().sqrt().item() < 12 else 'FP8'",
        "a truth value": "return find_absmax(x) / x.square().mean().sqrt().item() < 12",
        "median": "return 'int8' if find_absmax(x) / x.abs().median().item() < 4 else 'fp8'",
        "a coin": "return 'int8' if int(x.abs().sum().item() * 1e6) % 2 else 'fp8'",
        "whether it fits in E4M3FN": "return 'fp8' if find_absmax(x) <= 448 else 'int8'",
        "variance": "return 'int8' if find_absmax(x) ** 2 / x.var().item() < 144 else 'fp8'",
        "centred first": "x = x - x.mean()\n"
        "return 'int8' if find_absmax(x) / x.square().mean().sqrt().item() < 1.5 else 'fp8'",
        "positive values only": "return 'int8' if x.max().item() / x.square().mean().sqrt().item() < 12 else 'fp8'",
        "symmetry": "return 'int8' if abs(x.mean().item()) < x.std().item() / 10 else 'fp8'",
    },
}
