#include "compiler/emit/code.h"

#include <cctype>

namespace baretile::compiler {
namespace {

void add_term(std::string& sum, const std::string& term) { sum += sum.empty() ? term : " + " + term; }

void add_digits(std::string& sum, const std::vector<Digit>& digits, std::string_view index) {
  std::string rest(index);
  for (size_t n = 0; n < digits.size(); ++n) {
    const bool last = n + 1 == digits.size();
    const std::string digit = last ? rest : fmt::format("{} % {}", rest, digits[n].size);
    if (digits[n].stride == 1) {
      add_term(sum, digit);
    } else if (digits[n].stride != 0) {
      add_term(sum, fmt::format("{} * {}", digit, u32(digits[n].stride)));
    }
    if (!last) rest = fmt::format("{} / {}", rest, digits[n].size);
  }
}

}  // namespace

bool mentions(const std::string& text, std::string_view name) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !word(text[at - 1])) && (end == text.size() || !word(text[end]))) return true;
  }
  return false;
}

std::string page_expression(const PageMap& map, std::string_view batch, std::string_view row, std::string_view col) {
  std::string sum;
  add_digits(sum, map.batch, batch);
  add_digits(sum, map.row, row);
  add_digits(sum, map.col, col);
  if (map.offset != 0 || sum.empty()) add_term(sum, fmt::format("{}", u32(map.offset)));
  return sum;
}

std::string format_name(const KernelBuffer& buffer) {
  const bool word = buffer.tiling != Tiling::split && dtype_bytes(buffer.dtype) == 4;
  const char* name = word                          ? "fp32"
                     : buffer.dtype == DType::bfp4 ? "bfp4"
                     : buffer.dtype == DType::bfp8 ? "bfp8"
                                                   : "bf16";
  return fmt::format("Format::{}", name);
}

}  // namespace baretile::compiler
