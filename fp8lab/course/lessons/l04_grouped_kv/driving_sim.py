"""How 4.1 to 4.7 are exercised: one class, seven holes, each looked at through what it alone decides.

4.1 to 4.3 are methods and are called directly. 4.4 and 4.5 stand in the middle of longer methods, so the other holes
get stand-ins there, that no right answer depends on. 4.6 reads buffers that are put there. 4.7 is handed two tensors.
"""

from __future__ import annotations

from typing import Any

import torch

from fp8lab.course.drive import outcome

Inputs = dict[str, Any]


def a_class(answer: Any) -> type:
    if not isinstance(answer, type):
        raise TypeError(f"FP8KVCacheSim is a class, got {type(answer).__name__}: pass the class itself, not an object")
    return answer


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def unchanged(before: torch.Tensor, after: torch.Tensor) -> bool:
    return torch.equal(before, after)


# ---- 4.1 absmax

EPS = 0.5  # large, so that an eps that is added shows; every absmax is larger


def absmax_inputs(seed: int) -> Inputs:
    known = [[1.0, -3.0, 2.0], [-2.0, -1.0, -4.0], [5.0], [0.25, 0.5, 1.5], [-1.0, 1.0], [0.6, -0.75]]
    drawn = [(3 * normal(seed + i, n)).tolist() + [1.0] for i, n in enumerate((6, 40))]
    return {"values": [torch.tensor(v) for v in known + drawn] + [3 + normal(seed, 3, 4), -3 - normal(seed, 2, 2, 5)]}


def drive_absmax(answer: Any, inputs: Inputs) -> Inputs:
    sim, found, same = a_class(answer)(eps=EPS), [], []
    for values in inputs["values"]:
        given = values.clone()
        found.append(sim.absmax_of(given))
        same.append(unchanged(values, given))
    axes = [value.ndim if isinstance(value, torch.Tensor) else f"<{type(value).__name__}>" for value in found]
    if axes.count(0) < len(axes):
        return {"axes of the result": axes}
    return {"absmax": found, "values unchanged": same, "axes of the result": axes}


# ---- 4.2 scale


def scale_inputs(seed: int) -> Inputs:
    absmax = [1.0, 127.0, 0.5, 3.0, 448.0, 0.0, 1e-12, *(normal(seed, 6).abs() + 0.01).tolist()]
    settings = [(127, 1e-8), (7, 1e-8), (127, 0.25), (100, 1e-4)]
    return {"cases": [(a, qmax, eps) for qmax, eps in settings for a in absmax]}


def drive_scale(answer: Any, inputs: Inputs) -> Inputs:
    made = [
        a_class(answer)(fp8_qmax=qmax, eps=eps).scale_for(torch.tensor(absmax)) for absmax, qmax, eps in inputs["cases"]
    ]
    return {"scale": made}


# ---- 4.3 codes

TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -0.6, 0.4, 0.6, 3.7, -3.7, 126.4, 126.6, 0.0]
BEYOND = [127.4, 127.6, -127.5, -127.6, -128.4, 300.0, -300.0, 130.0]


def code_inputs(seed: int) -> Inputs:
    some = (20 * normal(seed, 20)).tolist()
    ties, plain = torch.tensor(TIES + BEYOND), torch.tensor(TIES[:11] + some)
    return {"cases": [(ties, 1.0, 127), (plain, 2.0, 127), (plain, 0.25, 127), (ties, 1.0, 7), (plain, 10.0, 100)]}


def drive_codes(answer: Any, inputs: Inputs) -> Inputs:
    codes, dtypes, same = [], [], []
    for values, scale, qmax in inputs["cases"]:
        given = values.clone()
        made = a_class(answer)(fp8_qmax=qmax).codes_of(given, torch.tensor(scale))
        codes += made.tolist() if isinstance(made, torch.Tensor) else [f"<{type(made).__name__}>"]
        dtypes.append(str(getattr(made, "dtype", type(made).__name__)))
        same.append(unchanged(values, given))
    return {"code": codes, "dtype": dtypes, "values unchanged": same}


# ---- 4.4 the recorded shape

SHAPES = [(2, 5), (3,), (2, 3, 4), (1, 1, 7, 1), (4, 1), ()]


def text_of_shape(shape: Any) -> str:
    try:
        return "[" + ", ".join(str(int(n)) for n in shape) + "]"
    except (TypeError, ValueError):
        return f"<{type(shape).__name__}>"


def shape_inputs(seed: int) -> Inputs:
    return {"x": [normal(seed + i, *shape) for i, shape in enumerate(SHAPES)]}


def drive_shape(answer: Any, inputs: Inputs) -> Inputs:
    recorded, restored = [], []
    for x in inputs["x"]:
        sim = _with_stand_ins(answer)()
        sim.quantize_fp8(x.clone())
        recorded.append(text_of_shape(sim.fp8_shape))
        back = outcome(sim.dequantize_fp8)
        restored.append(back if isinstance(back, str) else text_of_shape(back.shape))
    early = outcome(_with_stand_ins(answer)().dequantize_fp8)
    return {
        "fp8_shape": recorded,
        "shape of dequantize_fp8()": restored,
        "dequantize_fp8() before quantize_fp8(x)": early if isinstance(early, str) else "no error",
    }


