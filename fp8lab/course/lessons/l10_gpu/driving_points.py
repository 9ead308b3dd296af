"""What the drives of lesson 10 feed to kernels: rows of different size, ties, pages, numbers that are hard to round."""

from __future__ import annotations

import math

import numpy as np
import torch

from fp8lab.codec import encode
from fp8lab.formats import value

NAN_BITS = (0x7FC00000, 0x7FC00000 - 2**31, 0x7F800001, 0x7F800001 - 2**31)  # quiet and signalling, both signs


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def groups_of_all_sizes(seed: int, rows: int, width: int, group: int) -> torch.Tensor:
    """float32 [rows, width]; every group has its own magnitude and a single largest value, often negative."""
    random = generator(seed)
    x = torch.randn(rows, width, generator=random)
    count = -(-width // group)
    power = torch.arange(rows * count).view(rows, count) % 9 - 4 + torch.rand(rows, count, generator=random)
    x *= torch.exp2(power).repeat_interleave(group, 1)[:, :width]
    for row in range(rows):
        for first in range(0, width, group):
            span = x[row, first : first + group]
            place = int(torch.randint(len(span), (1,), generator=random))
            span[place] = span.abs().max() * (1.5 if (row + first // group) % 2 else -1.5)
    return x


def tied(seed: int, group: int) -> torch.Tensor:
    """A group most of whose values lie exactly between two codes, at a scale whose reciprocal misses many of them."""
    random = np.random.default_rng(seed)
    while True:
        absmax = np.float32(448.0) * np.float32(random.uniform(1.1, 1.9)) * np.float32(2.0**-7)
        scale = absmax / np.float32(448.0)
        codes = random.choice(0x7E, group, replace=False)
        middles = np.array([(value(int(c)) + value(int(c) + 1)) / 2 for c in codes], dtype=np.float32)
        x = middles * scale
        divided, multiplied = (encode(torch.from_numpy(way)) for way in (x / scale, x * (np.float32(1.0) / scale)))
        if (divided != multiplied).sum() > 4:
            break
    x *= random.choice(np.float32([1, -1]), group)
    x[int(random.integers(group))] = -absmax
    return torch.from_numpy(x)


def hard_numbers(seed: int, count: int) -> torch.Tensor:
    """float32 [count]: every middle of two codes and the float32 beside it, both signs; ends, tiny, NaN; at random."""
    steps = torch.tensor([(value(c) + value(c + 1)) / 2 for c in range(0x7E)])
    sizes = torch.cat([steps, *(torch.nextafter(steps, torch.tensor(end)) for end in (0.0, math.inf))])
    ends = [464.0, 464.0001, 480.0, 500.0, 1e9, math.inf, 0.0, 2.0**-126, 1e-42, 2.0**-9, 2.0**-6, 1.0, 448.0]
    sizes = torch.cat([torch.tensor(ends), sizes])
    sizes = torch.cat([sizes, torch.exp2(torch.rand(count, generator=generator(seed)) * 20 - 11)])[
        : (count - len(NAN_BITS)) // 2
    ]
    return torch.cat([sizes, -sizes, torch.tensor(NAN_BITS).int().view(torch.float32)])


def random_codes(seed: int, *shape: int, spread: float = 100.0) -> torch.Tensor:
    """Finite codes of a normal distribution: uint8, both signs, no NaN."""
    return encode(torch.randn(*shape, generator=generator(seed)) * spread)


def random_scales(seed: int, *shape: int) -> torch.Tensor:
    """float32, from 2^-9 to 2^3."""
    return torch.exp2(torch.rand(*shape, generator=generator(seed)) * 12 - 9)


def hexadecimal(codes: torch.Tensor) -> np.ndarray:
    """Codes as text, in the tensor's own shape, every NaN code one word."""
    words = np.array([f"0x{code:02X}" if code & 0x7F != 0x7F else "NaN" for code in range(256)])
    return words[codes.cpu().numpy()]
