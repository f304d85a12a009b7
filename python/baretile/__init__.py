"""Tensors on Tenstorrent Blackhole: a card, Tenstorrent's simulator, or baretile's own.

>>> import baretile as bt
>>> x, w = bt.Tensor([[1, -2], [3, 4]]), bt.Tensor([[2, 0], [0, 3]])
>>> (x @ w).relu().tolist()
[[2.0, 0.0], [6.0, 12.0]]

Every operation of the library is here twice, baretile.softmax(x, axis=-1) and x.softmax(axis=-1); help() describes it.
"""

from . import nn, random
from ._native import (
    DTYPES,
    CompileError,
    DeviceError,
    Error,
    InternalError,
    OutOfMemory,
    SimFault,
    SystemError,
    Unsupported,
    UsageError,
    bt_version,
)
from .files import load, save
from .jit import jit
from .ops import FUNCTIONS, arange, einsum, eye, full, grad, ones, precision, realize, topk, zeros
from .tensor import Runtime, Tensor

__version__ = bt_version().decode()
globals().update(FUNCTIONS)
