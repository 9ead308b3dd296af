"""Real numbers to codes and back, for every format; rounding and overflow are always explicit.

    >>> encode([256.0, 300.0, 1e9]).tolist(), decode([0x78, 0x79, 0x7E]).tolist()
    ([120, 121, 126], [256.0, 288.0, 448.0])

What happens at the edges, in every rounding mode:

    NaN                 stays NaN, with its sign; ValueError in a format without NaN (FP4, FP6)
    overflow            x is rounded as if exponents had no end; a result beyond the largest finite value overflows,
                        and so does infinity. `overflow` says what it becomes: "saturate" (the largest finite value,
                        with its sign), "nan" or "inf"
    -0, underflow       the sign is kept where the format has -0; the fnuz formats have one zero
    E8M0FNU             has no zero and no sign: ValueError for zero and for negative numbers; what is smaller than
                        2^-127 becomes 2^-127. For a scale that must not be too small round "toward_positive"
    tie                 "nearest_even" means the even code, in E8M0FNU too (3.0 becomes 2, 6.0 becomes 8)

Every result is rounded once. Codes are uint8, one per byte, also for the 4- and 6-bit formats. Left out: gradients (the
result is a tensor of integers), packing of 4-bit codes, scales (`fp8lab.quantize`). `fp8lab.codec_compiled` has the
same two functions in compiled form.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

from fp8lab.codec_arguments import codes_tensor, first_index, output_tensor, real_tensor
from fp8lab.float_format import FloatFormat
from fp8lab.formats import E4M3FN, FORMATS, decode_table, get_format
from fp8lab.rounding import encode_exact, encode_nearest, nearest_is_possible, torch_cast_is_exact, torch_dtype

OVERFLOWS = ("saturate", "nan", "inf")
ROUNDINGS = ("nearest_even", "nearest_away", "toward_zero", "toward_positive", "stochastic")

# Elements per block on a CPU, so that what a block needs stays in the cache; accelerators take the whole tensor. The
# cast and rounding to nearest run on every core and get a block for each; the other two stay within the 2^15 beyond
# which torch wakes other cores: a look-up would not use them, and the many small steps of the exact way wait for them.
_CAST_BLOCK, _NEAREST_BLOCK, _EXACT_BLOCK, _DECODE_BLOCK = 1 << 18, 1 << 16, 1 << 15, 1 << 15


def encode(
    x,
    fmt: FloatFormat | str = E4M3FN,
    *,
    overflow: str = "saturate",
    rounding: str = "nearest_even",
    generator: torch.Generator | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The codes of real numbers: a uint8 tensor of the shape of x, on its device.

    x: a float32, bfloat16, float16 or float64 tensor or numpy array, a number, or a (nested) list of numbers.
    Strides and requires_grad do not matter; the result is contiguous and has no gradient.
    overflow: "saturate" (infinity too becomes the largest finite value), "nan", or "inf".
    rounding: "nearest_even"; "nearest_away" (ties away from zero); "toward_zero" (truncation); "toward_positive" (up);
    "stochastic" (away from zero with the probability of the fraction cut off, drawn from `generator`).
    out: a uint8 tensor of that shape and device to write into; it is returned. After an error its content is undefined.

    >>> encode([464.0, 464.5, -500.0], overflow="nan").tolist()  # 464 is a tie and goes to 448
    [126, 127, 255]
    >>> encode(1.0625 + 2**-40).item(), encode(2.5, "E2M1FN", rounding="toward_positive").item()
    (57, 5)

    ValueError: an overflow policy that the format has no code for, NaN for a format without NaN, zero or a negative
    number for a format without, an unknown option, a bad `out`. TypeError: integer, bool, complex and float8 tensors.
    """
    fmt = get_format(fmt)
    check_options(fmt, overflow, rounding, generator)
    x = real_tensor(x)
    codes = output_tensor(out, x.shape, torch.uint8, x)
    refuse_inexpressible(x, fmt)
    source = x.reshape(-1)
    target = codes.view(-1) if codes.is_contiguous() else torch.empty_like(source, dtype=torch.uint8)
    if rounding != "nearest_even" or x.dtype == torch.float64 or not nearest_is_possible(fmt):
        for here in _blocks(source, _EXACT_BLOCK):
            target[here] = encode_exact(source[here], fmt, overflow, rounding, generator)
    elif overflow == "saturate" and torch_cast_is_exact(fmt, x.device.type):
        _clamp_and_cast(source, fmt, target)
    else:
        for here in _blocks(source, _NEAREST_BLOCK * torch.get_num_threads()):
            target[here] = encode_nearest(source[here].float(), fmt, overflow)
    return codes if codes.is_contiguous() else codes.copy_(target.view(x.shape))


