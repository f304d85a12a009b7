// A simulator keeps its chip in global variables, prints to stdout, and ends the process with _Exit(1) at the first
// mistake. All three stop at the library's import table: its stdout becomes a buffer of ours and its _Exit a jump back
// into the call that failed, which throws SimFault with the library's last words. The process lives, fd 1 is never
// touched, and a call costs one setjmp: a 4-byte read takes 19 ns in all.
#include "pci/sim_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "baretile/error.h"
#include "baretile/isa/pcie.h"
#include "pci/import.h"

namespace baretile::pci {
namespace {

struct Api {
  void (*init)();
  void (*exit)();
  void (*set_dma)(void (*)(u64, void*, u32), void (*)(u64, const void*, u32));
  u32 (*config_read)(u32, u32);
  void (*read)(u64, void*, u32);
  void (*write)(u64, const void*, u32);
  void (*clock)(u32);
  void (*on_fault)(void (*)(int, const char*));  // ours only
};

// What the driver asked for last; kept as numbers so that an access costs few stores, and put into words when it
// failed.
struct Operation {
  const char* format = "";  // of bar, offset and size
  int bar = 0;
  u64 offset = 0, size = 0;
};

class SimLibrary;
thread_local SimLibrary* current [[gnu::tls_model("initial-exec")]] = nullptr;  // whose call this thread is in

class SimLibrary final : public Device {
 public:
  explicit SimLibrary(const DeviceInfo& info) : info_(info), out_(open_memstream(&out_text_, &out_bytes_)) {}
  ~SimLibrary() override;
  SimLibrary(const SimLibrary&) = delete;
  void start();

  u32 config_read(u32 offset) override {
    u32 value = 0;
    call({"config read at {1:#x}", 0, offset, 4}, [&] { value = api_.config_read(0, offset); });
    return value;
  }
  u64 bar_bytes(int bar) const override {
    return bar == 0 ? isa::kBar0Bytes : bar == 2 ? isa::kBar2Bytes : isa::kBar4Bytes;
  }
  void read(int bar, u64 offset, std::span<std::byte> out) override {
    const u64 addr = address(bar, offset, out.size());
    call({"read of {2} bytes at BAR{0} + {1:#x}", bar, offset, out.size()},
         [&] { api_.read(addr, out.data(), u32(out.size())); });
  }
  void write(int bar, u64 offset, std::span<const std::byte> data) override {
    const u64 addr = address(bar, offset, data.size());
    call({"write of {2} bytes at BAR{0} + {1:#x}", bar, offset, data.size()},
         [&] { api_.write(addr, data.data(), u32(data.size())); });
  }
  DmaBuffer dma(size_t bytes) override;
  void progress(u32 cycles) override {
    call({"clock of {2}", 0, 0, cycles}, [&] { api_.clock(cycles); });
  }
  const DeviceInfo& info() const override { return info_; }

 private:
  struct HostMemory {
    u64 addr;
    size_t bytes;
    std::unique_ptr<std::byte[]> storage;
    std::byte* data;
  };

  // Runs `body`, a call into the library. Nothing in its frames may need a destructor: a fault leaves them by longjmp.
  template <class Body>
  void call(Operation operation, Body&& body) {
    if (faulted_) throw *faulted_;
    operation_ = operation;
    current = this;
    if (_setjmp(back_) == 0)
      body();
    else
      read_last_words();
    current = nullptr;
    if (!message_.empty()) [[unlikely]]
      fault();
  }
  u64 address(int bar, u64 offset, u64 size) const {
    if (offset + size > bar_bytes(bar) || size > UINT32_MAX) [[unlikely]]
      throw UsageError(fmt::format("access of {} bytes at BAR{} + {:#x} does not lie in its {} bytes", size, bar,
                                   offset, bar_bytes(bar)));
    return bar_base_[bar] + offset;
  }
  void load();
  void* open_library();
  void unload();
  void take_over();
  void read_last_words();
  [[noreturn]] void fault();
  std::byte* host_memory(u64 addr, u32 size);

  static void on_fault(int kind, const char* message) {
    // src/sim/fault.h has the same order; libraries of different versions may meet, so the number is checked.
    constexpr const char* kKinds[] = {"undefined_behaviour", "uninitialised_read", "bad_address",   "reserved_bits",
                                      "missing_sync",        "not_modelled",       "configuration", "internal"};
    if (!current || !current->message_.empty()) return;  // the first one counts
    current->kind_ = size_t(kind) < std::size(kKinds) ? kKinds[kind] : "unknown";
    current->message_ = message;
  }

