"""fp8lab: FP8 from eight bits to a grouped KV cache.

    >>> import fp8lab
    >>> fp8lab.decode([0x78, 0x7E]).tolist()
    [256.0, 448.0]

The public names are looked up on first use (PEP 562), so that `fp8lab --help` answers without loading torch.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOME = {  # public name -> the module that defines it
    "decode": "fp8lab.codec",
    "encode": "fp8lab.codec",
    "FORMATS": "fp8lab.formats",
    "FloatFormat": "fp8lab.formats",
    "get_format": "fp8lab.formats",
    **dict.fromkeys(("PerTensor", "PerHead", "PerToken", "PerChannel", "Group"), "fp8lab.granularity"),
    "QuantizedTensor": "fp8lab.quantized",
    "FP8KVCacheSim": "fp8lab.sim",
}
_MODULES = ("codec", "codec_compiled", "formats", "fold", "metrics", "mx", "quantize", "rotate", "scales")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str):
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"fp8lab.{name}")
    else:
        raise AttributeError(f"module 'fp8lab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"annotations", "import_module"})
