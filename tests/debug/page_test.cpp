// docs/debugging.md is what this test writes: its kernels are run, and the page must show what they printed.
// BARETILE_UPDATE_DOCS=1 writes it anew.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "baretile/kernel.h"
#include "baretile/runtime.h"
#include "pci/simulators.h"

namespace baretile::debugging_page {
namespace {

const std::string kStart = R"(#include "kernels/kernel.h"
using namespace baretile;
using namespace baretile::kernel;

)";

const std::string kPrint = kStart + R"(extern "C" void kernel_brisc(const u32* args) {
  u32 a = 0, b = 1;
  for (u32 n = 0; n < args[0]; ++n) {
    if (n % 10 == 0) bt_print("fib({}) = {} = {:#x}", n, a, a);
    b += a;
    a = b - a;
  }
}
extern "C" void kernel_trisc1(const u32* args) {
  for (u32 n = 0; n < args[1]; ++n) bt_print("{}", n);
}
)";

const std::string kAssert = kStart + R"(inline void store(u32 index, u32 limit) {
  bt_assert(index < limit, index, limit);
  reg(abi::kData + 4 * index) = index;
}
extern "C" void kernel_ncrisc(const u32* args) {
  for (const u32 item : items(args[0])) store(item, args[1]);
}
)";

const std::string kHang = R"(#include "kernels/noc.h"
using namespace baretile;
using namespace baretile::kernel;

extern "C" void kernel_ncrisc(const u32* args) {
  Reader<4096> reader;
  for (u32 page = 0; page < args[1]; ++page) reader.read<4096>(args[0], page);
  reader.finish();
}
extern "C" void kernel_trisc0(const u32* args) {
  Consumer<InputRing, 4096, Core::trisc0, abi::waypoint("INPW")> pages;
  for (u32 page = 0; page < args[2]; ++page) {
    pages.take();
    pages.free_taken();
  }
}
)";

class Page {
 public:
  Page() { setenv("BARETILE_DEBUG", "1", 1), setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/page-cache", 1); }
  ~Page() { unsetenv("BARETILE_DEBUG"), unsetenv("BARETILE_CACHE_DIR"); }

  // What a launch prints, and the error that ends it.
  static std::string output(const std::string& name, const std::string& text, std::vector<u32> args, u32 workers) {
    std::string out;
    RuntimeOptions options;
    options.deadline = std::chrono::milliseconds(300);
    options.print = [&](const std::string& line) { out += line + "\n"; };
    Runtime runtime("sim", options);
    const DeviceBuffer buffer = runtime.allocate(4096, 64);
    if (name == "pages") args[0] = u32(buffer.address());
    try {
      runtime.launch(compile_kernel(name, text), args, workers);
    } catch (const DeviceError& error) {
      out += error.what() + std::string("\n");
    }
    return out;
  }
  static std::string code(const std::string& text) { return "```cpp\n" + text + "```\n\n"; }
  static std::string result(const std::string& text) { return "```text\n" + text + "```\n\n"; }
};

// The first lines and the last.
std::string shortened(const std::string& text) {
  constexpr int kFirst = 6;
  size_t end = 0;
  for (int line = 0; line < kFirst; ++line) end = text.find('\n', end) + 1;
  return text.substr(0, end) + "…\n" + text.substr(text.rfind('\n', text.size() - 2) + 1);
}

std::string page() {
  const Page p;
  return R"(# Debugging kernels
<!-- tested by: tests/debug/page_test.cpp -->

With `BARETILE_DEBUG=1` in the environment, kernels are built with `bt_print` and `bt_assert` (`kernels/debug/print.h`, which every other header there
includes). Without it both are no code at all. The kernel cache keeps the two kinds apart. What is shown here was printed on the in-tree simulator;
ttsim prints the same, and a card runs the same code, on which nothing of this page was ever tried.

## Printing

From any core, with up to six values of at most four bytes each, in [{fmt}'s format](https://fmt.dev/latest/syntax.html). The cores have no floating
point; a `float` is passed on as it is. The number of values is checked when the kernel is compiled.

)" + p.code(kPrint) +
         R"(`runtime.launch(compile_kernel("fib", text), {31, 1000}, 1)` writes to standard error, or gives each line to `RuntimeOptions::print`:

)" + p.result(shortened(p.output("fib", kPrint, {31, 1000}, 1))) +
         R"(A record goes into the core's own log in L1, one word and one for each value; the host knows formats and types from a section of the linked file that
is not loaded. The host shows what is new in the logs ten times a second while the launch runs, and empties them when it is done, fails or hangs. A core
never waits: what finds no room in the 1,392 bytes is dropped and counted. A launch that may print goes to the device alone, so that it is clear which one
did; programs take longer then, and results stay the same.

## Asserting

)" + p.code(kAssert) +
         R"(`runtime.launch(compile_kernel("store", text), {200, 199})`, at once and not when a deadline passes:

)" + p.result(p.output("store", kAssert, {200, 199}, UINT32_MAX)) +
         R"(The condition may be followed by up to six values. The core that fails tells the dispatch tile, whose one word the host reads anyway while it waits.

## When a program does not end

`BARETILE_DEBUG` is not needed for this. When no core has moved for `RuntimeOptions::deadline` (60 s), the host looks for the tiles that are not done and
says of the first one where its cores are. Here NCRISC fetches 40 pages and TRISC0 expects 41:

)" + p.code(kHang) +
         p.result(p.output("pages", kHang, {0, 40, 41}, 1)) +
         R"(For each core: the waypoint that it passed last, with what that one waits for; then its place, innermost first, with the calls that were inlined there.
Line numbers come from building the kernel again with line tables, which does not change its code. The place itself is found by overwriting the kernel in
that tile with jumps: whatever instruction a core executes next leads it to a few words of firmware that note where it came from. A core that stands inside
one instruction, such as the load that waits for the coprocessor, cannot be led away; with `BARETILE_DEBUG=1` it is reported as *after* the last wait of
the kernel library that it began. On a card a core may turn in its instruction cache, so BRISC is restarted to empty the caches and the places are read
again.

## Afterwards

A `DeviceError` or `SimFault` stays with its `Runtime`: every later call throws it again. Destroying it holds all cores in reset. A new `Runtime`, in this
process or the next, resets every tile and boots the firmware anew, also after a process that ended without a word while its cores ran on.
)";
}

// Lines of the kernel library move with every change to it.
std::string without_library_lines(const std::string& text) {
  return std::regex_replace(text, std::regex("(kernels/[a-z]+\\.h):[0-9]+"), "$1:*");
}

TEST(DebuggingPage, ShowsWhatItsKernelsPrint) {
  SKIP_WITHOUT_SIMULATOR("sim");
  const std::string path = BARETILE_SOURCE_DIR "/docs/debugging.md", wanted = page();
  if (std::getenv("BARETILE_UPDATE_DOCS")) std::ofstream(path) << wanted;
  std::stringstream there;
  there << std::ifstream(path).rdbuf();
  EXPECT_EQ(without_library_lines(there.str()), without_library_lines(wanted))
      << "write it anew: BARETILE_UPDATE_DOCS=1 debug_test --gtest_filter=DebuggingPage.*";
}

}  // namespace
}  // namespace baretile::debugging_page
