"""Tensors on a Blackhole: lazy expressions that compile and run when their values are asked for."""

import array
import ctypes
import math
import os

from . import _native as n
from ._native import DTYPES, UsageError

_ALIASES = {"float32": "fp32", "float": "fp32", "bfloat16": "bf16", "bool": "boolean", "int": "int32"}
# Per dtype on the host: its number, NumPy's name, array's letter. Block formats and bf16 are read as fp32.
_HOST = {"boolean": (0, "bool", "B"), "uint32": (1, "uint32", "I"), "int32": (2, "int32", "i")}
_FLOAT = (6, "float32", "f")


def dtype_name(dtype):
    """The name of a dtype given as "fp32", "float32", numpy.float32, float and so on."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = _ALIASES.get(name, name)
    if name not in DTYPES:
        raise UsageError(f"'{name}' is no dtype; there are {', '.join(DTYPES)}")
    return name


class Runtime:
    """An open device: "sim", "ttsim", "kmd", "sysfs"; without a name $BARETILE_DEVICE, then the first that is there."""

    def __init__(self, device=None):
        self._handle = None
        handle = ctypes.c_void_p()
        n.bt_open(device.encode() if device else None, ctypes.byref(handle))
        self._handle = handle.value

    def __del__(self, close=n.bt_close):
        close(self._handle)

    @property
    def device(self):
        return n.bt_device(self._handle).decode()

    @property
    def workers(self):
        """How many tiles compute."""
        return n.bt_workers(self._handle)

    def __repr__(self):
        return f"<baretile.Runtime {self.device}, {self.workers} workers>"


_runtimes = {}


def runtime_for(device):
    """A Runtime itself, or the one that this process opened by that name (None: the default, by its name too)."""
    if isinstance(device, Runtime):
        return device
    device = device or os.environ.get("BARETILE_DEVICE")
    if device not in _runtimes:
        _runtimes[device] = Runtime(device)
        _runtimes.setdefault(_runtimes[device].device, _runtimes[device])
    return _runtimes[device]


def wrap(runtime, handle):
    tensor = Tensor.__new__(Tensor)
    tensor._runtime, tensor._handle = runtime, handle
    return tensor


def named(runtime, call, *arguments):
    """{name: Tensor} on a device of what a call of the C interface gives one by one."""
    found = {}

    def add(_, name, handle):
        found[name.decode("utf-8", "surrogateescape")] = wrap(runtime, handle)

    call(*arguments, n.NAMED(add), None)
    return found


def new(runtime, call, *arguments):
    """A Tensor on a device (None: of no device) that a call of the C interface makes through its last pointer."""
    handle = ctypes.c_void_p()
    call(*arguments, ctypes.byref(handle))
    return wrap(runtime, handle.value)


def _nested_shape(values):
    shape = []
    while isinstance(values, (list, tuple)):
        shape.append(len(values))
        values = values[0] if len(values) else None
    return shape


def _flatten(values, shape, depth, out):
    if depth == len(shape):
        if isinstance(values, (list, tuple)):
            raise UsageError("a list stands where a number stands elsewhere; nest all rows equally deep")
        out.append(values)
        return
    if not isinstance(values, (list, tuple)) or len(values) != shape[depth]:
        raise UsageError(f"rows of unequal length or depth; each list at depth {depth} must have {shape[depth]} elements")
    for value in values:
        _flatten(value, shape, depth + 1, out)


def _from_lists(values, dtype):
    shape, flat = _nested_shape(values), []
    _flatten(values, shape, 0, flat)
    if dtype is None:
        dtype = "boolean" if flat and all(isinstance(v, bool) for v in flat) else "fp32"
    number, _, letter = _HOST.get(dtype, _FLOAT)
    try:
        host = array.array(letter, [bool(v) if dtype == "boolean" else v for v in flat])
    except (TypeError, OverflowError) as error:
        raise UsageError(f"a value is no {dtype}: {error}") from error
    return host.buffer_info()[0], host, number, shape, dtype


def _from_numpy(values, dtype):
    import numpy

    host = numpy.asarray(values)
    name = dtype or {"b": "boolean", "u": "uint32", "i": "int32", "f": "fp32"}.get(host.dtype.kind)
    if name is None:
        raise UsageError(f"an array of {host.dtype} is no tensor; convert it to float32, int32, uint32 or bool")
    number, wanted, _ = _HOST.get(name, _FLOAT)
    if host.size and wanted in ("int32", "uint32") and host.dtype != wanted:
        limits = numpy.iinfo(wanted)
        if not (host.min() >= limits.min and host.max() <= limits.max and (host == numpy.trunc(host)).all()):
            raise UsageError(f"an array of {host.dtype} has values that are no {wanted}; cast it, or name another dtype")
    host = numpy.require(host, wanted, ["C", "A"])  # the array itself where it can be
    return host.ctypes.data, host, number, host.shape, name


class Tensor:
    """Tensor(values, dtype=None, device=None): of nested lists (fp32, or boolean), or a NumPy array (its own dtype)."""

    __slots__ = ("_handle", "_runtime", "__weakref__")
    __array_ufunc__ = None  # array + tensor is a tensor

    def __init__(self, values, dtype=None, device=None):
        self._handle = None
        dtype = dtype_name(dtype) if dtype is not None else None
        plain = isinstance(values, (bool, int, float, list, tuple)) and not _holds_arrays(values)
        address, host, number, shape, dtype = (_from_lists if plain else _from_numpy)(values, dtype)
        extents, rank = n.shape_argument(shape)
        self._runtime = runtime_for(device)
        handle = ctypes.c_void_p()
        n.bt_from_host(self._runtime._handle, address, number, extents, rank, DTYPES.index(dtype), ctypes.byref(handle))
        self._handle = handle.value  # `host` lived up to here

    def __del__(self, free=n.bt_free):
        free(self._handle)

    @property
    def shape(self):
        return tuple(n.bt_shape(self._handle)[: self.ndim])

    @property
    def ndim(self):
        return n.bt_rank(self._handle)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def dtype(self):
        return DTYPES[n.bt_dtype_of(self._handle)]

    @property
    def T(self):
        """All axes in reverse order."""
        return self.permute(range(self.ndim)[::-1])

    def __len__(self):
        if not self.ndim:
            raise TypeError("a tensor of shape () has no length")
        return self.shape[0]

    def __repr__(self):
        text = ctypes.c_char_p()
        n.bt_text(self._handle, ctypes.byref(text))
        return text.value.decode()

    def realize(self):
        """Computes it now; returns itself."""
        n.bt_realize(*n.handles([self]))
        return self

    def set(self, value):
        """Makes it stand for another value; tensors computed from the old one keep that."""
        value = operand(value, self._runtime)
        n.bt_set(self._handle, value._handle)
        self._runtime = value._runtime or self._runtime

    def numpy(self):
        """Its values as an array of NumPy's, which the device's pages are decoded into directly."""
        import numpy

        host = numpy.empty(self.shape, _HOST.get(self.dtype, _FLOAT)[1])
        n.bt_to_host(self._handle, host.ctypes.data, host.nbytes)
        return host

    def __array__(self, dtype=None, copy=None):
        host = self.numpy()
        return host if dtype is None else host.astype(dtype)

    def tolist(self):
        """Its values as nested lists of float, int or bool; needs no NumPy."""
        letter = _HOST.get(self.dtype, _FLOAT)[2]
        host = array.array(letter, bytes(self.size * (1 if letter == "B" else 4)))
        n.bt_to_host(self._handle, host.buffer_info()[0], len(host) * host.itemsize)
        flat = [bool(v) for v in host] if letter == "B" else host.tolist()
        shape = self.shape
        if not shape:
            return flat[0]
        for axis in range(len(shape) - 1, 0, -1):
            rows = math.prod(shape[:axis])
            flat = [flat[i * shape[axis] : (i + 1) * shape[axis]] for i in range(rows)]
        return flat

    def item(self):
        """The value of a tensor of one element."""
        if self.size != 1:
            raise UsageError(f"item: {self.shape} has {self.size} elements; one is needed")
        return self.reshape(1).tolist()[0]

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        result, axis = self, 0
        for k in self._expanded(key):
            if k is None:
                result, axis = result.unsqueeze(axis), axis + 1
            elif isinstance(k, slice):
                result, axis = _sliced(result, axis, k), axis + 1
            elif _is_list(k):
                result, axis = result.index_select(_indices(k, self._runtime), axis), axis + 1
            else:
                i = _index(k, result.shape[axis], axis)
                result = result.slice(axis, i, i + 1).squeeze(axis)
        return result

    def __setitem__(self, key, values):
        """x[2:5] = y, x[:, 3] = y: a box along one axis; tensors computed from the old values keep those."""
        keys = self._expanded(key)
        if any(k is None or _is_list(k) for k in keys):
            raise UsageError("assignment takes integers and slices; use scatter or where for others")
        numbers = [None if isinstance(k, slice) else _index(k, e, a) for a, (k, e) in enumerate(zip(keys, self.shape))]
        boxes = [k.indices(e) if i is None else (i, i + 1, 1) for k, i, e in zip(keys, numbers, self.shape)]
        partial = [a for a, (first, end, _) in enumerate(boxes) if (first, end) != (0, self.shape[a])]
        if len(partial) > 1 or any(step != 1 for _, _, step in boxes):
            raise UsageError("assignment takes one contiguous range along one axis; use scatter or where for others")
        axis = partial[0] if partial else 0
        extents = [max(end - first, 0) for first, end, _ in boxes]
        kept = [e for e, number in zip(extents, numbers) if number is None]  # an integer's axis is not in the values
        values = operand(values, self._runtime).cast(self.dtype).expand(*kept).reshape(*extents)
        n.bt_assign(self._handle, axis, boxes[axis][0], values._handle)

    def _expanded(self, key):
        """One key an axis: without an ellipsis, with full slices at the end."""
        keys = list(key) if isinstance(key, tuple) else [key]
        used = sum(k is not None and k is not Ellipsis for k in keys)
        if used > self.ndim:
            raise IndexError(f"{used} indices for a tensor of {self.ndim} axes")
        fill = [slice(None)] * (self.ndim - used)
        lists, others = sum(map(_is_list, keys)), sum(hasattr(k, "__index__") and not _is_list(k) for k in keys)
        if lists > 1 or lists and others:
            raise IndexError("a list of indices stands alone among slices; index in two steps")
        at = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
        return keys + fill if at is None else keys[:at] + fill + keys[at + 1 :]


def _holds_arrays(values):
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return hasattr(values, "__array__")


def _index(value, extent, axis):
    try:
        i = value.__index__()
    except AttributeError:
        kind = type(value).__name__
        raise TypeError(f"{kind} is no index; use int, slice, None, ..., a list or an int32 tensor") from None
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of axis {axis}, which has {extent} elements")
    return i % extent


def _is_list(key):
    return isinstance(key, (list, Tensor)) or getattr(key, "shape", ()) != ()


def _indices(key, runtime):
    if isinstance(key, list):
        key = Tensor(key, None if any(isinstance(i, bool) for i in key) else "int32", runtime)
    key = operand(key, runtime)
    if key.dtype != "int32":
        raise IndexError(f"indices of dtype {key.dtype}; they must be int32, and where(mask, x, y) takes masks")
    return key


def _sliced(x, axis, key):
    first, end, step = key.indices(x.shape[axis])
    if (first, end, step) == (0, x.shape[axis], 1):
        return x
    taken = range(first, end, step)
    if not taken:
        return x.slice(axis, 0, 0)
    if step > 0:
        return x.slice(axis, first, end, step)
    return x.slice(axis, taken[-1], first + 1, -step).flip(axis)


def operand(value, runtime, dtype=None):
    """A Tensor of anything that may stand beside one: a number has no device and no dtype of its own."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float)):
        return new(None, n.bt_number, float(value))
    return Tensor(value, dtype, runtime)
