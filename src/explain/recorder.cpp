#include "explain/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "baretile/error.h"
#include "baretile/isa/noc.h"
#include "explain/viz.h"

namespace baretile {
namespace viz {
namespace {

// A page of more is of no use, and a training run must not fill the memory.
constexpr size_t kMostLaunches = 100'000, kMostMoves = 100'000;

void check_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw SystemError(
      fmt::format("cannot write {}: {}; give BARETILE_VIZ or BARETILE_TRACE another file.", path, std::strerror(errno)),
      path, errno);
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path, std::ios::binary);
  if (!(out << text << std::flush))
    throw SystemError(fmt::format("cannot write {}: {}", path, std::strerror(errno)), path, errno);
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// Whether a Program that lies where one was seen before is that one. Those of tensor expressions stay; a caller's own
// may have been destroyed.
bool is_same(const Program& a, const Program& b) {
  return std::equal(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(),
                    [](const KernelImage& x, const KernelImage& y) { return x.key == y.key; }) &&
         std::equal(a.launches.begin(), a.launches.end(), b.launches.begin(), b.launches.end(),
                    [](const Launch& x, const Launch& y) { return x.kernel == y.kernel && x.label == y.label; });
}

std::vector<Recording::NocCounts> noc_counts(const TraceRead& read) {
  std::vector<Recording::NocCounts> counts;
  for (u32 i = 0; i < 4; ++i) {
    const u32 counter = i % 2 ? isa::kNiuWriteAcks : isa::kNiuReadAcks;
    const std::vector<u32> words = read(isa::kNiuBase + i / 2 * isa::kNiuStride + counter);
    counts.resize(words.size());
    for (size_t tile = 0; tile < words.size(); ++tile) counts[tile][i] = words[tile];
  }
  return counts;
}

}  // namespace

Recorder::Recorder(std::string page, std::string trace) : page_(std::move(page)), trace_(std::move(trace)) {
  check_writable(page_);
  check_writable(trace_);
  recording_.command = command_line();
}

void Recorder::opened(const DeviceInfo& device, std::span<const NocXY> tiles) {
  const std::lock_guard guard(mutex_);
  recording_.device = device;
  recording_.tiles.assign(tiles.begin(), tiles.end());
}

void Recorder::built(const compiler::Graph& graph, const Program& program, TraceTime begin) {
  const TraceTime end = std::chrono::steady_clock::now();
  const std::lock_guard guard(mutex_);
  recording_.programs.push_back({&program, program, graph, {seconds(begin), seconds(end)}});
}

u32 Recorder::number_of(const Program& program) {
  auto& all = recording_.programs;
  for (size_t i = all.size(); i-- > 0;)
    if (all[i].at == &program && is_same(all[i].program, program)) return u32(i);
  all.push_back({&program, program, {}, {}});
  return u32(all.size() - 1);
}

void Recorder::moved(u64 bytes, bool to_device, TraceTime begin) {
  const TraceTime end = std::chrono::steady_clock::now();
  const std::lock_guard guard(mutex_);
  if (recording_.moves.size() == kMostMoves) {
    ++recording_.dropped;
  } else {
    recording_.moves.push_back({{seconds(begin), seconds(end)}, bytes, to_device});
  }
}

// A kernel's first launch is looked at closely: a sample is there, without a record yet.
void Recorder::starting(const Program& program, size_t launch, const TraceRead& read) {
  const std::lock_guard guard(mutex_);
  const auto [sample, fresh] = recording_.samples.try_emplace(program.kernels.at(program.launches[launch].kernel).key);
  if (fresh) sample->second = {number_of(program), u32(launch), {}, noc_counts(read), false};
}

void Recorder::ran(const LaunchTrace& launch, const TraceRead& read) {
  const std::lock_guard guard(mutex_);
  if (recording_.launches.size() == kMostLaunches) {
    ++recording_.dropped;
    return;
  }
  recording_.launches.push_back({number_of(launch.program), u32(launch.launch), seconds(launch.begin),
                                 seconds(launch.ready), seconds(launch.end), launch.cycles});
  const u32 kernel = launch.program.launches[launch.launch].kernel;
  Recording::Sample& sample = recording_.samples.at(launch.program.kernels[kernel].key);
  if (std::exchange(sample.complete, true)) return;
  sample.record = launch.record;
  const std::vector<Recording::NocCounts> after = noc_counts(read);
  for (size_t tile = 0; tile < std::min(after.size(), sample.noc.size()); ++tile)  // of another Runtime, perhaps
    for (size_t i = 0; i < 4; ++i) sample.noc[tile][i] = after[tile][i] - sample.noc[tile][i];
}

// No error may leave a destructor that calls this.
void Recorder::closed() {
  const std::lock_guard guard(mutex_);
  try {
    if (!page_.empty()) write_file(page_, to_html(recording_));
    if (!trace_.empty()) write_file(trace_, to_chrome_trace(recording_));
  } catch (const std::exception& error) {
    fmt::print(stderr, "baretile: {}\n", error.what());
  }
}

}  // namespace viz

Observer* observer() {
  // Never destroyed: a Runtime may outlive all other things of the process.
  static Observer* const recorder = []() -> Observer* {
    const char *page = std::getenv("BARETILE_VIZ"), *trace = std::getenv("BARETILE_TRACE");
    if (!(page && *page) && !(trace && *trace)) return nullptr;
    return new viz::Recorder(page ? page : "", trace ? trace : "");
  }();
  return recorder;
}

}  // namespace baretile
