#include "baretile/runtime.h"

#include <fmt/format.h>

#include <mutex>

#include "baretile/chip.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"
#include "baretile/trace.h"
#include "firmware/loader.h"
#include "noc/multicast.h"
#include "noc/transfer.h"
#include "runtime/allocator.h"
#include "runtime/kernel_arena.h"
#include "runtime/watchdog.h"

namespace baretile {
namespace {

constexpr u64 kDramReserved = 1 << 20;  // below it nothing is allocated, so that no buffer has address 0
constexpr size_t kBatchLaunches = abi::kQueueRecords - 1;

// Adds the seconds until its end to a counter.
class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~Timer() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  owner_ = std::move(other.owner_);
  address_ = std::exchange(other.address_, 0);
  pages_ = std::exchange(other.pages_, 0);
  page_bytes_ = std::exchange(other.page_bytes_, 0);
  return *this;
}

void DeviceBuffer::release() noexcept {
  if (owner_) owner_->release(address_ - run_pages());
  owner_.reset();
}

class Runtime::Impl {
 public:
  Impl(std::unique_ptr<Device> device, const RuntimeOptions& options)
      : chip_(std::move(device)),
        grid_(firmware::boot(chip_, options.hold_in_reset.value_or(chip_.simulated()))),
        watchdog_(chip_, grid_, options),
        allocator_(std::make_shared<BankAllocator>(kDramReserved, chip_.dram_bank_bytes())) {
    chip_.set_busy(true);
    if (Observer* o = observer()) o->opened(chip_.info(), grid_.tiles);
  }

  ~Impl() {
    if (Observer* o = observer()) o->closed();
    try {
      firmware::stop(chip_, grid_);
      chip_.set_busy(false);
    } catch (const Error&) {  // the device is gone or faulted, and its error was reported when it came up
    }
  }

  // Runs `body` alone; an error of the device is kept and thrown again by every later call.
  template <class Body>
  auto exclusive(Body body) {
    const std::lock_guard guard(mutex_);
    if (error_) std::rethrow_exception(error_);
    try {
      return body();
    } catch (const DeviceError&) {
      error_ = std::current_exception();
      throw;
    } catch (const SimFault&) {
      error_ = std::current_exception();
      throw;
    }
  }

  // Calls move(buffer, byte offset) for a range of whole pages.
  template <class Move>
  void transfer(const DeviceBuffer& buffer, u64 first_page, u64 bytes, u64& counter, Move move) {
    const Timer timer(stats_.transfer_seconds);
    Observer* const listener = observer();
    const TraceTime begin = now(listener);
    if (buffer.owner_ != allocator_) throw UsageError("the buffer is empty or belongs to another Runtime");
    if (bytes % buffer.page_bytes() != 0 || first_page > buffer.pages() ||
        bytes / buffer.page_bytes() > buffer.pages() - first_page)
      throw UsageError(fmt::format("{} bytes from page {} are not whole pages of a buffer with {} pages of {} bytes",
                                   bytes, first_page, buffer.pages(), buffer.page_bytes()));
    move(noc::Interleaved{buffer.address() - buffer.run_pages(), buffer.page_bytes(), u32(buffer.pages()),
                          buffer.run_pages()},
         first_page * buffer.page_bytes());
    counter += bytes;
    if (listener) listener->moved(bytes, &counter == &stats_.bytes_written, begin);
  }

  NocXY worker(u32 index) const {
    if (index < grid_.workers()) return grid_.tiles[index];
    throw UsageError(fmt::format("there is no worker {}; {} has {}", index, chip_.info().name, grid_.workers()));
  }

  NocXY l1(u32 index, u32 address, size_t bytes) const {
    if (address >= abi::kData && address - abi::kData <= abi::kDataBytes &&
        bytes <= abi::kDataBytes - (address - abi::kData))
      return worker(index);
    throw UsageError(fmt::format("{} bytes at {:#x} are not in a kernel's part of L1, {:#x} to {:#x}", bytes, address,
                                 abi::kData, abi::kData + abi::kDataBytes));
  }

