// A language model's token on each simulator, beside what its weights alone must cost there: every weight page through one UNPACR and the MVMULs of a
// split one-row product, in a bare loop, timed in the same run.
//   TTSIM=/path/libttsim.so build/release/bin/bench_token "$(tools/get-model)" [tokens]
#include <fmt/format.h>

#include <cstdlib>

#include "models/llama.h"
#include "models/sampler.h"
#include "models/template.h"
#include "models/tokenizer.h"
#include "operands.h"

namespace baretile::bench {
namespace {

constexpr u32 kTiles = 30;  // that share the loop

constexpr const char* kStream = R"(
extern "C" void kernel_trisc0(const u32* args) {
  Unpacker<2048> unpacker;
  unpacker.to_src_a<Format::bf16, true>();
  unpacker.to_src_b<Format::bf16, 1024>();
  unpacker.left(unpacker.page());
  for (u32 n = args[0]; n; --n) {
    unpacker.right(kRight);
    unpacker.wait();
  }
}
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<Format::fp32>();
  record_group_product<1, true>();
  zero_rows<0, 64>();
  for (u32 n = args[0]; n; --n) {
    product<4, 2, 0, kSrcA>();
    drain();
  }
  reset_counters<kSrcB>();
  drain();
}
)";

u64 weight_pages(const LlamaConfig& c) {
  const u64 layer = u64(c.width) * (2 * c.q_width() + 2 * c.kv_width()) + 3 * u64(c.width) * c.ffn;
  return (layer * c.layers + u64(c.vocab) * c.width) / 1024;
}

void measure(const char* device, const Gguf& gguf, int tokens) {
  const double opened = cpu_seconds();
  Runtime runtime(device);
  const auto bare_page = [&] { return seconds_a_round(runtime, operands(0x11) + kStream, 300, kTiles) / kTiles; };
  double page = bare_page();
  const double start = cpu_seconds();
  Llama model(runtime, gguf);
  const double loaded = cpu_seconds();
  const std::vector<Message> question{{"user", "What is the capital of France?"}};
  const std::vector<int> prompt = Tokenizer(gguf).encode(ChatTemplate(gguf).render(question, true));
  int next = greedy(model.forward(prompt));
  const double first = cpu_seconds();
  next = greedy(model.forward({&next, 1}));  // compiles the kernels of one row, if the cache lacks them
  const RuntimeStats before = runtime.stats();
  const double warm = cpu_seconds();
  for (int n = 0; n < tokens; n++) next = greedy(model.forward({&next, 1}));
  const double each = (cpu_seconds() - warm) / tokens;
  const RuntimeStats after = runtime.stats();
  fmt::print("{:8}  open {:.2f} s, load {:.2f} s, {} prompt tokens {:.2f} s: first token after {:.2f} s\n", device, start - opened, loaded - start,
             prompt.size(), first - loaded, first - start);
  fmt::print("          {:.3f} s a token, {} launches, {} host accesses a token\n", each, (after.launches - before.launches) / tokens,
             (after.host_accesses - before.host_accesses) / tokens);
  page = (page + bare_page()) / 2;  // before and after, as the machine's speed drifts
  const double bare = double(weight_pages(model.config())) * page;
  fmt::print("          its {} weight pages in a bare loop: {:.3f} s; ratio {:.2f}\n", weight_pages(model.config()), bare, each / bare);
}

}  // namespace
}  // namespace baretile::bench

int main(int count, char** words) {
  if (count < 2) {
    fmt::print(stderr, "usage: bench_token MODEL.gguf [tokens]; tools/get-model prints a model's path\n");
    return 2;
  }
  const baretile::Gguf gguf(words[1]);
  const int tokens = count > 2 ? std::atoi(words[2]) : 2;
  baretile::bench::measure("sim", gguf, tokens);
  if (std::getenv("TTSIM")) baretile::bench::measure("ttsim", gguf, tokens);
}
