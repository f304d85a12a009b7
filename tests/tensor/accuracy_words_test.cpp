// Integers along an axis, block formats and choices: what is exact, and what a block keeps; see accuracy_test.cpp.
#include "tensor/accuracy.h"
#include "tensor/format.h"
#include "tensor/rows.h"

namespace baretile::tensor_test {
namespace {

class AccuracyOfWords : public OnDevice {
 protected:
  static Tensor placed(const std::vector<u32>& words, const Shape& shape, DType dtype) {
    return dtype == DType::int32 ? Tensor::from_host(runtime(), std::vector<i32>(words.begin(), words.end()), shape)
                                 : Tensor::from_host(runtime(), words, shape);
  }
  static std::vector<u32> words_of(const Tensor& x) {
    if (x.dtype() == DType::uint32) return x.to_host_uint32();
    if (x.dtype() == DType::int32) {
      const std::vector<i32> values = x.to_host_int32();
      return {values.begin(), values.end()};
    }
    std::vector<u32> out;
    for (const float v : x.to_host()) out.push_back(std::bit_cast<u32>(v));
    return out;
  }
};
ON_EACH_DEVICE(AccuracyOfWords);

TEST_P(AccuracyOfWords, IntegersAlongAnAxis) {
  Section section("Integers along an axis",
                  "Either axis of [65, 70], the sums and products modulo 2^32. Of each row and column one part is the "
                  "ends of the range and their neighbours, the rest is of every length; some hold nothing but the "
                  "least, or nothing but the largest.");
  section.header({"", "int32: wrong", "uint32: wrong"});
  constexpr i64 kRows = 65, kCols = 70;
  std::vector<u32> x(kRows * kCols);
  const std::vector<u32> all = integers();
  std::mt19937 random(7);
  for (size_t n = 0; n < x.size(); ++n) {
    const size_t row = n / kCols, col = n % kCols;
    const u32 word = all[random() % (random() % 2 ? 22 : all.size())];
    const bool odd_product = col == 4 || row == 4;  // of no power of two, so that it does not become 0
    x[n] = row == 1 || col == 1   ? 0x80000000
           : row == 2 || col == 2 ? 0x7FFFFFFF
           : row == 3 || col == 3 ? 0xFFFFFFFF
           : odd_product          ? word | 1
                                  : word;
  }
  using Fold = u32 (*)(u32, u32);
  const struct {
    const char* name;
    Tensor (*call)(const Tensor&, i64, bool);
    Fold of_signed, of_unsigned;
  } rows[] = {
      {"sum", sum, [](u32 a, u32 b) { return a + b; }, [](u32 a, u32 b) { return a + b; }},
      {"prod", prod, [](u32 a, u32 b) { return a * b; }, [](u32 a, u32 b) { return a * b; }},
      {"max", max, [](u32 a, u32 b) { return i32(a) > i32(b) ? a : b; }, [](u32 a, u32 b) { return a > b ? a : b; }},
      {"min", min, [](u32 a, u32 b) { return i32(a) < i32(b) ? a : b; }, [](u32 a, u32 b) { return a < b ? a : b; }},
  };
  u64 compared = 0;
  for (const auto& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const DType dtype : {DType::int32, DType::uint32}) {
      const Fold fold = dtype == DType::int32 ? row.of_signed : row.of_unsigned;
      u32 wrong = 0;
      for (const i64 axis : {0, 1}) {
        const std::vector<u32> got = words_of(row.call(placed(x, {kRows, kCols}, dtype), axis, false));
        for (i64 n = 0; n < i64(got.size()); ++n) {
          const auto at = [&](i64 k) { return x[size_t(axis == 0 ? k * kCols + n : n * kCols + k)]; };
          u32 want = at(0);
          for (i64 k = 1; k < (axis == 0 ? kRows : kCols); ++k) want = fold(want, at(k));
          wrong += got[size_t(n)] != want;
          EXPECT_EQ(got[size_t(n)], want) << row.name << " along " << axis << ", " << n;
        }
        compared += got.size();
      }
      cells.push_back(fmt::format("{}", wrong));
    }
    section.row(cells);
  }
  section.footer(compared);
  section.check();
}

TEST_P(AccuracyOfWords, BlockFormats) {
  Section section(
      "Block formats",
      "Blocks of 16 values of every binade from 2^-100 to 2^100, each up to 2^0 to 2^7 times smaller than the first. A "
      "step is 2^-6 (bfp8) or 2^-2 (bfp4) of the power of two in the largest; what rounds to more than 127 (7) "
      "steps stays at that.\nThe bound is that of a value to the nearest, ties away from zero. `bytes`: pages that the "
      "device packs beside those that the host does.");
  section.header({"from", "to", "bound, steps", "worst, steps", "at", "-0", "bytes that differ"});
  const Shape shape{64, 1024};
  Array x{shape, {}};
  std::mt19937 random(8);
  for (size_t n = 0; n < 64 * 1024; ++n) {
    const int scale = int(n / 16 % 200) - 100, smaller = n % 16 == 0 ? 0 : int(random() % 8);
    const double value = std::ldexp(1 + double(random() % (1 << 23)) * 0x1p-23, scale - smaller);
    x.values.push_back(random() % 2 ? value : -value);
  }
  u64 compared = 0;
  for (const DType from : {fp32, bf16})
    for (const DType to : {DType::bfp8, DType::bfp4}) {
      const Array in = from == bf16 ? stored(x, bf16) : x;
      const Tensor got = upload(in, from).cast(to);
      const std::vector<float> values = got.to_host();
      const int kept = to == DType::bfp8 ? 6 : 2;
      const double most = std::ldexp(2, kept) - 1;
      Worst worst;
      u32 negative_zeros = 0;
      for (size_t n = 0; n < values.size(); ++n) {
        double largest = 0;
        for (size_t k = n / 16 * 16; k < n / 16 * 16 + 16; ++k) largest = std::max(largest, std::fabs(in.values[k]));
        int exponent = std::ilogb(largest);
        if (to == DType::bfp4 && largest >= std::ldexp(7.5, exponent - 2)) ++exponent;  // it rounds up to that
        const double step = std::ldexp(1, exponent - kept), steps = std::fabs(in.values[n]) / step;
        const double want = std::copysign(std::min(std::floor(steps + 0.5), most) * step, in.values[n]);
        EXPECT_EQ(values[n], want) << compiler::to_string(to) << " of " << in.values[n] << " beside " << largest;
        negative_zeros += values[n] == 0 && std::signbit(values[n]);
        worst.take(std::fabs(values[n] - in.values[n]) / step, n);
      }
      std::vector<std::byte> device(got.expr()->storage.bytes()), host(device.size());
      runtime().read_pages(got.expr()->storage, 0, device);
      PageFormat(shape, to).encode(std::span<const float>(in.floats()), 0, host);
      size_t differ = 0;
      for (size_t n = 0; n < host.size(); ++n) differ += host[n] != device[n];
      section.row({compiler::to_string(from), compiler::to_string(to), "0.5; 1 at the most",
                   fmt::format("{:.3g}", worst.error), shown_value(in.values[worst.at]),
                   fmt::format("{}", negative_zeros), fmt::format("{} of {}", differ, host.size())});
      EXPECT_EQ(differ, 0u);
      compared += values.size();
    }
  section.footer(compared);
  section.check();
}

TEST_P(AccuracyOfWords, Choices) {
  Section section("Three operands",
                  "`where` moves words: all bits are those of the operand chosen, for 4,096 of all binades, NaNs, "
                  "denormals and zeros of either sign among them. bf16 gives what bf16 gives that is read: a NaN is an "
                  "infinity, -0 and denormals are 0.");
  section.header({"", "dtype", "wrong"});
  const Shape shape{64, 64};
  std::vector<u32> x, y;
  std::vector<double> condition;
  std::mt19937 random(9);
  for (size_t n = 0; n < 4096; ++n) {
    x.push_back(u32(random())), y.push_back(u32(random()));
    if (n % 16 == 0) x.back() &= 0x807FFFFF;            // denormals
    if (n % 16 == 1) y.back() = x.back() & 0x80000000;  // zeros
    if (n % 16 == 2) x.back() |= 0x7F800001;            // NaNs
    condition.push_back(random() % 2);
  }
  const Tensor which = upload({shape, condition}, DType::boolean);
  const auto floats = [](const std::vector<u32>& words) {
    std::vector<float> out;
    for (const u32 word : words) out.push_back(float_of(word));
    return out;
  };
  u64 compared = 0;
  for (const DType dtype : {fp32, bf16, DType::int32, DType::uint32}) {
    std::vector<u32> got;
    if (dtype == fp32) {
      got = words_of(
          where(which, Tensor::from_host(runtime(), floats(x), shape), Tensor::from_host(runtime(), floats(y), shape)));
    } else if (dtype == bf16) {
      const auto halves = [](const std::vector<u32>& words) {
        std::vector<u16> out;
        for (const u32 word : words) out.push_back(u16(word >> 16));
        return out;
      };
      got = words_of(where(which, Tensor::from_host_bf16(runtime(), halves(x), shape),
                           Tensor::from_host_bf16(runtime(), halves(y), shape)));
    } else {
      got = words_of(where(which, placed(x, shape, dtype), placed(y, shape, dtype)));
    }
    u32 wrong = 0;
    for (size_t n = 0; n < got.size(); ++n) {
      u32 want = condition[n] != 0 ? x[n] : y[n];
      if (dtype == bf16) {
        const float high = float_of(want & 0xFFFF0000);
        want = std::bit_cast<u32>(std::fabs(high) < kMin ? 0.0f : std::isnan(high) ? std::copysign(kInf, high) : high);
      }
      wrong += got[n] != want;
      EXPECT_EQ(got[n], want) << compiler::to_string(dtype) << " element " << n;
    }
    section.row({"where", compiler::to_string(dtype), fmt::format("{}", wrong)});
    compared += got.size();
  }
  section.footer(compared);
  section.check();
}

}  // namespace
}  // namespace baretile::tensor_test
