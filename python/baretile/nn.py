"""Neural networks: layers, optimisers and the trainer; what they compute with is bt.linear, bt.attention and so on.

    model = bt.nn.MLP([784, 128, 10], seed=1)
    loss = lambda x, labels: bt.cross_entropy(model(x), labels)
    train = bt.nn.Trainer(loss, model.parameters(), bt.nn.AdamW(rate=0.01))
    for images, labels in batches: print(train(images, labels))
"""

import ctypes

from . import _native as n
from .jit import jit
from .ops import FUNCTIONS
from .tensor import DTYPES, dtype_name, named, new, runtime_for, wrap


def _linear_layers(widths, seed, dtype, device):
    """[weight, bias, weight, bias, …], drawn by the library."""
    owner, (extents, count) = runtime_for(device), n.shape_argument(widths)
    made = (ctypes.c_void_p * max(2 * (count - 1), 0))()
    n.bt_mlp(owner._handle, extents, count, seed, DTYPES.index(dtype_name(dtype)), made)
    return [wrap(owner, handle) for handle in made]


class Linear:
    """Linear(inputs, outputs, seed): x · weightᵀ + bias, of x [..., inputs] gives [..., outputs].

    weight [outputs, inputs] and bias [outputs] begin uniform within 1 / sqrt(inputs), as PyTorch has it; equal seeds
    (0 to 2**32 - 1) give equal weights, those of nn::Linear::init with std::mt19937(seed) in C++. Layers of one model
    need seeds of their own. weight.set(…) gives it others. UsageError: widths below 1, a dtype that is not of floats.
    """

    def __init__(self, inputs, outputs, seed, dtype="fp32", device=None):
        self.weight, self.bias = _linear_layers([inputs, outputs], seed, dtype, device)

    def __call__(self, x):
        """[..., outputs] of x [..., inputs]; UsageError if its last axis is another."""
        return FUNCTIONS["linear"](x, self.weight, self.bias)

    def parameters(self):
        """[weight, bias]: the tensors themselves, which a step changes."""
        return [self.weight, self.bias]


class MLP:
    """MLP(widths, seed): Linear layers with an activation between them; x [..., widths[0]] gives [..., widths[-1]].

    `activation` is a function of one tensor, bt.relu unless named. One seed is for all layers. UsageError as of Linear.
    """

    def __init__(self, widths, seed, activation=FUNCTIONS["relu"], dtype="fp32", device=None):
        made = _linear_layers(widths, seed, dtype, device)
        self.layers, self.activation = [], activation
        for weight, bias in zip(made[::2], made[1::2]):
            layer = Linear.__new__(Linear)
            layer.weight, layer.bias = weight, bias
            self.layers.append(layer)

    def __call__(self, x):
        """[..., widths[-1]] of x [..., widths[0]]; UsageError if its last axis is another."""
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)

    def parameters(self):
        """Weight and bias of each layer: the tensors themselves, which a step changes."""
        return [x for layer in self.layers for x in layer.parameters()]


def clip_grad_norm(gradients, largest):
    """The length of all gradients together, of shape (); they are scaled in place so that it is at most `largest`."""
    return new(gradients[0]._runtime if gradients else None, n.bt_clip_grad_norm, *n.handles(gradients), largest)


def _option(name):
    def change(self, value):
        n.bt_optimiser_set(self._handle, name.encode(), value)
        self._options[name] = value

    return property(lambda self: self._options[name], change)


class Optimiser:
    """Base of SGD, Adam and AdamW. Its state belongs to the parameters of its first step; others need one of their own.

    rate, and AdamW's weight_decay, may be assigned between steps, which compiles nothing; other options stay as made.
    """

    rate, weight_decay = map(_option, ("rate", "weight_decay"))

    def __init__(self, rule, **options):
        self._handle, self._runtime, self._options = None, None, options
        values = (ctypes.c_double * len(options))(*options.values())
        handle = ctypes.c_void_p()
        n.bt_optimiser_new(rule, n.names(options), values, len(options), ctypes.byref(handle))
        self._handle = handle.value

    def __del__(self, free=n.bt_optimiser_free):
        free(self._handle)

    def step(self, parameters, gradients, also=()):
        """Gives the parameters new values in place, computed with `also` (a loss, say) as one program.

        `gradients`: one a parameter, of its shape, as bt.grad(loss, parameters) gives them; UsageError else.
        """
        n.bt_optimiser_step(self._handle, *self._take(parameters), *n.handles(gradients), *n.handles(also))

    def state(self):
        """{name: Tensor} of what it remembers, to be saved beside the parameters; {} before any step or Trainer."""
        return named(self._runtime, n.bt_optimiser_state, self._handle)

    def set_state(self, parameters, state):
        """Goes on from there; UsageError, and nothing changed, if it is of another kind or of other parameters."""
        tensors = n.handles(list(state.values()))
        n.bt_optimiser_restore(self._handle, *self._take(parameters), n.names(state), *tensors)

    def _take(self, parameters):
        self._runtime = parameters[0]._runtime if parameters else self._runtime
        return n.handles(parameters)


class SGD(Optimiser):
    """SGD(rate=1e-3, momentum=0, weight_decay=0): v = momentum v + gradient + weight_decay x, then x = x - rate v."""

    momentum = _option("momentum")

    def __init__(self, rate=1e-3, momentum=0, weight_decay=0):
        super().__init__(b"SGD", rate=rate, momentum=momentum, weight_decay=weight_decay)


class Adam(Optimiser):
    """Adam (Kingma and Ba, 2015); weight_decay x is added to the gradient. Defaults are PyTorch's."""

    _rule = b"Adam"
    beta1, beta2, epsilon = map(_option, ("beta1", "beta2", "epsilon"))

    def __init__(self, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0):
        super().__init__(self._rule, rate=rate, beta1=beta1, beta2=beta2, epsilon=epsilon, weight_decay=weight_decay)


class AdamW(Adam):
    """Adam whose weight_decay shrinks the parameters themselves, by 1 - rate weight_decay (Loshchilov, Hutter 2019)."""

    _rule = b"AdamW"

    def __init__(self, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01):
        super().__init__(rate, beta1, beta2, epsilon, weight_decay)


class Trainer(jit):
    """train = Trainer(loss, parameters, optimiser, clip=0): train(x, …) is a step and gives the loss before the update.

    loss(x, …) returns one tensor of one element; it runs once for each combination of shapes and dtypes, as bt.jit's
    function. Loss, gradients, clipping (clip_grad_norm's `largest`; 0: none) and update are one submission.
    """

    def __init__(self, loss, parameters, optimiser, clip=0):
        optimiser._take(parameters)
        self._start(n.bt_trainer_new, loss, parameters, optimiser._handle, clip)