def decode(codes, fmt: FloatFormat | str = E4M3FN, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The values of codes: a float32 tensor (which holds every value exactly) of the shape of `codes`, on its device.

    codes: an integer, a (nested) list of integers, bytes, a numpy integer array or an integer tensor (best: uint8).
    out: a float32 tensor to write into, of that shape and device; it is returned.

    >>> decode(0x78), decode([[0x01, 0x80]]) == torch.tensor([[2**-9, 0.0]])
    (tensor(256.), tensor([[True, True]]))
    >>> decode([0x38], "E4M3FNUZ").item()  # the format travels with the bytes: 1.0 in E4M3FN
    0.5

    ValueError: a number that is not a code of the format (0..255; 0..63 and 0..15 for FP6 and FP4), a ragged list, a
    bad `out`. TypeError: floats, float8 tensors (view them as uint8) and bools.
    """
    fmt = get_format(fmt)
    codes = codes_tensor(codes, fmt)
    values = output_tensor(out, codes.shape, torch.float32, codes)
    source = codes.reshape(-1)
    target = values.view(-1) if values.is_contiguous() else torch.empty_like(source, dtype=torch.float32)
    _look_up(source, fmt, target)
    return values if values.is_contiguous() else values.copy_(target.view(codes.shape))


def check_options(fmt: FloatFormat, overflow: str, rounding: str = "nearest_even", generator=None) -> None:
    """ValueError for an unknown policy or mode, and for a policy that the format has no code for."""
    if overflow not in OVERFLOWS:
        raise ValueError(f"overflow={overflow!r}: choose one of {', '.join(OVERFLOWS)}")
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding={rounding!r}: choose one of {', '.join(ROUNDINGS)}")
    if overflow == "inf" and not fmt.has_inf:
        others = "'saturate' or 'nan'" if fmt.has_nan else "'saturate'"
        raise ValueError(f"overflow='inf': {fmt.name} has no code for infinity; choose {others}")
    if overflow == "nan" and not fmt.has_nan:
        raise ValueError(f"overflow='nan': {fmt.name} has no code for NaN; choose 'saturate'")
    if generator is not None and rounding != "stochastic":
        raise ValueError(f"generator is given, but rounding={rounding!r} draws nothing: only 'stochastic' does")


def refuse_inexpressible(x: torch.Tensor, fmt: FloatFormat) -> None:
    """ValueError for what no overflow policy and no rounding can put into the format."""
    if not fmt.has_nan and bool(x.isnan().any()):
        others = ", ".join(name for name, other in FORMATS.items() if other.has_nan and other.signed)
        raise ValueError(
            f"x{first_index(x.isnan())} is NaN, and {fmt.name} has no code for NaN:"
            f" replace it first (torch.nan_to_num), or choose a format that has one ({others})"
        )
    if not fmt.has_zero and bool((x == 0).any()):
        raise ValueError(f"x{first_index(x == 0)} is zero, and {fmt.name} has no zero: give zeros the scale 1.0")
    if not fmt.signed and bool((x < 0).any()):
        raise ValueError(f"x{first_index(x < 0)} is negative, and {fmt.name} has no sign bit: encode absolute values")


def _blocks(x: torch.Tensor, size: int):
    size = size if x.device.type == "cpu" else max(x.numel(), 1)
    for start in range(0, x.numel(), size):
        yield slice(start, start + size)


def _clamp_and_cast(x: torch.Tensor, fmt: FloatFormat, codes: torch.Tensor) -> None:
    """torch's cast where it was found exact. The clamp comes first: torch releases differ in what overflow becomes."""
    cast, clamped = codes.view(torch_dtype(fmt)), torch.empty(0, dtype=torch.float32, device=x.device)
    for here in _blocks(x, _CAST_BLOCK * torch.get_num_threads()):
        block = x[here]
        clamped.resize_(len(block))  # the memory of the first block serves them all
        if x.dtype != torch.float32:
            block = clamped.copy_(block)  # a clamp of bfloat16 loses the sign of NaN
        torch.clamp(block, -fmt.max_finite, fmt.max_finite, out=clamped)
        cast[here].copy_(clamped)


@cache
def _tables(fmt: FloatFormat, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """float32 [256]: a value per byte; float64 [65536]: two float32 values, as one 8-byte item, per pair of bytes."""
    single = torch.nn.functional.pad(decode_table(fmt), (0, 256 - fmt.codes)).to(device)
    first, second = single.repeat(256), single.repeat_interleave(256)  # the first byte of a pair is the low one
    return single, torch.stack([first, second], dim=1).view(torch.float64).view(-1)


def _look_up(codes: torch.Tensor, fmt: FloatFormat, values: torch.Tensor) -> None:
    """Two codes at a time, which is half the look-ups; one by one when there are few, and where a view begins oddly."""
    single, pairs = _tables(fmt, codes.device)
    start = 0
    if len(codes) >= 1 << 12 and codes.storage_offset() % 2 == 0 and values.storage_offset() % 2 == 0:
        start = len(codes) // 2 * 2
        _gather(pairs, codes[:start].view(torch.uint16), values[:start].view(torch.float64))
    _gather(single, codes[start:], values[start:])


def _gather(table: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> None:
    """torch looks up on one core (`take` and `gather` use more, and need more time on each): so threads of our own."""
    blocks = list(_blocks(index, _DECODE_BLOCK))
    workers = max(1, min(torch.get_num_threads(), len(blocks) // 8))  # starting one costs as much as two blocks
    mode = torch.inference_mode if values.is_inference() else torch.no_grad  # not inherited by a new thread

    def look_up(worker: int) -> None:
        with mode():
            for here in blocks[worker::workers]:
                torch.index_select(table, 0, index[here].to(torch.int32), out=values[here])

    if workers == 1:
        return look_up(0)
    with ThreadPoolExecutor(workers - 1) as pool:
        others = pool.map(look_up, range(1, workers))
        look_up(0)
        list(others)  # raises what a thread raised