  DeviceBuffer allocate(u32 page_bytes, u64 pages, u32 run_pages) {
    if (page_bytes == 0 || pages > UINT32_MAX || run_pages == 0 || run_pages > abi::kMostRunPages)
      throw UsageError(
          fmt::format("{} pages of {} bytes in runs of {} cannot be allocated", pages, page_bytes, run_pages));
    DeviceBuffer buffer;
    const u64 most = abi::pages_in_bank(pages, u32(chip_.dram_banks().size()), run_pages);
    buffer.address_ = allocator_->allocate(most * page_bytes) + run_pages;
    buffer.owner_ = allocator_;
    buffer.pages_ = pages;
    buffer.page_bytes_ = page_bytes;
    return buffer;
  }

  void run(const Program& program, std::span<const u64> external_addresses) {
    const Timer timer(stats_.run_seconds);
    reserve_arena(program.arena_bytes);
    kernels_.unpin();
    chip_.fence();
    Batch batch;
    batch.launches = program.launches.size();
    Observer* const listener = observer();
    for (const Launch& launch : program.launches) {
      if (launch.kernel >= program.kernels.size())
        throw UsageError(fmt::format("launch '{}' names kernel {} of a program with {}", launch.label, launch.kernel,
                                     program.kernels.size()));
      if (listener) listener->starting(program, number(program, launch), reader());
      const TraceTime begin = now(listener);
      const KernelImage& kernel = program.kernels[launch.kernel];
      // A launch that prints goes alone, so that it is clear which one did.
      const bool alone = kernel.debug || (!batch.items.empty() && batch.items.back().kernel->debug);
      if (alone || batch.items.size() == kBatchLaunches) submit(batch);
      std::optional<KernelArena::Place> place = kernels_.place(kernel);
      if (!place) {  // only the images of this batch are left to evict
        submit(batch);
        place = kernels_.place(kernel);
      }
      if (place->fresh) load(kernel, place->address);
      if (batch.items.empty()) batch.first_launch = number(program, launch);
      batch.records.push_back(record(program, launch, kernel, place->address, external_addresses));
      batch.items.push_back({&launch, &kernel, place->address});
      if (listener) observe(*listener, program, launch, batch, begin);
    }
    submit(batch);
    ++stats_.runs;
  }

  Chip chip_;
  firmware::Grid grid_;
  Watchdog watchdog_;
  std::shared_ptr<BankAllocator> allocator_;
  RuntimeStats stats_;
  mutable std::mutex mutex_;

 private:
  static TraceTime now(const Observer* listener) { return listener ? std::chrono::steady_clock::now() : TraceTime(); }

  static size_t number(const Program& program, const Launch& launch) {
    return size_t(&launch - program.launches.data());
  }
  TraceRead reader() {
    return [this](u64 addr) {
      std::vector<u32> words;
      for (const NocXY tile : grid_.tiles) words.push_back(chip_.read32(tile, addr));
      return words;
    };
  }

  void observe(Observer& listener, const Program& program, const Launch& launch, Batch& batch, TraceTime begin) {
    const abi::LaunchRecord record = batch.records.back().launch;
    const u32 clock = chip_.read32(grid_.dispatch(), isa::kWallClockLo);
    const TraceTime ready = now(&listener);
    submit(batch);
    const TraceTime end = now(&listener);
    const u32 cycles = chip_.read32(grid_.dispatch(), isa::kWallClockLo) - clock;
    listener.ran({program, number(program, launch), record, begin, ready, end, cycles}, reader());
  }

  // One range for the temporaries of whatever program runs.
  void reserve_arena(u64 bytes) {
    if (bytes <= arena_bytes_) return;
    arena_ = {};
    arena_bytes_ = 0;
    arena_ = allocate(64, ceil_div(bytes, 64) * chip_.dram_banks().size(), abi::kRunPages);
    arena_bytes_ = bytes;
  }

