#include "compiler/build/embedded.h"

#include "compiler/build/cache.h"

extern "C" {
struct BaretileEmbeddedFile {
  const char* path;
  const char* text;
  unsigned long bytes;
};
extern const BaretileEmbeddedFile baretile_embedded_files[];  // made by cmake/device_code.cmake, ends with a null path
}

namespace baretile::compiler {

std::span<const EmbeddedFile> embedded_files() {
  static const std::vector<EmbeddedFile> files = [] {
    std::vector<EmbeddedFile> out;
    for (const BaretileEmbeddedFile* f = baretile_embedded_files; f->path; ++f)
      out.push_back({f->path, {f->text, f->bytes}});
    return out;
  }();
  return files;
}

const std::string& embedded_hash() {
  static const std::string hash = [] {
    Sha256 sha;
    for (const EmbeddedFile& f : embedded_files()) sha.add(f.path).add(f.text);
    return sha.hex();
  }();
  return hash;
}

}  // namespace baretile::compiler
