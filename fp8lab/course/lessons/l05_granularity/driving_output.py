"""How 5.5 to 5.8 are exercised: by what attention makes of a cache, by exponents, and by where a product is taken."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fp8lab.course.drive import outcome
from fp8lab.course.lessons.l05_granularity.driving_axes import Inputs, normal, plain
from fp8lab.granularity import Group, PerChannel, PerTensor, PerToken
from fp8lab.quantize import quantize

# ---- 5.5 which axes

WAYS = {"tensor": PerTensor(), "token": PerToken(), "channel": PerChannel(), "groups of 8 channels": Group(8)}


def loud_and_quiet(seed: int, tokens: int = 24, head_dim: int = 32) -> tuple[torch.Tensor, ...]:
    """query, k, v of two heads. K: outlier channels, which the queries hardly read, and a token that draws them.
    V: tokens of different size, and next to nothing in the token that is drawn to. Head 1 is 100 times smaller."""
    query, k, v = (normal(seed + i, 2, n, head_dim) for i, n in enumerate((4, tokens, tokens)))
    loud = torch.randperm(head_dim - 1, generator=torch.Generator().manual_seed(seed))[:2] + 1
    k[..., loud] *= 20
    query[..., loud] *= 0.1
    query[..., 0] += 3
    k[:, 0, 0] += 9
    v *= (0.7 * normal(seed + 5, 2, tokens, 1)).exp()
    v[:, 0] *= 0.05
    return query, k, v * torch.tensor([1.0, 0.01]).reshape(2, 1, 1)


def choice_inputs(seed: int) -> Inputs:
    """K and V as above; then V with loud channels in place of loud tokens; then both axes exchanged."""
    query, k, v = loud_and_quiet(seed)
    level = normal(seed + 8, 2, 24, 32) * torch.tensor([1.0] * 30 + [40.0, 60.0])
    tokens = normal(seed + 9, 2, 24, 32) * (1.2 * normal(seed + 10, 2, 24, 1)).exp() / 2
    return {
        "cases": {
            "loud channels in K, loud tokens in V, int4": (query, k, v, "int4"),
            "the same, int8": (query, k, v, "int8"),
            "the same, E4M3FN": (*loud_and_quiet(seed + 20), "E4M3FN"),
            "loud channels in V, int4": (query / 4, tokens, level, "int4"),
        },
    }


def drive_choice(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, (query, k, v, fmt) in inputs["cases"].items():
        k_way, v_way, error = answer(query.clone(), k.clone(), v.clone(), dict(WAYS), fmt)
        arrays[f"axes of K and V, {name}"] = [str(k_way), str(v_way)]
        arrays[f"error, {name}"] = error
    return arrays


# ---- 5.6 powers of two


def power_inputs(seed: int) -> Inputs:
    """Scales on powers of two, one float32 beside them, between them, and at the ends of float32."""
    powers = [2.0**k for k in (0, 1, -1, 5, -9, 20, -40, 100)]
    known = torch.tensor([1.2, 1.5, 1.49, 0.75, 3.0, 640 / 448, *powers])
    up, down = torch.tensor(torch.inf), torch.tensor(0.0)
    beside = [torch.nextafter(torch.tensor(p), side) for p in powers for side in (up, down)]
    drawn = 2.0 ** (normal(seed, 20) * 12)
    ends = torch.tensor([2.0**-126, 1.5 * 2.0**-127, 2.0**-127, 2.0**-130, 1.0 * 2.0**127, 1.9 * 2.0**127])
    return {"scale": torch.cat([known, torch.stack(beside), drawn, ends])}


def drive_powers(answer: Any, inputs: Inputs) -> Inputs:
    codes = answer(inputs["scale"].clone())
    if not isinstance(codes, torch.Tensor) or codes.dtype != torch.uint8:
        return {"code": f"<{getattr(codes, 'dtype', type(codes).__name__)}>"}
    return {"code": codes, "code of a [2, 1] tensor": answer(torch.tensor([[3.0], [4.0]]))}


# ---- 5.7 rotation


def rotation_inputs(seed: int) -> Inputs:
    k = normal(seed, 2, 6, 16)
    k[..., 3] *= 50
    other = [normal(seed + 1, 2, 3, 16), k, normal(seed + 2, 2, 6, 16)]
    return {
        "cases": {
            "[2 heads, 6 tokens, head_dim 16]": other,
            "4 queries, 4 tokens, head_dim 4": [normal(seed + 3 + i, 1, 4, 4) for i in range(3)],
            "one token, head_dim 8": [normal(seed + 7 + i, 1, 1, 8) for i in range(3)],
        }
    }


class Lossless:
    """A store that gives back what it is given, and remembers it."""

    def __init__(self) -> None:
        self.seen: list[torch.Tensor] = []

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x.clone())
        return x


def drive_rotation(answer: Any, inputs: Inputs) -> Inputs:
    """What was stored, and the output, when the store keeps everything and when it is coarse."""
    arrays: Inputs = {}
    for name, tensors in inputs["cases"].items():
        keep = Lossless()
        output = answer(*(t.clone() for t in tensors), keep)
        arrays[f"times stored, {name}"] = len(keep.seen)
        for label, x in zip("KV", keep.seen):
            arrays[f"{label} as it is stored, {name}"] = plain(x)
        arrays[f"output, lossless store, {name}"] = plain(output)
        arrays[f"output, int4 store, {name}"] = plain(answer(*(t.clone() for t in tensors), coarse))
    return arrays


def coarse(x: torch.Tensor) -> torch.Tensor:
    return quantize(x, "int4", PerToken()).dequantize().to(x.dtype)


# ---- 5.8 folding


class Products(TorchDispatchMode):
    """Counts elementwise products and quotients with as many values as a whole cache."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.sizes, self.count = {tuple(shape), (*shape[:-2], shape[-1], shape[-2])}, 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here. True, the default, has torch import its compiler, which takes a second."""
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = str(function).split(".")[1].rstrip("_")
        if name in ("mul", "div", "true_divide") and tuple(getattr(result, "shape", ())) in self.sizes:
            self.count += 1
        return result


