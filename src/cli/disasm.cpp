// baretile disasm FILE|WORD: device code as text.
#include "explain/disasm.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "baretile/error.h"
#include "cli/command.h"
#include "compiler/build/cache.h"
#include "compiler/build/elf.h"

namespace baretile::cli {
namespace fs = std::filesystem;
namespace {

constexpr u64 kMostBytes = 16 << 20;
constexpr const char* kCores[] = {"BRISC", "NCRISC", "TRISC0 (unpack)", "TRISC1 (math)", "TRISC2 (pack)"};

u32 number(const std::string& text, const char* what) {
  size_t end = 0;
  unsigned long value = 0;
  try {
    value = std::stoul(text, &end, 0);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end != text.size() || text.empty() || value > UINT32_MAX)
    throw UsageError(fmt::format("disasm: '{}' is no file and no {}; give a number as 0x28004004.", text, what));
  return u32(value);
}

// A kernel of the cache, a linked kernel, or nothing but words.
KernelImage read_image(const fs::path& path) {
  if (fs::file_size(path) > kMostBytes)
    throw UsageError(fmt::format("disasm: {} has {} bytes; device code has at most {}.", path.string(),
                                 fs::file_size(path), kMostBytes));
  if (path.extension() == ".kernel") {
    auto image = compiler::KernelCache(path.has_parent_path() ? path.parent_path() : ".").load(path.stem());
    if (!image)
      throw UsageError(fmt::format("disasm: {} is no whole kernel of the cache; build it again.", path.string()));
    return *image;
  }
  std::ifstream in(path, std::ios::binary);
  KernelImage image;
  image.code.assign(std::istreambuf_iterator<char>(in), {});
  if (!in) throw SystemError(fmt::format("disasm: cannot read {}; check its permissions.", path.string()), path);
  constexpr u8 kElf[] = {0x7F, 'E', 'L', 'F'};
  if (image.code.size() >= 4 && std::equal(std::begin(kElf), std::end(kElf), image.code.begin()))
    return compiler::read_kernel_elf(image.code, path);
  return image;
}

void print_file(const fs::path& path) {
  const KernelImage image = read_image(path);
  for (const viz::CodeLine& line : viz::disassemble(image.code, image.entry)) {
    for (size_t core = 0; core < image.entry.size(); ++core)
      if (image.entry[core] == line.offset) fmt::print("{}:\n", kCores[core]);
    fmt::print("{:6x}  {:08x}  {}{}{}\n", line.offset, line.word, line.text, line.note.empty() ? "" : "  # ",
               line.note);
  }
}

void print_word(u32 word) {
  fmt::print("RISC-V          {}\n", viz::disassemble(word));
  fmt::print("Tensix          {}\n", viz::tensix_text(word));
  if (viz::is_pushed(word)) fmt::print("Tensix, pushed  {}\n", viz::tensix_text(viz::pushed(word)));
}

int run(Arguments& arguments) {
  const std::string cfg = arguments.option("--cfg"), thd = arguments.option("--thd");
  if (arguments.words.empty()) throw UsageError("disasm: give a file or a word, as 0x28004004.");
  const std::string what = arguments.words[0];
  arguments.words.erase(arguments.words.begin());
  arguments.expect_no_more();
  if (!cfg.empty() || !thd.empty()) {
    const u32 at = number(cfg.empty() ? thd : cfg, "register number");
    const std::string fields = viz::register_text(at, cfg.empty(), number(what, "word"));
    if (fields.empty()) throw UsageError(fmt::format("disasm: register {} has no field with a name here.", at));
    fmt::print("{}\n", fields);
  } else if (fs::is_regular_file(what)) {
    print_file(what);
  } else {
    print_word(number(what, "word"));
  }
  return 0;
}

}  // namespace

extern const Command kDisasm = {
    "disasm", "device code as text: RISC-V and Tensix instructions, register words",
    "Usage: baretile disasm FILE         a kernel of the cache (.kernel), a linked kernel (ELF), or a file of words\n"
    "       baretile disasm WORD         one word in each way it can be read\n"
    "       baretile disasm --cfg N WORD a word of the backend configuration by field; --thd N: of a thread's\n",
    run};

}  // namespace baretile::cli
