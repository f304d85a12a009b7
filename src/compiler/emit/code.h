// Building the text of a tile program.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// Lines with indentation.
class Code {
 public:
  explicit Code(u32 depth = 0) : depth_(depth) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    line("{} {{", fmt::format(format, std::forward<Args>(args)...));
    ++depth_;
  }
  void close(std::string_view end = "}") {
    --depth_;
    line("{}", end);
  }
  void otherwise() {
    close("} else {");
    ++depth_;
  }
  void append(const Code& other) { text_ += other.text_; }
  bool empty() const { return text_.empty(); }
  u32 depth() const { return depth_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  u32 depth_;
};

// True when `name` stands in the text as a whole identifier.
bool mentions(const std::string& text, std::string_view name);

// Of a buffer's pages, in the text of a kernel.
std::string format_name(const KernelBuffer& buffer);

// The page of a map as an expression of the given index variables.
std::string page_expression(const PageMap& map, std::string_view batch, std::string_view row, std::string_view col);

}  // namespace baretile::compiler
