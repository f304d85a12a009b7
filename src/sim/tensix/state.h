// The data registers of one Tensix coprocessor: SrcA, SrcB, Dst, LReg, lane flags. Bits are laid out as the hardware
// does (Dst.md, SrcASrcB.md):
//   Src  (19 bits)  sign, mantissa (10), exponent (8); FP16 and integer "8" have the exponent in the low five bits.
//   Dst16           BF16 sign, mantissa (7), exponent (8); FP16 sign, mantissa (10), exponent (5).
//   Dst32           the BF16 or high part of FP32 in one 16-bit row, the 16 low mantissa bits in the row eight below.
#pragma once
#include <array>
#include <cstring>

#include "baretile/isa/isa.h"

namespace baretile::sim {

using i16 = int16_t;

inline constexpr u32 kSrcRows = 64, kDstRows = 1024, kColumns = 16, kLanes = 32;

// One bank of SrcA or SrcB. Whoever changes `rows` calls touch(): the FPU keeps mantissa slices of a bank until its
// generation changes.
struct SrcBank {
  alignas(64) u32 rows[kSrcRows][kColumns] = {};
  u64 generation = 1;
  isa::Format format = isa::Format::fp32;  // implied by the unpack that filled the bank
  void touch() { generation++; }
};

// Accumulator. ZEROACC only takes valid bits away: a row without its bit reads as zero, and the first write to any of
// its columns brings the others back as they were. A 32-bit row goes by the bit of its high half alone.
struct Dst {
  alignas(64) u16 rows[kDstRows][kColumns] = {};
  std::array<u8, kDstRows / 8> valid_bits;  // bit r & 7 of element r / 8
  // The epoch in which a product settled eight rows: nothing left in them that adding zero would change. Every write
  // but a product's begins a new one.
  u64 epoch = 1;
  std::array<u64, kDstRows / 8> settled{};
  Dst() { valid_bits.fill(0xFF); }

  bool valid(u32 row) const { return valid_bits[row >> 3] >> (row & 7) & 1; }
  void set_valid(u32 row) {  // of a row just written
    valid_bits[row >> 3] |= u8(1u << (row & 7));
    epoch++;
  }
  void invalidate(u32 row) { valid_bits[row >> 3] &= u8(~(1u << (row & 7))); }
  bool valid_block(u32 row) const { return valid_bits[row >> 3] == 0xFF; }  // all eight rows around it

  // Rows of the 32-bit view: r lies in 16-bit rows high_row(r) and high_row(r) + 8 (Dst.md Adj32; remap and swizzle
  // off).
  static constexpr u32 high_row(u32 row) { return (row & 0x1F8) << 1 | (row & 0x207); }

