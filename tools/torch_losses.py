#!/usr/bin/env python3
"""The losses of tests/nn/train_mlp.cpp and train_gpt.cpp by PyTorch: the same weights, batches and rules, on the CPU.

    tools/torch_losses.py mlp                     prints a line a step, as the program does
    tools/torch_losses.py gpt STEPS FILE...
    tools/torch_losses.py --double mlp            computes in float64: what rounding does to PyTorch's own fp32

Needs `pip install torch numpy`. tests/nn/*.losses are its output; tests/nn/compare_losses.py holds the programs to them.
"""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

BATCH, CONTEXT, WIDTH, HEADS, LAYERS, BYTES = 4, 32, 64, 2, 2, 256
NUMBERS = np.random.RandomState(7)._bit_generator  # std::mt19937(7)
DTYPE = torch.float64 if "--double" in sys.argv else torch.float32


def uniform(*shape, bound=None):
    """As std::uniform_real_distribution<float>(-bound, bound), or (0, 1)."""
    x = np.array([NUMBERS.random_raw() for _ in range(int(np.prod(shape)))], np.float32) / np.float32(2**32)
    x = np.minimum(x, np.nextafter(np.float32(1), np.float32(0))).reshape(shape)
    return x if bound is None else x * np.float32(2 * bound) - np.float32(bound)


def parameter(values):
    return torch.tensor(values, dtype=DTYPE, requires_grad=True)


def linear(fan_in, out):
    bound = fan_in**-0.5
    return [parameter(uniform(out, fan_in, bound=bound)), parameter(uniform(out, bound=bound))]


def norm():
    return [parameter(np.ones(WIDTH)), parameter(np.zeros(WIDTH))]


def mlp():
    draws = uniform(96, 2)
    ring = np.arange(96) % 2
    angle, radius = np.float32(6.2831853) * draws[:, 0], ring.astype(np.float32) + np.float32(0.5) + np.float32(0.3) * draws[:, 1]
    points = torch.tensor(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), dtype=DTYPE)
    layers = [linear(2, 32), linear(32, 2)]
    loss = lambda: F.cross_entropy(F.linear(F.relu(F.linear(points, *layers[0])), *layers[1]), torch.tensor(ring))
    train(20, [p for layer in layers for p in layer], 0.1, loss, clip=1)


def gpt(steps, *files):
    text = np.frombuffer(b"".join(Path(f).read_bytes() for f in files), np.uint8).astype(np.int64)
    table, positions, last = linear(WIDTH, BYTES)[0], linear(WIDTH, CONTEXT)[0], norm()
    sizes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    blocks = [[norm(), norm(), *[linear(*size) for size in sizes]] for _ in range(LAYERS)]

    def loss():
        first = [NUMBERS.random_raw() % (len(text) - CONTEXT) for _ in range(BATCH)]
        tokens, targets = (torch.tensor(np.stack([text[f + d : f + d + CONTEXT] for f in first])) for d in (0, 1))
        x = F.embedding(tokens, table) + positions
        for before, between, qkv, out, up, down in blocks:
            parts = F.linear(F.layer_norm(x, (WIDTH,), *before), *qkv).view(BATCH, CONTEXT, 3, HEADS, WIDTH // HEADS)
            mixed = F.scaled_dot_product_attention(*parts.permute(2, 0, 3, 1, 4), is_causal=True)
            x = x + F.linear(mixed.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH), *out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (WIDTH,), *between), *up)), *down)
        return F.cross_entropy(F.linear(F.layer_norm(x, (WIDTH,), *last), table).view(-1, BYTES), targets.view(-1))

    train(int(steps), [table, positions, *last, *[p for block in blocks for layer in block for p in layer]], 3e-3, loss)


def train(steps, parameters, rate, loss_of, clip=None):
    optimiser = torch.optim.AdamW(parameters, lr=rate)
    for step in range(steps):
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimiser.step()
        print(f"step {step}: loss {loss.item():.8f}")


words = [word for word in sys.argv[1:] if word != "--double"]
if words[:1] not in (["mlp"], ["gpt"]):
    sys.exit(__doc__)
{"mlp": mlp, "gpt": gpt}[words[0]](*words[1:])
