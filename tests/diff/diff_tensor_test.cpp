// Tensor programs leave the same bits, padding included, whatever the number of tiles and DRAM banks, and on ttsim.
#include <map>

#include "baretile/nn.h"
#include "baretile/runtime.h"
#include "tensor/array.h"
#include "tensor/expr.h"

namespace baretile::diff {
namespace {

using tensor_test::random_array;
constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;

// Results by name, as their pages lie in DRAM.
using Pages = std::map<std::string, std::vector<u8>>;

// Values whose roundings differ by order: magnitudes from 2^-10 to 2^10.
tensor_test::Array values(Shape shape, u32 seed) {
  const auto x = random_array(shape, seed), e = random_array(shape, seed + 1000, -10, 10);
  return tensor_test::generate(shape, [&](const Shape& i) { return double(float(x.at(i) * std::exp2(e.at(i)))); });
}

class Work {
 public:
  explicit Work(Runtime& runtime) : runtime_(runtime) {
    matmuls();
    reductions();
    moves();
    writes();
    blocks();
    attentions();
  }
  Pages run() {
    std::vector<Tensor> wanted;
    for (const auto& [name, tensor] : tensors_) wanted.push_back(tensor);
    realize(wanted);
    Pages out;
    for (const auto& [name, tensor] : tensors_) {
      const DeviceBuffer& storage = tensor.expr()->storage;
      std::vector<u8>& bytes = out[name];
      bytes.resize(storage.bytes());
      runtime_.read_pages(storage, 0, std::as_writable_bytes(std::span(bytes)));
    }
    return out;
  }

 private:
  Tensor upload(Shape shape, DType dtype = fp32) {
    const auto x = values(shape, ++seed_);
    return Tensor::from_host(runtime_, x.floats(), shape, dtype);
  }
  Tensor small(Shape shape) {  // for exp
    return Tensor::from_host(runtime_, random_array(shape, ++seed_, -8, 8).floats(), shape);
  }
  Tensor index(std::vector<i32> rows) { return Tensor::from_host(runtime_, rows, {i64(rows.size())}); }

  void matmuls() {
    Tensor w = upload({70, 96}, bf16), w32 = upload({70, 96}), t = upload({96, 70}, bf16);
    for (const i64 rows : {1, 40}) {
      Tensor x = upload({rows, 70}), narrow = upload({rows, 70}, bf16);
      const auto add = [&](const char* name, const Tensor& y) { tensors_[fmt::format("{} {}", name, rows)] = y; };
      add("bf16, 4 phases", matmul(narrow, w));
      add("bf16, 2 phases", matmul(narrow, w, Precision::fast));
      add("fp32", matmul(x, w32));
      add("all of fp32", matmul(x, w32, Precision::full));
      add("split", matmul(x, w));
      add("transposed", matmul(x, t.transpose()));
      add("epilogue", relu(matmul(x, w) + upload({96})));
    }
    tensors_["more products than tiles"] = matmul(upload({3, 33}), upload({33, 4600}, bf16));
    tensors_["more rows of tiles than tiles"] = matmul(upload({4600, 33}), upload({33, 33}, bf16));
    tensors_["batch"] = matmul(upload({9, 5, 33}), upload({9, 33, 40}));
  }
  void reductions() {
    Tensor x = small({70, 65}), tall = upload({4600, 33}), wide = upload({33, 4600});
    tensors_["softmax"] = softmax(x);
    tensors_["softmax of a row"] = softmax(small({1, 1000}));
    tensors_["softmax over rows"] = softmax(x, 0);
    tensors_["exp"] = exp(x);
    tensors_["rms_norm"] = rms_norm(upload({5, 576}), upload({576}));
    tensors_["sums of tall rows"] = sum(tall, 1);
    tensors_["sums of tall columns"] = sum(tall, 0);
    tensors_["sums of wide rows"] = sum(wide, 1);
    tensors_["sums of wide columns"] = sum(wide, 0);
    tensors_["max over rows"] = max(tall, 0);
    tensors_["max over columns"] = max(wide, 1);
    tensors_["silu"] = silu(small({3, 4600}));
    tensors_["rsqrt, log and bf16"] = rsqrt(abs(upload({33, 65}, bf16))) * log(abs(upload({33, 65}, bf16)));
  }
  void moves() {
    Tensor table = upload({200, 70}, bf16), x = upload({3, 37, 65});
    tensors_["rope"] = rope(upload({9, 33, 64}), upload({33, 64}), upload({33, 64}));
    std::vector<i32> rows(150);
    for (i32 n = 0; n < 150; ++n) rows[size_t(n)] = n * 67 % 200;
    tensors_["gather"] = gather_rows(table, index(rows));
    tensors_["transpose"] = x.transpose();
    tensors_["permute"] = x.permute({2, 0, 1});
    tensors_["reshape"] = x.reshape({65, 111});
    tensors_["slice"] = x.slice(1, 3, 36).slice(2, 1, 60);
    for (const i64 axis : {0, 1, 2}) tensors_[fmt::format("concat {}", axis)] = concat({x, x * 2, x}, axis);
  }
  void writes() {
    Tensor keys = upload({3, 64, 64}), bits = upload({150, 33}, bf16);
    keys.assign_rows(index({0, 63, 31}), upload({3, 3, 64}));
    std::vector<i32> rows(140);
    for (i32 n = 0; n < 140; ++n) rows[size_t(n)] = n * 7 % 150;
    bits.assign_rows(index(rows), upload({140, 33}, bf16));
    tensors_["written keys"] = keys;
    tensors_["written rows"] = bits;
    tensors_["scores"] = matmul(upload({3, 2, 64}), keys.transpose());
  }

