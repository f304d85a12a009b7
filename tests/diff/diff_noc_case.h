// Random legal NoC requests of one tile, carried out by a core that plays a list of stores and loads.
#pragma once
#include <array>
#include <random>

#include "baretile/isa/grid.h"
#include "diff/diff_sim.h"

namespace baretile::diff {

struct NocStep {
  u32 address;  // of a register or of L1; bit 0 set: a load, whose value counts in the result
  u32 value = 0;
};

using NocCase = std::vector<NocStep>;

struct NocResult {
  u32 loads = 0, memory = 0;  // hashes
  bool operator==(const NocResult&) const = default;
};

namespace noc {

struct Spot {
  u32 x, y;
};
inline constexpr Spot kTiles[] = {{2, 3}, {1, 2}, {16, 11}, {7, 4}, {10, 4}, {5, 9}};  // the first one is the initiator
inline constexpr Spot kBanks[] = {{17, 12}, {18, 23}, {17, 19}};
inline constexpr u32 kWindow = 0x40000, kWindowBytes = 0x8000, kHostBytes = 0x10000;
inline constexpr u32 kWindowsInDram[] = {0x100000, 0x7FFF8000, 0xFFFF0000};  // one a bank; clear of 2 MiB boundaries
inline constexpr u32 kList = 0x20000, kLoads = 0x30000, kDone = 0x38000;

class Generator {
 public:
  explicit Generator(u32 seed) : random_(seed) {}

  NocCase make() {
    NocCase c;
    for (u32 k = 1 + pick(6); k > 0; --k) add_request(c);
    for (u32 offset : {0x200u, 0x204u, 0x208u, 0x21Cu, 0x228u, 0x22Cu})
      for (u32 n = 0; n < 2; ++n) load(c, niu(n) + offset);
    return c;
  }

 private:
  u32 pick(u32 below) { return u32(random_() % below); }
  bool chance(u32 percent) { return pick(100) < percent; }
  static u32 niu(u32 n) { return isa::kNiuBase + isa::kNiuStride * n; }
  static void load(NocCase& c, u32 address) { c.push_back({address | 1}); }
  static u32 coord(Spot s) { return isa::noc_coord(s.x, s.y); }
  u32 length(u32 limit) { return 1 + pick(chance(5) ? limit : chance(50) ? 64 : 600); }

  struct Request {
    u32 targ_lo = 0, targ_mid = 0, targ_xy = 0, ret_lo = 0, ret_mid = 0, ret_xy = 0, ctrl = 0, length = 0, data = 0;
  };

  void add_request(NocCase& c) {
    const u32 n = pick(2), buffer = niu(n) + isa::kNiuCommandStride * pick(isa::kNiuCommandBuffers), id = pick(16);
    Request r;
    switch (pick(8)) {
      case 0:
      case 1:
        r = read();
        break;
      case 2:
      case 3:
        r = write();
        break;
      case 4:
        r = multicast(n);
        break;
      case 5:
        r = atomic();
        break;
      case 6:
        r = chance(50) ? register_read() : register_write();
        break;
      default:
        r = inline_write();
        break;
    }
    if (chance(20)) r.ctrl |= (1u << 7) | pick(2) << 13;  // static channel
    if (chance(10)) r.ctrl |= 1u << 6;                    // linked
    const u32 registers[][2] = {{isa::kNiuTargLo, r.targ_lo},
                                {isa::kNiuTargMid, r.targ_mid},
                                {isa::kNiuTargCoord, r.targ_xy},
                                {isa::kNiuRetLo, r.ret_lo},
                                {isa::kNiuRetMid, r.ret_mid},
                                {isa::kNiuRetCoord, r.ret_xy},
                                {isa::kNiuTag, id << 10},
                                {isa::kNiuCtrl, r.ctrl},
                                {isa::kNiuLen, r.length},
                                {isa::kNiuData, r.data},
                                {isa::kNiuCmd, 1}};
    for (const auto& [reg, value] : registers) c.push_back({buffer + reg, value});
    if (chance(50)) load(c, niu(n) + 0x240 + 4 * id);
    if (chance(10)) c.push_back({niu(n) + 0x60, 0xFFFF});
    if (chance(20)) load(c, buffer + isa::kNiuTargLo);
  }

  // A place in some window whose offset agrees with `low` modulo `unit`.
  u32 within(u32 base, u32 bytes, u32 low, u32 unit, u32 size) {
    const u32 room = size - bytes - unit;
    return base + pick(room / unit + 1) * unit + low % unit;
  }

