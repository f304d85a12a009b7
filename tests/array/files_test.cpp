// Files of tensors: what NumPy 2.4.6 and safetensors 0.8.0 wrote is read, what is written they read (recorded as
// bytes), and no damaged file is taken for a whole one.
#include "baretile/files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files/recorded.h"
#include "support/temporary_folder.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

using testing::HasSubstr;

// np.array([[1.5, -2, 0.1], [np.inf, -0.0, 3]], '<f4')
const std::string kFloats = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                "0000c03f000000c0cdcccc3d0000807f0000008000004040");
class Files : public OnDevice {
 protected:
  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::string file(const std::string& bytes, const std::string& name = "file") const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string bytes_of(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Tensor npy_of(const std::string& bytes, std::optional<DType> as = {}) const {
    return load_npy(runtime(), file(bytes), as);
  }
  // What the error says of a file of these bytes.
  template <class Load>
  std::string complaint(const std::string& bytes, Load load) const {
    const std::string name = file(bytes);
    try {
      load(runtime(), name);
    } catch (const Error& error) {
      return std::string(error.what()).starts_with(name) ? error.what() : "names no file: " + std::string(error.what());
    }
    return "no error";
  }
  std::string npy_complaint(const std::string& bytes) const {
    return complaint(bytes, [](Runtime& rt, const std::string& name) { load_npy(rt, name); });
  }
  std::string npz_complaint(const std::string& bytes) const {
    return complaint(bytes, [](Runtime& rt, const std::string& name) { load_npz(rt, name); });
  }
  std::string safetensors_complaint(const std::string& bytes) const {
    return complaint(bytes, [](Runtime& rt, const std::string& name) { load_safetensors(rt, name); });
  }

 private:
  const TemporaryFolder folder_;
};
ON_EACH_DEVICE(Files);

TEST_P(Files, ArraysThatNumPyWrote) {
  EXPECT_EQ(to_string(npy_of(kFloats)), "[[1.5, -2, 0.1], [inf, -0, 3]]");
  EXPECT_EQ(to_string(npy_of(
                npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", "000000000100000002000000", 2, 116))),
            "[0, 1, 2]");
  const Tensor words =
      npy_of(npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }", "00286bee01000000", 3, 116));
  EXPECT_EQ(words.dtype(), DType::uint32);
  EXPECT_EQ(to_string(words), "[4000000000, 1]");
  EXPECT_EQ(to_string(npy_of(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                                 "000000000300000001000000040000000200000005000000"))),
            "[[0, 1, 2], [3, 4, 5]]");
  EXPECT_EQ(to_string(npy_of(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "0100"))),
            "[true, false]");
  EXPECT_EQ(to_string(npy_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0000e040"))), "7");
  const Tensor empty = npy_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0, 3), }", ""));
  EXPECT_EQ(empty.shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(npy_of(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", "003eff7b0100")).to_host(),
            (std::vector<float>{1.5, 65504, 0x1p-24f}));
}

TEST_P(Files, ArraysOfOtherTypesBecomeWhatIsAskedFor) {
  const std::string doubles = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
                                  "000000000000e03f9c7500883ce4377e00000000000008c0");
  EXPECT_THAT(npy_complaint(doubles), HasSubstr("no tensor is of type '<f8'; name the dtype"));
  EXPECT_EQ(to_string(npy_of(doubles, fp32)), "[0.5, inf, -3]");
  EXPECT_EQ(npy_of(doubles, bf16).dtype(), bf16);
  const std::string longs =
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", "ffffff7f00000000fbffffffffffffff");
  EXPECT_EQ(to_string(npy_of(longs, DType::int32)), "[2147483647, -5]");
  EXPECT_EQ(to_string(npy_of(longs, DType::boolean)), "[true, true]");
  EXPECT_THROW(npy_of(longs, DType::uint32), UsageError) << "-5";
  EXPECT_THROW(
      npy_of(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "0000008000000000"), DType::int32),
      UsageError);
  EXPECT_THROW(npy_of(doubles, DType::int32), UsageError) << "0.5";
  EXPECT_EQ(to_string(npy_of(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "07ff"), fp32)),
            "[7, 255]");
  EXPECT_EQ(to_string(npy_of(npy("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", "ffffffff00000000"),
                             DType::uint32)),
            "[4294967295]");
  EXPECT_THROW(
      npy_of(npy("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", "ffffffffffffffff"), DType::int32),
      UsageError);
}

