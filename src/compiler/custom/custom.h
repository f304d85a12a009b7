// Operations that users bring, see baretile/custom.h. A node of Op::custom has the number of one in attrs[0].
#pragma once
#include <string>

#include "baretile/bits.h"

namespace baretile::compiler {

struct CustomOperation {
  std::string name, header;
  u32 operands = 0;
};

// The same name and header give the same number. UsageError, see baretile/custom.h.
u32 add_custom(const std::string& name, const std::string& header);
const CustomOperation& custom(u32 number);
const CustomOperation* find_custom(const std::string& name);  // or null

}  // namespace baretile::compiler
