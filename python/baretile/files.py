"""Tensors in files, by their endings: NumPy's .npy and .npz, and .safetensors."""

import os

from . import _native as n
from .tensor import DTYPES, Tensor, dtype_name, named, runtime_for

_AS_STORED = -1


def load(path, dtype=None, device=None):
    """A Tensor of a .npy; {name: Tensor} of a .npz or .safetensors.

    `dtype`: what all become; else as stored, float16 as fp32. float64 and int64 need one; integers take only values
    that they hold. UsageError: that, a damaged file, another ending. SystemError: it cannot be read.
    """
    path, owner = os.fsencode(path), runtime_for(device)
    wanted = _AS_STORED if dtype is None else DTYPES.index(dtype_name(dtype))
    found = named(owner, n.bt_load, owner._handle, path, wanted)
    return found[""] if path.endswith(b".npy") else found


def save(path, tensors):
    """Writes a Tensor as .npy, or {name: Tensor} as .npz or .safetensors; whole, or not at all.

    .npy and .npz hold fp32, integers and booleans, .safetensors also bf16; Unsupported else. UsageError: another
    ending, or not what it holds. SystemError: it cannot be written.
    """
    single = isinstance(tensors, Tensor)
    by_name = isinstance(tensors, dict) and all(isinstance(t, Tensor) for t in tensors.values())
    if not single and not by_name:
        raise n.UsageError(f"save: a {type(tensors).__name__} is no tensor and no dict of them; give either")
    names = None if single else n.names(tensors)
    n.bt_save(os.fsencode(path), names, *n.handles([tensors] if single else list(tensors.values())))
