"""The paged FP8 cache of one layer: four tensors that belong together, and nothing that manages them.

    codes   [blocks, block_size, kv_heads, head_dim]  uint8
    scales  [blocks, block_size, kv_heads, groups]    float32, or E8M0 bytes

for K and for V, whose head_dim may differ. A block without its scales is noise, so they are made, moved and sliced
as one object.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch

from fp8lab.formats import E4M3FN, E8M0FNU, FloatFormat
from fp8lab.kernels.arguments import kernel_format, kernel_scale_format, strided_tensor, whole_number
from fp8lab.scales import storage_name

SCALE_DTYPES = (torch.float32, torch.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class KVCache:
    """Codes and scales of K and V in pages, with the format they are in.

    Raises TypeError when a part is no tensor, and ValueError when a tensor's shape or dtype does not fit the others,
    or when the format (a `FloatFormat` or its name) is another than E4M3FN or E5M2. Two caches are equal when they
    are the same object.

    >>> cache = KVCache.empty(blocks=4, block_size=16, kv_heads=2, head_dim=96, group_size=64)
    >>> tuple(cache.k_codes.shape), tuple(cache.k_scales.shape), cache.bytes_per_token
    ((4, 16, 2, 96), (4, 16, 2, 2), 416)
    >>> cache
    KVCache(4 blocks of 16 tokens, 2 KV heads, head_dim 96, E4M3FN, groups of 64, float32 scales, 26624 bytes on cpu)
    """

    k_codes: torch.Tensor
    k_scales: torch.Tensor
    v_codes: torch.Tensor
    v_scales: torch.Tensor
    group_size: int
    fmt: FloatFormat = E4M3FN

    def __post_init__(self) -> None:
        object.__setattr__(self, "fmt", kernel_format(self.fmt))
        object.__setattr__(self, "group_size", whole_number("group_size", self.group_size))
        for name in "kv":
            self._check_part(name, *self.part(name))
        if self.k_codes.shape[:3] != self.v_codes.shape[:3] or self.k_scales.dtype != self.v_scales.dtype:
            raise ValueError(
                "K and V must share blocks, block_size, kv_heads and the dtype of scales; "
                f"given {list(self.k_codes.shape)} {self.k_scales.dtype} and "
                f"{list(self.v_codes.shape)} {self.v_scales.dtype}"
            )
        if len({tensor.device for tensor in self._tensors()}) > 1:
            raise ValueError(
                f"all four tensors must be on one device; given {[str(t.device) for t in self._tensors()]}"
            )

    def _check_part(self, name: str, codes: torch.Tensor, scales: torch.Tensor) -> None:
        for part, tensor in ((f"{name}_codes", codes), (f"{name}_scales", scales)):
            strided_tensor(part, tensor)
            if tensor.is_neg():  # a kernel writes into this very memory: there is nothing to resolve it into
                raise ValueError(f"{part} is a view that negates its memory; pass {part}.resolve_neg()")
        if codes.ndim != 4 or codes.dtype != torch.uint8:
            raise ValueError(
                f"{name}_codes must be uint8 [blocks, block_size, kv_heads, head_dim]; "
                f"given {codes.dtype} {list(codes.shape)}"
            )
        if 0 in codes.shape[1:]:
            raise ValueError(f"{name}_codes needs block_size, kv_heads and head_dim; given {list(codes.shape)}")
        expected = (*codes.shape[:3], -(-codes.shape[3] // self.group_size))
        if tuple(scales.shape) != expected or scales.dtype not in SCALE_DTYPES:
            raise ValueError(
                f"{name}_scales must be float32 or E8M0 bytes (uint8) of shape {list(expected)}; "
                f"given {scales.dtype} {list(scales.shape)}"
            )
        for part, tensor in ((f"{name}_codes", codes), (f"{name}_scales", scales)):
            if tensor.stride(3) != 1 and tensor.shape[3] > 1:
                raise ValueError(f"the last axis of {part} must be contiguous; given strides {tensor.stride()}")

    @classmethod
    def empty(
        cls,
        blocks: int,
        block_size: int,
        kv_heads: int,
        head_dim: int,
        group_size: int,
        *,
        v_head_dim: int | None = None,
        fmt: FloatFormat | str = E4M3FN,
        scale_format: torch.dtype | FloatFormat | str = torch.float32,
        device: torch.device | str = "cpu",
    ) -> KVCache:
        """A cache of zeros: codes 0 and scales 1, so that a page that was never written reads as zeros. ValueError
        for sizes that are not whole numbers of at least 1 (blocks: 0), and for other formats."""
        e8m0 = kernel_scale_format(scale_format) == E8M0FNU
        page = (
            whole_number("blocks", blocks, least=0),
            *(whole_number(*given) for given in (("block_size", block_size), ("kv_heads", kv_heads))),
        )
        group_size = whole_number("group_size", group_size)

        def pair(width: int) -> tuple[torch.Tensor, torch.Tensor]:
            codes = torch.zeros(*page, width, dtype=torch.uint8, device=device)
            one, dtype = (127, torch.uint8) if e8m0 else (1.0, torch.float32)
            return codes, torch.full((*page, -(-width // group_size)), one, dtype=dtype, device=device)

        k_width = whole_number("head_dim", head_dim)
        v_width = k_width if v_head_dim is None else whole_number("v_head_dim", v_head_dim)
        return cls(*pair(k_width), *pair(v_width), group_size, kernel_format(fmt))

    def __repr__(self) -> str:
        blocks, block_size, heads, k_width = self.k_codes.shape
        v_width = self.v_codes.shape[3]
        widths = f"head_dim {k_width}" + ("" if v_width == k_width else f" and {v_width} of V")
        shape = f"{blocks} blocks of {block_size} tokens, {heads} KV heads, {widths}"
        numbers = f"{self.fmt.name}, groups of {self.group_size}, {storage_name(self.scale_format)} scales"
        return f"KVCache({shape}, {numbers}, {self.nbytes} bytes on {self.k_codes.device})"

    def part(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """(codes, scales) of "k" or "v"."""
        return (self.k_codes, self.k_scales) if name == "k" else (self.v_codes, self.v_scales)

    @property
    def scale_format(self) -> torch.dtype | FloatFormat:
        """torch.float32 or E8M0FNU."""
        return E8M0FNU if self.k_scales.dtype == torch.uint8 else torch.float32

    @property
    def block_size(self) -> int:
        return self.k_codes.shape[1]

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in this layer, K and V, codes and scales."""
        return sum(math.prod(t.shape[2:]) * t.element_size() for t in self._tensors())

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks."""
        return len(self.k_codes) * self.block_size * self.bytes_per_token

    def to(self, device: torch.device | str) -> KVCache:
        """The same cache elsewhere, bit for bit."""
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        return KVCache(**{k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in moved.items()})

    def _tensors(self) -> tuple[torch.Tensor, ...]:
        return self.k_codes, self.k_scales, self.v_codes, self.v_scales
