#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "baretile/runtime.h"
#include "cli/command.h"
#include "compiler/build/build.h"

namespace baretile::cli {
namespace {

constexpr const char* kHelp =
    "baretile hello [--device NAME]   computes fib(30) on every worker tile and checks each result: the shortest way "
    "through\n"
    "                                 compiler, firmware, launch and memory\n";

constexpr u32 kPageBytes = 64;  // one page a worker

// Every worker computes fib(args[0]) and writes it to its own page of the buffer at args[1].
constexpr const char* kSource = R"(
#include "kernels/noc.h"
using namespace baretile;
using namespace baretile::kernel;

extern "C" void kernel_brisc(const u32* args) {
  u32 a = 0, b = 1;
  for (u32 n = args[0]; n != 0; --n) {
    const u32 next = a + b;
    a = b;
    b = next;
  }
  using Port = Niu<1, 0>;
  const Banks::Where where = Banks().find(args[1], mailbox().info.logical_index, 64);
  reg(abi::kData) = a;
  fence();
  const u32 acks = Port::counter(kNiuWriteAcks);
  Port::prepare(kNocWrite);
  Port::at(kNiuTargLo) = abi::kData;
  Port::at(kNiuRetLo) = where.address;
  Port::at(kNiuRetCoord) = where.coord;
  Port::at(kNiuLen) = 4;
  Port::at(kNiuCmd) = 1;
  wait_until<Core::brisc, abi::waypoint("WRIT")>([&] { return Port::counter(kNiuWriteAcks) != acks; });
}
)";

int run(Arguments& arguments) {
  arguments.expect_no_more();
  const compiler::KernelSource source{"hello", kSource};
  Program program;
  program.kernels = compiler::build_kernels({&source, 1});
  Runtime runtime(arguments.device);
  const u32 workers = runtime.workers();
  const DeviceBuffer results = runtime.allocate(kPageBytes, workers);
  std::vector<u32> words(workers * kPageBytes / 4);
  runtime.write_pages(results, 0, std::as_bytes(std::span(words)));
  program.buffers.push_back({.name = "results", .shape = {workers}, .pages = workers, .external = 0});
  program.launches.push_back({.kernel = 0,
                              .max_workers = workers,
                              .args = {{LaunchArg::Kind::constant, 30}, {LaunchArg::Kind::buffer, 0}},
                              .label = "hello"});
  const u64 address = results.address();
  runtime.run(program, {&address, 1});
  runtime.read_pages(results, 0, std::as_writable_bytes(std::span(words)));
  std::set<u32> values;
  for (u32 w = 0; w < workers; ++w) values.insert(words[w * kPageBytes / 4]);
  fmt::print("{} Tensix workers computed fib(30) = {{{}}}, and one tile dispatched the work\n", workers,
             fmt::join(values, ", "));
  if (values == std::set<u32>{832040}) return 0;
  throw DeviceError("fib(30) is 832040, and not every worker says so; run 'baretile chip check'",
                    runtime.device().name);
}

}  // namespace

const Command kHello{"hello", "compute fib(30) on every tile of the chip", kHelp, run};

}  // namespace baretile::cli
