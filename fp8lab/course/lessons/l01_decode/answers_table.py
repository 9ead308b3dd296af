"""Exercise 1.5, all 256 codes at once: right answers, the mistakes that the record knows, right variants."""

from __future__ import annotations

import numpy as np
import torch

from fp8lab.course.lessons.l01_decode.answers_bytes import decode_byte


def _signed(size, codes):
    return np.where(codes >> 7, -size, size)


def _with_nan(size, codes):
    return np.where((codes & 0x7F) == 0x7F, np.nan, size)


def decode_all():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    size = np.ldexp((exponent > 0) + mantissa / 8, np.maximum(exponent, 1) - 7)
    size[codes & 0x7F == 0x7F] = np.nan
    return np.where(codes >> 7, -size, size)


def decode_all_by_halves():
    """Half a table, and its mirror image; float16."""
    exponent, mantissa = np.meshgrid(np.arange(16), np.arange(8), indexing="ij")
    half = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa / 512).ravel()
    half[-1] = np.nan
    return np.concatenate([half, -half]).astype(np.float16)


def decode_all_by_bits():
    """The codes as bits of a float16 whose exponent is 8 too small; float32, not contiguous."""
    codes = np.arange(256, dtype=np.uint16)
    values = ((codes & 0x80) << 8 | (codes & 0x7F) << 7).view(np.float16).astype(np.float32) * 256
    values[[0x7F, 0xFF]] = np.nan
    return np.stack([values, values], axis=1)[:, 0]


def decode_all_by_torch():
    """The format as torch knows it."""
    return torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().numpy()


TABLE = [decode_byte(byte) for byte in range(256)]


def decode_all_from_a_table():
    """A table that was made beforehand."""
    return np.array(TABLE)


def decode_all_loop():
    values = np.empty(256)
    for byte in range(256):
        values[byte] = decode_byte(byte)
    return values


def decode_all_list():
    return [decode_byte(byte) for byte in range(256)]


def decode_all_as_list():
    return decode_all().tolist()


def decode_all_uint8():
    codes = np.arange(256, dtype=np.uint8)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    shift = (np.maximum(exponent, 1) - np.uint8(7)).astype(np.int64)
    return _signed(_with_nan(np.ldexp((exponent > 0) + mantissa / 8, shift), codes), codes)


def decode_all_one_power_lower():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    return _signed(_with_nan(((exponent > 0) + mantissa / 8) * 2.0 ** (exponent - 7), codes), codes)


def decode_all_every_exponent_alike():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    return _signed(_with_nan((1 + mantissa / 8) * 2.0 ** (exponent - 7), codes), codes)


def decode_all_ieee():
    codes = np.arange(256)
    special = np.where(codes & 0x7, np.nan, np.inf)
    return np.where(codes >> 3 & 0xF == 15, _signed(special, codes), decode_all())


def decode_all_one_nan():
    values = decode_all()
    values[0xFF] = -480.0
    return values


def decode_all_without_nan():
    values = decode_all()
    values[[0x7F, 0xFF]] = 480.0, -480.0
    return values


def decode_all_lost_zero():
    codes, size = np.arange(256), np.abs(decode_all())
    return np.where(codes < 128, size, 0.0 - size)


def decode_all_sorted():
    return np.sort(decode_all())


def decode_all_bias_8():
    return decode_all() / 2


def decode_all_integer_power():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    return _signed(_with_nan(2 ** (exponent - 7) * (1 + mantissa / 8), codes), codes)
