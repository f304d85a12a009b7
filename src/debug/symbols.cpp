#include "debug/symbols.h"

#include <elf.h>

#include <algorithm>

namespace baretile::debug {
namespace {

// The contents of a section; empty when there is none of that name.
Bytes section(const Bytes& file, const std::string& name) {
  Bytes start = file;
  const auto header = start.take<Elf32_Ehdr>();
  const auto at = [&](u32 index) {
    return file.part(header.e_shoff + u64{index} * sizeof(Elf32_Shdr), sizeof(Elf32_Shdr)).take<Elf32_Shdr>();
  };
  const Elf32_Shdr strings = at(header.e_shstrndx);
  for (u32 i = 0; i < header.e_shnum; ++i) {
    const Elf32_Shdr s = at(i);
    if (s.sh_name < strings.sh_size &&
        file.part(u64{strings.sh_offset} + s.sh_name, strings.sh_size - s.sh_name).text() == name)
      return file.part(s.sh_offset, s.sh_size);
  }
  return {};
}

// Headers of the kernel library lie in a folder of the cache: kernels/noc.h tells more than where that is.
std::string short_name(const std::string& file) {
  const size_t folder = file.find("/headers-"), end = folder == std::string::npos ? folder : file.find('/', folder + 1);
  return end == std::string::npos ? file : file.substr(end + 1);
}

std::map<u32, Site> read_sites(Bytes sites) {
  std::map<u32, Site> out;
  while (sites.left() > 0) {
    const size_t begin = sites.at();
    const u32 id = sites.take<u32>(), bytes = sites.take<u32>();
    Bytes body = sites.part(begin, bytes);
    body.skip(8);
    Site& site = out[id];
    site.where.line = body.take<u32>();
    site.where.file = short_name(body.text());
    site.text = body.text();
    if (body.left() > 0) site.names = body.text();
    sites.skip(bytes - 8);
  }
  return out;
}

}  // namespace

Symbols::Symbols(std::span<const u8> linked) {
  const Bytes file(linked);
  table_ = read_lines(section(file, ".debug_line"));
  for (std::string& name : table_.files) name = short_name(name);
  calls_ =
      read_inlined_calls(section(file, ".debug_info"), section(file, ".debug_abbrev"), section(file, ".debug_ranges"));
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const InlinedCall& a, const InlinedCall& b) { return a.depth > b.depth; });
  sites_ = read_sites(section(file, ".bt_sites"));
}

std::vector<Line> Symbols::lines(u32 address) const {
  const auto line = [&](u32 file, u32 number) {
    return Line{file < table_.files.size() ? table_.files[file] : "", number};
  };
  std::vector<Line> out;
  for (const LineRange& r : table_.ranges) {
    if (address < r.first || address >= r.end) continue;
    out.push_back(line(r.file, r.line));
    break;
  }
  if (out.empty()) return out;
  for (const InlinedCall& c : calls_)
    if (address >= c.first && address < c.end) out.push_back(line(c.file, c.line));
  return out;
}

const Site* Symbols::site(u32 id) const {
  const auto at = sites_.find(id);
  return at == sites_.end() ? nullptr : &at->second;
}

std::string to_string(const Line& line) { return fmt::format("{}:{}", line.file, line.line); }

}  // namespace baretile::debug
