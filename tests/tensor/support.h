// Tensors on a simulator: a runtime for each, uploads, and comparison with plain arithmetic.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "baretile/runtime.h"
#include "pci/simulators.h"
#include "tensor/array.h"
#include "tensor/expr.h"

namespace baretile::tensor_test {

inline constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;

// How far a result may lie from the exact value, beyond the rounding to the tensor's own format.
struct Bound {
  double ulp = 0;  // of fp32, at the exact value
  double absolute = 0;
};

// Values other than +0 in a tensor's stored pages that are no element of it.
inline u32 values_in_padding(Runtime& runtime, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const u32 rank = u32(shape.size()), cols = rank > 0 ? u32(shape[rank - 1]) : 1,
            rows = rank > 1 ? u32(shape[rank - 2]) : 1;
  const u32 page_rows = rows == 1 ? 1 : 32, bytes = dtype_bytes(tensor.dtype());
  const u32 tiles_across = (cols + 31) / 32, tiles_down = (rows + page_rows - 1) / page_rows;
  const DeviceBuffer& storage = tensor.expr()->storage;
  EXPECT_EQ(storage.page_bytes(), page_rows * 32 * bytes);
  std::vector<u8> pages(storage.bytes());
  runtime.read_pages(storage, 0, std::as_writable_bytes(std::span(pages)));
  u32 count = 0;
  for (size_t n = 0; n < pages.size() / bytes; ++n) {
    const u32 page = u32(n / (page_rows * 32)), place = u32(n % (page_rows * 32)), face = place / 256;
    // A tile is four faces of 16 x 16: left and right above, left and right below.
    const u32 row = page_rows == 1 ? 0 : face / 2 * 16 + place % 256 / 16;
    const u32 col = page_rows == 1 ? place : face % 2 * 16 + place % 16;
    if (page / tiles_across % tiles_down * page_rows + row < rows && page % tiles_across * 32 + col < cols) continue;
    u32 value = 0;
    std::memcpy(&value, &pages[n * bytes], bytes);
    count += value != 0;
  }
  return count;
}

// Whether `got` is an acceptable result where `want` is exact. Denormals count as zero.
inline bool close(double got, double want, DType dtype, Bound bound) {
  if (!is_float(dtype)) return got == want;
  constexpr double kLeastNormal = std::numeric_limits<float>::min();
  if (std::isnan(want)) return std::isnan(got);
  if (std::fabs(want) > std::numeric_limits<float>::max()) want = std::copysign(INFINITY, want);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  if (std::fabs(want) <= kLeastNormal && std::fabs(got) <= kLeastNormal) return true;
  const double ulp = std::ldexp(1.0, std::max(-126, want == 0 ? -126 : std::ilogb(want)) - 23);
  const double format = dtype == bf16 ? std::ldexp(ulp, 15) : 0;
  return std::fabs(got - want) <= std::max(bound.ulp, 0.5) * ulp + format + bound.absolute;
}

class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SIMULATOR(GetParam());
    setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
    try {
      runtime();
    } catch (const SystemError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // One for all tests of a process on this device.
  static Runtime& runtime() {
    static std::map<std::string, std::unique_ptr<Runtime>> runtimes;
    std::unique_ptr<Runtime>& r = runtimes[GetParam()];
    if (!r) r = std::make_unique<Runtime>(GetParam());
    return *r;
  }
  static Tensor upload(const Array& x, DType dtype = fp32) {
    const auto& v = x.values;
    if (dtype == DType::int32) return Tensor::from_host(runtime(), std::vector<i32>(v.begin(), v.end()), x.shape);
    if (dtype == DType::uint32) return Tensor::from_host(runtime(), std::vector<u32>(v.begin(), v.end()), x.shape);
    return Tensor::from_host(runtime(), x.floats(), x.shape, dtype);
  }
  static Tensor indices(const std::vector<i32>& values) {
    return Tensor::from_host(runtime(), values, {i64(values.size())});
  }
  static std::vector<double> values_of(const Tensor& x) {
    const auto doubles = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
    if (x.dtype() == DType::int32) return doubles(x.to_host_int32());
    return x.dtype() == DType::uint32 ? doubles(x.to_host_uint32()) : doubles(x.to_host());
  }
  // x as the device stores it.
  static Array stored(const Array& x, DType dtype) {
    Array out = x;
    const std::vector<float> values = upload(x, dtype).to_host();
    out.values.assign(values.begin(), values.end());
    return out;
  }

  // Compares values, and what is stored around them with zero.
  static void expect(const std::string& name, Tensor got, const Array& want, Bound bound = {}) {
    ASSERT_EQ(got.shape(), want.shape) << name;
    const std::vector<double> values = values_of(got);
    EXPECT_EQ(values_in_padding(runtime(), got), 0u) << name << " leaves something in its padding";
    u32 wrong = 0;
    for (size_t n = 0; n < values.size(); ++n) {
      if (close(values[n], want.values[n], got.dtype(), bound) || ++wrong > 3) continue;
      ADD_FAILURE() << fmt::format("{} {}: element {} is {} instead of {}", name, testing::PrintToString(want.shape), n,
                                   values[n], want.values[n]);
    }
    EXPECT_EQ(wrong, 0u) << name << ": wrong elements of " << values.size();
  }
  // Results that are computed together, and compared one by one.
  struct Cases {
    std::vector<Tensor> got;
    std::vector<Array> want;
    std::vector<std::pair<std::string, Bound>> named;
    void add(const std::string& name, const Tensor& tensor, const Array& value, Bound bound = {}) {
      got.push_back(tensor), want.push_back(value), named.emplace_back(name, bound);
    }
    void check() {
      realize(got);
      for (size_t n = 0; n < got.size(); ++n) expect(named[n].first, got[n], want[n], named[n].second);
      *this = {};
    }
  };
  // Launches that `body` needs.
  template <class Body>
  static u64 launches(Body body) {
    const u64 before = runtime().stats().launches;
    body();
    return runtime().stats().launches - before;
  }
};

}  // namespace baretile::tensor_test

#define ON_EACH_DEVICE(suite)                                        \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("sim", "ttsim"), \
                           [](const auto& info) { return std::string(info.param); })
