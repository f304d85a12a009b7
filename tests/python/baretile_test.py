"""The Python package on the device that BARETILE_DEVICE names; what it computes is compared with NumPy.

Runs this file, nn_test.py, files_test.py and the examples of docs/python.md."""

import doctest
import threading
import unittest

import baretile as bt
from support import ROOT, np, random, with_numpy


class Basics(unittest.TestCase):
    def test_a_product_and_its_relu(self):
        x, w = bt.Tensor([[1, -2], [3, 4]]), bt.Tensor([[2, 0], [0, 3]])
        y = (x @ w).relu()
        self.assertEqual(y.tolist(), [[2, 0], [6, 12]])
        self.assertEqual(repr(y), "[[2, 0], [6, 12]]")
        self.assertEqual((y.shape, y.ndim, y.size, y.dtype, len(y)), ((2, 2), 2, 4, "fp32", 2))

    def test_lists_become_fp32_or_booleans_or_what_is_asked_for(self):
        self.assertEqual(bt.Tensor([1, 2.5]).dtype, "fp32")
        self.assertEqual(bt.Tensor([True, False]).tolist(), [True, False])
        self.assertEqual(bt.Tensor([[7, -1]], dtype="int32").tolist(), [[7, -1]])
        self.assertEqual(bt.Tensor([1, 2], dtype="bfloat16").dtype, "bf16")
        self.assertEqual(bt.Tensor(3).shape, ())
        self.assertEqual(bt.Tensor([[], []]).tolist(), [[], []])

    def test_numbers_on_either_side(self):
        x = bt.arange(4)
        self.assertEqual((1 - x).tolist(), [1, 0, -1, -2])
        self.assertEqual((x * 2 + 1).dtype, "int32")
        self.assertEqual((2**x).tolist(), [1, 2, 4, 8])
        self.assertEqual((x > 1).tolist(), [False, False, True, True])
        self.assertEqual((~(x << 1) & 0xF).tolist(), [15, 13, 11, 9])
        self.assertEqual((7 // (x + 1)).tolist(), [7, 3, 2, 1])

    def test_functions_and_methods_are_one(self):
        x = bt.Tensor([1.0, 2.0])
        self.assertEqual(bt.exp(x).tolist(), x.exp().tolist())
        self.assertEqual(bt.where(x > 1, x, 0).tolist(), [0, 2])
        self.assertEqual(x.clamp(low=1.5, high=3).tolist(), [1.5, 2])
        self.assertEqual(bt.concat([x, x * 10]).tolist(), [1, 2, 10, 20])
        self.assertEqual(bt.stack((x, x), axis=1).shape, (2, 2))
        self.assertEqual(x.cast("int32").dtype, "int32")
        self.assertIn("e to the x", bt.exp.__doc__)
        self.assertEqual(bt.full((2,), 3, "int32").tolist(), [3, 3])
        self.assertEqual(bt.eye(2, 3).tolist(), [[1, 0, 0], [0, 1, 0]])

    def test_gradients_and_random_numbers(self):
        w = bt.Tensor([1.0, -2.0])
        self.assertEqual(bt.grad((w * w * w).sum(), [w])[0].tolist(), [3, 12])
        key = bt.random.key(42)
        self.assertEqual(bt.random.randint(key, 20, 0, 9).tolist(), bt.random.randint(key, (20,), 0, 9).tolist())
        values, indices = bt.topk(bt.Tensor([1, 5, 3]), 2)
        self.assertEqual((values.tolist(), indices.tolist()), ([5, 3], [1, 2]))

    def test_a_range_gets_new_values(self):
        x = bt.zeros((3, 2))
        before = x + 1
        x[1] = bt.Tensor([5, 6])
        x[2:] = 7
        self.assertEqual(x.tolist(), [[0, 0], [5, 6], [7, 7]])
        x[:, 1] = [1, 2, 3]
        self.assertEqual(x.tolist(), [[0, 1], [5, 2], [7, 3]])
        self.assertEqual(before.tolist(), [[1, 1]] * 3)
        x[-3, :] = -1
        self.assertEqual(x.tolist(), [[-1, -1], [5, 2], [7, 3]])
        for key in (3, -4, (0, 0), (slice(None), 2)):
            with self.subTest(key=key), self.assertRaises((IndexError, bt.UsageError)):
                x[key] = 0

    def test_one_element_is_a_number(self):
        x = bt.Tensor([[2.5]])
        self.assertEqual((x.item(), float(x), int(x), bool(x > 2)), (2.5, 2.5, 2, True))
        self.assertEqual([int(v) for v in bt.arange(3)], [0, 1, 2])

    def test_jit_traces_once_and_replays_with_state(self):
        w, calls = bt.Tensor([4.0, 2.0]), []

        def train(x):
            calls.append(x.shape)
            loss = ((x * w) ** 2).sum()
            w.set(w - 0.5 * bt.grad(loss, [w])[0])
            return loss

        step = bt.jit(train, state=[w])
        x = bt.Tensor([1.0, 0.5])
        self.assertEqual([step(x).item(), step(x).item()], [17, 0.5625])
        self.assertEqual((w.tolist(), calls), ([0, 1.125], [(2,)]))
        double = bt.jit(lambda a, b: (a + b, a * b))
        self.assertEqual([t.tolist() for t in double(x, x)], [[2, 1], [1, 0.25]])
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            bt.jit(lambda a: a * (1 / 0))(x)
        with self.assertRaisesRegex(bt.UsageError, "fewer than two axes"):
            bt.jit(lambda a: a.transpose())(x)

    def test_threads_take_turns(self):
        shared, results = bt.arange(64).reshape(8, 8), {}

        def work(i):
            results[i] = [(shared * i).sum().item() for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {i: [2016 * i] * 20 for i in range(4)})

    def test_two_devices_are_two_runtimes(self):
        other = bt.Runtime("sim")
        self.assertEqual((other.device, other.workers > 100), ("sim", True))
        x = bt.Tensor([1.0], device=other)
        with self.assertRaisesRegex(bt.UsageError, "two devices"):
            x + bt.Tensor([1.0])
        self.assertEqual((bt.Tensor([1.0], device=bt.Tensor([2.0])._runtime.device) + bt.Tensor([2.0])).tolist(), [3])
        del other
        self.assertEqual((x + [2.0]).tolist(), [3])


class Errors(unittest.TestCase):
    def test_each_is_of_its_class_and_says_what(self):
        x = bt.Tensor([[1.0, 2.0]])
        for call, kind, words in [
            (lambda: x @ x, bt.UsageError, r"matmul: \[1, 2\] by \[1, 2\]"),
            (lambda: x.reshape(3), ValueError, "cannot become"),
            (lambda: bt.Tensor([[1], [1, 2]]), bt.UsageError, "unequal"),
            (lambda: bt.Tensor([1.5], "int32"), bt.UsageError, "no int32"),
            (lambda: bt.Tensor([1], "int64"), bt.UsageError, "'int64' is no dtype; there are"),
            (lambda: bt.Runtime("kmd:9"), bt.Error, "'kmd:9' is not here"),
            (lambda: x.item(), bt.UsageError, "2 elements"),
            (lambda: x[0, 5], IndexError, "index 5"),
            (lambda: x[0, 0, 0], IndexError, "3 indices"),
            (lambda: x["a"], TypeError, "no index"),
            (lambda: x[[True]], IndexError, "takes masks"),
            (lambda: x[x > 1], IndexError, "takes masks"),
            (lambda: x[[0], [0]], IndexError, "stands alone"),
            (lambda: x.softmax(axis=0.5), bt.UsageError, "whole number"),
            (lambda: x.softmax(axes=1), TypeError, "axes"),
            (lambda: bt.full((1, 2), 0.5, "bfp4"), bt.Unsupported, "whole tiles"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


@with_numpy
class AgainstNumpy(unittest.TestCase):
    def close(self, tensor, expected, tolerance=1e-5):
        self.assertEqual(tensor.shape, expected.shape)
        np.testing.assert_allclose(tensor.numpy(), expected, tolerance, tolerance)

    def test_arrays_keep_their_dtype(self):
        for array in (random(3, 5), np.arange(6, dtype=np.int32).reshape(2, 3), np.array([0, 2**32 - 1], np.uint32),
                      np.array([[True], [False]])):
            back = bt.Tensor(array).numpy()
            self.assertEqual(back.dtype, array.dtype)
            np.testing.assert_array_equal(back, array)
        self.assertEqual(bt.Tensor(np.arange(3)).dtype, "int32")
        self.assertEqual(bt.Tensor(np.array([0.5])).dtype, "fp32")
        self.assertEqual(bt.Tensor(random(2, 2), "bf16").numpy().dtype, np.float32)
        np.testing.assert_array_equal(bt.Tensor(random(4, 3).T).numpy(), random(4, 3).T)  # not contiguous
        for wrong in (np.array([2**40]), np.array(["a"]), np.array([1j])):
            self.assertRaises(bt.UsageError, bt.Tensor, wrong)
        self.assertRaises(bt.UsageError, bt.Tensor, np.array([0.5]), "int32")

    def test_arithmetic_broadcasts_with_arrays_on_either_side(self):
        a, b = random(3, 1, 4), random(5, 1, seed=1)
        x = bt.Tensor(a)
        for tensor, expected in [(x + b, a + b), (b - x, b - a), (x * b, a * b), (b / x, b / a), (b // x, b // a),
                                 (x % 2, a % 2), (abs(x) ** 1.5, abs(a) ** 1.5), (-x, -a)]:
            self.close(tensor, expected, 1e-4)
        self.close(random(2, 3) @ bt.Tensor(random(3, 2)), random(2, 3) @ random(3, 2), 0.02)
        self.close(bt.matmul(random(2, 3), random(3, 2), precision="full"), random(2, 3) @ random(3, 2))
        self.close(bt.einsum("abc,dc->abd", x, bt.Tensor(random(2, 4))),
                   np.einsum("abc,dc->abd", a, random(2, 4)), 0.02)

    def test_reductions(self):
        a = random(2, 3, 4)
        x = bt.Tensor(a)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                self.close(x.sum(axis, keepdims), a.sum(axis=axis, keepdims=keepdims), 1e-4)
        self.close(x.mean(axis=1), a.mean(axis=1))
        self.close(bt.max(x, axis=2, keepdims=True), a.max(axis=2, keepdims=True))
        self.close(x.var(1), a.var(axis=1), 1e-4)
        self.close(x.argmax(0), a.argmax(0))

    def test_slices(self):
        a = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
        x = bt.Tensor(a)
        for key in [0, -1, slice(1, 3), (slice(None), 2), (Ellipsis, 1), (0, slice(None, None, 2), None),
                    (slice(None, None, -1),), (slice(None), slice(3, 0, -2)), slice(2, 2), (1, 2, 3), [2, 0]]:
            with self.subTest(key=key):
                self.close(x[key], a[key])
        self.close(x.T, a.T)
        self.close(x.permute(1, 0, 2), a.transpose(1, 0, 2))
        self.close(x[bt.Tensor([1, 1], "int32")], a[[1, 1]])
        np.testing.assert_array_equal(np.asarray(x, np.float64), a.astype(np.float64))


def load_tests(loader, tests, pattern):
    tests.addTests(loader.loadTestsFromNames(["nn_test", "files_test"]))
    if np is not None:  # which the page's examples need
        tests.addTests(doctest.DocFileSuite(str(ROOT / "docs" / "python.md"), module_relative=False))
    return tests


if __name__ == "__main__":
    unittest.main()