  // Stand-ins for what the library imports.
  static void on_exit_call() {
    if (!current) _Exit(1);
    std::longjmp(current->back_, 1);
  }
  static int on_vprintf(const char* format, va_list args) {
    return std::vfprintf(current ? current->out_ : stderr, format, args);
  }
  static int on_printf(const char* format, ...) {
    va_list args;
    va_start(args, format);
    const int n = on_vprintf(format, args);
    va_end(args);
    return n;
  }
  static int on_printf_chk(int, const char* format, ...) {
    va_list args;
    va_start(args, format);
    const int n = on_vprintf(format, args);
    va_end(args);
    return n;
  }
  static int on_vprintf_chk(int, const char* format, va_list args) { return on_vprintf(format, args); }
  static int on_puts(const char* line) { return on_printf("%s\n", line); }
  static int on_putchar(int c) { return on_printf("%c", c); }
  static void* on_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset);

  DeviceInfo info_;
  Api api_{};
  void* handle_ = nullptr;
  int copy_ = -1;
  u64 bar_base_[5] = {};
  Operation operation_;
  jmp_buf back_;
  char* out_text_ = nullptr;
  size_t out_bytes_ = 0;
  FILE* out_;  // the library's stdout
  bool running_ = false;
  std::string kind_, message_;  // of the fault in the current call; the message is empty while there is none
  std::optional<SimFault> faulted_;
  std::vector<HostMemory> host_memory_;
  u64 next_host_addr_ = 0x1000;
  std::vector<std::span<std::byte>> mapped_;  // by the library, which never unmaps
};

void SimLibrary::start() {
  load();
  take_over();
  call({"init"}, [&] {
    api_.set_dma(
        [](u64 addr, void* to, u32 size) {
          if (const std::byte* from = current->host_memory(addr, size)) std::memcpy(to, from, size);
        },
        [](u64 addr, const void* from, u32 size) {
          if (std::byte* to = current->host_memory(addr, size)) std::memcpy(to, from, size);
        });
    api_.init();
  });
  running_ = true;
  for (const int bar : {0, 2, 4}) {
    const u32 offset = 0x10 + 4 * u32(bar);
    bar_base_[bar] = u64{config_read(offset + 4)} << 32 | (config_read(offset) & ~0xFu);
  }
}

SimLibrary::~SimLibrary() {
  // After a fault ttsim's state is anyone's guess; it is only unloaded. The in-tree library, which reports its faults, has threads to end.
  if (running_ && (!faulted_ || api_.on_fault) && _setjmp(back_) == 0) {
    current = this;
    api_.exit();  // prints a speed line into the buffer
  }
  current = nullptr;
  unload();
  for (const auto& range : mapped_) munmap(range.data(), range.size());
  std::fclose(out_);
  std::free(out_text_);
}

// The file itself, or a copy in memory when the process has it loaded already. The loader tells libraries apart by name
// and inode, so the copy's descriptor, which is in its name, stays open as long as the copy is loaded.
void* SimLibrary::open_library() {
  const std::string& path = info_.path;
  if (path.empty() || path[0] != '/')
    throw UsageError(fmt::format("simulator path '{}' is relative; give TTSIM or BARETILE_SIM the full path", path));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw SystemError(
        fmt::format("cannot open simulator {}: {}; set TTSIM or BARETILE_SIM to a library that exists, or unset it",
                    path, std::strerror(errno)),
        path, errno);
  std::string name = path;
  if (void* loaded = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY)) {
    dlclose(loaded);
    copy_ = memfd_create("baretile-sim", MFD_CLOEXEC);
    while (copy_ >= 0 && sendfile(copy_, file, nullptr, 1 << 30) > 0) {
    }
    name = fmt::format("/proc/self/fd/{}", copy_);
  }
  close(file);
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw SystemError(
        fmt::format("{} is not a simulator library: {}; give the libttsim.so of a ttsim release", path, dlerror()),
        path);
  return handle;
}

void SimLibrary::unload() {
  if (handle_) dlclose(handle_);
  if (copy_ < 0 || dlopen(fmt::format("/proc/self/fd/{}", copy_).c_str(), RTLD_NOLOAD | RTLD_LAZY))
    return;  // some libraries never leave
  close(copy_);
}

