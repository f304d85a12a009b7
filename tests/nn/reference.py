"""Losses of small MLPs over the first steps of training, in float64 with NumPy; prints the table of training_test.cpp.

The rules are PyTorch's: torch.nn.functional.cross_entropy and mse_loss, torch.nn.utils.clip_grad_norm_,
torch.optim.SGD, Adam and AdamW. JAX with optax gives the same six digits.
    python3 tests/nn/reference.py
"""
import numpy as np

ROWS, WIDTHS, STEPS = 33, (10, 40, 5), 8


class Numbers:
    """The generator of tests/nn/numbers.h."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return self.state >> 16

    def eighths(self, *shape):  # in [-1, 1]
        return np.array([(self.next() % 17 - 8.0) / 8.0 for _ in range(int(np.prod(shape)))]).reshape(shape)


def forward(parameters, x):
    hidden = x @ parameters[0].T + parameters[1]
    return hidden, np.maximum(hidden, 0) @ parameters[2].T + parameters[3]


def cross_entropy(out, labels):
    shifted = out - out.max(axis=1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    one_hot = np.eye(out.shape[1])[labels]
    return -(one_hot * log_softmax).sum() / len(out), (np.exp(log_softmax) - one_hot) / len(out)


def mse(out, target):
    return ((out - target) ** 2).mean(), 2 * (out - target) / out.size


def backward(parameters, x, hidden, g):
    active = np.maximum(hidden, 0)
    g_hidden = (g @ parameters[2]) * (hidden > 0)
    return [g_hidden.T @ x, g_hidden.sum(axis=0), g.T @ active, g.sum(axis=0)]


def sgd(rate, momentum, decay):
    velocity = {}

    def step(i, t, x, g):
        g = g + decay * x
        velocity[i] = g if t == 1 else momentum * velocity[i] + g
        return x - rate * velocity[i]

    return step


def adam(rate, decay, decoupled, b1=0.9, b2=0.999, epsilon=1e-8):
    mean, square = {}, {}

    def step(i, t, x, g):
        if decoupled:
            x = x * (1 - rate * decay)
        else:
            g = g + decay * x
        mean[i] = b1 * mean.get(i, 0) + (1 - b1) * g
        square[i] = b2 * square.get(i, 0) + (1 - b2) * g * g
        denominator = np.sqrt(square[i]) / np.sqrt(1 - b2**t) + epsilon
        return x - rate / (1 - b1**t) * mean[i] / denominator

    return step


def train(loss_of, step, clip=None):
    numbers = Numbers(1)
    x = numbers.eighths(ROWS, WIDTHS[0])
    target = numbers.eighths(ROWS, WIDTHS[2])
    labels = np.array([numbers.next() % WIDTHS[2] for _ in range(ROWS)])
    parameters = []
    for fan_in, out in zip(WIDTHS, WIDTHS[1:]):
        parameters += [numbers.eighths(out, fan_in) / 4, numbers.eighths(out) / 4]
    losses = []
    for t in range(1, STEPS + 1):
        hidden, out = forward(parameters, x)
        loss, g = cross_entropy(out, labels) if loss_of is cross_entropy else mse(out, target)
        gradients = backward(parameters, x, hidden, g)
        if clip:
            norm = np.sqrt(sum((g * g).sum() for g in gradients))
            gradients = [g * min(1, clip / (norm + 1e-6)) for g in gradients]
        parameters = [step(i, t, p, g) for i, (p, g) in enumerate(zip(parameters, gradients))]
        losses.append(loss)
    return losses


for name, losses in {
    "SGD": train(cross_entropy, sgd(0.5, 0.9, 0.01)),
    "Adam": train(mse, adam(0.02, 0.05, False)),
    "AdamW": train(cross_entropy, adam(0.02, 0.5, True)),
    "clipped": train(mse, sgd(1.0, 0, 0), clip=0.25),
}.items():
    print(f"{name}: {', '.join(f'{v:.6f}' for v in losses)}")
