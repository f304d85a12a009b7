// What the library compiles, moves and runs, told as it happens; see BARETILE_VIZ in docs/viz.md. Nothing is told, and one branch is what it
// costs, unless somebody listens.
#pragma once
#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "baretile/chip.h"
#include "baretile/program.h"

#pragma GCC visibility push(default)
namespace baretile {
namespace compiler {
struct Graph;
}
using TraceTime = std::chrono::steady_clock::time_point;

// Reads a word at an address of every tile, in the order of opened().
using TraceRead = std::function<std::vector<u32>(u64 addr)>;

struct LaunchTrace {
  const Program& program;
  size_t launch = 0;                 // of program.launches
  const abi::LaunchRecord& record;   // as the tiles get it
  TraceTime begin, ready, end;       // its image is put in place; its record is written; all tiles are done
  u32 cycles = 0;                    // of the device, from `ready` to `end`; found out by polling, which adds up to a sixteenth
};

// Called by the thread that does the work. With one, launches run one by one, so that times and counters are a launch's own.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void opened(const DeviceInfo& device, std::span<const NocXY> tiles) = 0;  // the last tile dispatches
  virtual void built(const compiler::Graph& graph, const Program& program, TraceTime begin) = 0;
  virtual void moved(u64 bytes, bool to_device, TraceTime begin) = 0;
  virtual void starting(const Program& program, size_t launch, const TraceRead& read) = 0;
  virtual void ran(const LaunchTrace& launch, const TraceRead& read) = 0;
  virtual void closed() = 0;  // a Runtime
};

Observer* observer();  // null when nobody listens

}  // namespace baretile
#pragma GCC visibility pop
