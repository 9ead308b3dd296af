"""QuantizedTensor: codes and scales that travel together.

A block of codes without its scales is noise that looks like data, so there is no way here to move, index, reshape or
store the one without the other: every operation does both or refuses (`fp8lab.layout`). Values are code x scale, in
float32.

    >>> from fp8lab.quantize import quantize, Group
    >>> q = quantize(torch.tensor([[1.0, -2.0, 0.5, 448.0]]), "E4M3FN", Group(2))
    >>> q.scales.tolist(), q[:, 2:].dequantize().tolist()
    ([[0.004464285913854837, 1.0]], [[0.5, 448.0]])
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fp8lab.codec_arguments import FLOATS
from fp8lab.elements import ElementFormat, code_dtype, decode_elements, element_format, pack, packed_length, unpack
from fp8lab.granularity import Granularity, scale_shape, spread
from fp8lab.grouped import dequantize_rows, group_size_of_rows
from fp8lab.layout import index_view, reshape_blocks
from fp8lab.scales import (
    StorageFormat,
    check_scales,
    effective_scales,
    storage_format,
    storage_name,
    stored_dtype,
)


@dataclass(frozen=True, eq=False)
class QuantizedTensor:
    """Codes, their scales, and how far each scale reaches. `fp8lab.quantize` makes them; `from_parts` and
    `from_state` check them.

    payload         codes as stored: one per byte, or packed along the last axis when they have fewer than 8 bits
    stored_scales   float32, bfloat16, or uint8 codes of E8M0FNU or E4M3FN; as many axes as the data
    fmt             element format; scale_format: storage format of the scales
    blocks          how many values along each axis share a scale (`fp8lab.granularity`)
    shape           shape of the data
    tensor_scale    None, or one float32 scale over all of them (NVFP4)
    """

    payload: torch.Tensor
    stored_scales: torch.Tensor
    fmt: ElementFormat
    scale_format: StorageFormat
    blocks: tuple[int, ...]
    shape: tuple[int, ...]
    tensor_scale: torch.Tensor | None = None

    @classmethod
    def from_parts(
        cls,
        codes: torch.Tensor,
        scales: torch.Tensor,
        fmt: ElementFormat | str,
        granularity: Granularity,
        scale_format: StorageFormat | str = torch.float32,
        tensor_scale: torch.Tensor | None = None,
    ) -> QuantizedTensor:
        """Put together codes and *stored* scales that come from elsewhere (value = code x scale).

        ValueError when shapes or dtypes do not fit each other, when an integer code lies outside its grid, and when
        a scale is zero, negative or not finite.

        >>> from fp8lab.granularity import PerToken
        >>> codes = torch.tensor([[56, 64]], dtype=torch.uint8)
        >>> QuantizedTensor.from_parts(codes, torch.tensor([[0.5]]), "E4M3FN", PerToken()).dequantize()
        tensor([[0.5000, 1.0000]])
        """
        fmt, storage, shape = element_format(fmt), storage_format(scale_format), tuple(codes.shape)
        if codes.dtype != code_dtype(fmt):
            raise ValueError(
                f"codes of {fmt.name} are {code_dtype(fmt)}, got {codes.dtype}: "
                "of a float8 tensor pass codes.view(torch.uint8)"
            )
        if codes.dtype == torch.int8 and bool((codes < -fmt.max_finite).any() | (codes > fmt.max_finite).any()):
            raise ValueError(
                f"codes of {fmt.name} are -{fmt.max_finite}..{fmt.max_finite}, got {codes.min()}..{codes.max()}"
            )
        made = cls(pack(codes, fmt), scales, fmt, storage, granularity.blocks(shape), shape, tensor_scale)
        made._check()
        return made

    def _check(self, nan_groups: bool = False) -> None:
        wanted = scale_shape(self.shape, self.blocks)
        if tuple(self.stored_scales.shape) != wanted:
            raise ValueError(
                f"data of shape {self.shape} in blocks {self.blocks} has scales of shape {wanted}, "
                f"got {tuple(self.stored_scales.shape)}"
            )
        if self.stored_scales.dtype != stored_dtype(self.scale_format):
            raise ValueError(
                f"scales stored as {storage_name(self.scale_format)} are {stored_dtype(self.scale_format)}, "
                f"got {self.stored_scales.dtype}"
            )
        if self.tensor_scale is not None:
            check_scales(self.tensor_scale, "tensor_scale")
        raw = effective_scales(self.stored_scales, self.scale_format, None, self.fmt.max_finite)
        check_scales(torch.where(raw.isnan(), 1.0, raw) if nan_groups else raw, "scales")

    # What is inside

    @property
    def codes(self) -> torch.Tensor:
        """Codes one per byte, of the data's shape: int8 for integer formats, uint8 for float formats."""
        return unpack(self.payload, self.fmt, self.shape)

    @property
    def scales(self) -> torch.Tensor:
        """float32 scales with value = code x scale, broadcastable group by group; NaN marks a group that held NaN or
        inf."""
        return effective_scales(self.stored_scales, self.scale_format, self.tensor_scale, self.fmt.max_finite)

    @property
    def device(self) -> torch.device:
        return self.payload.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """All bytes held: codes with the padding of packed rows, scales with those of short groups, the tensor
        scale."""
        return sum(part.nbytes for part in (self.payload, self.stored_scales, self.tensor_scale) if part is not None)

    def numel(self) -> int:
        return self.codes.numel() if self.fmt.bits == 8 else torch.Size(self.shape).numel()

    @property
    def bits_per_value(self) -> float:
        """nbytes x 8 / number of values: 8.5 for E4M3FN in groups of 64 with float32 scales."""
        return 8 * self.nbytes / self.numel() if self.numel() else 0.0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a quantized tensor without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        scales = f"{storage_name(self.scale_format)} scales {tuple(self.stored_scales.shape)}"
        whole = ", tensor scale" if self.tensor_scale is not None else ""
        return f"QuantizedTensor({self.shape}, {self.fmt.name}, {scales}{whole}, {self.nbytes} bytes)"

    # Back to values

    def dequantize(
        self, dtype: torch.dtype = torch.float32, *, out: torch.Tensor | None = None, compiled: bool = False
    ) -> torch.Tensor:
        """code x scale in float32, then rounded to `dtype`. float16 can overflow to inf: that is the caller's choice
        of dtype. TypeError for other dtypes than float16, bfloat16, float32 and float64: integers lose the fractions.

        `out` is filled and returned (its dtype counts). `compiled=True` asks for compiled loops: same values, a second
        or two for the first call; it needs a C++ compiler (on a GPU torch.compile works with Triton), 8-bit codes and
        scales along the last axis only.
        """
        if out is not None and tuple(out.shape) != self.shape:
            raise ValueError(f"out has shape {tuple(out.shape)}, the data {self.shape}")
        wanted = dtype if out is None else out.dtype
        if wanted not in FLOATS:
            raise TypeError(
                f"dequantize gives float16, bfloat16, float32 or float64, asked for {wanted}: for codes read `.codes`, "
                "for integers round the values yourself"
            )
        out = torch.empty(self.shape, dtype=dtype, device=self.device) if out is None else out
        size = group_size_of_rows(self.shape, self.blocks)
        if size and (compiled or self.device.type == "cpu") and out.is_contiguous() and self.payload.is_contiguous():
            return dequantize_rows(self.codes, self.scales, size, self.fmt, out, compiled)
        if compiled and size:
            raise ValueError("compiled=True needs contiguous codes and out, given a view: leave compiled out")
        if compiled and any(block != 1 for block in self.blocks[:-1]):
            raise ValueError(
                "compiled=True needs scales along the last axis only, given one for each block of"
                f" {' x '.join(map(str, self.blocks))}: leave compiled out"
            )
        return out.copy_(decode_elements(self.codes, self.fmt).mul_(spread(self.scales, self.shape, self.blocks)))

    # The same data, seen differently

    def _view(self, codes: torch.Tensor, stored: torch.Tensor, blocks: tuple[int, ...]) -> QuantizedTensor:
        shape = tuple(codes.shape)
        assert tuple(stored.shape) == scale_shape(shape, blocks), (shape, blocks, stored.shape)
        return QuantizedTensor(
            pack(codes, self.fmt), stored, self.fmt, self.scale_format, blocks, shape, self.tensor_scale
        )

    def __getitem__(self, index) -> QuantizedTensor:
        """Integers, slices, `...`, None and one list of indices, on codes and scales alike. Refuses to cut a group
        in two."""
        view = index_view(index, self.shape, self.blocks)
        return self._view(self.codes[view.codes], self.stored_scales[view.scales], view.blocks)

    def reshape(self, *shape) -> QuantizedTensor:
        """A new shape in which every group is still a block; ValueError otherwise."""
        wanted = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        codes = self.codes.reshape(wanted)
        blocks = reshape_blocks(self.shape, self.blocks, tuple(codes.shape))
        return self._view(codes, self.stored_scales.reshape(scale_shape(tuple(codes.shape), blocks)), blocks)

    def permute(self, *order) -> QuantizedTensor:
        """Axes in a new order."""
        wanted = tuple(order[0]) if len(order) == 1 and not isinstance(order[0], int) else order
        codes = self.codes.permute(wanted)
        return self._view(codes, self.stored_scales.permute(wanted), tuple(self.blocks[axis] for axis in wanted))

    def transpose(self, first: int, second: int) -> QuantizedTensor:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.permute(order)

    # Elsewhere

    def to(self, device: torch.device | str, non_blocking: bool = False) -> QuantizedTensor:
        """Everything on another device, bit for bit. TypeError for a dtype: that is what `dequantize(dtype)` is for."""
        if isinstance(device, torch.dtype):
            raise TypeError(f"to() moves to a device; for values of {device} call dequantize({device})")
        whole = None if self.tensor_scale is None else self.tensor_scale.to(device, non_blocking=non_blocking)
        parts = (part.to(device, non_blocking=non_blocking) for part in (self.payload, self.stored_scales))
        return QuantizedTensor(*parts, self.fmt, self.scale_format, self.blocks, self.shape, whole)

    def state(self) -> dict:
        """Tensors and plain values from which `from_state` rebuilds this, bit for bit; loads with
        torch.load(weights_only=True)."""
        return {
            "payload": self.payload.contiguous(),
            "stored_scales": self.stored_scales.contiguous(),
            "tensor_scale": self.tensor_scale,
            "fmt": self.fmt.name,
            "scale_format": storage_name(self.scale_format),
            "blocks": list(self.blocks),
            "shape": list(self.shape),
            "nan_groups": bool(self.scales.isnan().any()),
        }

    @classmethod
    def from_state(cls, state: dict) -> QuantizedTensor:
        """Rebuild from `state()`. ValueError when a part is missing, shapes do not fit, or a scale is not what was
        written."""
        missing = sorted({"payload", "stored_scales", "fmt", "scale_format", "blocks", "shape"} - set(state))
        if missing:
            raise ValueError(f"this state lacks {', '.join(missing)}: codes are meaningless without them")
        fmt, storage = element_format(state["fmt"]), storage_format(state["scale_format"])
        shape, blocks = tuple(state["shape"]), tuple(state["blocks"])
        made = cls(state["payload"], state["stored_scales"], fmt, storage, blocks, shape, state.get("tensor_scale"))
        rows = (*shape[:-1], packed_length(shape[-1], fmt.bits)) if shape else (1,) if fmt.bits < 8 else ()
        if tuple(made.payload.shape) != rows:
            raise ValueError(
                f"{fmt.name} data of shape {shape} is stored as {rows}, "
                f"got a payload of shape {tuple(made.payload.shape)}"
            )
        made._check(nan_groups=state.get("nan_groups", False))
        return made
