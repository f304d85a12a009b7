#include "compiler/emit/attention.h"

#include <algorithm>
#include <bit>

#include "baretile/error.h"
#include "compiler/emit/code.h"

namespace baretile::compiler {

std::string attention_text(const KernelSpec& spec) {
  const AttentionKernel& a = spec.attention;
  if (a.width_tiles * 32 > kWidestAttention)
    throw Unsupported(fmt::format("kernel {}: values of {} tiles do not fit in Dst", spec.name, a.width_tiles));
  const auto buffer = [&](const Access& access) -> const KernelBuffer& { return spec.buffers.at(access.buffer); };
  const auto bytes = [&](const Access& access) { return page_bytes(buffer(access).tiling, buffer(access).dtype); };
  Code code;
  code.line("// {}", spec.name);
  code.line(
      "#include \"compute.h\"\n#include \"whole/attention.h\"\n\nusing namespace baretile;\nusing namespace "
      "baretile::kernel;\n");
  code.open("struct Work");
  code.line("static constexpr u32 kBatch = {}, kQueries = {}, kKeys = {}, kQueryTiles = {}, kKeyTiles = {};", a.batch,
            a.queries, a.keys, ceil_div(a.queries, 32), ceil_div(a.keys, 32));
  code.line("static constexpr u32 kDepth = {}, kWidth = {}, kPhases = {}, kScale = {};", a.depth_tiles, a.width_tiles,
            a.phases, std::bit_cast<u32>(float(a.scale)));
  code.line("static constexpr u32 kQueryBytes = {}, kTileBytes = {}, kMaskBytes = {}, kOutBytes = {}, kSlot = {};",
            bytes(a.query), bytes(a.key), bytes(a.mask), bytes(a.out), std::max(bytes(a.key), bytes(a.mask)));
  code.line("static constexpr bool kCausal = {}, kMasked = {}, kShows = {}, kMaskOneRow = {};", a.causal, a.masked,
            a.masked && buffer(a.mask).dtype == DType::boolean, buffer(a.mask).tiling == Tiling::row);
  code.line("static constexpr Format kFormat = {}, kMaskFormat = {};", format_name(buffer(a.key)),
            format_name(buffer(a.mask)));
  const auto pages = [&](const char* name, const char* number, const Access& access) {
    code.line("static constexpr u32 {} = {};", number, access.buffer);
    code.line("static u32 {}([[maybe_unused]] u32 b, [[maybe_unused]] u32 i, [[maybe_unused]] u32 j) {{ return {}; }}",
              name, page_expression(access.map, "b", "i", "j"));
  };
  pages("query", "kQuery", a.query), pages("key", "kKey", a.key), pages("value", "kValue", a.value);
  pages("mask", "kMaskBuffer", a.mask), pages("out", "kOut", a.out);
  code.close("};");
  for (const auto& [core, part] : {std::pair{"ncrisc", "read"}, {"brisc", "write"}})
    code.line("extern \"C\" void kernel_{}(const u32* args) {{ Attention<Work>::{}(args); }}", core, part);
  for (const auto& [core, part] : {std::pair{0, "unpack"}, {1, "math"}, {2, "pack"}})
    code.line("extern \"C\" void kernel_trisc{}(const u32*) {{ Attention<Work>::{}(); }}", core, part);
  return code.text();
}

u32 attention_workers(const AttentionKernel& kernel) { return kernel.batch * u32(ceil_div(kernel.queries, 32)); }

}  // namespace baretile::compiler