def _with_stand_ins(answer: Any) -> type:
    """The class, with holes 4.1 to 4.3 filled by something that tells groups apart and cannot fail."""
    parts = {
        "absmax_of": lambda self, values: values.float().sum(),
        "scale_for": lambda self, absmax: absmax.abs() + 1,
        "codes_of": lambda self, values, scale: values.to(torch.int8),
    }
    return type(answer)(answer.__name__, (a_class(answer),), parts)


# ---- 4.5 the number of groups

GROUPINGS = [((3, 128), 64), ((2, 96), 64), ((2, 3, 7), 3), ((4, 9), 3), ((2, 5), 1), ((2, 128), 200), ((3, 65), 64)]


def group_inputs(seed: int) -> Inputs:
    """Whole numbers 1..100: whatever a class makes of them, groups with other values get other scales."""
    generator = torch.Generator().manual_seed(seed)
    kvs = [torch.randint(1, 101, shape, generator=generator).float() for shape, _ in GROUPINGS]
    return {"kv": kvs, "size": [size for _, size in GROUPINGS]}


def drive_groups(answer: Any, inputs: Inputs) -> Inputs:
    """How many scales; and whether each is the one that its group gets when it is all there is."""
    shapes, ratios, strangers = [], [], []
    for kv, size in zip(inputs["kv"], inputs["size"], strict=True):
        sim = _with_stand_ins(answer)(kv_group_size=size)
        sim.quantize_kv_cache(kv.clone())
        codes, scales = sim.kv_q.flatten(0, -2), sim.kv_scale.flatten(0, -2)
        shapes.append(text_of_shape(sim.kv_scale.shape))
        for row, row_codes, row_scales in zip(kv.flatten(0, -2), codes, scales, strict=True):
            for g, start in enumerate(range(0, len(row), size)):
                alone = _with_stand_ins(answer)(kv_group_size=size)
                alone.quantize_kv_cache(row[None, start : start + size].clone())
                ratios.append(_ratio(row_scales, g, alone.kv_scale))
                strangers.append(int((row_codes[start : start + size] != alone.kv_q.flatten()).sum()))
    return {"shape of kv_scale": shapes, "scale / scale of the group alone": ratios, "codes unlike alone": strangers}


def _ratio(scales: torch.Tensor, g: int, alone: torch.Tensor) -> float:
    if g >= scales.numel() or alone.numel() == 0:
        return -1.0  # there is no such scale
    return (scales[g] / alone.flatten()[0]).item()


def groups_of_case(inputs: Inputs) -> list[tuple[tuple[int, ...], int, int, int]]:
    """(shape, group size, row, group) behind each of the ratios."""
    found = []
    for kv, size in zip(inputs["kv"], inputs["size"], strict=True):
        counts = range(-(-kv.shape[-1] // size))
        found += [(tuple(kv.shape), size, r, g) for r in range(kv[..., 0].numel()) for g in counts]
    return found


# ---- 4.6 restore one group

CACHES = [((2, 7), 3), ((2, 2, 5), 2), ((3, 4), 4), ((1, 3), 8), ((2, 3), 1)]


def cache_inputs(seed: int) -> Inputs:
    """Codes and scales as a cache holds them; no two scales are alike."""
    generator, caches = torch.Generator().manual_seed(seed), []
    for shape, size in CACHES:
        codes = torch.randint(-127, 128, shape, generator=generator).to(torch.int8)
        codes[codes == 0] = 5
        counts = (*shape[:-1], -(-shape[-1] // size))
        total = torch.Size(counts).numel()
        scales = (torch.randperm(total, generator=generator) + 1.0) / 4
        caches.append((codes, scales.reshape(counts), size))
    return {"caches": caches}


def drive_restore(answer: Any, inputs: Inputs) -> Inputs:
    arrays = {}
    for number, (codes, scales, size) in enumerate(inputs["caches"]):
        sim = a_class(answer)(kv_group_size=size)
        sim.kv_q, sim.kv_scale, sim.kv_shape = codes.clone(), scales.clone(), tuple(codes.shape)
        arrays[f"cache {number}"] = sim.dequantize_kv_cache()
    return arrays


# ---- 4.7 mse


def mse_inputs(seed: int) -> Inputs:
    pairs = [(normal(seed + i, *s), normal(seed + 9 + i, *s)) for i, s in enumerate([(2, 5), (3, 4), (2, 3, 4)])]
    exact = [([[1.0, 2.0]], [[1.0, 4.0]]), ([[1.0, -1.0]], [[-1.0, 1.0]]), ([[3.0, 3.0]], [[3.0, 3.0]])]
    pairs += [(torch.tensor(x), torch.tensor(y)) for x, y in exact]
    far = torch.tensor([[300.0, -200.0]], dtype=torch.float16)
    return {"pairs": [*pairs, (far, torch.zeros_like(far)), (10 * pairs[0][0].bfloat16(), pairs[0][0].bfloat16())]}


def drive_mse(answer: Any, inputs: Inputs) -> Inputs:
    found = []
    for original, restored in inputs["pairs"]:
        sim = a_class(answer)()
        sim.kv_q = sim.fp8_q = (3 * original).round().clamp(-127, 127).to(torch.int8)
        sim.kv_q = -sim.kv_q  # not the codes of the hidden state
        sim.fp8_scale, sim.kv_scale = torch.tensor(3.0), torch.full((*original.shape[:-1], 1), 3.0)
        found.append(sim.mse(original.clone(), restored.clone()))
    return {"mse": found, "unequal shapes": outcome(a_class(answer)().mse, torch.zeros(2), torch.zeros(3))}
