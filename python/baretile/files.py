"""Tensors in files, by their endings: NumPy's .npy and .npz, and .safetensors."""

import ctypes
import os

from . import _native as n
from .tensor import DTYPES, Tensor, dtype_name, runtime_for, wrap

_AS_STORED = -1
_UTF8 = "utf-8", "surrogateescape"  # any name comes back as it was


def load(path, dtype=None, device=None):
    """A Tensor of a .npy; {name: Tensor} of a .npz or .safetensors.

    `dtype`: what all become; else as stored, float16 as fp32. float64 and int64 need one; integers take only values
    that they hold. UsageError: that, a damaged file, another ending. SystemError: it cannot be read.
    """
    path, owner, found = os.fsencode(path), runtime_for(device), {}

    def add(_, name, handle):
        found[name.decode(*_UTF8)] = wrap(owner, handle)

    wanted = _AS_STORED if dtype is None else DTYPES.index(dtype_name(dtype))
    n.bt_load(owner._handle, path, wanted, n.NAMED(add), None)
    return found[""] if path.endswith(b".npy") else found


def save(path, tensors):
    """Writes a Tensor as .npy, or {name: Tensor} as .npz or .safetensors; whole, or not at all.

    .npy and .npz hold fp32, integers and booleans, .safetensors also bf16; Unsupported else. UsageError: another
    ending, or not what it holds. SystemError: it cannot be written.
    """
    single = isinstance(tensors, Tensor)
    named = isinstance(tensors, dict) and all(isinstance(t, Tensor) for t in tensors.values())
    if not single and not named:
        raise n.UsageError(f"save: a {type(tensors).__name__} is no tensor and no dict of them; give either")
    names = None if single else (ctypes.c_char_p * len(tensors))(*[name.encode(*_UTF8) for name in tensors])
    n.bt_save(os.fsencode(path), names, *n.handles([tensors] if single else list(tensors.values())))
