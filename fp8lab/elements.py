"""Element formats: the grid that codes count on, for floating-point formats and for plain integers alike.

A float format comes from `fp8lab.formats`; `INT8` and `INT4` are symmetric integers, [-127, 127] and [-7, 7]: the
most negative code of two's complement is never written, so that +x and -x always get the same treatment. Codes of
fewer than 8 bits are held one per byte while they are worked on and packed for storage (`pack`, `unpack`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fp8lab.codec import decode, encode
from fp8lab.formats import FORMATS, FloatFormat, get_format
from fp8lab.rounding import torch_cast_is_exact, torch_dtype


@dataclass(frozen=True)
class IntegerFormat:
    """A symmetric integer grid: the whole numbers from -max_finite to max_finite, held as int8.

    >>> INT4.max_finite, INT4.bits
    (7, 4)
    """

    name: str
    bits: int

    @property
    def max_finite(self) -> int:
        return (1 << (self.bits - 1)) - 1


INT8 = IntegerFormat("INT8", 8)
INT4 = IntegerFormat("INT4", 4)
INTEGERS = {fmt.name: fmt for fmt in (INT8, INT4)}
ElementFormat = FloatFormat | IntegerFormat


def element_format(fmt: ElementFormat | str) -> ElementFormat:
    """The format of that name, or the format itself. ValueError for an unknown name and for a format that cannot
    hold signed data.

    >>> element_format("int8").max_finite, element_format("e4m3fn").max_finite
    (127, 448.0)
    """
    if isinstance(fmt, IntegerFormat):
        return fmt
    if isinstance(fmt, str):
        if fmt.upper() in INTEGERS:
            return INTEGERS[fmt.upper()]
        if fmt.upper() not in {name.upper() for name in FORMATS}:
            known = ", ".join([*INTEGERS, *FORMATS])
            raise ValueError(f"no element format is called {fmt!r}: known are {known}")
    resolved = get_format(fmt)
    if not resolved.signed or not resolved.has_zero:
        raise ValueError(
            f"{resolved.name} has no sign or no zero, so it can hold scales but not data: use e.g. E4M3FN for the data"
        )
    return resolved


def encode_elements(
    scaled: torch.Tensor, fmt: ElementFormat, out: torch.Tensor | None = None, inside: bool = False
) -> torch.Tensor:
    """Codes nearest to values already divided by their scale: ties to even, saturating at the largest finite value.

    `scaled` is finite float32; the codes are int8 for integers, uint8 for float formats. `inside` promises that no
    value rounds to anything beyond the largest finite one, so that torch's cast can do without a clamp.

    >>> encode_elements(torch.tensor([0.5, 1.5, 2.5, -0.6, 200.0]), INT8).tolist()
    [0, 2, 2, -1, 127]
    """
    if isinstance(fmt, FloatFormat):
        if inside and out is not None and torch_cast_is_exact(fmt, scaled.device.type):
            out.view(torch_dtype(fmt)).copy_(scaled)
            return out
        return encode(scaled, fmt, overflow="saturate", out=out)
    rounded = torch.round(scaled).clamp_(-fmt.max_finite, fmt.max_finite)
    return rounded.to(torch.int8) if out is None else out.copy_(rounded)


def decode_elements(codes: torch.Tensor, fmt: ElementFormat, out: torch.Tensor | None = None) -> torch.Tensor:
    """float32 values of codes, before any scale.

    >>> decode_elements(torch.tensor([-1, 127], dtype=torch.int8), INT8).tolist()
    [-1.0, 127.0]
    """
    if isinstance(fmt, FloatFormat):
        return decode(codes, fmt, out=out)
    return codes.to(torch.float32) if out is None else out.copy_(codes)


def code_dtype(fmt: ElementFormat) -> torch.dtype:
    """dtype of unpacked codes: int8 for integers, uint8 for float formats."""
    return torch.int8 if isinstance(fmt, IntegerFormat) else torch.uint8


def packed_length(count: int, bits: int) -> int:
    """Bytes that `count` codes of `bits` bits take in one row, the padding of the last byte included.

    >>> packed_length(5, 4), packed_length(32, 6)
    (3, 24)
    """
    return -(-count * bits // 8)


def pack(codes: torch.Tensor, fmt: ElementFormat) -> torch.Tensor:
    """Codes as they are stored: each row of the last axis is a string of bits, low bits first, padded to whole bytes.

    8-bit codes come back as they are. Two 4-bit codes share a byte, the first in the low half; four 6-bit codes fill
    three bytes.

    >>> pack(torch.tensor([1, 2, 3], dtype=torch.uint8), element_format("E2M1FN")).tolist()
    [33, 3]
    """
    if fmt.bits == 8:
        return codes
    rows = codes.reshape(1) if codes.ndim == 0 else codes
    bits = torch.arange(fmt.bits, dtype=torch.uint8, device=rows.device)
    stream = ((rows.view(torch.uint8).unsqueeze(-1) >> bits) & 1).flatten(-2)
    length = packed_length(rows.shape[-1], fmt.bits)
    if rows.numel() == 0:
        return rows.new_empty((*rows.shape[:-1], length), dtype=torch.uint8)
    stream = torch.nn.functional.pad(stream, (0, 8 * length - stream.shape[-1]))
    weights = torch.tensor([1 << i for i in range(8)], dtype=torch.uint8, device=rows.device)
    return (stream.unflatten(-1, (length, 8)) * weights).sum(-1, dtype=torch.uint8)


def unpack(packed: torch.Tensor, fmt: ElementFormat, shape: tuple[int, ...]) -> torch.Tensor:
    """Codes one per byte again, of the shape they had before `pack`.

    >>> unpack(torch.tensor([33, 3], dtype=torch.uint8), element_format("E2M1FN"), (3,)).tolist()
    [1, 2, 3]
    """
    if fmt.bits == 8:
        return packed
    count = shape[-1] if shape else 1
    if 0 in shape:
        return packed.new_empty(shape, dtype=code_dtype(fmt))
    bits = torch.arange(8, dtype=torch.uint8, device=packed.device)
    stream = ((packed.unsqueeze(-1) >> bits) & 1).flatten(-2)[..., : count * fmt.bits]
    weights = torch.tensor([1 << i for i in range(fmt.bits)], dtype=torch.uint8, device=packed.device)
    codes = (stream.unflatten(-1, (count, fmt.bits)) * weights).sum(-1, dtype=torch.uint8).reshape(shape)
    if isinstance(fmt, IntegerFormat):
        sign = 1 << (fmt.bits - 1)
        return (codes.view(torch.int8) ^ sign) - sign
    return codes
