"""Data of different shapes for lesson 03: from a flat box to one value that towers over all others."""

from __future__ import annotations

import torch

VALUES = 4096


def uniform(g: torch.Generator) -> torch.Tensor:
    return torch.rand(VALUES, generator=g) * 2 - 1


def normal(g: torch.Generator) -> torch.Tensor:
    return torch.randn(VALUES, generator=g)


def laplace(g: torch.Generator) -> torch.Tensor:
    side = torch.where(torch.rand(VALUES, generator=g) < 0.5, -1.0, 1.0)
    return -torch.rand(VALUES, generator=g).clamp(min=1e-5).log() * side


def two_levels(g: torch.Generator) -> torch.Tensor:
    """Half of the values near -1, half near 1."""
    return torch.where(torch.rand(VALUES, generator=g) < 0.5, -1.0, 1.0) + 0.05 * torch.randn(VALUES, generator=g)


def one_outlier(g: torch.Generator, size: float) -> torch.Tensor:
    x = torch.randn(VALUES, generator=g)
    x[int(torch.randint(VALUES, (), generator=g))] = size
    return x


def large_values(g: torch.Generator, count: int, factor: float) -> torch.Tensor:
    """Normal values, `count` of them made larger: an outlier channel, or a head of another size."""
    x = torch.randn(VALUES, generator=g)
    x[:count] *= factor
    return x


def shapes_of_data(seed: int) -> list[tuple[str, torch.Tensor]]:
    """Eighteen tensors, each scaled by a random power, in random order. Who wins is never close: a test measures it."""
    g = torch.Generator().manual_seed(seed)
    kinds = {
        "uniform": uniform,
        "normal": normal,
        "laplace": laplace,
        "two levels": two_levels,
        "normal, mean 20": lambda g: 20 + torch.randn(VALUES, generator=g),
        "normal, one value at 40": lambda g: one_outlier(g, 40.0),
        "normal, one value at -300": lambda g: one_outlier(g, -300.0),
        "normal, 64 values times 30": lambda g: large_values(g, 64, 30.0),
        "normal, 8 values times 100": lambda g: large_values(g, 8, 100.0),
    }
    drawn = [
        (name, make(g) * 10.0 ** float(torch.randint(-6, 7, (), generator=g)))
        for name, make in kinds.items()
        for _ in (0, 1)
    ]
    return [drawn[int(i)] for i in torch.randperm(len(drawn), generator=g)]
