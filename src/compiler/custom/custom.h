// Operations that users bring, see baretile/custom.h. A node of Op::custom or Op::custom_kernel has the number of one
// in attrs[0].
#pragma once
#include <string>

#include "compiler/kernel_spec.h"

namespace baretile::compiler {

struct CustomOperation {
  std::string name, text;  // a header for the vector unit, or a kernel
  u32 operands = 0;        // of a header
  bool kernel = false;
  bool fuses = false;  // a kernel: it calls fused_neighbours
};

// The same name and text give the same number. UsageError, see baretile/custom.h.
u32 add_custom(const std::string& name, const std::string& header);
u32 add_custom_kernel(const std::string& name, const std::string& text);
const CustomOperation& custom(u32 number);
const CustomOperation* find_custom(const std::string& name);  // or null

// The text of a kernel of the user's, with the operations that fuse_after_custom gave it. Throws KernelTooLarge.
std::string custom_text(const KernelSpec& spec);

}  // namespace baretile::compiler
