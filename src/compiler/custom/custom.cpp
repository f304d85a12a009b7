#include "compiler/custom/custom.h"

#include <fmt/format.h>

#include <deque>
#include <mutex>

#include "baretile/error.h"
#include "compiler/build/embedded.h"
#include "compiler/emit/chunk.h"

namespace baretile::compiler {
namespace {

std::mutex mutex;
std::deque<CustomOperation> operations;  // entries stay where they are

}  // namespace

const CustomOperation* find_custom(const std::string& name) {
  const std::lock_guard lock(mutex);
  for (const CustomOperation& op : operations)
    if (op.name == name) return &op;
  return nullptr;
}

u32 add_custom(const std::string& name, const std::string& header) {
  const u32 operands = operands_of(name, header);
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == fmt::format("kernels/sfpu/{}.h", name))
      throw UsageError(fmt::format("CustomOp {}: the library has an operation of that name; choose another.", name));
  const std::lock_guard lock(mutex);
  for (u32 n = 0; n < operations.size(); ++n) {
    if (operations[n].name != name) continue;
    if (operations[n].header == header) return n;
    throw UsageError(fmt::format("CustomOp {}: another one has that name and does something else; rename it.", name));
  }
  operations.push_back({name, header, operands});
  return u32(operations.size()) - 1;
}

const CustomOperation& custom(u32 number) {
  const std::lock_guard lock(mutex);
  return operations.at(number);
}

}  // namespace baretile::compiler
