#!/usr/bin/env python3
"""Compares results and gradients of the tensor library with PyTorch's and JAX's, both in double, and random numbers with JAX's, bit for bit.

    tests/peers/compare.py build/release/bin/peer_cases      exit code 77 where neither module is installed
"""
import importlib.util
import json
import subprocess
import sys
import tempfile

PEERS = [name for name in ("torch", "jax") if importlib.util.find_spec(name) and importlib.util.find_spec("numpy")]
SAME = {"sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative", "bit_not": "bitwise_not", "bit_and": "bitwise_and",
        "bit_or": "bitwise_or", "bit_xor": "bitwise_xor"}


def torch_functions():
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(1)
    own = {
        "pow": torch.pow, "round": torch.round, "equal": torch.eq, "not_equal": torch.ne, "gelu": F.gelu, "silu": F.silu, "softplus": F.softplus,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "softmax": lambda x: torch.softmax(x, -1), "prod": lambda x: torch.prod(x * 0.25, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1), "logsumexp": lambda x: torch.logsumexp(x, -1), "mean": lambda x: x.mean(-1),
        "var": lambda x: x.var(-1, correction=0), "sum": lambda x: x.sum(-1), "max": lambda x: x.amax(-1), "min": lambda x: x.amin(-1),
        "argmax": lambda x: x.argmax(-1), "argmin": lambda x: x.argmin(-1), "argsort": lambda x: torch.argsort(x, dim=-1, stable=True),
        "cumsum": lambda x: x.cumsum(-1), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]), "tril": lambda x: torch.tril(x, 3),
        "matmul": torch.matmul}

    def value(name, operands):
        f = own.get(name) or getattr(torch, SAME.get(name, name))
        return f(*map(torch.from_numpy, operands)).numpy()

    def gradient(name, n, operands, seed):
        f = own.get(name) or getattr(torch, SAME.get(name, name))
        leaves = [torch.from_numpy(x).requires_grad_() for x in operands]
        y = f(*leaves)
        return torch.autograd.grad(y, leaves[n], torch.from_numpy(seed) if seed is not None else torch.ones_like(y), materialize_grads=True)[0].numpy()

    return value, gradient


def jax_functions():
    import jax
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    import jax.numpy as jnp
    import numpy as np

    def layer_norm(x):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    own = {
        "relu": jax.nn.relu, "rsqrt": jax.lax.rsqrt, "erf": jax.lax.erf, "pow": jnp.power, "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus,
        "gelu": lambda x: jax.nn.gelu(x, approximate=False), "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True), "silu": jax.nn.silu,
        "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "logsumexp": lambda x: jax.nn.logsumexp(x, -1),
        "prod": lambda x: jnp.prod(x * 0.25, -1), "layer_norm": layer_norm, "tril": lambda x: jnp.tril(x, 3), "matmul": jnp.matmul,
        "trunc": jnp.trunc, "reciprocal": jnp.reciprocal,
        "random uniform": lambda key: jax.random.uniform(jax.random.wrap_key_data(key), (33, 7), jnp.float32),
        "random randint": lambda key: jax.random.randint(jax.random.wrap_key_data(key), (33, 7), -5, 1000, jnp.int32)}
    along = {"mean", "var", "sum", "max", "min", "argmax", "argmin", "argsort", "cumsum"}

    def function(name):
        if name in own:
            return own[name]
        f = getattr(jnp, SAME.get(name, name))
        return (lambda x: f(x, axis=-1)) if name in along else f

    def gradient(name, n, operands, seed):
        y, back = jax.vjp(function(name), *map(jnp.asarray, operands))
        return np.asarray(back(jnp.asarray(seed) if seed is not None else jnp.ones_like(y))[n])

    return (lambda name, operands: np.asarray(function(name)(*map(jnp.asarray, operands)))), gradient


def worst(got, want, case):
    """The largest error as a part of what is allowed; what is no number must be the same."""
    import numpy as np
    if case["result"]["dtype"] not in ("fp32", "bf16"):
        return float(np.any(got != want.astype(got.dtype))) * 2
    got, want = got.astype(np.float64), want.astype(np.float64)
    narrow = case["result"]["dtype"] == "bf16"
    if narrow:  # which has no NaN
        want = np.where(np.isnan(want), np.where(np.isinf(got), got, want), want)
    # Past the largest number lies infinity, a step on.
    want = np.where(np.isfinite(want), np.clip(want, -(2.0**128), 2.0**128), want)
    got = np.where(np.isinf(got) & np.isfinite(want) & (abs(want) > 2.0**127), np.copysign(2.0**128, got), got)
    special = ~np.isfinite(got) | ~np.isfinite(want)
    if not np.array_equal(got[special], want[special], equal_nan=True):
        return np.inf
    least = 2.0**-126
    ulp = 2.0 ** (np.floor(np.log2(np.maximum(abs(want[~special]), least))) - 23)
    allowed = case["ulp"] * ulp + case["absolute"] + least + narrow * 2.0**15 * ulp
    return float(np.max(abs(got[~special] - want[~special]) / allowed, initial=0))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not PEERS:
        print("skipped: neither torch nor jax is installed beside numpy")
        sys.exit(77)
    import numpy as np
    np.seterr(all="ignore")
    kinds = {"int32": np.int32, "uint32": np.uint32}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        cases = [json.loads(line) for line in open(folder + "/cases.json")]
        words = np.fromfile(folder + "/values.bin", np.uint32)
    peers = {name: globals()[name + "_functions"]() for name in PEERS}
    counts, failures, at = {}, 0, 0
    for case in cases:
        arrays = []
        for x in case["operands"] + [case["result"]]:
            size = int(np.prod(x["shape"], dtype=np.int64))
            arrays.append(words[at:at + size].view(kinds.get(x["dtype"], np.float32)).reshape(x["shape"]))
            at += size
        operands = [x.astype(np.float64) if x.dtype == np.float32 else x for x in arrays[:-1]]
        for peer, (value, gradient) in peers.items():
            name = case["name"]
            try:
                if name.startswith("random"):
                    if peer == "torch":
                        continue
                    want = value(name, operands)
                elif name.startswith("gradient"):
                    seed = operands[-1] if case["seeded"] else None
                    want = gradient(name.split()[-1], int(name.split()[1]), operands[:len(operands) - case["seeded"]], seed)
                else:
                    want = value(name, operands)
            except (NotImplementedError, RuntimeError, AttributeError, TypeError) as error:
                print(f"{peer} has no {name} of {case['operands'][0]['dtype']}: {str(error).splitlines()[0][:90]}")
                counts[peer + ", not there"] = counts.get(peer + ", not there", 0) + 1
                continue
            part = worst(arrays[-1], want, case)
            counts[peer] = counts.get(peer, 0) + 1
            if not part <= 1:
                failures += 1
                print(f"{peer}: {name} of {case['operands'][0]['dtype']} is off by {part:.3g} of what is allowed")
    print(f"{len(cases)} cases; compared: {counts}; {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