  struct Far {
    u32 lo, mid, xy;
  };
  Far far(u32 bytes, u32 low, u32 dram_unit) {
    const u32 kind = pick(8);
    if (kind == 0)
      return {within(0x1000, bytes, low, 64, kHostBytes - 0x1000), chance(50) ? 4u << 26 : 0,
              isa::noc_coord(isa::kPcieX, isa::kPcieY)};
    if (kind < 4) {
      const u32 bank = pick(std::size(kBanks));
      return {within(kWindowsInDram[bank], bytes, low, dram_unit, kWindowBytes), 0, coord(kBanks[bank])};
    }
    return {within(kWindow, bytes, low, isa::kNocAlign, kWindowBytes), 0, coord(kTiles[pick(std::size(kTiles))])};
  }

  Request read() {
    const u32 bytes = length(isa::kNocMaxPacket), own = within(kWindow, bytes, pick(64), 64, kWindowBytes);
    const Far from = far(bytes, own, isa::kNocDramAlign);
    return {.targ_lo = from.lo,
            .targ_mid = from.mid,
            .targ_xy = from.xy,
            .ret_lo = own,
            .ret_xy = coord(kTiles[0]),
            .ctrl = isa::kNocRead,
            .length = bytes};
  }
  Request write() {
    const u32 bytes = length(isa::kNocMaxPacket), own = within(kWindow, bytes, pick(64), 64, kWindowBytes);
    const Far to = far(bytes, own, isa::kNocAlign);
    return {.targ_lo = own,
            .targ_xy = coord(kTiles[0]),
            .ret_lo = to.lo,
            .ret_mid = to.mid,
            .ret_xy = to.xy,
            .ctrl = chance(70) ? isa::kNocWrite : isa::kNocWritePosted,
            .length = bytes};
  }
  Spot corner() {
    return {isa::kTensixColumns[pick(std::size(isa::kTensixColumns))], isa::kTensixRow0 + pick(isa::kTensixRows)};
  }
  Request multicast(u32 n) {
    const u32 bytes = length(2000), own = within(kWindow, bytes, pick(64), 64, kWindowBytes);
    Spot a = corner(), b = corner();
    if (a.x > b.x) std::swap(a.x, b.x);
    if (a.y > b.y) std::swap(a.y, b.y);
    const u32 rect = n == 0 ? isa::noc_rect(a.x, a.y, b.x, b.y) : isa::noc_rect(b.x, b.y, a.x, a.y);
    u32 ctrl = isa::kNocMulticast | (chance(50) ? u32{isa::kNocIncludeSelf} : 0);
    if (chance(20)) ctrl &= ~0x10u;  // posted
    return {.targ_lo = own,
            .targ_xy = coord(kTiles[0]),
            .ret_lo = within(kWindow, bytes, own, isa::kNocAlign, kWindowBytes),
            .ret_xy = rect,
            .ctrl = ctrl,
            .length = bytes};
  }
  Request atomic() {
    return {.targ_lo = kWindow + 16 * pick(kWindowBytes / 16),
            .targ_xy = coord(kTiles[pick(std::size(kTiles))]),
            .ret_lo = kWindow + 4 * pick(kWindowBytes / 4),
            .ret_xy = coord(kTiles[0]),
            .ctrl = isa::kNocAtomic & ~(chance(20) ? 0x10u : 0u),
            .length = isa::kNocAtomicIncrement32,
            .data = u32(random_())};
  }
  Request register_read() {
    constexpr u32 kRegisters[] = {
        isa::kNiuBase + isa::kNiuNodeId, isa::kNiuBase + isa::kNiuLogicalId, isa::kSoftReset, isa::kTriscResetPc,
        isa::kTriscResetPc + 4,          isa::kTriscResetPcOverride};
    return {.targ_lo = kRegisters[pick(6)],
            .targ_xy = coord(kTiles[pick(std::size(kTiles))]),
            .ret_lo = kWindow + 4 * pick(kWindowBytes / 4),
            .ret_xy = coord(kTiles[0]),
            .ctrl = isa::kNocRead,
            .length = 4};
  }
  Request register_write() {
    const u32 reg = isa::kTriscResetPc + 4 * pick(3);
    return {.targ_lo = kWindow + 16 * pick(kWindowBytes / 16) + reg % 16,
            .targ_xy = coord(kTiles[0]),
            .ret_lo = reg,
            .ret_xy = coord(kTiles[1 + pick(std::size(kTiles) - 1)]),
            .ctrl = isa::kNocWrite,
            .length = 4};
  }
  Request inline_write() {
    return {.targ_lo = isa::kTriscResetPc + 4 * pick(3),
            .targ_xy = coord(kTiles[1 + pick(std::size(kTiles) - 1)]),
            .ret_xy = coord(kTiles[0]),
            .ctrl = isa::kNocWriteInline & ~(chance(30) ? 0x10u : 0u),
            .data = u32(random_())};
  }

