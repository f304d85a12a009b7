// How exactly every operation computes, against double: each within its bound, and docs/accuracy.md says the worst.
// Both simulators must make the same page.
#include "tensor/accuracy.h"

#include "tensor/rows.h"

namespace baretile::tensor_test {
namespace {

using compiler::Kind;

class Accuracy : public OnDevice {
 protected:
  struct Column {
    std::vector<double> got;
    DType dtype;
    Worst worst;
  };
  // What a row gives for operands as they are stored, and how far it is off.
  static Column measure(const Row& row, const Tensor& result, const Array& x, const Array& y) {
    Column out{values_of(result), result.dtype(), {}};
    for (size_t n = 0; n < out.got.size(); ++n)
      out.worst.take(ulps(out.got[n], expected(row, x.values[n], y.values[n]), out.dtype), n);
    EXPECT_EQ(values_in_padding(runtime(), result), 0u) << row.name << " leaves something in its padding";
    EXPECT_LE(out.worst.error, bound(row, out.dtype)) << fmt::format(
        "{} of {} {}, {}", row.name, compiler::to_string(out.dtype), x.values[out.worst.at], y.values[out.worst.at]);
    return out;
  }
  // In the last place of the dtype. bf16 results are those of fp32, rounded once.
  static double bound(const Row& row, DType dtype) {
    return row.ulp == 0 || !is_float(dtype) ? 0 : dtype == bf16 ? 0.5 + row.ulp / 65536 : row.ulp;
  }

