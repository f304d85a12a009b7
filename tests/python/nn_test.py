"""Layers, losses, optimisers and the trainer, by formulas in NumPy's doubles."""

import re
import tempfile
import unittest

import baretile as bt
from support import ROOT, np, random, with_numpy


class Twister:
    """std::mt19937(seed), and std::uniform_real_distribution<float> over it."""

    def __init__(self, seed):
        self.words = np.random.RandomState(seed)._bit_generator

    def uniform(self, *shape, bound=None):
        x = np.array([self.words.random_raw() for _ in range(int(np.prod(shape)))], np.float32) / np.float32(2**32)
        x = np.minimum(x, np.nextafter(np.float32(1), np.float32(0))).reshape(shape)
        return x if bound is None else x * np.float32(2 * bound) - np.float32(bound)

    def layers(self, *widths):
        """[weight, bias, …] as nn::MLP::init draws them."""
        made = []
        for inputs, outputs in zip(widths, widths[1:]):
            made += [self.uniform(outputs, inputs, bound=inputs**-0.5), self.uniform(outputs, bound=inputs**-0.5)]
        return made


@with_numpy
class Layers(unittest.TestCase):
    def close(self, tensor, expected, tolerance=1e-5):
        self.assertEqual(tensor.shape, np.shape(expected))
        np.testing.assert_allclose(tensor.numpy(), expected, tolerance, tolerance)

    def test_weights_are_those_of_cpp_for_a_seed(self):
        for layer, seed in ((bt.nn.Linear(5, 3, seed=1), 1), (bt.nn.MLP([5, 4, 3], 2**32 - 1), 2**32 - 1)):
            widths = [5, 3] if isinstance(layer, bt.nn.Linear) else [5, 4, 3]
            self.assertEqual(len(layer.parameters()), 2 * len(widths) - 2)
            for tensor, expected in zip(layer.parameters(), Twister(seed).layers(*widths)):
                self.close(tensor, expected, 1e-7)
        self.assertEqual(bt.nn.Linear(2, 2, 1, "bf16").weight.dtype, "bf16")

    def test_functions_are_those_of_the_formulas(self):
        x, w, b = random(6, 5), random(3, 5, seed=1), random(3, seed=2)
        labels = np.array([0, 2, 1, 1, 0, 2], np.int32)
        with bt.precision("full"):
            logits = bt.linear(bt.Tensor(x), bt.Tensor(w), bt.Tensor(b))
            layer = bt.nn.Linear(5, 3, seed=0)
            for tensor, values in zip(layer.parameters(), (w, b)):
                tensor.set(values)
            self.close(layer(bt.Tensor(x.reshape(2, 3, 5))), (x.astype(float) @ w.T + b).reshape(2, 3, 3))
        expected = x.astype(float) @ w.T + b
        self.close(logits, expected)
        logs = expected - np.log(np.exp(expected).sum(1, keepdims=True))
        self.close(bt.log_softmax(logits), logs)
        self.close(bt.cross_entropy(logits, bt.Tensor(labels)), -logs[np.arange(6), labels].mean())
        g, c = random(5, seed=3), random(5, seed=4)
        self.close(bt.mse(bt.Tensor(w), bt.Tensor(g)), ((w - g) ** 2).mean(dtype=float))
        centred = x - x.mean(1, keepdims=True, dtype=float)
        self.close(bt.layer_norm(bt.Tensor(x), bt.Tensor(g), bt.Tensor(c), epsilon=0.5),
                   centred / np.sqrt((centred**2).mean(1, keepdims=True) + 0.5) * g + c)
        self.close(bt.embedding(bt.Tensor(x), bt.Tensor([[5, 0]], "int32")), x[[[5, 0]]])

    def test_attention_is_a_softmax_of_scaled_products(self):
        q, k, v = random(2, 4, 8), random(2, 6, 8, seed=1), random(2, 6, 8, seed=2)
        scores = q.astype(float) @ k.transpose(0, 2, 1) * 0.25
        seen = np.tril(np.ones((4, 6), bool), 2)
        for options, mask in (({"scale": 0.25}, np.ones_like(seen)), ({"scale": 0.25, "causal": True}, seen),
                              ({"scale": 0.25, "mask": bt.Tensor(seen)}, seen)):
            weights = np.exp(np.where(mask, scores, -np.inf))
            self.close(bt.attention(bt.Tensor(q), bt.Tensor(k), bt.Tensor(v), **options),
                       weights / weights.sum(-1, keepdims=True) @ v, 0.05)


