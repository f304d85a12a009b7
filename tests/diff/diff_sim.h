// A simulator opened by its C interface, and the means to run the same work on two of them in child processes.
#pragma once
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"

namespace baretile::diff {

inline constexpr u32 kHold[isa::kCores] = {isa::kHoldBrisc, isa::kHoldNcrisc, isa::kHoldTrisc0, isa::kHoldTrisc1,
                                           isa::kHoldTrisc2};
inline std::string in_tree_simulator() { return BARETILE_BINARY_DIR "/lib/libbaretile_sim.so"; }

class Simulator {
 public:
  explicit Simulator(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(dlerror());
    entry(init, "libttsim_init");
    entry(clock, "libttsim_clock");
    entry(read_bytes_, "libttsim_pci_mem_rd_bytes");
    entry(write_bytes_, "libttsim_pci_mem_wr_bytes");
    entry(set_host_memory, "libttsim_set_pci_dma_mem_callbacks");
  }

  void (*init)() = nullptr;
  void (*clock)(uint32_t) = nullptr;
  void (*set_host_memory)(void (*)(uint64_t, void*, uint32_t), void (*)(uint64_t, const void*, uint32_t)) = nullptr;

  // Ranges must not cross a 2 MiB boundary.
  void read(u32 x, u32 y, u64 address, void* out, u32 bytes) { read_bytes_(window(x, y, address), out, bytes); }
  void write(u32 x, u32 y, u64 address, const void* data, u32 bytes) {
    write_bytes_(window(x, y, address), data, bytes);
  }
  u32 read32(u32 x, u32 y, u64 address) {
    u32 value;
    read(x, y, address, &value, 4);
    return value;
  }
  void write32(u32 x, u32 y, u64 address, u32 value) { write(x, y, address, &value, 4); }
  void write_words(u32 x, u32 y, u64 address, const std::vector<u32>& words) {
    write(x, y, address, words.data(), u32(words.size() * 4));
  }

 private:
  template <class Function>
  void entry(Function*& function, const char* name) {
    void* symbol = dlsym(library_, name);
    if (!symbol) throw std::runtime_error(dlerror());
    std::memcpy(&function, &symbol, sizeof(symbol));
  }

  u64 window(u32 x, u32 y, u64 address) {  // points window 0 (2 MiB, strict ordering) at the address
    constexpr u64 kBar0 = 0x1'0000'0000, kWindowRegs = kBar0 + 0x1FC00000, kBytes = u64{2} << 20;
    const u64 page = address / kBytes;
    const u32 words[3] = {u32(page), u32(page >> 32) | x << 11 | y << 17, 1u << 6};
    for (u32 k = 0; k < 3; ++k)
      if (words[k] != window_[k]) write_bytes_(kWindowRegs + 4 * k, &words[k], 4);
    std::memcpy(window_, words, sizeof(words));
    return kBar0 + address % kBytes;
  }

  void* library_;
  void (*read_bytes_)(uint64_t, void*, uint32_t) = nullptr;
  void (*write_bytes_)(uint64_t, const void*, uint32_t) = nullptr;
  u32 window_[3] = {};
};

// Runs `work` on a fresh simulator in a child process and returns the words it gave back; what a dying simulator
// printed is thrown.
inline std::vector<u32> run_in_child(const std::string& path, const std::function<std::vector<u32>(Simulator&)>& work) {
  int results[2], output[2];
  if (pipe(results) != 0 || pipe(output) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], 1);
    close(results[0]);
    setenv("BARETILE_SIM_GRID", "140x8", 1);  // ttsim's grid
    Simulator simulator(path);
    const std::vector<u32> words = work(simulator);
    const char* next = reinterpret_cast<const char*>(words.data());
    for (size_t left = words.size() * 4; left > 0;) {
      const ssize_t n = ::write(results[1], next, left);
      if (n <= 0) _exit(2);
      next += n, left -= size_t(n);
    }
    _exit(0);
  }
  close(results[1]);
  close(output[1]);
  const auto drain = [](int fd) {
    std::string bytes;
    char buffer[65536];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof(buffer))) > 0;) bytes.append(buffer, size_t(n));
    close(fd);
    return bytes;
  };
  const std::string bytes = drain(results[0]), said = drain(output[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("{} ended with {:#x}: {}", path, status, said));
  std::vector<u32> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

inline u32 hash(const void* data, size_t bytes, u32 seed = 2166136261u) {  // FNV-1a
  for (size_t k = 0; k < bytes; ++k) seed = (seed ^ static_cast<const u8*>(data)[k]) * 16777619u;
  return seed;
}

}  // namespace baretile::diff
