"""Functions of tensors that are traced once for each combination of shapes and dtypes, and then replayed."""

import ctypes

from . import _native as n
from .tensor import Tensor, new, wrap

_ROOM = 64  # results of one function


class jit:
    """step = jit(function, state=[w]): step(x, …) does what function(x, …) does, as one submission.

    The function runs when a combination of shapes is new, and returns a tensor, a tuple of them, or None. It gives state
    new values by w.set(…) or w[…] = …; other tensors that it uses besides its arguments are constants. It may not ask
    for values.
    """

    _handle = None

    def __init__(self, function, state=()):
        self._start(n.bt_jit_new, function, state)

    def _start(self, make, function, state, *more):
        self._error, self._many = None, False
        self._function, self._state = function, list(state)  # kept alive
        self._callback = n.FUNCTION(self._trace)
        self._runtime = next((t._runtime for t in self._state), None)
        handle = ctypes.c_void_p()
        make(self._callback, None, *n.handles(self._state), *more, ctypes.byref(handle))
        self._handle = handle.value

    def __del__(self, free=n.bt_jit_free):
        free(self._handle)

    def _trace(self, _, handle, inputs, count):
        try:
            made = self._function(*[new(self._runtime, n.bt_copy, inputs[i]) for i in range(count)])
            self._many = not isinstance(made, Tensor)
            for tensor in made or () if self._many else [made]:
                n.bt_jit_result(handle, tensor._handle)
            return 0
        except BaseException as error:  # goes on in __call__, behind the library's frames
            self._error = error
            return n.ERRORS.index(n.UsageError)

    def __call__(self, *inputs):
        self._runtime = self._runtime or next((t._runtime for t in inputs), None)
        results, made = (ctypes.c_void_p * _ROOM)(), ctypes.c_size_t()
        try:
            n.bt_jit_call(self._handle, *n.handles(inputs), results, _ROOM, ctypes.byref(made))
        except n.Error:
            error, self._error = self._error, None
            if error:
                raise error from None
            raise
        tensors = tuple(wrap(self._runtime, results[i]) for i in range(made.value))
        return tensors if self._many else tensors[0]