@with_numpy
class Optimisers(unittest.TestCase):
    def steps(self, optimiser, rule, rates=(0.1, 0.025)):
        """Two steps, the second at another rate, beside rule(x, g, state, step, rate) in doubles."""
        start = random(3, 40)
        x, expected, state = bt.Tensor(start), start.astype(float), [0, 0]
        for step, rate in enumerate(rates):
            gradient = random(3, 40, seed=step + 1)
            optimiser.rate = rate
            loss = (x * 2).sum()
            optimiser.step([x], [bt.Tensor(gradient)], also=[loss])
            expected = rule(expected, gradient.astype(float), state, step + 1, rate)
            np.testing.assert_allclose(x.numpy(), expected, 1e-5, 1e-6)
        self.assertEqual(optimiser.rate, rates[-1])

    def test_sgd(self):
        def rule(x, g, state, step, rate):
            state[0] = 0.9 * state[0] + g + 0.01 * x
            return x - rate * state[0]

        self.steps(bt.nn.SGD(momentum=0.9, weight_decay=0.01), rule)
        self.steps(bt.nn.SGD(), lambda x, g, state, step, rate: x - rate * g)

    @staticmethod
    def adam(x, g, state, step, rate):
        state[0] = 0.8 * state[0] + 0.2 * g
        state[1] = 0.99 * state[1] + 0.01 * g * g
        return x - rate * state[0] / (1 - 0.8**step) / (np.sqrt(state[1] / (1 - 0.99**step)) + 1e-6)

    def test_adam_and_adamw(self):
        options = {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6}
        self.steps(bt.nn.Adam(**options, weight_decay=0.2), lambda x, g, *rest: self.adam(x, g + 0.2 * x, *rest))
        self.steps(bt.nn.AdamW(**options, weight_decay=0.2),
                   lambda x, g, state, step, rate: self.adam(x * (1 - rate * 0.2), g, state, step, rate))

    def test_gradients_are_clipped_together(self):
        a, b = random(4, 5), random(7, seed=1)
        length = np.sqrt((a.astype(float) ** 2).sum() + (b.astype(float) ** 2).sum())
        gradients = [bt.Tensor(a), bt.Tensor(b)]
        self.assertAlmostEqual(bt.nn.clip_grad_norm(gradients, 2).item(), length, 4)
        np.testing.assert_allclose(gradients[0].numpy(), a * 2 / length, 1e-5)
        np.testing.assert_allclose(gradients[1].numpy(), b * 2 / length, 1e-5)


def recorded(program):
    """The losses that tools/torch_losses.py wrote."""
    text = (ROOT / "tests" / "nn" / f"{program}.losses").read_text()
    return [float(x) for x in re.findall(r": loss (\S+)", text)]


class Gpt:
    """tests/nn/train_gpt.cpp in Python: contexts of 32 bytes, two layers of width 64 and two heads."""

    def __init__(self, numbers):
        def linear(inputs, outputs):
            return [bt.Tensor(x) for x in numbers.layers(inputs, outputs)]

        def norm():
            return [bt.ones(64), bt.zeros(64)]

        self.table, self.positions, self.last = linear(64, 256)[0], linear(64, 32)[0], norm()
        sizes = [(64, 192), (64, 64), (64, 256), (256, 64)]
        self.blocks = [[norm(), norm(), *[linear(*size) for size in sizes]] for _ in range(2)]

    def parameters(self):
        return [self.table, self.positions, *self.last, *[p for block in self.blocks for pair in block for p in pair]]

    def __call__(self, tokens):
        x = bt.embedding(self.table, tokens) + self.positions
        for before, between, qkv, out, up, down in self.blocks:
            parts = bt.linear(bt.layer_norm(x, *before), *qkv).reshape(-1, 32, 3, 2, 32).permute(2, 0, 3, 1, 4)
            mixed = bt.attention(parts[0], parts[1], parts[2], causal=True).permute(0, 2, 1, 3)
            x = x + bt.linear(mixed.reshape(-1, 32, 64), *out)
            x = x + bt.linear(bt.gelu(bt.linear(bt.layer_norm(x, *between), *up)), *down)
        return bt.linear(bt.layer_norm(x, *self.last), self.table)


