// Memory and launches on one device.
//   Runtime runtime;  DeviceBuffer x = runtime.allocate(4096, pages);  runtime.write_pages(x, 0, bytes);
//   const u64 externals[] = {x.address()};  runtime.run(program, externals);  runtime.read_pages(x, 0, bytes);
// Any thread may call; calls take turns. The first error of the device stays: later calls throw it again.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "baretile/device.h"
#include "baretile/error.h"
#include "baretile/program.h"

#pragma GCC visibility push(default)
namespace baretile {

class Chip;
class BankAllocator;

struct RuntimeOptions {
  // How long no core may show any sign of progress; CPU time on simulators, where a loaded machine is no fault.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
  // Cores between launches: held in reset, or waiting in firmware. By default as it is fast: in reset on simulators
  // only.
  std::optional<bool> hold_in_reset;
  // Takes each line of bt_print while a launch runs, and may not call the Runtime; by default standard error does.
  std::function<void(const std::string& line)> print = {};
};

struct RuntimeStats {
  u64 runs = 0, launches = 0;                    // programs, and kernels that were run
  u64 kernels_loaded = 0;                        // images written to the tiles
  u64 bytes_written = 0, bytes_read = 0;         // by write_pages and read_pages
  u64 host_accesses = 0;                         // to the device, all of them
  double transfer_seconds = 0, run_seconds = 0;  // by the clock, inside the calls
};

// Pages of DRAM, as BufferDesc lays them out; returned when destroyed.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { release(); }

  u64 address() const { return address_; }  // as kernels take it: the same in every bank, plus the pages of a run
  u32 run_pages() const { return u32(address_ % abi::kBufferAlign); }
  u32 page_bytes() const { return page_bytes_; }
  u64 pages() const { return pages_; }
  u64 bytes() const { return pages_ * page_bytes_; }

 private:
  friend class Runtime;
  void release() noexcept;
  std::shared_ptr<BankAllocator> owner_;
  u64 address_ = 0, pages_ = 0;
  u32 page_bytes_ = 0;
};

// The device has no room for a buffer.
struct OutOfMemory : Error {
  OutOfMemory(const std::string& message, u64 wanted_, u64 free_, u64 largest_)
      : Error(message), wanted(wanted_), free(free_), largest(largest_) {}
  u64 wanted, free, largest;  // bytes per bank: of the buffer, free in all, in one piece
};

class Runtime {
 public:
  // `device` as open_device() takes it. Boots all tiles; DeviceError when one does not answer.
  explicit Runtime(const std::string& device = {}, const RuntimeOptions& options = {});
  explicit Runtime(std::unique_ptr<Device> device, const RuntimeOptions& options = {});
  ~Runtime();  // holds all cores in reset
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) = delete;

  const DeviceInfo& device() const;
  u32 workers() const;     // tiles that compute: all but the dispatch tile
  u32 dram_banks() const;  // 7 or 8
  u64 free_bytes() const;  // of DRAM, over all banks

  // OutOfMemory when no bank has the room; `run_pages`, at most 255, lie together in a bank.
  DeviceBuffer allocate(u32 page_bytes, u64 pages, u32 run_pages = abi::kRunPages);
  void write_pages(const DeviceBuffer& buffer, u64 first_page, std::span<const std::byte> data);  // whole pages
  void read_pages(const DeviceBuffer& buffer, u64 first_page, std::span<std::byte> out);

  // Runs all launches in order and returns when they are done. `external_addresses[i]` is the address of the buffer
  // with external == i.
  void run(const Program& program, std::span<const u64> external_addresses);

  // Runs one kernel on the first `workers` tiles and returns when it is done. Arguments reach every core as they are;
  // UsageError when there are more than abi::kMaxArgs.
  void launch(const KernelImage& kernel, std::vector<u32> args, u32 workers = UINT32_MAX);
  // A worker's L1 from abi::kData on, which is the kernel's; abi::kDataBytes of it. UsageError for other ranges.
  void write_l1(u32 worker, u32 address, std::span<const std::byte> data);
  void read_l1(u32 worker, u32 address, std::span<std::byte> out);
  u32 noc_coord(u32 worker) const;  // where it is on the NoC, as the registers in isa/noc.h take it

  RuntimeStats stats() const;

  // Points at this Runtime wherever it is moved, and at null once it is destroyed: tensors hold it.
  const std::shared_ptr<Runtime*>& self() const { return self_; }

 private:
  class [[gnu::visibility("hidden")]] Impl;
  std::unique_ptr<Impl> impl_;
  std::shared_ptr<Runtime*> self_;
};

}  // namespace baretile
#pragma GCC visibility pop