  void load(const KernelImage& kernel, u32 address) {
    noc::multicast(chip_, grid_.rects, address, std::as_bytes(std::span(kernel.code)));
    for (const NocRect& rect : grid_.rects)
      chip_.read32(rect.last, address & ~3u);  // returns once the image has arrived
    new_code_ = true;
    ++stats_.kernels_loaded;
  }

  u32 argument(const Program& program, const Launch& launch, const LaunchArg& arg,
               std::span<const u64> external_addresses) const {
    if (arg.kind == LaunchArg::Kind::constant) return arg.value;
    if (arg.value >= program.buffers.size())
      throw UsageError(fmt::format("launch '{}' names buffer {} of a program with {}", launch.label, arg.value,
                                   program.buffers.size()));
    const BufferDesc& buffer = program.buffers[arg.value];
    if (buffer.external < 0) return u32(arena_.address() + buffer.arena_offset);
    if (u32(buffer.external) >= external_addresses.size())
      throw UsageError(fmt::format("buffer {} of launch '{}' is external {}, but {} addresses were given", buffer.name,
                                   launch.label, buffer.external, external_addresses.size()));
    const u64 address = external_addresses[u32(buffer.external)];
    if (address % abi::kBufferAlign == 0)
      throw UsageError(fmt::format("{:#x} for buffer {} of launch '{}' is no DeviceBuffer::address()", address,
                                   buffer.name, launch.label));
    return u32(address);
  }

  abi::QueueRecord record(const Program& program, const Launch& launch, const KernelImage& kernel, u32 address,
                          std::span<const u64> external_addresses) {
    if (launch.args.size() > abi::kMaxArgs)
      throw UsageError(fmt::format("launch '{}' has {} arguments; the record takes {}", launch.label,
                                   launch.args.size(), abi::kMaxArgs));
    abi::QueueRecord r{};
    r.op = abi::QueueOp::launch;
    r.launch.workers = std::min(launch.max_workers, grid_.workers());
    r.launch.team_rows = r.launch.team_columns = abi::kWholeGrid;
    if (launch.block_rows != 0) {
      const noc::Team team =
          noc::team(launch.block_rows, launch.block_columns, chip_.columns(), grid_.workers(), launch.max_workers);
      r.launch.team_rows = u8(team.rows), r.launch.team_columns = u8(team.columns);
      r.launch.workers = grid_.workers();
    }
    for (size_t core = 0; core < kernel.entry.size(); ++core)
      r.launch.entry[core] = kernel.entry[core] == abi::kNoEntry ? abi::kNoEntry : address + kernel.entry[core];
    for (size_t i = 0; i < launch.args.size(); ++i)
      r.launch.args[i] = argument(program, launch, launch.args[i], external_addresses);
    // The next item of a tile then lies in the same bank.
    const u32 banks = u32(chip_.dram_banks().size());
    if (size_t(launch.beside) < launch.args.size() &&
        r.launch.args[launch.beside] % abi::kBufferAlign != abi::kRunPages && r.launch.workers < launch.max_workers &&
        r.launch.workers > banks)
      r.launch.workers -= r.launch.workers % banks;
    return r;
  }

  // Writes the records and a fence with one doorbell, waits for them, and empties the batch.
  void submit(Batch& batch) {
    if (batch.items.empty()) return;
    abi::QueueRecord fence{};
    fence.op = abi::QueueOp::fence;
    fence.value = ++fences_;
    batch.records.push_back(fence);
    if (std::exchange(new_code_, false)) batch.records.front().launch.flags |= abi::kNewCode;
    batch.first_record = written_;
    batch.first_sequence = sequence_ + 1;
    const u32 at = written_ % abi::kQueueRecords;
    const std::span<const abi::QueueRecord> records(batch.records);
    const size_t first = std::min<size_t>(records.size(), abi::kQueueRecords - at);
    chip_.write(grid_.dispatch(), abi::kQueue + at * sizeof(abi::QueueRecord), std::as_bytes(records.first(first)));
    if (first < records.size()) chip_.write(grid_.dispatch(), abi::kQueue, std::as_bytes(records.subspan(first)));
    written_ += u32(records.size());
    sequence_ += u32(batch.items.size());
    chip_.write32(grid_.dispatch(), abi::kQueueControl + offsetof(abi::QueueControl, written), written_);
    watchdog_.wait(batch);
    stats_.launches += batch.items.size();
    kernels_.unpin();
    batch.records.clear();
    batch.items.clear();
  }