  void attentions() {
    for (const DType dtype : {fp32, bf16}) {
      for (const i64 rows : {1, 70}) {
        const Tensor q = upload({15, 4, rows, 48}, dtype), k = upload({15, 2, 70, 48}, dtype),
                     v = upload({15, 2, 70, 96}, dtype);
        const auto add = [&](const char* name, const Tensor& y) {
          tensors_[fmt::format("attention, {}, {} {}", name, rows, compiler::to_string(dtype))] = y;
        };
        add("causal", nn::scaled_dot_product_attention(q, k, v, {.causal = true}));
        add("added", nn::scaled_dot_product_attention(q, k, v, small({rows, 70})));
        add("seen", nn::scaled_dot_product_attention(q, k, v, less(small({70}), 5)));
      }
    }
  }

  void blocks() {
    for (const DType dtype : {DType::bfp4, DType::bfp8}) {
      const auto add = [&](const char* name, const Tensor& y) {
        tensors_[fmt::format("{}, {}", name, compiler::to_string(dtype))] = y;
      };
      const Tensor w = upload({70, 96}, dtype);
      for (const DType left : {bf16, fp32}) {
        add(left == fp32 ? "split row" : "row", matmul(upload({1, 70}, left), w));
        add(left == fp32 ? "split rows" : "rows", matmul(upload({40, 70}, left), w));
        add(left == fp32 ? "split, transposed" : "transposed", matmul(upload({40, 96}, left), w.transpose()));
      }
      add("both", matmul(upload({40, 70}, dtype), w));
      add("stored", upload({2, 37, 70}).cast(dtype));
      add("sum", w + upload({70, 96}, bf16));
      add("moved", w.transpose());
    }
  }

  Runtime& runtime_;
  u32 seed_ = 0;
  std::map<std::string, Tensor> tensors_;
};

// The simulator's library reads it when it is opened.
Pages on_tree(u32 tiles, u32 banks) {
  setenv("BARETILE_SIM_GRID", fmt::format("{}x{}", tiles, banks).c_str(), 1);
  Runtime runtime("sim");
  unsetenv("BARETILE_SIM_GRID");
  EXPECT_EQ(runtime.workers(), tiles - 1);
  EXPECT_EQ(runtime.dram_banks(), banks);
  return Work(runtime).run();
}

void expect_same(const Pages& want, const Pages& got, const std::string& what) {
  ASSERT_EQ(want.size(), got.size());
  for (const auto& [name, bytes] : want) {
    const std::vector<u8>& other = got.at(name);
    ASSERT_EQ(bytes.size(), other.size()) << name;
    const auto at = std::mismatch(bytes.begin(), bytes.end(), other.begin());
    EXPECT_TRUE(at.first == bytes.end()) << fmt::format("{}: '{}' differs from byte {} of {}", what, name,
                                                        at.first - bytes.begin(), bytes.size());
  }
}

class DiffTensor : public testing::Test {
 protected:
  void SetUp() override { setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1); }
};

TEST_F(DiffTensor, TheNumberOfTilesAndBanksChangesNoBit) {
  const Pages want = on_tree(120, 8);
  bool any = false;
  for (const auto& [name, bytes] : want)
    for (const u8 byte : bytes) any = any || byte != 0;
  EXPECT_TRUE(any);
  for (const auto& [tiles, banks] : {std::pair{140u, 8u}, {110u, 8u}, {130u, 8u}, {120u, 7u}})
    expect_same(want, on_tree(tiles, banks), fmt::format("{} tiles, {} banks", tiles, banks));
}

TEST_F(DiffTensor, TtsimComputesTheSameBits) {
  if (!std::getenv("TTSIM")) GTEST_SKIP() << "TTSIM is not set";
  const Pages want = on_tree(140, 8);
  Runtime runtime("ttsim");
  EXPECT_EQ(runtime.workers(), 139u);
  expect_same(Work(runtime).run(), want, "the simulator of this tree");
}

}  // namespace
}  // namespace baretile::diff