TEST_P(Files, WhatIsWrittenIsWhatNumPyWrites) {
  save_npy(path("x.npy"), Tensor::of(runtime(), {{1.5, -2, 0.1}, {INFINITY, -0.0, 3}}));
  EXPECT_EQ(bytes_of("x.npy"), kFloats);
  save_npy(path("x.npy"), Tensor::of(runtime(), {1, 0}, DType::boolean));
  EXPECT_EQ(bytes_of("x.npy"), npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "0100"));
  save_npy(path("x.npy"), Tensor::full(runtime(), {}, 7));
  EXPECT_EQ(bytes_of("x.npy"), npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0000e040"));
  save_npy(path("x.npy"), Tensor::zeros(runtime(), {2, 0, 3}));
  EXPECT_EQ(bytes_of("x.npy"), npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0, 3), }", ""));
  EXPECT_THROW(save_npy(path("y.npy"), Tensor::zeros(runtime(), {3}, bf16)), Unsupported);
  EXPECT_THROW(save_npy(path("none/y.npy"), Tensor::zeros(runtime(), {3})), SystemError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 1) << "nothing is left half-written";
}

TEST_P(Files, ArchivesThatNumPyWroteAndOurs) {
  NamedTensors read = load_npz(runtime(), file(kArchive));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(to_string(read.at("w")), "[[0, 1], [2, 3]]");
  EXPECT_EQ(to_string(read.at("b")), "[1, 2]");
  EXPECT_EQ(to_string(load_npz(runtime(), file(kCompressed)).at("w")), "[[0, 1], [2, 3]]");
  read["flags"] = Tensor::of(runtime(), {1, 0, 1}, DType::boolean);
  read["none"] = Tensor::zeros(runtime(), {0, 4});
  save_npz(path("x.npz"), read);
  const NamedTensors again = load_npz(runtime(), path("x.npz"));
  ASSERT_EQ(again.size(), 4u);
  for (const auto& [name, tensor] : read) {
    EXPECT_EQ(again.at(name).dtype(), tensor.dtype()) << name;
    EXPECT_EQ(again.at(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(to_string(again.at(name)), to_string(tensor)) << name;
  }
  save_npz(path("x.npz"), {});
  EXPECT_TRUE(load_npz(runtime(), path("x.npz")).empty());
}

TEST_P(Files, SafetensorsOfEveryDtype) {
  const NamedTensors all{{"weights", Tensor::of(runtime(), {{1.5, -0.1}, {NAN, -0.0}})},
                         {"a.half", Tensor::of(runtime(), {1.01, -3}, bf16)},
                         {"ids", Tensor::of(runtime(), {-1, INT32_MAX}, DType::int32)},
                         {"words", Tensor::of(runtime(), {UINT32_MAX}, DType::uint32)},
                         {"mask", Tensor::of(runtime(), {1, 0, 1}, DType::boolean)},
                         {"empty", Tensor::zeros(runtime(), {0, 3})},
                         {"scalar", Tensor::full(runtime(), {}, 4)}};
  save_safetensors(path("x.safetensors"), all);
  const NamedTensors read = load_safetensors(runtime(), path("x.safetensors"));
  ASSERT_EQ(read.size(), all.size());
  for (const auto& [name, tensor] : all) {
    EXPECT_EQ(read.at(name).dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.at(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(to_string(read.at(name)), to_string(tensor)) << name;
  }
  const std::string numbers = path("numbers.safetensors");
  save_safetensors(numbers, {{"half", all.at("a.half")}, {"words", all.at("words")}});
  EXPECT_EQ(to_string(load_safetensors(runtime(), numbers, fp32).at("half")), to_string(all.at("a.half")));
  EXPECT_EQ(load_safetensors(runtime(), numbers, fp32).at("words").to_host()[0], 0x1p32f);
  EXPECT_THROW(load_safetensors(runtime(), numbers, DType::uint32), UsageError) << "1.0078125";
  EXPECT_THROW(save_safetensors(path("y"), {{"\xFF", Tensor::zeros(runtime(), {1})}}), UsageError);
  EXPECT_THROW(save_safetensors(path("y"), {{"__metadata__", Tensor::zeros(runtime(), {1})}}), UsageError);
  EXPECT_THROW(save_safetensors(path("y"), {{"b", Tensor::zeros(runtime(), {2, 2}, DType::bfp8)}}), Unsupported);
  EXPECT_FALSE(std::filesystem::exists(path("y")));
}

TEST_P(Files, WhatIsWrongNamesTheFile) {
  EXPECT_THAT(npy_complaint(kFloats.substr(0, 90)), HasSubstr("the header claims"));
  EXPECT_THAT(npz_complaint(kFloats), HasSubstr("it has no directory"));
  EXPECT_THAT(safetensors_complaint(kFloats), HasSubstr("the header claims"));
  EXPECT_THAT(npz_complaint(kArchive.substr(1)), HasSubstr("its directory claims"));
  EXPECT_THROW(load_npy(runtime(), path("missing.npy")), SystemError);
  EXPECT_THAT(npy_complaint(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296), }", "")),
              HasSubstr("beyond 2^32 - 1"));
}

}  // namespace
}  // namespace baretile::tensor_test
