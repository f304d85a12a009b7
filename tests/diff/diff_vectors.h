// Files of 32-bit words under tests/sim/vectors, recorded from ttsim by the DISABLED_RecordsVectors tests.
#pragma once
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "baretile/bits.h"

namespace baretile::diff {

inline std::string vector_path(const std::string& name) { return BARETILE_SOURCE_DIR "/tests/sim/vectors/" + name; }

inline void write_vectors(const std::string& name, const std::vector<u32>& words) {
  std::ofstream file(vector_path(name), std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), std::streamsize(words.size() * 4));
  if (!file) throw std::runtime_error("cannot write " + vector_path(name));
}

inline std::vector<u32> read_vectors(const std::string& name) {
  std::ifstream file(vector_path(name), std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + vector_path(name));
  std::vector<u32> words(size_t(file.tellg()) / 4);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(words.data()), std::streamsize(words.size() * 4));
  return words;
}

}  // namespace baretile::diff
