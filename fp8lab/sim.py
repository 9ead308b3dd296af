"""FP8KVCacheSim: the loop of a grouped FP8 KV cache, with an int8 container standing in for the eight bits.

What it simulates: one scale for a hidden state, one scale per group of neighbours for a KV tensor, codes and scales
kept apart as a cache keeps them. What it does not: the uneven steps of a floating-point grid (int8 steps are even;
`fp8lab.quantize` with E4M3FN is the real format) and gradients.

The convention is the multiplying one: code = round(x * scale), restored = code / scale, scale = qmax / absmax. It is
the reciprocal of the scales in the rest of this package (`fp8lab.scales.from_multiplier`).
"""

from __future__ import annotations

import torch

from fp8lab.quantizer_input import real_tensor

INT8_MAX = 127


class FP8KVCacheSim(torch.nn.Module):
    """Quantize and restore hidden states (one scale) and KV tensors (a scale per group of the last axis).

    fp8_qmax       largest code, 1..127; codes are -fp8_qmax..fp8_qmax
    kv_group_size  values per group; the last group of a row may be short
    eps            smallest absmax a scale is made from, so that zeros have a scale too

    Buffers, none of them persistent: `fp8_q`, `kv_q` (int8, shape of the input), `fp8_scale` (float32, no axes),
    `kv_scale` (float32, kv.shape[:-1] + (groups,)). `fp8_shape` and `kv_shape` record the inputs' shapes (None
    before). Scales stay float32 under `.half()`: in float16 they overflow.

    >>> sim = FP8KVCacheSim(kv_group_size=2)
    >>> codes, scale = sim.quantize_kv_cache(torch.tensor([[1.0, -127.0, 0.5]]))
    >>> codes.tolist(), scale.tolist(), sim.dequantize_kv_cache().tolist()
    ([[1, -127, 127]], [[1.0, 254.0]], [[1.0, -127.0, 0.5]])
    """

    def __init__(self, fp8_qmax: int = INT8_MAX, kv_group_size: int = 64, eps: float = 1e-8):
        super().__init__()
        if not 1 <= fp8_qmax <= INT8_MAX:
            raise ValueError(
                f"fp8_qmax is 1..{INT8_MAX}, the codes an int8 container holds on both sides, got {fp8_qmax}"
            )
        for name, count in (("fp8_qmax", fp8_qmax), ("kv_group_size", kv_group_size)):
            if not isinstance(count, int):
                raise TypeError(f"{name} is a whole number, got {count!r}")
        if kv_group_size <= 0:
            raise ValueError(f"kv_group_size is at least 1, got {kv_group_size}")
        if not eps > 0:
            raise ValueError(f"eps is above 0, or a row of zeros has no scale, got {eps}")
        largest = torch.finfo(torch.float32).max
        if not (eps <= largest and fp8_qmax / eps <= largest):
            raise ValueError(f"eps and fp8_qmax / eps are float32 numbers, got eps {eps} and fp8_qmax {fp8_qmax}")
        self.fp8_qmax, self.kv_group_size, self.eps = fp8_qmax, kv_group_size, eps
        self.fp8_shape: tuple[int, ...] | None = None
        self.kv_shape: tuple[int, ...] | None = None
        for name, dtype in (
            ("fp8_q", torch.int8),
            ("kv_q", torch.int8),
            ("fp8_scale", torch.float32),
            ("kv_scale", torch.float32),
        ):
            self.register_buffer(name, torch.empty(0, dtype=dtype), persistent=False)

    def quantize_fp8(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Codes and the one scale of x, any shape and float dtype; kept for `dequantize_fp8`. ValueError for NaN or
        inf, TypeError for a list, integers or float8."""
        values = self._finite(x)
        absmax = values.abs().amax() if values.numel() else values.new_zeros(())
        self.fp8_scale = self.fp8_qmax / absmax.clamp(min=self.eps)
        self.fp8_q = self._codes(values * self.fp8_scale)
        self.fp8_shape = tuple(x.shape)
        return self.fp8_q, self.fp8_scale

    def dequantize_fp8(self) -> torch.Tensor:
        """The hidden state restored, float32, in its recorded shape. RuntimeError before `quantize_fp8`."""
        if self.fp8_shape is None:
            raise RuntimeError("nothing to dequantize: call quantize_fp8(x) first")
        return (self.fp8_q.to(torch.float32) / self.fp8_scale).reshape(self.fp8_shape)

    def quantize_kv_cache(self, kv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Codes [*, D] and scales [*, groups] of kv [*, D]; kept for `dequantize_kv_cache`.

        ValueError for fewer than 2 axes and for NaN or inf, TypeError for a list, integers or float8. A short last
        group is measured by its own values alone.
        """
        kv = real_tensor(kv, "FP8KVCacheSim")
        if kv.ndim < 2:
            raise ValueError(f"a KV tensor has at least 2 axes, [..., tokens, head_dim], got shape {tuple(kv.shape)}")
        values = self._finite(kv)
        grouped = self._grouped(values)  # [*, groups, size]
        self.kv_scale = self.fp8_qmax / grouped.abs().amax(-1).clamp(min=self.eps)  # [*, groups]
        codes = self._codes(grouped * self.kv_scale.unsqueeze(-1))
        self.kv_q = codes.flatten(-2)[..., : kv.shape[-1]].contiguous()
        self.kv_shape = tuple(kv.shape)
        return self.kv_q, self.kv_scale

    def dequantize_kv_cache(self) -> torch.Tensor:
        """The KV tensor restored, float32, in its recorded shape. RuntimeError before `quantize_kv_cache`."""
        if self.kv_shape is None:
            raise RuntimeError("nothing to dequantize: call quantize_kv_cache(kv) first")
        restored = self._grouped(self.kv_q.to(torch.float32)) / self.kv_scale.unsqueeze(-1)
        return restored.flatten(-2)[..., : self.kv_shape[-1]].reshape(self.kv_shape)

    def fit(self, hidden: torch.Tensor, kv: torch.Tensor | None = None) -> FP8KVCacheSim:
        """Quantize the hidden state and, when given, the KV tensor; returns self."""
        self.quantize_fp8(hidden)
        if kv is not None:
            self.quantize_kv_cache(kv)
        return self

    def forward(self, hidden: torch.Tensor, kv: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor | None]:
        """(hidden, kv) after a round trip through codes and scales, float32; None for a kv that was not given."""
        self.fit(hidden, kv)
        return self.dequantize_fp8(), None if kv is None else self.dequantize_kv_cache()

    @staticmethod
    def mse(original: torch.Tensor, restored: torch.Tensor) -> torch.Tensor:
        """Mean of the squared differences of *values*, float32, no axes. ValueError for unequal shapes.

        >>> FP8KVCacheSim.mse(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
        """
        for given, name in ((original, "original"), (restored, "restored")):
            if not isinstance(given, torch.Tensor):
                raise TypeError(f"{name} is a torch tensor, given a {type(given).__name__}: pass torch.as_tensor(...)")
        if original.shape != restored.shape:
            raise ValueError(f"shapes differ: original {tuple(original.shape)}, restored {tuple(restored.shape)}")
        return (original.to(torch.float32) - restored.to(torch.float32)).square().mean()

    def _grouped(self, values: torch.Tensor) -> torch.Tensor:
        """[*, D] -> [*, groups, size]; zeros after the end, which no absmax notices."""
        missing = -values.shape[-1] % self.kv_group_size
        padded = torch.nn.functional.pad(values, (0, missing)) if missing else values
        return padded.unflatten(-1, (padded.shape[-1] // self.kv_group_size, self.kv_group_size))

    def _codes(self, scaled: torch.Tensor) -> torch.Tensor:
        return scaled.round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)

    @staticmethod
    def _finite(x: torch.Tensor) -> torch.Tensor:
        values = real_tensor(x, "FP8KVCacheSim").to(torch.float32)
        if not bool(values.isfinite().all()):
            raise ValueError(
                "the input holds NaN, inf or values beyond float32: no scale fits them, clean the data first"
            )
        return values

    def _apply(self, fn, recurse=True):
        """Moves between devices take everything along; changes of dtype leave the scales in float32."""
        scales = {name: getattr(self, name) for name in ("fp8_scale", "kv_scale")}
        super()._apply(fn, recurse)
        for name, scale in scales.items():
            setattr(self, name, scale.to(self.kv_q.device))
        return self
