#include "compiler/custom/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <mutex>

#include "baretile/error.h"
#include "compiler/build/build.h"
#include "compiler/build/embedded.h"
#include "compiler/emit/chunk.h"

namespace baretile::compiler {
namespace {

struct Registry {
  std::mutex mutex;
  std::deque<CustomOperation> operations;  // entries stay where they are
};
Registry& registry() {  // there before the first operation, which may be a global variable
  static Registry all;
  return all;
}

u32 add(CustomOperation op) {
  const char* kind = op.kernel ? "CustomKernel" : "CustomOp";
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == fmt::format("kernels/sfpu/{}.h", op.name))
      throw UsageError(fmt::format("{} {}: the library has an operation of that name; choose another.", kind, op.name));
  auto& [mutex, operations] = registry();
  const std::lock_guard lock(mutex);
  for (u32 n = 0; n < operations.size(); ++n) {
    if (operations[n].name != op.name) continue;
    if (operations[n].text == op.text && operations[n].kernel == op.kernel) return n;
    throw UsageError(
        fmt::format("{} {}: another one has that name and does something else; rename it.", kind, op.name));
  }
  operations.push_back(std::move(op));
  return u32(operations.size()) - 1;
}

// Whether it does so outside of comments.
bool calls_neighbours(std::string text) {
  for (size_t at = 0; (at = text.find('/', at)) != std::string::npos;) {
    if (const char next = text[at + 1]; next == '/' || next == '*') {
      const size_t end = text.find(next == '/' ? "\n" : "*/", at + 2);
      text.erase(at, end == std::string::npos ? end : end - at + (next == '/' ? 0 : 2));
    } else {
      ++at;
    }
  }
  return mentions(text, "fused_neighbours");
}

}  // namespace

const CustomOperation* find_custom(const std::string& name) {
  auto& [mutex, operations] = registry();
  const std::lock_guard lock(mutex);
  for (const CustomOperation& op : operations)
    if (op.name == name) return &op;
  return nullptr;
}

u32 add_custom(const std::string& name, const std::string& header) {
  return add({name, header, operands_of(name, header)});
}

u32 add_custom_kernel(const std::string& name, const std::string& text) {
  const auto fits = [](char c) { return std::isalnum(u8(c)) || c == '_'; };
  if (name.empty() || std::isdigit(u8(name[0])) || !std::all_of(name.begin(), name.end(), fits))
    throw UsageError(fmt::format("CustomKernel '{}': the name is none; use letters, digits and _.", name));
  return add({name, user_source(name, text).text, 0, true, calls_neighbours(text)});
}

const CustomOperation& custom(u32 number) {
  auto& [mutex, operations] = registry();
  const std::lock_guard lock(mutex);
  return operations.at(number);
}

}  // namespace baretile::compiler