  // All rows of so many operands that take floats, in one program.
  static std::vector<Tensor> results(u32 operands, const Array& x, const Array& y, DType dtype) {
    const Tensor a = upload(x, dtype), b = upload(y, dtype);
    std::vector<Tensor> out;
    for (const Row& row : kRows)
      if (row.operands == operands && takes_floats(row)) out.push_back(row.call(a, b));
    realize(out);
    return out;
  }
};
ON_EACH_DEVICE(Accuracy);

// bf16 that has been read: a NaN is an infinity, a denormal or -0 is 0.
Array as_bf16(const Array& x) {
  return map(x, [](double v) {
    const float high = float_of(std::bit_cast<u32>(float(v)) & 0xFFFF0000);
    return std::fabs(high) < kMin ? 0.0 : double(std::isnan(high) ? std::copysign(kInf, high) : high);
  });
}

TEST_P(Accuracy, OfOneOperand) {
  Section section(
      "One operand",
      "fp32: 256 values of each exponent and sign, infinities, NaNs and denormals among them, and all 65,536 bf16 "
      "values. bf16: all 65,536.\nThe last columns are fp32's results for special values, `tiny` for a denormal.");
  section.header({"", "bound", "fp32: worst", "at", "nearest, %", "bf16: worst", "at", "-inf", "-tiny", "-0", "0",
                  "tiny", "inf", "NaN"});
  const Array &samples = every_binade(), &all = every_bf16(), stored = as_bf16(all);
  const std::vector<Tensor> wide = results(1, samples, samples, fp32), short_in = results(1, all, all, fp32),
                            narrow = results(1, stored, stored, bf16);
  u64 compared = 0;
  size_t n = 0;
  for (const Row& row : kRows) {
    if (row.operands != 1 || !takes_floats(row)) continue;
    const Column a = measure(row, wide[n], samples, samples), b = measure(row, short_in[n], all, all),
                 c = measure(row, narrow[n], stored, stored);
    ++n;
    const bool first = a.worst.error >= b.worst.error;
    Worst both = first ? a.worst : b.worst;
    both.compared = a.worst.compared + b.worst.compared, both.nearest = a.worst.nearest + b.worst.nearest;
    compared += both.compared + c.worst.compared;
    const auto at = [](const Worst& worst, const Array& x) {
      return worst.error == 0 ? "" : shown_value(x.values[worst.at]);
    };
    std::vector<std::string> cells{row.name,
                                   shown(row.ulp),
                                   shown(both.error),
                                   at(both, first ? samples : all),
                                   both.percent_nearest(),
                                   shown(c.worst.error),
                                   at(c.worst, stored)};
    // Exponent and sign, times 256, and the mantissa: 0 is the least, 1 the largest.
    for (const size_t special : {511 * 256, 256 * 256 + 1, 256 * 256, 0, 1, 255 * 256, 255 * 256 + 1})
      cells.push_back(shown_value(a.got[special]));
    section.row(cells);
  }
  section.footer(compared);
  section.check();
}

TEST_P(Accuracy, OfTwoOperands) {
  Section section(
      "Two operands",
      "8,192 pairs: x of every binade, y likewise, or near x or -x, or about 1; pow takes 12,288 more, whose results "
      "reach both ends of the range.\nAll pairs of 20 special values give what the reference gives.");
  section.header({"", "bound", "fp32: worst", "at x", "at y", "nearest, %", "bf16: worst", "at x", "at y"});
  const auto [x, y] = pairs();
  const auto [base, exponent] = powers();
  const Array short_x = as_bf16(x), short_y = as_bf16(y);
  const std::vector<Tensor> wide = results(2, x, y, fp32), narrow = results(2, short_x, short_y, bf16);
  u64 compared = 0;
  size_t n = 0;
  for (const Row& row : kRows) {
    if (row.operands != 2 || !takes_floats(row)) continue;
    Column a = measure(row, wide[n], x, y), b = measure(row, narrow[n], short_x, short_y);
    ++n;
    const Array *left = &x, *right = &y;
    if (row.name == std::string("pow")) {
      const Column more = measure(row, row.call(upload(base), upload(exponent)), base, exponent);
      if (more.worst.error > a.worst.error) left = &base, right = &exponent;
      const Worst before = a.worst;
      a.worst = left == &base ? more.worst : before;
      a.worst.compared = before.compared + more.worst.compared, a.worst.nearest = before.nearest + more.worst.nearest;
    }
    compared += a.worst.compared + b.worst.compared;
    const auto at = [](const Worst& worst, const Array& v) {
      return worst.error == 0 ? "" : shown_value(v.values[worst.at]);
    };
    section.row({row.name, shown(row.ulp), shown(a.worst.error), at(a.worst, *left), at(a.worst, *right),
                 a.worst.percent_nearest(), shown(b.worst.error), at(b.worst, short_x), at(b.worst, short_y)});
  }
  section.footer(compared);
  section.check();
}

TEST_P(Accuracy, OfIntegers) {
  Section section("Integers",
                  "Exact modulo 2^32, or as booleans, over all pairs of 64 numbers: the ends of the ranges, shift "
                  "counts, the ends of a product's parts, and others of every length.");
  section.header({"", "int32: wrong", "uint32: wrong"});
  std::vector<u32> x, y;
  for (const u32 a : integers())
    for (const u32 b : integers()) x.push_back(a), y.push_back(b);
  const Shape shape{64, 64};
  std::map<std::string, std::vector<std::string>> wrong;
  u64 compared = 0;
  for (const DType dtype : {DType::int32, DType::uint32}) {
    const bool is_signed = dtype == DType::int32;
    const auto placed = [&](const std::vector<u32>& words) {
      return is_signed ? Tensor::from_host(runtime(), std::vector<i32>(words.begin(), words.end()), shape)
                       : Tensor::from_host(runtime(), words, shape);
    };
    const Tensor a = placed(x), b = placed(y);
    std::map<const Row*, Tensor> of;
    std::vector<Tensor> all;
    for (const Row& row : kRows)
      if (takes_integers(row)) all.push_back(of[&row] = row.call(a, b));
    realize(all);
    for (const auto& [key, result] : of) {
      const Row* row = key;
      ASSERT_EQ(result.dtype(), compiler::gives_boolean(row->kind) ? DType::boolean : dtype) << row->name;
      const std::vector<double> got = values_of(result);
      const auto value = [&](u32 word) { return is_signed || signless(*row) ? i64(i32(word)) : i64(word); };
      u32 count = 0;
      for (size_t n = 0; n < got.size(); ++n) {
        const u32 want = u32(row->integer(value(x[n]), value(y[n])));
        if (u32(i64(got[n])) == want || ++count > 3) continue;
        ADD_FAILURE() << fmt::format("{} of {:#x}, {:#x} is {} instead of {:#x}", row->name, x[n], y[n], got[n], want);
      }
      compared += got.size();
      wrong[row->name].push_back(fmt::format("{}", count));
    }
  }
  for (const Row& row : kRows)
    if (takes_integers(row)) section.row({row.name, wrong[row.name][0], wrong[row.name][1]});
  section.footer(compared);
  section.check();
}

}  // namespace
}  // namespace baretile::tensor_test
