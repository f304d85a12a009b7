// Random legal RV32 programs: their generation, and running many of them on one simulator, five to a tile.
// The encoders here are written from the RISC-V specification, apart from the simulator's decoder.
#pragma once
#include <array>
#include <random>

#include "diff/diff_sim.h"

namespace baretile::diff {

struct Rv32Case {
  u32 seed = 0;           // of the initial registers and memory
  std::vector<u32> body;  // the random instructions
};

struct Rv32Result {
  std::array<u32, 31> registers{};  // x1 … x31
  u32 memory = 0;                   // hash of the L1 and local RAM it may write, wall clock included
  bool operator==(const Rv32Result&) const = default;
};
inline constexpr u32 kRv32ResultWords = 32;

namespace rv32 {

// Registers with a fixed role; the body never writes them.
inline constexpr u32 kL1Base = 8, kLocalBase = 9, kCounter = 10, kAddress = 11, kCsrValue = 12;
inline constexpr u32 kDataBytes = 256;

constexpr u32 r_type(u32 funct7, u32 funct3, u32 rd, u32 rs1, u32 rs2, u32 opcode = 0x33) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr u32 i_type(i32 imm, u32 rs1, u32 funct3, u32 rd, u32 opcode) {
  return u32(imm) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr u32 s_type(i32 imm, u32 rs2, u32 rs1, u32 funct3) {
  return extract(u32(imm), 5, 7) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | extract(u32(imm), 0, 5) << 7 | 0x23;
}
constexpr u32 b_type(i32 offset, u32 rs2, u32 rs1, u32 funct3) {
  const u32 v = u32(offset);
  return extract(v, 12, 1) << 31 | extract(v, 5, 6) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 |
         extract(v, 1, 4) << 8 | extract(v, 11, 1) << 7 | 0x63;
}
constexpr u32 jal(i32 offset, u32 rd) {
  const u32 v = u32(offset);
  return extract(v, 20, 1) << 31 | extract(v, 1, 10) << 21 | extract(v, 11, 1) << 20 | extract(v, 12, 8) << 12 |
         rd << 7 | 0x6F;
}
constexpr u32 lui(u32 imm20, u32 rd) { return imm20 << 12 | rd << 7 | 0x37; }
constexpr u32 addi(u32 rd, u32 rs1, i32 imm) { return i_type(imm, rs1, 0, rd, 0x13); }
constexpr u32 lw(u32 rd, u32 rs1, i32 imm) { return i_type(imm, rs1, 2, rd, 0x03); }
constexpr u32 sw(u32 rs2, u32 rs1, i32 imm) { return s_type(imm, rs2, rs1, 2); }
constexpr u32 hi20(u32 value) { return (value + 0x800) >> 12; }
constexpr i32 lo12(u32 value) { return i32(value << 20) >> 20; }

class Generator {
 public:
  explicit Generator(u32 seed) : random_(seed) {}

  Rv32Case make() {
    Rv32Case c{.seed = u32(random_()), .body = {}};
    const u32 length = 8 + pick(32);
    while (c.body.size() < length) add(c.body);
    return c;
  }

 private:
  u32 pick(u32 below) { return u32(random_() % below); }
  u32 source() { return pick(32); }
  u32 target() {
    for (;;)
      if (const u32 rd = pick(32); rd < kL1Base || rd > kCsrValue) return rd;
  }

  void add(std::vector<u32>& body) {
    switch (pick(16)) {
      case 0:
        return add_branch(body);
      case 1:
        return add_jump(body);
      case 2:
        return add_loop(body);
      case 3:
        return body.push_back(load());
      case 4:
        return body.push_back(store());
      case 5:
        return add_atomic(body);
      case 6:
        return body.push_back(pick(2) ? lui(pick(1 << 20), target()) : pick(1 << 20) << 12 | target() << 7 | 0x17);
      case 7:
        return add_odd(body);
      default:
        return body.push_back(alu());
    }
  }

  u32 alu() {
    constexpr u32 kRType[][2] = {{0x00, 0}, {0x20, 0}, {0x00, 1}, {0x00, 2}, {0x00, 3}, {0x00, 4}, {0x00, 5}, {0x20, 5},
                                 {0x00, 6}, {0x00, 7}, {0x01, 0}, {0x01, 1}, {0x01, 2}, {0x01, 3}, {0x01, 4}, {0x01, 5},
                                 {0x01, 6}, {0x01, 7}, {0x10, 2}, {0x10, 4}, {0x10, 6}, {0x20, 7}, {0x20, 6}, {0x20, 4},
                                 {0x05, 4}, {0x05, 5}, {0x05, 6}, {0x05, 7}, {0x30, 1}, {0x30, 5}, {0x04, 4}};
    constexpr u32 kUnary[] = {0x600 << 8 | 1, 0x601 << 8 | 1, 0x602 << 8 | 1, 0x604 << 8 | 1,
                              0x605 << 8 | 1, 0x287 << 8 | 5, 0x698 << 8 | 5, 0x687 << 8 | 5};
    constexpr u32 kShift[][2] = {{0x00, 1}, {0x00, 5}, {0x20, 5}, {0x30, 5}};
    constexpr u32 kImmediate[] = {0, 2, 3, 4, 6, 7};
    switch (pick(4)) {
      case 0:
        return i_type(i32(pick(4096)), source(), kImmediate[pick(6)], target(), 0x13);
      case 1:
        if (pick(2)) {
          const u32 op = kUnary[pick(std::size(kUnary))];
          return i_type(i32(op >> 8), source(), op & 7, target(), 0x13);
        } else {
          const auto& op = kShift[pick(std::size(kShift))];
          return r_type(op[0], op[1], target(), source(), pick(32), 0x13);
        }
      default: {
        const auto& op = kRType[pick(std::size(kRType))];
        return r_type(op[0], op[1], target(), source(), source());
      }
    }
  }

  u32 load() {
    constexpr u32 kFunct3[] = {0, 1, 2, 4, 5};
    const u32 funct3 = kFunct3[pick(5)], size = 1u << (funct3 & 3);
    return i_type(i32(pick(kDataBytes / size) * size), base(), funct3, target(), 0x03);
  }
  u32 store() {
    const u32 funct3 = pick(3), size = 1u << funct3;
    return s_type(i32(pick(kDataBytes / size) * size), source(), base(), funct3);
  }
  u32 base() { return pick(2) ? kL1Base : kLocalBase; }

  void add_atomic(std::vector<u32>& body) {
    constexpr u32 kFunct5[] = {0x00, 0x01, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C};
    body.push_back(addi(kAddress, kL1Base, i32(pick(kDataBytes / 4) * 4)));
    body.push_back(r_type(kFunct5[pick(9)] << 2 | pick(4), 2, target(), kAddress, source(), 0x2F));
  }
  void add_branch(std::vector<u32>& body) {  // over one to three instructions
    constexpr u32 kFunct3[] = {0, 1, 4, 5, 6, 7};
    const u32 skipped = 1 + pick(3);
    body.push_back(b_type(i32(4 + 4 * skipped), source(), source(), kFunct3[pick(6)]));
    for (u32 k = 0; k < skipped; ++k) body.push_back(alu());
  }
  void add_jump(std::vector<u32>& body) {
    if (pick(2)) {
      body.push_back(jal(8, target()));
      body.push_back(alu());
    } else {
      body.push_back(kAddress << 7 | 0x17);                                    // auipc
      body.push_back(i_type(i32(12 + pick(2)), kAddress, 0, target(), 0x67));  // jalr over one; bit 0 is dropped
      body.push_back(alu());
    }
  }
  void add_loop(std::vector<u32>& body) {
    body.push_back(addi(kCounter, 0, i32(1 + pick(6))));
    const size_t head = body.size();
    for (u32 k = 1 + pick(4); k > 0; --k) body.push_back(pick(3) ? alu() : pick(2) ? load() : store());
    body.push_back(addi(kCounter, kCounter, -1));
    body.push_back(b_type(-4 * i32(body.size() - head), 0, kCounter, 1));
  }
  void add_odd(std::vector<u32>& body) {
    constexpr u32 kFences[] = {0x0230000F, 0x0310000F, 0x0330000F, 0x0FF0000F};
    constexpr u32 kCfg0 = 0x7C0;
    switch (pick(4)) {
      case 0:
        return body.push_back(kFences[pick(4)]);
      case 1:
        return body.push_back(i_type(kCfg0, kCsrValue, pick(2) ? 1 : 3, 0, 0x73));
      case 2:
        return body.push_back(i_type(kCfg0, pick(2) ? 0 : kCsrValue, 2, target(), 0x73));
      default: {  // overwrites an instruction ahead of itself: there is no instruction cache to mind
        body.push_back(kAddress << 7 | 0x17);
        body.push_back(lw(31, kAddress, 16));
        body.push_back(sw(31, kAddress, 20));
        body.push_back(jal(8, 0));
        body.push_back(addi(30, 30, i32(pick(1000))));
        body.push_back(alu());
      }
    }
  }

  std::mt19937 random_;
};

// Where a case lives in L1: core k of a tile has its own 16 KiB, and a dump that x0 can reach.
inline constexpr u32 kArea = 0x20000, kAreaBytes = 0x4000, kTable = 0x2000, kData = 0x3000;
inline constexpr u32 dump_address(u32 core) { return 0x100 + 0x100 * core; }

inline std::vector<u32> program(const Rv32Case& c, u32 core) {
  const u32 area = kArea + kAreaBytes * core, dump = dump_address(core);
  constexpr u32 kLocalOffset = 0x100;
  std::vector<u32> code = {lui(hi20(area + kTable), 31)};
  const auto read_all = [&](u32 base, i32 first) {
    for (u32 r = 1; r < 32; ++r)
      if (r != base) code.push_back(lw(r, base, first + i32(4 * r)));
  };
  code.push_back(lui(hi20(isa::kLocalRam), kLocalBase));
  for (u32 k = 0; k < kDataBytes / 4; ++k) {  // fill local RAM
    code.push_back(lw(1, 31, i32(0x100 + 4 * k)));
    code.push_back(sw(1, kLocalBase, i32(kLocalOffset + 4 * k)));
  }
  read_all(31, 0);
  code.push_back(lw(31, 31, 4 * 31));
  code.insert(code.end(), c.body.begin(), c.body.end());
  for (u32 r = 1; r < 32; ++r) code.push_back(sw(r, 0, i32(dump + 4 * r)));
  code.push_back(lui(hi20(area + kData), 1));
  for (u32 k = 0; k < kDataBytes / 4; ++k) {  // local RAM after the data in L1, then the time
    code.push_back(lw(2, kLocalBase, i32(4 * k)));
    code.push_back(sw(2, 1, i32(kDataBytes + 4 * k)));
  }
  code.push_back(lui(hi20(isa::kWallClockLo), 3));
  code.push_back(lw(2, 3, lo12(isa::kWallClockLo)));
  code.push_back(sw(2, 1, 2 * kDataBytes));
  code.push_back(addi(2, 0, 1));
  code.push_back(sw(2, 0, i32(dump)));
  code.push_back(jal(0, 0));
  return code;
}

inline u32 initial_value(std::mt19937& random) {
  constexpr u32 kCorners[] = {0, 1, ~0u, 0x80000000, 0x7FFFFFFF, 31, 32, 0xFFFF, 0x8000, 0xFF};
  const u32 kind = u32(random() % 4);
  if (kind == 0) return kCorners[random() % std::size(kCorners)];
  return kind == 1 ? u32(random()) >> random() % 32 : u32(random());
}

inline void load(Simulator& sim, u32 x, u32 y, u32 core, const Rv32Case& c) {
  constexpr u32 kCsrValues[] = {0, 2, 8, 0x40000, 0x0104000A};
  const u32 area = kArea + kAreaBytes * core;
  std::mt19937 random(c.seed);
  std::vector<u32> table(kTable / 4);
  for (u32& word : table) word = 0;
  for (u32 r = 1; r < 32; ++r) table[r] = initial_value(random);
  table[kL1Base] = area + kData;
  table[kLocalBase] = isa::kLocalRam + 0x100;
  table[kCsrValue] = kCsrValues[random() % std::size(kCsrValues)];
  std::vector<u32> data(kDataBytes / 4);
  for (u32& word : data) word = u32(random());
  for (u32 k = 0; k < kDataBytes / 4; ++k) table[0x100 / 4 + k] = u32(random());
  table.resize(0x100 / 4 + kDataBytes / 4);
  sim.write_words(x, y, area, program(c, core));
  sim.write_words(x, y, area + kTable, table);
  sim.write_words(x, y, area + kData, data);
  sim.write32(x, y, dump_address(core), 0);
}

inline Rv32Result result(Simulator& sim, u32 x, u32 y, u32 core) {
  std::array<u32, 32> dump;
  sim.read(x, y, dump_address(core), dump.data(), 128);
  if (dump[0] != 1) throw std::runtime_error("an RV32 case did not end");
  std::array<u8, 2 * kDataBytes + 4> memory;
  sim.read(x, y, kArea + kAreaBytes * core + kData, memory.data(), u32(memory.size()));
  Rv32Result r;
  std::copy(dump.begin() + 1, dump.end(), r.registers.begin());
  r.memory = hash(memory.data(), memory.size());
  return r;
}

}  // namespace rv32

// Runs the cases in order, five at a time on tile (1,2), each on the core of its index modulo five.
inline std::vector<u32> run_rv32(Simulator& sim, const std::vector<Rv32Case>& cases) {
  constexpr u32 kX = 1, kY = 2, kClocks = 4000;
  std::vector<u32> out;
  sim.init();
  for (u32 t = 0; t < 3; ++t) sim.write32(kX, kY, isa::kTriscResetPc + 4 * t, rv32::kArea + rv32::kAreaBytes * (2 + t));
  sim.write32(kX, kY, isa::kTriscResetPcOverride, 7);
  sim.write32(kX, kY, isa::kNcriscResetPc, rv32::kArea + rv32::kAreaBytes);
  sim.write32(kX, kY, isa::kNcriscResetPcOverride, 1);
  sim.write32(kX, kY, 0, rv32::jal(rv32::kArea, 0));
  for (size_t first = 0; first < cases.size(); first += isa::kCores) {
    const u32 count = u32(std::min<size_t>(isa::kCores, cases.size() - first));
    u32 hold = isa::kHoldAll;
    for (u32 k = 0; k < count; ++k) {
      rv32::load(sim, kX, kY, k, cases[first + k]);
      hold &= ~kHold[k];
    }
    sim.write32(kX, kY, isa::kSoftReset, hold);
    sim.clock(kClocks);
    sim.write32(kX, kY, isa::kSoftReset, isa::kHoldAll);
    for (u32 k = 0; k < count; ++k) {
      const Rv32Result r = rv32::result(sim, kX, kY, k);
      out.insert(out.end(), r.registers.begin(), r.registers.end());
      out.push_back(r.memory);
    }
  }
  return out;
}

}  // namespace baretile::diff
