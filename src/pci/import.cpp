#include "pci/import.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace baretile::pci {
namespace {

using Relocations = std::span<const ElfW(Rela)>;

// The dynamic section's values by tag; it needs few of the small tags.
struct Dynamic {
  uintptr_t base, value[DT_JMPREL + 1] = {};
  explicit Dynamic(const link_map& map) : base(map.l_addr) {
    for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; entry++)
      if (entry->d_tag <= DT_JMPREL) value[entry->d_tag] = entry->d_un.d_ptr;
  }
  template <class T>
  const T* table(int tag) const {  // glibc has relocated these addresses already, except where it maps them read-only
    return reinterpret_cast<const T*>(value[tag] < base ? value[tag] + base : value[tag]);
  }
  Relocations relocations(int tag, int size_tag) const {
    return {table<ElfW(Rela)>(tag), value[size_tag] / sizeof(ElfW(Rela))};
  }
};

void store_slot(uintptr_t slot, void* target) {
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), start = slot & ~(page - 1);
  // Most slots lie in pages that became read-only after loading (RELRO).
  mprotect(reinterpret_cast<void*>(start), slot + sizeof target - start, PROT_READ | PROT_WRITE);
  std::memcpy(reinterpret_cast<void*>(slot), &target, sizeof target);
}

}  // namespace

int redirect_imports(void* handle, std::span<const Redirect> redirects) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return 0;
  const Dynamic dynamic(*map);
  const auto* symbols = dynamic.table<ElfW(Sym)>(DT_SYMTAB);
  int found = 0;
  // Data and calls that load the address first; calls through the procedure linkage table.
  for (const Relocations& table :
       {dynamic.relocations(DT_RELA, DT_RELASZ), dynamic.relocations(DT_JMPREL, DT_PLTRELSZ)})
    for (const ElfW(Rela) & relocation : table) {
      const size_t index = ELF64_R_SYM(relocation.r_info);
      if (index == 0 || symbols[index].st_shndx != SHN_UNDEF) continue;
      const char* symbol = dynamic.table<char>(DT_STRTAB) + symbols[index].st_name;
      for (const Redirect& redirect : redirects)
        if (std::strcmp(symbol, redirect.symbol) == 0) {
          store_slot(map->l_addr + relocation.r_offset, redirect.target);
          found++;
        }
    }
  return found;
}

}  // namespace baretile::pci