@with_numpy
class Training(unittest.TestCase):
    def test_the_gpt_of_the_pages_loses_as_pytorch_does(self):
        losses, numbers = recorded("train_gpt")[:2], Twister(7)
        text = np.frombuffer((ROOT / "tests" / "nn" / "corpus.txt").read_bytes(), np.uint8).astype(np.int32)
        model = Gpt(numbers)
        train = bt.nn.Trainer(lambda x, y: bt.cross_entropy(model(x).reshape(-1, 256), y.reshape(-1)),
                              model.parameters(), bt.nn.AdamW(rate=3e-3))
        with bt.precision("full"):
            for expected in losses:
                first = [numbers.words.random_raw() % (len(text) - 32) for _ in range(4)]
                batch = [bt.Tensor(np.stack([text[f + d : f + d + 32] for f in first])) for d in (0, 1)]
                self.assertAlmostEqual(train(*batch).item(), expected, delta=3e-6 * losses[0])

    def test_the_mlp_of_the_pages_loses_as_pytorch_does(self):
        """tests/nn/train_mlp.cpp in Python."""
        losses = recorded("train_mlp")
        random, ring = Twister(7), np.arange(96, dtype=np.int32) % 2
        draws = random.uniform(96, 2)
        angle = (np.float32(6.2831853) * draws[:, 0]).astype(float)
        radius = ring.astype(np.float32) + np.float32(0.5) + np.float32(0.3) * draws[:, 1]
        at = np.stack([radius * f(angle).astype(np.float32) for f in (np.cos, np.sin)], 1)
        points = bt.Tensor(at), bt.Tensor(ring)
        model, traced = bt.nn.MLP([2, 32, 2], seed=0), []
        for parameter, values in zip(model.parameters(), random.layers(2, 32, 2)):
            parameter.set(values)

        def loss(at, ring):
            traced.append(at.shape)
            return bt.cross_entropy(model(at), ring)

        train = bt.nn.Trainer(loss, model.parameters(), bt.nn.AdamW(rate=0.1), clip=1)
        with bt.precision("full"):
            ours = [train(*points).item() for _ in losses]
        np.testing.assert_allclose(ours, losses, 0, 3e-6 * losses[0])
        self.assertEqual(traced, [(96, 2)])
        self.assertEqual((model(points[0]).argmax(1) == points[1]).numpy().sum(), 96)

    def test_rates_change_in_a_trainer_that_keeps_its_optimiser(self):
        w = bt.Tensor([4.0, 2.0])
        optimiser = bt.nn.SGD(rate=0.5)
        train = bt.nn.Trainer(lambda x: ((x * w) ** 2).sum(), [w], optimiser)
        x = bt.Tensor([1.0, 0.5])
        self.assertEqual((train(x).item(), w.tolist()), (17, [0, 1.5]))
        optimiser.rate = 1
        del optimiser
        self.assertEqual((train(x).item(), w.tolist()), (0.5625, [0, 0.75]))

    def test_training_goes_on_from_a_file(self):
        x = bt.Tensor([1.0, 0.5])

        def trainer(w):
            optimiser = bt.nn.AdamW(rate=0.5)
            return optimiser, bt.nn.Trainer(lambda x: ((x * w) ** 2).sum(), [w], optimiser)

        self.assertEqual(bt.nn.AdamW().state(), {})
        w = bt.Tensor([4.0, 2.0])
        optimiser, train = trainer(w)
        train(x), train(x)
        with tempfile.TemporaryDirectory() as folder:
            bt.save(f"{folder}/s.safetensors", optimiser.state() | {"w": w})
            state = bt.load(f"{folder}/s.safetensors")
        train(x), train(x)
        again = state.pop("w")
        optimiser, train = trainer(again)
        optimiser.set_state([again], state)
        train(x), train(x)
        self.assertEqual(again.tolist(), w.tolist())
        with self.assertRaisesRegex(bt.UsageError, r"'0.0' is \[2\], and here \[1\]"):
            bt.nn.Adam().set_state([bt.Tensor([1.0])], state)

    def test_after_a_step_that_failed_its_state_can_be_taken(self):
        adam, x, elsewhere = bt.nn.Adam(), bt.Tensor([1.0]), bt.Tensor([1.0], device=bt.Runtime("sim"))
        with self.assertRaises(bt.UsageError):
            adam.step([x], [bt.Tensor([1.0])], also=[elsewhere * 2])
        self.assertEqual(set(adam.state()), {"0.0", "0.1", "steps"})

    def test_errors_of_a_loss_come_through(self):
        w = bt.Tensor([1.0])
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            bt.nn.Trainer(lambda: w * (1 / 0), [w], bt.nn.SGD())()
        self.assertEqual(w.tolist(), [1])


class Errors(unittest.TestCase):
    def test_each_says_what(self):
        x = bt.Tensor([1.0, 2.0])
        sgd = bt.nn.SGD()
        for call, words in [
            (lambda: bt.nn.MLP([4], 1), "1 widths"),
            (lambda: bt.nn.Linear(4, 0, 1), "width 1 is 0"),
            (lambda: bt.nn.Linear(4, 2, -1), "beyond 2\\^32 - 1"),
            (lambda: bt.nn.Linear(4, 2, 1, "int32"), "weights of dtype int32"),
            (lambda: sgd.step([x], []), "1 parameters and 0 gradients"),
            (lambda: sgd.step([x], [bt.Tensor([1.0])]), r"gradient 0 is \[1\], and its parameter \[2\]"),
            (lambda: sgd.step([], []), "0 parameters"),
            (lambda: setattr(sgd, "momentum", 0.9), "'momentum' does not change"),
            (lambda: setattr(bt.nn.Adam(), "weight_decay", 0), "'weight_decay' does not change"),
            (lambda: bt.nn.clip_grad_norm([], 1), "no gradients"),
            (lambda: bt.nn.Trainer(lambda: None, [x], sgd)(), "the loss is 0 results"),
            (lambda: bt.nn.Trainer(lambda: x, [x], sgd)(), r"the loss is fp32 \[2\]"),
            (lambda: bt.precision("double").__enter__(), "'double' is no precision; there are fast, standard, full"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(bt.UsageError, words):
                call()
        self.assertEqual((sgd.momentum, x.tolist()), (0, [1, 2]))
