// Plays programs on a libttsim library, in child processes because a fault ends the process there.
//   std::vector<Outcome> got = play_on_library(std::getenv("TTSIM"), cases);
#pragma once
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>

#include "diff/program.h"

namespace baretile::diff {

// The player each TRISC runs: `for (action of list) …` with a drain every eighth action; clang 14, riscv32 -O1, thread
// from its pc.
inline constexpr u32 kPlayerCode[] = {
    0xffb01137, 0xff010113, 0x00000517, 0x00c55513, 0x00357513, 0x00000097, 0x00c080e7, 0x0000006f, 0xfe010113,
    0x00812e23, 0x00912c23, 0x01212a23, 0x01312823, 0x01412623, 0x01512423, 0x01612223, 0x01051593, 0x00020637,
    0x00c586b3, 0x0006a583, 0x00451513, 0xf0060613, 0x00c50533, 0x10058e63, 0x00000613, 0x01068693, 0xffe40737,
    0x00700793, 0xffe80837, 0x00480893, 0x00400293, 0x00200313, 0x00100393, 0xffef0e37, 0x00300e93, 0xffb80f37,
    0x02080f93, 0x00600413, 0x00500493, 0xffe00937, 0x00800993, 0x0100006f, 0x00160613, 0x00868693, 0x0cc58463,
    0x0006ab03, 0x0006aa83, 0x0046aa03, 0x018b5b13, 0x000b1663, 0x01472023, 0x09c0006f, 0x008a9a93, 0x008ada93,
    0x0162cc63, 0x03634663, 0x047b0863, 0x086b1263, 0x00482a03, 0x07c0006f, 0x03644663, 0x049b0463, 0x068b1863,
    0x002a1a13, 0x01ca0a33, 0x0580006f, 0x05db0063, 0x045b1e63, 0x002a9a93, 0x01fa8ab3, 0x04c0006f, 0x02fb0c63,
    0x053b1463, 0x002a1a13, 0x01fa0a33, 0x0300006f, 0x002a9a93, 0x01ca8ab3, 0x02c0006f, 0x002a9a93, 0x012a8ab3,
    0x0200006f, 0x002a9a93, 0x01ea8ab3, 0x0140006f, 0x002a1a13, 0x012a0a33, 0x000a2a03, 0x004a9a93, 0x014aa023,
    0x00767a13, 0xf2fa1ee3, 0x0008aa03, 0xf35ff06f, 0xffe805b7, 0x0045a583, 0xd0e5d5b7, 0x0e558593, 0x00b52023,
    0x0000006f,
};

class Library {
 public:
  explicit Library(const char* path) {
    void* so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) throw std::runtime_error(dlerror());
    load(so, "libttsim_init", init_);
    load(so, "libttsim_pci_config_rd32", config_read_);
    load(so, "libttsim_pci_mem_rd_bytes", read_);
    load(so, "libttsim_pci_mem_wr_bytes", write_);
    load(so, "libttsim_clock", clock);
    init_();
    bar0_ = u64{config_read_(0, 0x14)} << 32 | (config_read_(0, 0x10) & ~0xFu);
  }
  void (*clock)(u32);

  // The tile's space through window 0, which is moved as needed; (1, 2) is a Tensix tile on every grid.
  void write(u64 addr, const void* data, u32 bytes) { write_(move_window(addr), data, bytes); }
  void read(u64 addr, void* data, u32 bytes) { read_(move_window(addr), data, bytes); }
  void write32(u64 addr, u32 value) { write(addr, &value, 4); }
  u32 read32(u64 addr) {
    u32 value = 0;
    read(addr, &value, 4);
    return value;
  }

 private:
  template <class Function>
  static void load(void* so, const char* name, Function& out) {
    void* symbol = dlsym(so, name);
    if (!symbol) throw std::runtime_error(std::string("no symbol ") + name);
    std::memcpy(&out, &symbol, sizeof out);
  }
  u64 move_window(u64 addr) {
    if (addr >> 21 != window_) {
      window_ = addr >> 21;
      const u64 x = 1, y = 2;
      const u32 words[3] = {u32(window_), u32(window_ >> 32 | x << 11 | y << 17), 1u << 6};  // ordering: strict
      for (u32 i = 0; i < 3; i++) write_(bar0_ + 0x1FC00000 + 4 * i, &words[i], 4);
    }
    return bar0_ + (addr & 0x1FFFFF);
  }
  void (*init_)();
  u32 (*config_read_)(u32, u32);
  void (*read_)(u64, void*, u32);
  void (*write_)(u64, const void*, u32);
  u64 bar0_ = 0, window_ = ~u64{0};
};

