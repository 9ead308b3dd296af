"""FP8 on a GPU: grouped quantization, writing a paged KV cache, attention that reads it. In Triton, by integer bits.

    bits.py       encode, decode and scales in registers: what all kernels share
    native.py     the second path: FP8 by the instructions of a card from sm_89 on, for native=True
    group.py      quantize and dequantize in groups                launch.py   their launchers
    cache.py      quantize straight into the pages of a cache      kvcache.py  its four tensors
    attention.py  decode attention over those pages                attend.py   its launcher, and the same in torch
    available.py  whether kernels can run here                     arguments.py  what launchers accept and refuse

Importing this needs no Triton; without it, and without a GPU, the launchers compute in torch: the same codes, scales
and dequantized values, byte for byte (of a NaN only that it is one), and attention within the rounding that
`paged_attention` names. On a CPU the kernels themselves run when TRITON_INTERPRET=1 is set before their first use.
"""

from fp8lab.kernels.attend import paged_attention
from fp8lab.kernels.available import kernels_run_on, why_not
from fp8lab.kernels.kvcache import KVCache
from fp8lab.kernels.launch import dequantize_group, quantize_group, write_kv

__all__ = ["KVCache", "dequantize_group", "kernels_run_on", "paged_attention", "quantize_group", "why_not", "write_kv"]
