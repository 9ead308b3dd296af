"""Rotation before quantizing: spread an outlier channel over all channels, and lose nothing.

An orthogonal matrix R changes no dot product: (q R) . (k R) = q . k, and attention over v R gives the output times R.
The Hadamard matrix is the one that needs no multiplications: entries +-1 / sqrt(n), its own inverse, n log2 n
additions (QuaRot, Ashkboos et al. 2024, rotates head_dim after RoPE, as here). After it a single outlier of size a is
n values of size a / sqrt(n).

A head_dim that is no power of two is rotated in blocks of its largest power-of-two factor (96 = 3 x 32, 80 = 5 x 16).
"""

from __future__ import annotations

import torch


def rotation_block(n: int) -> int:
    """Largest power of two that divides n.

    >>> rotation_block(128), rotation_block(96), rotation_block(7)
    (128, 32, 1)
    """
    return n & -n


def hadamard(n: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """The orthonormal Hadamard matrix [n, n], symmetric, its own inverse (Sylvester's construction).

    ValueError unless n is a power of two.

    >>> hadamard(4).tolist()[1]
    [0.5, -0.5, 0.5, -0.5]
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"a Hadamard matrix of this construction has a power of two as its size, got {n}")
    matrix = torch.ones(1, 1, dtype=torch.float64)
    while len(matrix) < n:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
    return (matrix * n**-0.5).to(dtype)


def rotate(x: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """x with blocks along `axis` multiplied by the Hadamard matrix; doing it twice gives x back up to rounding.

    float64 stays float64, everything else is computed and returned in float32. Gradients pass.

    >>> rotate(torch.tensor([2.0, 0.0, 0.0, 0.0])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    values = (x if x.dtype == torch.float64 else x.to(torch.float32)).movedim(axis, -1)
    block = rotation_block(values.shape[-1])
    turned = values.unflatten(-1, (-1, block)) if values.shape[-1] else values.unsqueeze(-1)
    half = 1
    while half < block:  # butterflies: [..., pairs, 2, half] -> sum and difference
        pairs = turned.unflatten(-1, (-1, 2, half))
        turned = torch.stack((pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]), -2).flatten(-3)
        half *= 2
    return (turned * block**-0.5).flatten(-2).movedim(-1, axis)