// Runs one case to its end; false if the threads never finished.
inline bool play_case(Library& chip, const Case& c, u32 max_clocks, std::string& waits) {
  constexpr u64 kSoftReset = 0xFFB121B0, kResetPc = 0xFFB12228, kResetPcOverride = 0xFFB12234;
  constexpr u32 kAllHeld = 0x47800, kTriscs = 0x7000, kCode = 0x10000, kStatus = 0x1FF00, kDone = 0xD0E5D0E5;
  chip.write32(kSoftReset, kAllHeld);
  for (u32 t = 0; t < 3; t++) {
    const auto& actions = c.thread[t].actions();
    if (actions.size() > kMaxActions) throw std::runtime_error("list too long: " + c.name);
    chip.write(kCode + 0x1000 * t, kPlayerCode, sizeof kPlayerCode);
    chip.write32(kListBase + kListStride * t, u32(actions.size()));
    if (!actions.empty()) chip.write(kListBase + kListStride * t + 16, actions.data(), u32(8 * actions.size()));
    chip.write32(kStatus + 16 * t, 0);
    chip.write32(kResetPc + 4 * t, kCode + 0x1000 * t);
  }
  chip.write32(kResetPcOverride, 7);
  for (const Patch& p : c.inputs) chip.write(p.addr, p.bytes.data(), u32(p.bytes.size()));
  chip.write32(kSoftReset, kAllHeld & ~kTriscs);
  for (u32 clocks = 0; clocks < max_clocks; clocks += 50) {
    chip.clock(50);
    bool done = true;
    for (u32 t = 0; t < 3; t++) done &= chip.read32(kStatus + 16 * t) == kDone;
    if (done) return true;
  }
  for (u32 t = 0; t < 3; t++) waits += chip.read32(kStatus + 16 * t) == kDone ? " done" : " waiting";
  return false;
}

// Every case's outcome, in order. A new child (a fresh chip, a new epoch) follows a case that did not finish, or after
// `per_chip` cases.
inline std::vector<Outcome> play_on_library(const char* path, std::span<const Case> cases, u32 max_clocks = 20000,
                                            size_t per_chip = ~size_t{0}) {
  struct Slot {
    u32 state;
    char waits[60];
  };  // state: 0 not run, 1 running, 2 done, 3 stuck
  size_t bytes = sizeof(Slot) * cases.size();
  std::vector<size_t> offset;
  for (const Case& c : cases) offset.push_back(bytes), bytes += c.out_bytes;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::runtime_error("mmap of the shared outcomes");
  auto* slots = static_cast<Slot*>(map);
  auto* base = static_cast<u8*>(map);
  std::vector<Outcome> outcomes(cases.size());
  u32 epoch = 0;
  for (size_t first = 0; first < cases.size(); epoch++) {
    const int out = memfd_create("player", 0);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
      dup2(out, 1);
      Library chip(path);
      for (size_t i = first; i < cases.size() && i - first < per_chip; i++) {
        slots[i].state = 1;
        std::string waits;
        const bool done = play_case(chip, cases[i], max_clocks, waits);
        chip.read(cases[i].out_addr, base + offset[i], cases[i].out_bytes);
        std::strncpy(slots[i].waits, waits.c_str(), sizeof slots[i].waits - 1);
        slots[i].state = done ? 2 : 3;
        if (!done) _exit(0);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    char text[400] = {};
    if (pread(out, text, sizeof text - 1, 0) < 0) text[0] = 0;
    close(out);
    size_t i = first;
    for (; i < cases.size() && slots[i].state; i++) {
      Outcome& o = outcomes[i];
      o.epoch = epoch;
      o.output.assign(base + offset[i], base + offset[i] + cases[i].out_bytes);
      o.end = slots[i].state == 2   ? Outcome::End::done
              : slots[i].state == 3 ? Outcome::End::stuck
                                    : Outcome::End::fault;
      if (o.end == Outcome::End::stuck) o.message = slots[i].waits;
      if (o.end == Outcome::End::fault) o.message = text;
    }
    if (i == first) throw std::runtime_error(std::string("the library did not start: ") + text);
    first = i;
  }
  munmap(map, bytes);
  return outcomes;
}

}  // namespace baretile::diff
