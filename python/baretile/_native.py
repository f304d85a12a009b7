"""libbaretile's C interface (include/baretile/capi.h) through ctypes; a failing call raises the exception of its class."""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path


class Error(Exception):
    """Base of all that baretile raises; the message names the object, its value and what to do."""


class UsageError(Error, ValueError):
    """The caller: a shape, dtype, name or number that cannot be used."""


class Unsupported(Error, NotImplementedError):
    """Valid, but not done here."""


class SystemError(Error, OSError):
    """The owner of the machine: a path, permission or missing program."""


class DeviceError(Error, RuntimeError):
    """Hardware or firmware: a deadline passed, a core stopped."""


class CompileError(Error, RuntimeError):
    """A bug in baretile: generated code did not build."""


class SimFault(Error, RuntimeError):
    """A simulator stopped at something the hardware does not allow, or that it does not model."""


class OutOfMemory(Error, MemoryError):
    """The device, or the host, has no room."""


class InternalError(Error, RuntimeError):
    """A bug in baretile: an invariant does not hold."""


# In the order of bt_status.
ERRORS = [None, UsageError, Unsupported, SystemError, DeviceError, CompileError, SimFault, OutOfMemory, InternalError]
# In the order of bt_dtype.
DTYPES = ["boolean", "uint32", "int32", "bfp4", "bfp8", "bf16", "fp32"]


def _load():
    name = "libbaretile.so.0"
    inside = Path(__file__).parent / "lib" / name  # where a wheel has it
    try:
        return ctypes.CDLL(str(inside) if inside.exists() else name)
    except OSError as error:
        raise ImportError(
            f"{name} cannot be loaded ({error}); 'pip install .' puts it into this package, the Debian package into "
            "/usr/lib; else name its folder in LD_LIBRARY_PATH"
        ) from error


_lib = _load()
_text = c_char_p
_out = POINTER(c_void_p)
_tensors = POINTER(c_void_p)
_shape = POINTER(c_int64)


def _plain(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    return function


def _checked(name, *arguments):
    function = _plain(name, c_int, *arguments)

    def call(*values):
        status = function(*values)
        if status:
            raise ERRORS[status](bt_message().decode())

    return call


bt_message = _plain("bt_message", _text)
bt_version = _plain("bt_version", _text)
bt_open = _checked("bt_open", _text, _out)
bt_close = _plain("bt_close", None, c_void_p)
bt_device = _plain("bt_device", _text, c_void_p)
bt_workers = _plain("bt_workers", c_uint32, c_void_p)
bt_from_host = _checked("bt_from_host", c_void_p, c_void_p, c_int, _shape, c_size_t, c_int, _out)
bt_full = _checked("bt_full", c_void_p, _shape, c_size_t, c_double, c_int, _out)
bt_arange = _checked("bt_arange", c_void_p, c_double, c_double, c_double, c_int, _out)
bt_number = _checked("bt_number", c_double, _out)
bt_random_key = _checked("bt_random_key", c_void_p, c_uint64, _out)
bt_random = _checked("bt_random", _text, c_void_p, _shape, c_size_t, c_int64, c_int64, _out)
bt_copy = _checked("bt_copy", c_void_p, _out)
bt_set = _checked("bt_set", c_void_p, c_void_p)
bt_free = _plain("bt_free", None, c_void_p)
bt_rank = _plain("bt_rank", c_size_t, c_void_p)
bt_shape = _plain("bt_shape", _shape, c_void_p)
bt_dtype_of = _plain("bt_dtype_of", c_int, c_void_p)
bt_to_host = _checked("bt_to_host", c_void_p, c_void_p, c_size_t)
bt_realize = _checked("bt_realize", _tensors, c_size_t)
bt_text = _checked("bt_text", c_void_p, POINTER(_text))
bt_op_at = _plain("bt_op_at", c_void_p, c_size_t)
bt_op_signature = _plain("bt_op_signature", _text, c_void_p)
bt_op_doc = _plain("bt_op_doc", _text, c_void_p)
bt_apply = _checked("bt_apply", c_void_p, _tensors, c_size_t, POINTER(c_double), c_size_t, _out)
bt_einsum = _checked("bt_einsum", _text, _tensors, c_size_t, _out)
bt_topk = _checked("bt_topk", c_void_p, c_int64, _out, _out)
bt_assign = _checked("bt_assign", c_void_p, c_int64, c_int64, c_void_p)
bt_grad = _checked("bt_grad", c_void_p, _tensors, c_size_t, _tensors)
FUNCTION = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_void_p), c_size_t)
bt_jit_new = _checked("bt_jit_new", FUNCTION, c_void_p, _tensors, c_size_t, _out)
bt_jit_result = _checked("bt_jit_result", c_void_p, c_void_p)
bt_jit_call = _checked("bt_jit_call", c_void_p, _tensors, c_size_t, _tensors, c_size_t, POINTER(c_size_t))
bt_jit_free = _plain("bt_jit_free", None, c_void_p)
bt_set_precision = _checked("bt_set_precision", c_int, POINTER(c_int))
bt_mlp = _checked("bt_mlp", c_void_p, _shape, c_size_t, c_uint64, c_int, _tensors)
bt_clip_grad_norm = _checked("bt_clip_grad_norm", _tensors, c_size_t, c_double, _out)
bt_optimiser_new = _checked("bt_optimiser_new", _text, POINTER(_text), POINTER(c_double), c_size_t, _out)
bt_optimiser_set = _checked("bt_optimiser_set", c_void_p, _text, c_double)
bt_optimiser_step = _checked("bt_optimiser_step", c_void_p, _tensors, c_size_t, _tensors, c_size_t, _tensors, c_size_t)
NAMED = ctypes.CFUNCTYPE(None, c_void_p, _text, c_void_p)
bt_optimiser_state = _checked("bt_optimiser_state", c_void_p, NAMED, c_void_p)
bt_optimiser_restore = _checked("bt_optimiser_restore", c_void_p, _tensors, c_size_t, POINTER(_text), _tensors, c_size_t)
bt_optimiser_free = _plain("bt_optimiser_free", None, c_void_p)
bt_trainer_new = _checked("bt_trainer_new", FUNCTION, c_void_p, _tensors, c_size_t, c_void_p, c_double, _out)
bt_load = _checked("bt_load", c_void_p, _text, c_int, NAMED, c_void_p)
bt_save = _checked("bt_save", _text, POINTER(_text), _tensors, c_size_t)


def shape_argument(shape):
    """bt_…'s shape and rank of an int or a sequence of ints."""
    extents = [int(e) for e in (shape if hasattr(shape, "__iter__") else [shape])]
    return (c_int64 * len(extents))(*extents), len(extents)


def names(words):
    return (c_char_p * len(words))(*[word.encode("utf-8", "surrogateescape") for word in words])


def handles(tensors):
    return (c_void_p * len(tensors))(*[t._handle if t is not None else None for t in tensors]), len(tensors)