void SimLibrary::load() {
  handle_ = open_library();
  const auto symbol = [&](const char* name, auto& function, bool required = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle_, name));
    if (function || !required) return;
    throw SystemError(fmt::format("{} exports no {}; give the libttsim.so of ttsim v1.10 or later", info_.path, name),
                      info_.path);
  };
  symbol("libttsim_init", api_.init);
  symbol("libttsim_exit", api_.exit);
  symbol("libttsim_set_pci_dma_mem_callbacks", api_.set_dma);
  symbol("libttsim_pci_config_rd32", api_.config_read);
  symbol("libttsim_pci_mem_rd_bytes", api_.read);
  symbol("libttsim_pci_mem_wr_bytes", api_.write);
  symbol("libttsim_clock", api_.clock);
  symbol("baretile_sim_on_fault", api_.on_fault, false);
}

void SimLibrary::take_over() {
  // Our own simulator reports a fault and returns.
  if (api_.on_fault) return api_.on_fault(on_fault);
  const Redirect exits[] = {{"_Exit", (void*)on_exit_call},
                            {"_exit", (void*)on_exit_call},
                            {"exit", (void*)on_exit_call},
                            {"abort", (void*)on_exit_call}};
  const Redirect output[] = {{"stdout", &out_},
                             {"printf", (void*)on_printf},
                             {"__printf_chk", (void*)on_printf_chk},
                             {"vprintf", (void*)on_vprintf},
                             {"__vprintf_chk", (void*)on_vprintf_chk},
                             {"puts", (void*)on_puts},
                             {"putchar", (void*)on_putchar},
                             {"mmap", (void*)on_mmap},
                             {"mmap64", (void*)on_mmap}};
  if (redirect_imports(handle_, exits) == 0) info_.description += "; its faults end this process";
  redirect_imports(handle_, output);
}

// Remembers the mapping for unloading, and keeps it out of children: with 32 GiB of DRAM mapped, fork() fails for want
// of memory.
void* SimLibrary::on_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  void* p = mmap(at, bytes, protection, flags, fd, offset);
  if (p == MAP_FAILED || !current) return p;
  madvise(p, bytes, MADV_DONTFORK);
  current->mapped_.push_back({static_cast<std::byte*>(p), bytes});
  return p;
}

// ttsim ends with a line as "[0] ERROR: UndefinedBehavior: tile_rd_bytes: DRAM read overrun".
void SimLibrary::read_last_words() {
  std::fflush(out_);
  message_.assign(out_text_, out_bytes_);
  while (!message_.empty() && message_.back() == '\n') message_.pop_back();
  message_.erase(0, message_.rfind('\n') + 1);
  constexpr std::string_view kPrefix = "ERROR: ";
  if (const size_t at = message_.find(kPrefix); at != message_.npos) message_.erase(0, at + kPrefix.size());
  const std::string word = message_.substr(0, message_.find(':'));
  kind_ = word.find(' ') == word.npos ? word : "unknown";
  if (message_.empty()) message_ = "it ended without a word";
}

void SimLibrary::fault() {
  const Operation& o = operation_;
  const std::string doing = fmt::format(fmt::runtime(o.format), o.bar, o.offset, o.size);
  faulted_.emplace(fmt::format("simulator stopped in {}: {}", doing, message_), kind_);
  throw *faulted_;
}

// For the callbacks, inside the library's frames: nothing may be thrown here, so a bad address is reported when the
// call returns.
std::byte* SimLibrary::host_memory(u64 addr, u32 size) {
  for (const HostMemory& m : host_memory_)
    if (addr >= m.addr && addr - m.addr <= m.bytes && size <= m.bytes - (addr - m.addr))
      return m.data + (addr - m.addr);
  kind_ = "bad_address";
  message_ = fmt::format("the chip reached for {} bytes at host address {:#x}, which is in no DMA buffer", size, addr);
  return nullptr;
}

// Reached through the PCIe tile's outbound iATU region, as with tt-kmd. src: BlackholeA0/PCIExpressTile/README.md, "NoC
// address space".
DmaBuffer SimLibrary::dma(size_t bytes) {
  if (bytes == 0) throw UsageError("a DMA buffer of 0 bytes was asked for");
  constexpr size_t kPage = 4096;
  const size_t whole = round_up(bytes, kPage);
  HostMemory m{next_host_addr_, whole, std::make_unique<std::byte[]>(whole + kPage), nullptr};
  m.data = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(m.storage.get()), kPage));
  next_host_addr_ += whole + kPage;  // a gap, so that running over an end is caught
  const DmaBuffer buffer{{m.data, bytes}, 4ull << 58 | m.addr};
  host_memory_.push_back(std::move(m));
  return buffer;
}

}  // namespace

std::unique_ptr<Device> open_sim_library(const DeviceInfo& info) {
  auto device = std::make_unique<SimLibrary>(info);
  device->start();
  return device;
}

}  // namespace baretile::pci
