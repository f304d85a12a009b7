// A kernel for CustomKernel that works at any shape: x + n y, where n is an argument.
#pragma once
#include "baretile/custom.h"
#include "baretile/error.h"

namespace baretile::tensor_test {

inline const std::string kAddTimes = R"(#include "kernels/compute.h"
using namespace baretile;
using namespace baretile::kernel;

enum { kX, kY, kResult, kItems, kTimes };

extern "C" void kernel_ncrisc(const u32* args) {
  Reader<4096> in;
  for (const u32 item : items(args[kItems])) in.read<4096>(args[kX], item), in.read<4096>(args[kY], item);
  in.finish();
}
extern "C" void kernel_trisc0(const u32* args) {
  Unpacker<4096> in;
  in.loads_to_dst();
  for ([[maybe_unused]] const u32 item : items(args[kItems])) {
    in.begin_loads();
    in.load_tile<0>(), in.next();  // before the unpacker is given another address
    in.load_tile<64>();
    in.end_loads();
    in.next();
  }
  drain();
}
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<kFormat>();
  for ([[maybe_unused]] const u32 item : items(args[kItems])) {
    acquire_dst();
    grant_loads();
    take<kDstLoaded>();
    for_chunks<64>([&] {
      load<0, 0>(), load<1, 64>();
      for (u32 n = 0; n < args[kTimes]; ++n) nop(), add<0, 0, 1>();
      nop(), store_next<0, 0>();
    });
    release_dst();
  }
  drain();
}
extern "C" void kernel_trisc2(const u32* args) {
  Packer<4096> out;
  out.to<kFormat>();
  for ([[maybe_unused]] const u32 item : items(args[kItems])) out.acquire(), out.tile<0>(), out.release();
  drain();
}
extern "C" void kernel_brisc(const u32* args) {
  Writer<4096> out;
  for (const u32 item : items(args[kItems])) out.write<kBytes>(args[kResult], item);
  out.finish();
}
)";

// `dtype`: of the result, fp32 or bf16. `fuses`: with what follows. Its gradient is an expression with the same kernel.
inline CustomKernel add_times(u32 times, DType dtype = DType::fp32, bool fuses = false) {
  const bool narrow = dtype == DType::bf16;
  std::string name = "add_times", text = kAddTimes;
  const auto put = [&](const char* before, const std::string& what) { text.insert(text.find(before), what); };
  put("enum {", narrow ? "constexpr Format kFormat = Format::bf16;\nconstexpr u32 kBytes = 2048;\n"
                       : "constexpr Format kFormat = Format::fp32;\nconstexpr u32 kBytes = 4096;\n");
  if (narrow) name += "_bf16";
  if (fuses) name += "_fusing", put("    release_dst", "    fused_neighbours(item);\n");
  const auto plan = [=](std::span<const Shape> in) {
    if (in[0] != in[1]) throw UsageError("add_times: the shapes differ; expand one of them.");
    CustomKernel::Result result{.shape = in[0], .dtype = dtype, .items = 1, .args = {times}};
    for (size_t axis = 0; axis < in[0].size(); ++axis)
      result.items *= u32(axis + 2 < in[0].size() ? in[0][axis] : (in[0][axis] + 31) / 32);
    return result;
  };
  return CustomKernel(name, text, {DType::fp32, DType::fp32}, plan, [=](const Tensor& g, std::span<const Tensor> x) {
    const Tensor wide = g.cast(DType::fp32);
    return std::vector{g, add_times(times)({Tensor(0).expand(x[1].shape()), wide})};
  });
}

}  // namespace baretile::tensor_test