  u16 read16(u32 row, u32 col) const { return valid(row) ? rows[row][col] : u16{0}; }
  void write16(u32 row, u32 col, u16 value) {
    rows[row][col] = value;
    set_valid(row);
  }
  u32 read32(u32 row, u32 col) const {
    const u32 high = high_row(row);
    return valid(high) ? u32{rows[high][col]} << 16 | rows[high + 8][col] : 0;
  }
  void write32(u32 row, u32 col, u32 value) {
    const u32 high = high_row(row);
    rows[high][col] = u16(value >> 16);
    rows[high + 8][col] = u16(value);
    set_valid(high);
  }
};

// Between the layouts of Dst and of the IEEE types.
constexpr u16 bf16_of_dst(u16 d) { return u16((d & 0x8000) | (d & 0xFF) << 7 | (d >> 8 & 0x7F)); }
constexpr u16 dst_of_bf16(u16 v) { return u16((v & 0x8000) | (v >> 7 & 0xFF) | (v & 0x7F) << 8); }
constexpr u16 fp16_of_dst(u16 d) { return u16((d & 0x8000) | (d & 0x1F) << 10 | (d >> 5 & 0x3FF)); }
constexpr u16 dst_of_fp16(u16 v) { return u16((v & 0x8000) | (v >> 10 & 0x1F) | (v & 0x3FF) << 5); }
constexpr u32 fp32_of_dst(u32 d) { return u32{bf16_of_dst(u16(d >> 16))} << 16 | (d & 0xFFFF); }
constexpr u32 dst_of_fp32(u32 v) { return u32{dst_of_bf16(u16(v >> 16))} << 16 | (v & 0xFFFF); }

// 32 lanes of 32 bits; a mask has all bits of a lane equal.
struct alignas(64) Lanes {
  u32 lane[kLanes];
  u32& operator[](u32 i) { return lane[i]; }
  u32 operator[](u32 i) const { return lane[i]; }
};
constexpr Lanes splat(u32 value) {
  Lanes lanes{};
  for (u32& lane : lanes.lane) lane = value;
  return lanes;
}

// The vector unit's registers (LReg.md, VectorUnit.md).
struct Sfpu {
  struct FlagStackEntry {
    Lanes flags, use_flags;
  };
  Sfpu();
  Lanes lreg[16];
  Lanes flags;      // LaneFlags
  Lanes use_flags;  // UseLaneFlagsForLaneEnable
  Lanes enabled;    // LaneEnabled, derived: update_enabled() after flags or use_flags change
  std::array<FlagStackEntry, 8> stack;
  u32 stack_depth = 0;
  u32 lane_config = 0;  // LaneConfig (SFPCONFIG.md), the same in all lanes
  Lanes prng;
  void seed(u32 value);  // a write to PRNG_SEED
  void advance_prng();   // in the enabled lanes
  void update_enabled();
};

// Mantissa slices of a Src bank for one value of a fidelity-phase bit, ready to multiply: the FPU makes them eight or
// sixteen rows at a time and keeps them until the bank's generation changes. Two lanes k and k + 8, which the FPU adds
// up in different groups, lie side by side, in SrcA as rows.
struct Slices {
  u64 generation = 0;
  u32 style = 0;
  u32 ready = 0;      // one bit for each eight rows
  u64 live_rows = 0;  // SrcB only: rows with an exponent that is not zero
  bool hold(const SrcBank& bank, u32 row, u32 of_style) const {
    return generation == bank.generation && style == of_style && ready >> row / 8 & 1;
  }
};
struct SrcASlices : Slices {
  alignas(64) i16 slice[kSrcRows / 2][kColumns][2];
  alignas(64) i16 exponent[kSrcRows / 2][kColumns][2];
};
struct SrcBSlices : Slices {
  alignas(64) i16 slice[kSrcRows][kColumns / 2][2];
  alignas(64) i16 exponent[kSrcRows][kColumns / 2][2];
};

// What the front end has worked out before it hands an instruction to the FPU or SFPU. Row counters are RWC values; an
// instruction adds its own row fields and masks the sum. After exec() the front end applies the address mode and the
// data-valid flips.
struct Operands {
  u32 bank_a = 0, bank_b = 0;  // the banks the matrix unit reads
  u32 row_a = 0, row_b = 0;
  u32 row_dst = 0;     // RWC Dst + DEST_TARGET_REG_CFG_MATH_Offset + DEST_REGW_BASE_Base
  u32 dst_offset = 0;  // DEST_TARGET_REG_CFG_MATH_Offset alone (ZEROACC picks the half of Dst by it)
  u32 phase = 0;       // RWC fidelity phase + FIDELITY_BASE_Phase, modulo 4
  isa::Format format_a = isa::Format::bf16;  // implied by the bank, or from ALU_FORMAT_SPEC
  isa::Format format_b = isa::Format::bf16;
  isa::Format configured_b = isa::Format::bf16;  // ALU_FORMAT_SPEC_REG1_SrcB itself: what SFPLOAD and SFPSTORE go by
  bool fp32 = false;                             // ALU_ACC_CTRL_Fp32_enabled
  bool sfpu_fp32 = false;                        // ALU_ACC_CTRL_SFPU_Fp32_enabled
  bool int8 = false;                             // ALU_ACC_CTRL_INT8_math_enabled
  bool keep_src_denormals = false;               // ALU_ACC_CTRL_Zero_Flag_disabled_src
};

struct FpuKernels;  // fpu_simd.h
const FpuKernels* best_fpu_kernels();

// What MVMUL makes of formats and modes. It keeps the last one, and looks at them again only when they change.
struct ProductSetup {
  Operands made_for;
  bool made = false;
  bool half = false;             // five-bit exponents
  u32 kind = 0;                  // ref::DstKind
  u32 style_a = 0, style_b = 0;  // Slices::style
  bool serves(const Operands& o) const {
    return made && made_for.format_a == o.format_a && made_for.format_b == o.format_b && made_for.fp32 == o.fp32 &&
           made_for.int8 == o.int8 && made_for.keep_src_denormals == o.keep_src_denormals;
  }
};

struct State {
  SrcBank src_a[2], src_b[2];
  Dst dst;
  Sfpu sfpu;
  SrcASlices slices_a[2][2];  // bank, phase bit 0
  SrcBSlices slices_b[2][2];  // bank, phase bit 1
  ProductSetup product;
  const FpuKernels* kernels = best_fpu_kernels();  // null: the reference
};

}  // namespace baretile::sim
