"""Random numbers as JAX draws them: key(seed), then uniform(key, shape) and so on; equal keys give equal numbers."""

from . import _native as n
from .tensor import new, runtime_for


def key(seed, device=None):
    owner = runtime_for(device)
    return new(owner, n.bt_random_key, owner._handle, seed)


def _drawn(distribution, key, shape, low=0, high=0):
    return new(key._runtime, n.bt_random, distribution, key._handle, *n.shape_argument(shape), low, high)


def uniform(key, shape):
    """fp32 in [0, 1)"""
    return _drawn(b"uniform", key, shape)


def normal(key, shape):
    return _drawn(b"normal", key, shape)


def bits(key, shape):
    """uint32"""
    return _drawn(b"bits", key, shape)


def randint(key, shape, low, high):
    """int32 in [low, high)"""
    return _drawn(b"randint", key, shape, low, high)
