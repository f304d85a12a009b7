"""Attention with two queries to each head of keys and values, in float64 with PyTorch; prints what attention_test.cpp compares with.

    python3 tests/nn/attention_reference.py
"""
import torch
from torch.nn.functional import scaled_dot_product_attention

state = 5


def eighths(*shape):
    """Those of tests/nn/numbers.h."""
    global state
    values = torch.empty(*shape, dtype=torch.float64)
    for n in range(values.numel()):
        state = (state * 1664525 + 1013904223) % 2**32
        values.view(-1)[n] = ((state >> 16) % 17 - 8) / 8
    return values


q, k, v, bias = eighths(2, 4, 3, 8), eighths(2, 2, 5, 8), eighths(2, 2, 5, 2), eighths(4, 3, 5)
seed = torch.arange(1.0, 4.0, dtype=torch.float64).view(3, 1).expand(2, 4, 3, 2)
for name, mask in {"none": None, "boolean": torch.ones(3, 5, dtype=torch.bool).tril(2), "added": bias}.items():
    inputs = [t.clone().requires_grad_() for t in (q, k, v)]
    out = scaled_dot_product_attention(*inputs, attn_mask=mask, enable_gqa=True)
    lengths = [g.norm().item() for g in torch.autograd.grad(out, inputs, seed)]
    print(name, *[f"{x:.6f}" for x in out[1].flatten().tolist()], "gradients", *[f"{x:.6f}" for x in lengths])
