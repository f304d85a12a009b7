"""Functions and methods from the library's own table of operations: one each, named and documented as there."""

import contextlib
import ctypes
import inspect

from . import _native as n
from .tensor import DTYPES, Tensor, dtype_name, new, operand, runtime_for, wrap

_WORDS = {"fast": 0, "standard": 1, "full": 2}
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _number(value):
    """A number as the C interface takes it; dtypes and precisions by name too."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if hasattr(value, "__index__"):
        return float(value.__index__())
    if hasattr(value, "__float__"):
        return float(value)
    return float(_WORDS[value]) if value in _WORDS else float(DTYPES.index(dtype_name(value)))


def _list(values):
    """reshape(2, 3) and reshape((2, 3)) are one."""
    return list(values[0]) if len(values) == 1 and hasattr(values[0], "__iter__") else list(values)


def apply(op, tensors, numbers):
    owner = next((t._runtime for t in tensors if isinstance(t, Tensor) and t._runtime), None)
    given = [t if t is None else operand(t, owner) for t in tensors]
    owner = owner or next((t._runtime for t in given if t is not None), None)
    values = [_number(v) for v in numbers]
    handles, count = n.handles(given)
    return new(owner, n.bt_apply, op, handles, count, (ctypes.c_double * len(values))(*values), len(values))


def _parse(signature):
    """(name, tensors, numbers) of "softmax(x; axis=-1)"."""
    name, _, rest = signature[:-1].partition("(")
    tensors, _, numbers = rest.partition("; ")
    return name, tensors.split(", "), numbers.split(", ") if numbers else []


def _function(op, signature, doc):
    name, tensors, numbers = _parse(signature)
    reduces = "axes..." in numbers and len(numbers) > 1
    if reduces:
        numbers = ["axis=None", "keepdims=0"]
    many = tensors == ["tensors..."]
    parameters = [inspect.Parameter(t.rstrip("?."), _KIND, default=None if t[-1] == "?" else inspect.Parameter.empty)
                  for t in tensors]
    for number in numbers:
        word, _, default = number.partition("=")
        if word.endswith("..."):
            parameters.append(inspect.Parameter(word[:-3], inspect.Parameter.VAR_POSITIONAL))
        else:
            value = inspect.Parameter.empty if not default else None if default == "None" else float(default)
            whole = value is not inspect.Parameter.empty and value is not None and value == int(value)
            parameters.append(inspect.Parameter(word, _KIND, default=int(value) if whole else value))
    bound = inspect.Signature(parameters)
    count = len(tensors)

    def call(*args, **kwargs):
        given = bound.bind(*args, **kwargs)
        given.apply_defaults()
        values = list(given.arguments.values())
        found = list(values[0]) if many else values[:count]
        rest = values[count:]
        if reduces:
            axis, keepdims = rest
            axes = range(given.arguments["x"].ndim) if axis is None else axis if hasattr(axis, "__iter__") else [axis]
            rest = [keepdims, *axes]
        elif rest and isinstance(rest[-1], tuple):
            rest = rest[:-1] + _list(rest[-1])
        return apply(op, found, rest)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__signature__ = bound
    return call


def _table():
    functions, index = {}, 0
    while op := n.bt_op_at(index):
        function = _function(op, n.bt_op_signature(op).decode(), n.bt_op_doc(op).decode())
        functions[function.__name__] = function
        index += 1
    return functions


FUNCTIONS = _table()


def _swapped(function):
    return lambda x, y: function(y, x)


def _install():
    for name, function in FUNCTIONS.items():
        if name not in ("concat", "stack"):
            setattr(Tensor, name, function)
    both = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
            "pow": "pow", "matmul": "matmul", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
            "lshift": "shift_left", "rshift": "shift_right"}
    for python, name in both.items():
        setattr(Tensor, f"__{python}__", FUNCTIONS[name])
        setattr(Tensor, f"__r{python}__", _swapped(FUNCTIONS[name]))
    for python, name in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
                         "ne": "not_equal", "neg": "neg", "abs": "abs", "invert": "bit_not"}.items():
        setattr(Tensor, f"__{python}__", FUNCTIONS[name])
    Tensor.__hash__ = object.__hash__


_install()


def full(shape, value, dtype="fp32", device=None):
    """A tensor of one value."""
    owner = runtime_for(device)
    return new(owner, n.bt_full, owner._handle, *n.shape_argument(shape), value, DTYPES.index(dtype_name(dtype)))


def zeros(shape, dtype="fp32", device=None):
    return full(shape, 0, dtype, device)


def ones(shape, dtype="fp32", device=None):
    return full(shape, 1, dtype, device)


def arange(first, end=None, step=1, dtype="int32", device=None):
    """first, first + step, … before end; from 0 when only one number is given."""
    if end is None:
        first, end = 0, first
    owner = runtime_for(device)
    return new(owner, n.bt_arange, owner._handle, first, end, step, DTYPES.index(dtype_name(dtype)))


def eye(rows, cols=None, dtype="fp32", device=None):
    """1 on the diagonal, else 0."""
    cols = rows if cols is None else cols
    return (arange(rows, device=device).unsqueeze(1) == arange(cols, device=device)).cast(dtype)


def realize(*tensors):
    """Computes all of them as one program."""
    n.bt_realize(*n.handles(tensors))


@contextlib.contextmanager
def precision(name):
    """with bt.precision("full"): of this thread's products that name none; "fast", "standard" (at first) or "full"."""
    if name not in _WORDS:
        raise n.UsageError(f"'{name}' is no precision; there are {', '.join(_WORDS)}")
    before = ctypes.c_int()
    n.bt_set_precision(_WORDS[name], ctypes.byref(before))
    try:
        yield
    finally:
        n.bt_set_precision(before.value, None)


def einsum(formula, *tensors):
    """Sums of products, as numpy.einsum with an arrow; one or two tensors."""
    return new(tensors[0]._runtime if tensors else None, n.bt_einsum, formula.encode(), *n.handles(tensors))


def topk(x, count):
    """(values, indices) of the largest of the last axis, the largest first."""
    values, indices = ctypes.c_void_p(), ctypes.c_void_p()
    n.bt_topk(x._handle, count, ctypes.byref(values), ctypes.byref(indices))
    return wrap(x._runtime, values.value), wrap(x._runtime, indices.value)


def grad(loss, wrt):
    """For each tensor of `wrt`, what its change means for the loss; ask before the loss is realized."""
    handles, count = n.handles(wrt)
    found = (ctypes.c_void_p * count)()
    n.bt_grad(loss._handle, handles, count, found)
    return [wrap(loss._runtime, handle) for handle in found]