K_PLACES = {"one per head": (2, 1, 1), "per channel": (2, 1, 8), "per token": (2, 5, 1)}
QUERIES, TOKENS, HEAD_DIM = 3, 5, 8


def fold_inputs(seed: int) -> Inputs:
    cases = {}
    for i, (k_name, k_shape) in enumerate(K_PLACES.items()):
        for j, (v_name, v_shape) in enumerate(K_PLACES.items()):
            cases[f"K {k_name}, V {v_name}"] = _fold_case(seed + 10 * (3 * i + j), QUERIES, TOKENS, k_shape, v_shape)
    square = _fold_case(seed + 200, 4, 4, (2, 4, 1), (2, 4, 1))
    ends = _fold_case(seed + 220, 1, 1, (2, 1, 1), (2, 1, 8))
    groups = {
        "K in groups": _fold_case(seed + 240, QUERIES, TOKENS, (2, 5, 8), (2, 1, 1)),
        "V in groups": _fold_case(seed + 260, QUERIES, TOKENS, (2, 1, 1), (2, 5, 8)),
    }
    return {"cases": {**cases, "as many queries as tokens, per token": square, "one token": ends}, "groups": groups}


def _fold_case(seed: int, queries: int, tokens: int, k_shape: tuple, v_shape: tuple) -> tuple[torch.Tensor, ...]:
    """query, values of K's codes, K's scales, values of V's codes, V's scales."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(2, queries, HEAD_DIM, generator=generator)
    codes = [torch.randint(-127, 128, (2, tokens, HEAD_DIM), generator=generator).float() for _ in range(2)]
    scales = [(torch.rand(shape, generator=generator) + 0.2) / 40 for shape in (k_shape, v_shape)]
    return query, codes[0], scales[0], codes[1], scales[1]


def drive_fold(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, given in inputs["cases"].items():
        counter = Products(tuple(given[1].shape))
        with counter:
            output = answer(*(t.clone() for t in given))
        arrays[f"output, {name}"] = plain(output)
        if name.startswith("K "):  # else other tensors have the shape of a cache, too
            arrays[f"products with a whole cache, {name}"] = counter.count
    for name, given in inputs["groups"].items():
        arrays[f"scales that cannot fold, {name}"] = _refused(answer, given)
    return arrays


def _refused(answer: Any, given: tuple) -> str:
    result = outcome(answer, *(t.clone() for t in given))
    return result if isinstance(result, str) else "no error"