  std::exception_ptr error_;
  KernelArena kernels_;
  DeviceBuffer arena_;
  u64 arena_bytes_ = 0;
  u32 written_ = 0, sequence_ = 0, fences_ = 0;
  bool new_code_ = false;
};

Runtime::Runtime(const std::string& device, const RuntimeOptions& options) : Runtime(open_device(device), options) {}
Runtime::Runtime(std::unique_ptr<Device> device, const RuntimeOptions& options)
    : impl_(std::make_unique<Impl>(std::move(device), options)), self_(std::make_shared<Runtime*>(this)) {}
Runtime::~Runtime() {
  if (self_) *self_ = nullptr;
}
Runtime::Runtime(Runtime&& other) noexcept : impl_(std::move(other.impl_)), self_(std::move(other.self_)) {
  if (self_) *self_ = this;
}

const DeviceInfo& Runtime::device() const { return impl_->chip_.info(); }
u32 Runtime::workers() const { return impl_->grid_.workers(); }
u32 Runtime::dram_banks() const { return u32(impl_->chip_.dram_banks().size()); }
u64 Runtime::free_bytes() const { return impl_->allocator_->free_bytes() * dram_banks(); }

DeviceBuffer Runtime::allocate(u32 page_bytes, u64 pages, u32 run_pages) {
  return impl_->allocate(page_bytes, pages, run_pages);
}

void Runtime::write_pages(const DeviceBuffer& buffer, u64 first_page, std::span<const std::byte> data) {
  impl_->exclusive([&] {
    impl_->transfer(buffer, first_page, data.size(), impl_->stats_.bytes_written,
                    [&](const noc::Interleaved& pages, u64 offset) { noc::write(impl_->chip_, pages, offset, data); });
  });
}

void Runtime::read_pages(const DeviceBuffer& buffer, u64 first_page, std::span<std::byte> out) {
  impl_->exclusive([&] {
    impl_->transfer(buffer, first_page, out.size(), impl_->stats_.bytes_read,
                    [&](const noc::Interleaved& pages, u64 offset) { noc::read(impl_->chip_, pages, offset, out); });
  });
}

void Runtime::run(const Program& program, std::span<const u64> external_addresses) {
  impl_->exclusive([&] { impl_->run(program, external_addresses); });
}

void Runtime::launch(const KernelImage& kernel, std::vector<u32> args, u32 workers) {
  Program program{.kernels = {kernel}, .launches = {{.max_workers = workers, .label = kernel.name}}};
  for (const u32 value : args) program.launches[0].args.push_back({LaunchArg::Kind::constant, value});
  run(program, {});
}

void Runtime::write_l1(u32 worker, u32 address, std::span<const std::byte> data) {
  impl_->exclusive([&] { impl_->chip_.write(impl_->l1(worker, address, data.size()), address, data); });
}

void Runtime::read_l1(u32 worker, u32 address, std::span<std::byte> out) {
  impl_->exclusive([&] { impl_->chip_.read(impl_->l1(worker, address, out.size()), address, out); });
}

u32 Runtime::noc_coord(u32 worker) const {
  const NocXY tile = impl_->worker(worker);
  return isa::noc_coord(tile.x, tile.y);
}

RuntimeStats Runtime::stats() const {
  const std::lock_guard guard(impl_->mutex_);
  RuntimeStats stats = impl_->stats_;
  stats.host_accesses = impl_->chip_.host_accesses();
  return stats;
}

}  // namespace baretile
