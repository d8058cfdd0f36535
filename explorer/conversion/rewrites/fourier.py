"""Fourier transforms as matrix products (coremltools#2212): Core ML has no complex numbers and coremltools few transforms."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.complex_pair import Pair
from explorer.conversion.rewrites.rule import Constants, Function, Rule, fixed

LONGEST = 2048
WORDS = "a Fourier transform as a matrix product (coremltools#2212)"


def basis(constants: Constants, length: int, bins: int) -> tuple[Tensor, Tensor] | None:
    """cos and -sin of 2 pi t k / length, each (length, bins)."""

    def make(function: Function) -> Tensor:
        turns = torch.outer(torch.arange(length), torch.arange(bins)).remainder(length).double() / length
        return torch.as_tensor(function(2 * math.pi * turns)).float()

    cosine = constants.get(f"cosine_{length}_{bins}", lambda: make(torch.cos))
    sine = constants.get(f"sine_{length}_{bins}", lambda: -make(torch.sin))
    return None if cosine is None or sine is None else (cosine, sine)


def _scale(norm: str | None, length: int, inverse: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(length)
    return 1 / length if (norm in (None, "backward")) == inverse else 1.0


def transform(constants: Constants, x: Any, dim: int, norm: str | None, inverse: bool, one_sided: bool = False) -> Any:
    """The transform of a real tensor or a pair along `dim`, or `NotImplemented`."""
    length = fixed(x.shape[dim])
    if length is None or length > LONGEST:
        return NotImplemented
    found = basis(constants, length, length // 2 + 1 if one_sided else length)
    if found is None:
        return NotImplemented
    cosine, sine = found[0], -found[1] if inverse else found[1]
    scale = _scale(norm, length, inverse)
    x = x.transpose(dim, -1)
    if isinstance(x, Pair):
        real, imag = x.real @ cosine - x.imag @ sine, x.real @ sine + x.imag @ cosine
    else:
        real, imag = x @ cosine, x @ sine
    result = Pair(real, imag) if scale == 1 else Pair(real * scale, imag * scale)
    return result.transpose(dim, -1)


def _one(inverse: bool, one_sided: bool) -> Function:
    def replace(constants: Constants, x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        if n is not None and n != x.shape[dim]:
            return NotImplemented
        return transform(constants, x, dim, norm, inverse, one_sided)

    return replace


def _two(inverse: bool, one_sided: bool) -> Function:
    def replace(constants: Constants, x: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        if s is not None:
            return NotImplemented
        for at, axis in enumerate(reversed(dim)):
            x = transform(constants, x, axis, norm, inverse, one_sided and at == 0)
            if x is NotImplemented:
                return NotImplemented
        return x

    return replace


def real_inverse(constants: Constants, x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """irfft: from n//2+1 bins back to n real values; a bin without a mirror image counts once."""
    bins = fixed(x.shape[dim])
    if not isinstance(x, Pair) or bins is None or bins > LONGEST:
        return NotImplemented
    length = n or 2 * (bins - 1)
    found = basis(constants, length, bins)
    if found is None or bins != length // 2 + 1:
        return NotImplemented
    weights = constants.get(f"bins_{length}_{bins}", lambda: _weights(length, bins))
    if weights is None:
        return NotImplemented
    x = x.transpose(dim, -1)
    values = (x.real * weights) @ found[0].T + (x.imag * weights) @ found[1].T
    return (values * _scale(norm, length, True)).transpose(dim, -1)


def _weights(length: int, bins: int) -> Tensor:
    weights = torch.full((bins,), 2.0)
    weights[0] = 1.0
    if length % 2 == 0:
        weights[-1] = 1.0
    return weights


def short_time(
    constants: Constants,
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """`torch.stft` of (batch, samples) as a convolution with the windowed basis: (batch, bins, frames)."""
    if align_to_window or not return_complex or onesided is False or x.ndim not in (1, 2) or (win_length or n_fft) != n_fft:
        return NotImplemented
    found = basis(constants, n_fft, n_fft // 2 + 1)
    if found is None:
        return NotImplemented
    waves = (x if x.ndim == 2 else x[None])[:, None]
    if center:
        waves = F.pad(waves, (n_fft // 2, n_fft // 2), mode=pad_mode)
    kernels = [part.T if window is None else part.T * window for part in found]
    parts = [F.conv1d(waves, kernel[:, None], stride=hop_length or n_fft // 4) for kernel in kernels]
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0
    real, imag = (part * scale if normalized else part for part in parts)
    return Pair(real, imag) if x.ndim == 2 else Pair(real[0], imag[0])


fft = torch.fft
RULES = (
    Rule((fft.fft,), WORDS, _one(False, False)),
    Rule((fft.ifft,), WORDS, _one(True, False)),
    Rule((fft.rfft,), WORDS, _one(False, True)),
    Rule((fft.irfft,), WORDS, real_inverse),
    Rule((fft.fft2,), WORDS, _two(False, False)),
    Rule((fft.ifft2,), WORDS, _two(True, False)),
    Rule((fft.rfft2,), WORDS, _two(False, True)),
    Rule((torch.stft, Tensor.stft), WORDS, short_time),
)
