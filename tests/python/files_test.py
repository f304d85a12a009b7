"""Files of tensors beside NumPy's own, and beside safetensors' published format written by hand."""

import json
import struct
import tempfile
import unittest
from pathlib import Path

import baretile as bt
from support import np, random, with_numpy


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @with_numpy
    def test_npy_and_npz_are_numpys(self):
        arrays = {"w": random(3, 5), "ids": np.arange(4, dtype=np.int32).reshape(2, 2), "on": np.array([True, False]),
                  "words": np.array([2**32 - 1], np.uint32), "one": np.float32(2.5),
                  "none": np.zeros((0, 3), np.float32)}
        tensors = {name: bt.Tensor(np.asarray(array)) for name, array in arrays.items()}
        path = self.folder / "x.npz"
        bt.save(path, tensors)
        with np.load(path) as read:
            self.assertEqual(set(read), set(arrays))
            for name, array in arrays.items():
                self.assertEqual((read[name].dtype, read[name].shape), (array.dtype, array.shape))
                np.testing.assert_array_equal(read[name], array)
        np.savez_compressed(path, **arrays)
        for name, tensor in bt.load(path).items():
            self.assertEqual((tensor.shape, tensor.numpy().dtype), (arrays[name].shape, arrays[name].dtype))
            np.testing.assert_array_equal(tensor.numpy(), arrays[name])
        bt.save(self.folder / "x.npy", tensors["w"])
        np.testing.assert_array_equal(np.load(self.folder / "x.npy"), arrays["w"])
        np.save(self.folder / "x.npy", np.array([1, 2], np.int64))
        self.assertEqual(bt.load(str(self.folder / "x.npy"), dtype="fp32").tolist(), [1, 2])
        with self.assertRaisesRegex(bt.UsageError, "name the dtype"):
            bt.load(self.folder / "x.npy")

    def test_safetensors_are_the_bytes_of_their_format(self):
        path = self.folder / "x.safetensors"
        header = json.dumps({"__metadata__": {"by": "hand"},
                             "größe": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
                             "half": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
                             "ids": {"dtype": "I32", "shape": [], "data_offsets": [12, 16]}},
                            ensure_ascii=False).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<ffHHi", 1.5, -2, 0x3F80, 0xC040, -7))
        read = bt.load(path)
        self.assertEqual({name: (t.dtype, t.tolist()) for name, t in read.items()},
                         {"größe": ("fp32", [[1.5, -2]]), "half": ("bf16", [1, -3]), "ids": ("int32", -7)})
        self.assertEqual([t.dtype for t in bt.load(path, "fp32").values()], ["fp32"] * 3)
        bt.save(path, read)
        content = path.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        stored = {name: (e["dtype"], e["shape"], data[slice(*e["data_offsets"])]) for name, e in header.items()
                  if name != "__metadata__"}
        self.assertEqual(stored, {"größe": ("F32", [1, 2], struct.pack("<ff", 1.5, -2)),
                                  "half": ("BF16", [2], struct.pack("<HH", 0x3F80, 0xC040)),
                                  "ids": ("I32", [], struct.pack("<i", -7))})

    def test_what_does_not_fit_is_an_error_that_says_why(self):
        x = bt.Tensor([1.5])
        endings = r"give \.npy, \.npz or \.safetensors"
        for call, kind, words in [
            (lambda: bt.load(self.folder / "x.bin"), bt.UsageError, endings),
            (lambda: bt.save(self.folder / "x", x), bt.UsageError, endings),
            (lambda: bt.load(self.folder / "x.npz"), OSError, "x.npz"),
            (lambda: bt.save(self.folder / "x.npz", x), bt.UsageError, "needs a name for each"),
            (lambda: bt.save(self.folder / "x.npy", {"x": x}), bt.UsageError, "not 1 with names"),
            (lambda: bt.save(self.folder / "x.npz", [x]), bt.UsageError, "a list is no tensor"),
            (lambda: bt.save(self.folder / "x.npz", {"x": 1.5}), bt.UsageError, "a dict is no tensor"),
            (lambda: bt.save(self.folder / "x.npz", {"x": x.cast("bf16")}), bt.Unsupported, "NumPy has no bf16"),
            (lambda: bt.load(self.folder / "x.npy", "int64"), bt.UsageError, "'int64' is no dtype"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()
        self.assertEqual(list(self.folder.iterdir()), [])