  std::mt19937 random_;
};

// The core that plays the list: BRISC of the first tile, started for every case. clang's encoding of
//   lui s0,0x20; lui s1,0x30; 1: lw t1,0(s0); lw t2,4(s0); addi s0,s0,8; beqz t1,3f; andi t0,t1,1; bnez t0,2f; sw
//   t2,0(t1); j 1b; 2: lw t2,-1(t1); sw t2,0(s1); addi s1,s1,4; j 1b;  3: lui t0,0x38; li t1,1; sw t1,0(t0); j .
inline constexpr u32 kPlayer[] = {0x00020437, 0x000304B7, 0x00042303, 0x00442383, 0x00840413, 0x02030263,
                                  0x00137293, 0x00029663, 0x00732023, 0xFE5FF06F, 0xFFF32383, 0x0074A023,
                                  0x00448493, 0xFD5FF06F, 0x000382B7, 0x00100313, 0x0062A023, 0x0000006F};

inline std::array<u8, kHostBytes> host_memory;
inline void host_read(uint64_t address, void* out, uint32_t bytes) {
  std::memcpy(out, &host_memory.at(address), bytes);
}
inline void host_write(uint64_t address, const void* data, uint32_t bytes) {
  std::memcpy(&host_memory.at(address), data, bytes);
}

inline u32 memory_hash(Simulator& sim) {
  static std::array<u64, kWindowBytes / 8> window;
  u64 sum = 0;
  const auto add = [&](const u64* words, size_t count) {
    for (size_t k = 0; k < count; ++k) sum = (sum ^ words[k]) * 0x9E3779B97F4A7C15ull, sum ^= sum >> 29;
  };
  for (const Spot& s : kTiles) {
    sim.read(s.x, s.y, kWindow, window.data(), kWindowBytes);
    add(window.data(), window.size());
    for (u32 k = 0; k < 3; ++k) sum += u64{sim.read32(s.x, s.y, isa::kTriscResetPc + 4 * k)} << 3 * k;
  }
  for (u32 k = 0; k < std::size(kBanks); ++k) {
    sim.read(kBanks[k].x, kBanks[k].y, kWindowsInDram[k], window.data(), kWindowBytes);
    add(window.data(), window.size());
  }
  add(reinterpret_cast<const u64*>(host_memory.data()), kHostBytes / 8);
  return u32(sum ^ sum >> 32);
}

inline void fill_memory(Simulator& sim) {
  std::mt19937 random(7);
  std::vector<u32> words(kWindowBytes / 4);
  const auto renew = [&] {
    for (u32& word : words) word = u32(random());
  };
  for (const Spot& s : kTiles) renew(), sim.write_words(s.x, s.y, kWindow, words);
  for (u32 k = 0; k < std::size(kBanks); ++k)
    renew(), sim.write_words(kBanks[k].x, kBanks[k].y, kWindowsInDram[k], words);
  for (u8& byte : host_memory) byte = u8(random());
}

inline u32 play(Simulator& sim, const NocCase& c) {
  const Spot at = kTiles[0];
  std::vector<u32> list;
  u32 loads = 0;
  for (const NocStep& step : c) {
    list.insert(list.end(), {step.address, step.value});
    loads += step.address & 1;
  }
  list.insert(list.end(), {0, 0});
  sim.write_words(at.x, at.y, kList, list);
  sim.write32(at.x, at.y, kDone, 0);
  sim.write32(at.x, at.y, isa::kSoftReset, isa::kHoldAll & ~isa::kHoldBrisc);
  for (u32 turn = 0; turn < 100 && sim.read32(at.x, at.y, kDone) != 1; ++turn) sim.clock(300);
  sim.write32(at.x, at.y, isa::kSoftReset, isa::kHoldAll);
  if (sim.read32(at.x, at.y, kDone) != 1) throw std::runtime_error("a NoC case did not end");
  std::vector<u32> values(loads);
  if (loads) sim.read(at.x, at.y, kLoads, values.data(), loads * 4);
  return hash(values.data(), values.size() * 4);
}

}  // namespace noc

// Two words a case: the hash of what it loaded, and that of all memory it may reach. Memory carries over from case to
// case.
inline std::vector<u32> run_noc(Simulator& sim, const std::vector<NocCase>& cases) {
  sim.set_host_memory(noc::host_read, noc::host_write);
  sim.init();
  noc::fill_memory(sim);
  sim.write_words(noc::kTiles[0].x, noc::kTiles[0].y, 0, {std::begin(noc::kPlayer), std::end(noc::kPlayer)});
  std::vector<u32> out;
  for (const NocCase& c : cases) {
    out.push_back(noc::play(sim, c));
    out.push_back(noc::memory_hash(sim));
  }
  return out;
}

}  // namespace baretile::diff
