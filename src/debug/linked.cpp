#include "debug/linked.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "baretile/error.h"
#include "compiler/build/cache.h"
#include "compiler/build/clang.h"
#include "compiler/build/elf.h"

namespace baretile::debug {

std::vector<u8> linked_with_lines(const KernelImage& image) {
  if (image.source.empty())
    throw UsageError(fmt::format("kernel {} was not made by build_kernels; its lines are not known", image.name));
  const std::filesystem::path source = image.source, linked = std::filesystem::path(source).replace_extension(".elf");
  if (!std::filesystem::exists(source))
    throw SystemError(fmt::format("{} was removed since kernel {} was built; build it again", image.source, image.name),
                      image.source);
  const compiler::KernelCache cache(source.parent_path());
  const compiler::FileLock lock = cache.lock(image.key);
  std::optional<std::string> file = cache.read_text(linked.filename());
  if (!file) {
    const char* path = std::getenv("PATH");
    compiler::compile_kernel(compiler::find_toolchain(cache, path ? path : ""), cache.headers(), source,
                             {image.debug, true});
    file = cache.read_text(linked.filename());
  }
  const std::vector<u8> bytes(file->begin(), file->end());
  if (compiler::read_kernel_elf(bytes, source).code != image.code)
    throw SystemError(fmt::format("{} is not of the code that runs; remove it", linked.string()), linked);
  return bytes;
}

}  // namespace baretile::debug
