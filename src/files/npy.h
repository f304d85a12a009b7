// NumPy's .npy: a header that is a Python dictionary, then the elements. Versions 1 to 3 are read, 1 is written.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "baretile/bits.h"

namespace baretile {

struct NpyArray {
  std::string type;  // little-endian: "<f4", "<i8", "|b1", …
  bool fortran_order = false;
  std::vector<u64> shape;
  std::span<const std::byte> data;  // exactly the elements

  u64 elements() const;
  u32 element_bytes() const { return u32(type[2] - '0'); }
};

// Throws UsageError starting with `where` when anything does not fit.
NpyArray read_npy(std::span<const std::byte> file, const std::string& where);
std::string npy_header(const std::string& type, const std::vector<i64>& shape);

}  // namespace baretile
