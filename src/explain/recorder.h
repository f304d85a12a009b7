// Remembers what the library tells its observer, and writes the files that BARETILE_VIZ and BARETILE_TRACE name
// whenever a Runtime closes.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "baretile/trace.h"
#include "compiler/graph/graph.h"

namespace baretile::viz {

// Times are seconds since the recording began.
struct Recording {
  struct Span {
    double begin = 0, end = 0;
  };
  struct RanProgram {
    const Program* at = nullptr;  // where it lives, by which it is known again
    Program program;
    std::optional<compiler::Graph> graph;  // of tensor expressions
    Span compile;
  };
  struct RanLaunch {
    u32 program = 0, launch = 0;
    double begin = 0, ready = 0, end = 0;
    u32 cycles = 0;
  };
  struct Move {
    Span time;
    u64 bytes = 0;
    bool to_device = false;
  };
  // Requests of a tile's NoC interfaces that were answered: reads and writes on NoC 0, the same on NoC 1.
  using NocCounts = std::array<u32, 4>;
  // The first launch of a kernel.
  struct Sample {
    u32 program = 0, launch = 0;
    abi::LaunchRecord record{};
    std::vector<NocCounts> noc;  // by tile
    bool complete = false;       // the launch has ended
  };

  std::string command;  // of the process
  DeviceInfo device;
  std::vector<NocXY> tiles;
  std::vector<RanProgram> programs;
  std::vector<RanLaunch> launches;
  std::vector<Move> moves;
  std::map<std::string, Sample> samples;  // by the kernel image's key
  u64 dropped = 0;                        // launches and moves beyond what is kept
};

class Recorder : public Observer {
 public:
  // Empty names are not written. SystemError where a file cannot be.
  Recorder(std::string page, std::string trace);

  void opened(const DeviceInfo& device, std::span<const NocXY> tiles) override;
  void built(const compiler::Graph& graph, const Program& program, TraceTime begin) override;
  void moved(u64 bytes, bool to_device, TraceTime begin) override;
  void starting(const Program& program, size_t launch, const TraceRead& read) override;
  void ran(const LaunchTrace& launch, const TraceRead& read) override;
  void closed() override;

 private:
  double seconds(TraceTime time) const { return std::chrono::duration<double>(time - start_).count(); }
  u32 number_of(const Program& program);
  const TraceTime start_ = std::chrono::steady_clock::now();
  const std::string page_, trace_;
  std::mutex mutex_;
  Recording recording_;
};

}  // namespace baretile::viz
