#include "compiler/build/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "baretile/error.h"

namespace baretile::compiler {
namespace {

constexpr u32 kMaxCodeBytes = abi::kKernelArenaBytes;
constexpr std::array<std::string_view, 5> kEntryNames{"kernel_brisc", "kernel_ncrisc", "kernel_trisc0", "kernel_trisc1",
                                                      "kernel_trisc2"};

class Reader {
 public:
  Reader(std::span<const u8> file, const std::string& source) : file_(file), source_(source) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw CompileError(fmt::format("kernel {} {}", source_, what), source_, "reading the linked kernel", "");
  }

  // The offset comes from the file, so it is checked.
  template <class T>
  T at(u64 offset) const {
    T value;
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) fail("was linked to a truncated ELF file");
    std::memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> table(const Elf32_Shdr& section) const {
    std::vector<T> out;
    for (u32 i = 0; i < section.sh_size / sizeof(T); ++i) out.push_back(at<T>(u64{section.sh_offset} + i * sizeof(T)));
    return out;
  }
  std::string_view string(const Elf32_Shdr& strings, u32 offset) const {
    std::string_view rest;
    if (u64{strings.sh_offset} + strings.sh_size <= file_.size() && offset < strings.sh_size)
      rest = {reinterpret_cast<const char*>(file_.data()) + strings.sh_offset + offset, strings.sh_size - offset};
    return rest.substr(0, rest.find('\0'));
  }
  std::vector<u8> bytes(u64 offset, u64 count) const {
    if (offset > file_.size() || count > file_.size() - offset) fail("was linked to a truncated ELF file");
    return {file_.begin() + i64(offset), file_.begin() + i64(offset + count)};
  }

 private:
  std::span<const u8> file_;
  const std::string& source_;
};

std::vector<Elf32_Shdr> sections(const Reader& file) {
  const auto header = file.at<Elf32_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
      header.e_machine != EM_RISCV)
    file.fail("was not linked to a 32-bit RISC-V ELF file; check which ld.lld is in PATH");
  std::vector<Elf32_Shdr> out;
  for (u32 i = 0; i < header.e_shnum; ++i)
    out.push_back(file.at<Elf32_Shdr>(u64{header.e_shoff} + i * sizeof(Elf32_Shdr)));
  return out;
}

// The linker leaves the relocations it applied (-q); those that put an absolute address into the image tie it to one
// place.
void check_position_independent(const Reader& file, const Elf32_Shdr& relocations,
                                const std::vector<Elf32_Sym>& symbols) {
  for (const Elf32_Rela& r : file.table<Elf32_Rela>(relocations)) {
    const u32 type = ELF32_R_TYPE(r.r_info), symbol = ELF32_R_SYM(r.r_info);
    if (type != R_RISCV_32 && type != R_RISCV_HI20 && type != R_RISCV_LO12_I && type != R_RISCV_LO12_S) continue;
    if (symbol < symbols.size() && symbols[symbol].st_shndx == SHN_ABS) continue;
    file.fail(fmt::format(
        "holds an absolute address at {:#x} (a table of pointers?); kernels run wherever the arena has room",
        r.r_offset));
  }
}

}  // namespace

KernelImage read_kernel_elf(std::span<const u8> bytes, const std::string& source_path) {
  const Reader file(bytes, source_path);
  KernelImage image;
  std::vector<Elf32_Sym> symbols;
  const std::vector<Elf32_Shdr> all = sections(file);
  for (const Elf32_Shdr& s : all) {
    if (s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_EXECINSTR)) image.code = file.bytes(s.sh_offset, s.sh_size);
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= all.size()) continue;
    symbols = file.table<Elf32_Sym>(s);
    for (const Elf32_Sym& symbol : symbols) {
      const auto name = std::find(kEntryNames.begin(), kEntryNames.end(), file.string(all[s.sh_link], symbol.st_name));
      if (name != kEntryNames.end() && symbol.st_shndx != SHN_UNDEF)
        image.entry[size_t(name - kEntryNames.begin())] = symbol.st_value;
    }
  }
  for (const Elf32_Shdr& s : all)
    if (s.sh_type == SHT_RELA && s.sh_info < all.size() && (all[s.sh_info].sh_flags & SHF_ALLOC))
      check_position_independent(file, s, symbols);
  if (image.code.size() > kMaxCodeBytes)
    file.fail(fmt::format("has {} bytes of code; the kernel arena has {}", image.code.size(), kMaxCodeBytes));
  u32 found = 0;
  for (const u32 entry : image.entry) {
    if (entry == abi::kNoEntry) continue;
    if (entry >= image.code.size()) file.fail("has a kernel function outside its code");
    ++found;
  }
  if (found == 0)
    file.fail(
        "defines none of kernel_brisc, kernel_ncrisc, kernel_trisc0, kernel_trisc1, kernel_trisc2 as extern \"C\"");
  return image;
}

}  // namespace baretile::compiler
