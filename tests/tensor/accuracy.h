// docs/accuracy.md: each test measures and writes one section of it. BARETILE_UPDATE_DOCS=1 puts what was measured into
// the page; otherwise the page must say it already.
#pragma once
#include <fmt/ranges.h>

#include <fstream>
#include <sstream>

#include "tensor/support.h"

namespace baretile::tensor_test {

// In units of the last place that `dtype` has at the larger of the exact value and `scale`; infinite for a NaN,
// infinity or whole number that is missed. Past the largest number lies infinity, one step on. Denormals count as zero,
// and bf16 stores a NaN as an infinity.
inline double ulps(double got, double want, DType dtype, double scale = 0) {
  if (!is_float(dtype)) return got == want ? 0 : INFINITY;
  if (std::isnan(want)) return (dtype == bf16 ? std::isinf(got) : std::isnan(got)) ? 0 : INFINITY;
  if (std::isinf(want)) return got == want ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  constexpr double kLeastNormal = std::numeric_limits<float>::min();
  if (std::fabs(want) <= kLeastNormal && std::fabs(got) <= kLeastNormal) return 0;
  got = std::clamp(got, -0x1p128, 0x1p128), want = std::clamp(want, -0x1p128, 0x1p128);
  const int exponent = std::max(-126, std::ilogb(std::max({std::fabs(want), scale, kLeastNormal})));
  return std::fabs(got - want) / std::ldexp(1.0, exponent - (dtype == bf16 ? 7 : 23));
}

struct Worst {
  double error = 0;
  size_t at = 0;
  u64 compared = 0, nearest = 0;  // results in all, and those that are the nearest number to the exact value
  void take(double e, size_t n) {
    if (e > error) error = e, at = n;
    nearest += e <= 0.5;
    ++compared;
  }
  std::string percent_nearest() const {  // rounded down, so that 100 means all
    return nearest == compared ? "100"
                               : fmt::format("{:.1f}", std::floor(1000.0 * double(nearest) / double(compared)) / 10);
  }
};

inline std::string shown(double error) { return error == 0 ? "exact" : fmt::format("{:.3g}", error); }
inline std::string shown_value(double value) { return std::isnan(value) ? "NaN" : fmt::format("{}", float(value)); }

inline constexpr const char* kPreamble = R"(# Accuracy

How far results lie from exact ones, as `tensor_test --gtest_filter='Accuracy*'` measures and checks it: in units of the last place (ulp) of the
result's dtype at the exact value, which is computed in double with the C library. Both simulators make this page. `nearest` says how many
results are the nearest number to the exact one.

- fp32 results are within `bound`. bf16 results are those of fp32, rounded once, ties away from zero: 0.5 ulp, and 2^-16 of the fp32 bound.
- Denormals count as zero, as operands and as results (operations that only move bits keep them). What is beyond the largest number becomes infinite.
- fp32 NaNs come out of arithmetic as NaNs; comparisons with them are false, `not_equal` is true. bf16 has no NaN on this chip: one that is read or
  stored is an infinity, and a -0 that is read is 0.
)";

class Section {
 public:
  Section(const std::string& title, const std::string& text) : title_("## " + title + "\n"), text_(text + "\n") {}
  void header(const std::vector<std::string>& cells) {
    text_ += "\n";
    row(cells);
    for (size_t n = 0; n < cells.size(); ++n) text_ += "|---";
    text_ += "|\n";
  }
  void row(const std::vector<std::string>& cells) { text_ += fmt::format("| {} |\n", fmt::join(cells, " | ")); }

  void footer(u64 compared) { text_ += fmt::format("\n{} results were compared.\n", compared); }

  void check() const {
    const std::string path = BARETILE_SOURCE_DIR "/docs/accuracy.md";
    std::stringstream in;
    in << std::ifstream(path).rdbuf();
    std::string page = in.str();
    if (page.empty() && std::getenv("BARETILE_UPDATE_DOCS")) page = kPreamble;
    const size_t first = std::min(page.find(title_), page.size()), next = page.find("\n## ", first);
    const size_t length = next == std::string::npos ? page.size() - first : next + 1 - first;
    const std::string end = next == std::string::npos ? "" : "\n", wanted = title_ + "\n" + text_ + end;
    if (std::getenv("BARETILE_UPDATE_DOCS")) {
      const std::string before = page.substr(0, first) + (first == page.size() ? "\n" : "");
      std::ofstream(path) << before + wanted + page.substr(first + length);
      return;
    }
    EXPECT_EQ(page.substr(0, std::strlen(kPreamble)), kPreamble);
    EXPECT_EQ(page.substr(first, length), wanted)
        << "write it anew: BARETILE_UPDATE_DOCS=1 tensor_test --gtest_filter='Accuracy*/sim'";
  }

 private:
  std::string title_, text_;
};

}  // namespace baretile::tensor_test
