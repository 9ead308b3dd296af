"""The paged FP8 cache of one layer: four tensors that belong together, and nothing that manages them.

    codes   [blocks, block_size, kv_heads, head_dim]  uint8
    scales  [blocks, block_size, kv_heads, groups]    float32, or E8M0 bytes

for K and for V, whose head_dim may differ. A block without its scales is noise, so they are made, moved and sliced
as one object.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from fp8lab.formats import E4M3FN, E8M0FNU, FloatFormat, get_format

KERNEL_FORMATS = ("E4M3FN", "E5M2")
SCALE_DTYPES = {"float32": torch.float32, "E8M0FNU": torch.uint8}


@dataclass(frozen=True)
class KVCache:
    """Codes and scales of K and V in pages, with the format they are in.

    Raises ValueError when a tensor's shape or dtype does not fit the others, or when the format is another than
    E4M3FN or E5M2.

    >>> cache = KVCache.empty(blocks=4, block_size=16, kv_heads=2, head_dim=96, group_size=64)
    >>> tuple(cache.k_codes.shape), tuple(cache.k_scales.shape), cache.bytes_per_token
    ((4, 16, 2, 96), (4, 16, 2, 2), 416)
    """

    k_codes: torch.Tensor
    k_scales: torch.Tensor
    v_codes: torch.Tensor
    v_scales: torch.Tensor
    group_size: int
    fmt: FloatFormat = E4M3FN

    def __post_init__(self) -> None:
        kernel_format(self.fmt)
        whole_number("group_size", self.group_size)
        for name in "kv":
            codes, scales = self.part(name)
            if codes.ndim != 4 or codes.dtype != torch.uint8:
                raise ValueError(
                    f"{name}_codes must be uint8 [blocks, block_size, kv_heads, head_dim]; "
                    f"given {codes.dtype} {list(codes.shape)}"
                )
            if 0 in codes.shape[1:]:
                raise ValueError(f"{name}_codes needs block_size, kv_heads and head_dim; given {list(codes.shape)}")
            expected = (*codes.shape[:3], -(-codes.shape[3] // self.group_size))
            if tuple(scales.shape) != expected or scales.dtype not in SCALE_DTYPES.values():
                raise ValueError(
                    f"{name}_scales must be float32 or E8M0 bytes (uint8) of shape {list(expected)}; "
                    f"given {scales.dtype} {list(scales.shape)}"
                )
            if codes.stride(3) != 1 or scales.stride(3) != 1:
                raise ValueError(
                    f"{name}: the last axis of codes and scales must be contiguous; strides {codes.stride()}"
                )
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
        scale_format: torch.dtype | FloatFormat = torch.float32,
        device: torch.device | str = "cpu",
    ) -> KVCache:
        """A cache of zeros: codes 0 and scales 1, so that a page that was never written reads as zeros."""
        e8m0 = is_e8m0(scale_format)
        whole_number("group_size", group_size)

        def pair(width: int) -> tuple[torch.Tensor, torch.Tensor]:
            page = (blocks, block_size, kv_heads)
            codes = torch.zeros(*page, width, dtype=torch.uint8, device=device)
            one, dtype = (127, torch.uint8) if e8m0 else (1.0, torch.float32)
            return codes, torch.full((*page, -(-width // group_size)), one, dtype=dtype, device=device)

        return cls(*pair(head_dim), *pair(v_head_dim or head_dim), group_size, get_format(fmt))

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
        return sum(t[0, 0].numel() * t.element_size() for t in self._tensors())

    def to(self, device: torch.device | str) -> KVCache:
        """The same cache elsewhere, bit for bit."""
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        return KVCache(**{k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in moved.items()})

    def _tensors(self) -> tuple[torch.Tensor, ...]:
        return self.k_codes, self.k_scales, self.v_codes, self.v_scales


def is_e8m0(scale_format: object) -> bool:
    """Whether scales are E8M0 bytes (True) or float32 (False). ValueError for what the kernels do not store."""
    if scale_format is torch.float32 or scale_format == "float32":
        return False
    if scale_format == E8M0FNU or scale_format == E8M0FNU.name:
        return True
    raise ValueError(f"the kernels store scales as torch.float32 or E8M0FNU; given {scale_format!r}")


def kernel_format(fmt: FloatFormat) -> FloatFormat:
    """`fmt`, if the kernels hold its codes. ValueError otherwise."""
    name = getattr(fmt, "name", fmt)
    if not isinstance(fmt, FloatFormat) or name not in KERNEL_FORMATS:
        raise ValueError(f"the kernels hold codes in E4M3FN or E5M2; given {name}: fp8lab.quantize has other formats")
    return fmt


def whole_number(name: str, number: object, most: int | None = None) -> None:
    """ValueError unless `number` is an int from 1 to `most`."""
    fits = isinstance(number, int) and not isinstance(number, bool) and number >= 1
    if not fits or (most is not None and number > most):
        room = "of at least 1" if most is None else f"from 1 to {most}"
        raise ValueError(f"{name} must be a whole number {room}; given {number!r}")
