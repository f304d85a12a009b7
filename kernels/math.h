// T1, matrix unit: setting it up, products into Dst, 16-bit loads. Dst rows are always 32 bits wide.
#pragma once
#include "kernel.h"

namespace baretile::kernel {

// Address modes: 0-4 of the products, 5 of 16-bit loads, 6 and 7 of the vector unit.
inline constexpr u32 kModeLoad = 5, kModeNext = 6, kModeStay = 7;

// Rows to step; at the end of a phase A and B go back to 0, or as they say, and fidelity goes on by `next`: 1, or 2
// where SrcA's values have no more than the five bits that even phases take.
template <u32 mode, u32 a, u32 b, u32 d, u32 next, bool home = next != 0>
inline void set_address_mode() {
  set_thread_config<thd::ADDR_MOD_AB_SEC0_SrcAIncr.word + mode, a | home << 7 | b << 8 | home << 15>();
  set_thread_config<thd::ADDR_MOD_DST_SEC0_DestIncr.word + mode, d | next << 13>();
  set_thread_config<thd::ADDR_MOD_BIAS_SEC0_BiasIncr.word + mode, 0>();
}

enum Bank : u32 { kSrcA = 1, kSrcB = 2 };  // to give back to the unpackers

// All counters to zero.
template <u32 banks = 0>
inline void reset_counters() {
  issue<encode(SETRWC{.BitMask = 15, .ClearAB = banks})>();
}

// `packed`: the format of T2's first page; `tf32`: what the unpackers or MOVD2B leave in SrcA and SrcB is read so,
// which changes no bf16 value, rather than in the format it was unpacked to.
template <Format packed, bool tf32 = false>
inline void setup_math() {
  set_thread_config<0, 0>();
  set_thread_config<thd::DEST_TARGET_REG_CFG_MATH_Offset.word, 0>();
  set_thread_config<thd::DISABLE_IMPLIED_SRCA_FMT_Base.word, tf32>();
  set_thread_config<thd::DISABLE_IMPLIED_SRCB_FMT_Base.word, tf32>();
  set_thread_config<thd::CLR_DVALID_SrcA_Disable.word, 0>();
  constexpr Format source = tf32 ? Format::tf32 : Format::bf16;
  config(1) = cfg::ALU_FORMAT_SPEC_REG0_SrcA(u32(source)) | cfg::ALU_FORMAT_SPEC_REG1_SrcB(u32(source)) |
              cfg::ALU_FORMAT_SPEC_REG2_Dstacc(u32(read_as<packed>)) | cfg::ALU_ACC_CTRL_Fp32_enabled(1) |
              cfg::ALU_ACC_CTRL_SFPU_Fp32_enabled(1);
  config(2) = 0;    // no ReLU, denormals flushed
  config(220) = 0;  // Dst rows as they are
  set_address_mode<kModeLoad, 8, 0, 0, 0>();
  set_address_mode<kModeNext, 0, 0, 2, 0>();
  set_address_mode<kModeStay, 0, 0, 0, 0>();
  reset_counters();
  issue<encode(SEMINIT{.SemMask = kDstGranted, .Init = 0, .Max = 1})>();
  issue<encode(SEMINIT{.SemMask = kDstLoaded, .Init = 0, .Max = 1})>();
  issue<encode(SEMINIT{.SemMask = kDstDone, .Init = 0, .Max = 1})>();
  issue<encode(SFPENCC{.Mod1 = 10, .Imm12 = 3})>();  // lane flags in use, all lanes on
  stall<kBlockMath | kBlockSfpu, kStoresPending>();
}

// Dst is T1's again when T2 has packed the last results.
inline void acquire_dst() { issue<encode(SEMWAIT{.Cond = 2, .SemMask = kDstDone, .BlockMask = kBlockAll})>(); }
inline void release_dst() {
  stall<kBlockSync, kMathBusy | kSfpuBusy>();
  post<kDstDone>();
}
inline void grant_loads() {
  stall<kBlockSync, kMathBusy | kSfpuBusy>();
  post<kDstGranted>();
}

// Products are instructions recorded once in the replay buffer; each replay is one fidelity phase.
template <u32 dst, u32 mode>
inline void mvmul() {
  issue<encode(MVMUL{.DstRow = dst, .AddrMod = mode})>();
}
template <u32 length, u32 first = 0>
inline void record() {
  issue<encode(REPLAY{.LoadMode = 1, .Len = length, .StartIdx = first})>();
}

// 32 x 32 times 32 x 32: SrcB holds the left faces F0 … F3, SrcA the right ones, Dst the result's in the same order.
// A transposed right operand has its faces F1 and F2 the other way round.
template <bool transposed, u32 next_phase = 1>
inline void set_tile_modes() {
  set_address_mode<0, 0, 8, 0, 0>();                      // lower half of the left face
  set_address_mode<1, 0, 24, 0, 0>();                     // from F0 (F1) on to F2 (F3)
  set_address_mode<2, transposed ? 32 : 16, 24, 0, 0>();  // next column, same k; SrcB wraps at 64
  set_address_mode<3, transposed ? 48 : 16, 40, 0, 0>();  // next k
  set_address_mode<4, 0, 0, 0, next_phase>();
}
template <bool transposed, u32 next_phase = 1>
inline void record_tile_product() {
  set_tile_modes<transposed, next_phase>();
  record<16>();
  mvmul<0, 0>(), mvmul<8, 1>(), mvmul<32, 0>(), mvmul<40, 2>();
  mvmul<16, 0>(), mvmul<24, 1>(), mvmul<48, 0>(), mvmul<56, 3>();
  mvmul<0, 0>(), mvmul<8, 1>(), mvmul<32, 0>(), mvmul<40, 2>();
  mvmul<16, 0>(), mvmul<24, 1>(), mvmul<48, 0>(), mvmul<56, 4>();
}

// Groups of up to eight left rows: SrcB holds columns 0-15 of a group in eight rows, then columns 16-31. Column half c
// of group g is accumulated in the eight Dst rows from 8 n, where n = c for one group and 4 c + g for several.
template <u32 groups, bool transposed, u32 next_phase = 1, u32 first = 0>
inline void record_group_product() {
  set_address_mode<0, transposed ? 32 : 16, 0, 0, 0>();
  set_address_mode<1, transposed ? 48 : 16, 8, 0, 0>();
  set_address_mode<2, 16, 8, 0, 0>();
  set_address_mode<4, 0, 0, 0, next_phase>();
  record<4 * groups, first>();
  constexpr u32 right = groups == 1 ? 8 : 32;  // column half 1
  unrolled<groups>([]<u32 g>() {
    mvmul<8 * g, 0>(), mvmul<8 * g + right, 1>(), mvmul<8 * g, 0>(), mvmul<8 * g + right, g + 1 < groups ? 2 : 4>();
  });
}
// For group_product: four groups, or two.
template <bool transposed, u32 next_phase = 1>
inline void record_group_products() {
  record_group_product<4, transposed, next_phase>();
  record_group_product<2, transposed, next_phase, 16>();
}

// Runs a recorded product into the accumulator at `row`, then gives `banks` back.
template <u32 length, u32 phases, u32 row, u32 banks, u32 first = 0>
inline void product() {
  set_thread_config<thd::DEST_TARGET_REG_CFG_MATH_Offset.word, row>();
#pragma unroll
  for (u32 phase = 0; phase < phases; ++phase) issue<encode(REPLAY{.Len = length, .StartIdx = first})>();
  reset_counters<banks>();
}
// One step of k for a block of output tiles that `sides` right operands share, walked as T0 does.
template <u32 rows, u32 columns, u32 sides, u32 length, u32 phases, u32 base, u32 height>
inline void block_product() {
  unrolled<columns * sides>([]<u32 q>() {
    unrolled<rows>([]<u32 n>() {
      constexpr u32 tile = walk_row<rows>(q, n) * columns + q / sides;
      constexpr bool right_done = n + 1 == rows, left_done = !right_done || q + 1 == columns * sides;
      product<length, phases, base + height*(tile * sides + q % sides), right_done * kSrcA | left_done * kSrcB>();
    });
  });
}
// Of `groups` row groups, at most four; the accumulators of more than that may take part.
template <u32 phases, u32 row, u32 banks>
inline void group_product(u32 groups) {
  if (groups > 2) {
    product<16, phases, row, banks>();
  } else {
    product<8, phases, row, banks, 16>();
  }
}
// Rows that MVMUL will accumulate into, sixteen at a time; it defines each of them, so the vector unit never reads an
// empty row.
template <u32 row, u32 rows>
inline void zero_rows() {
  issue<encode(ZEROACC{.Where = row / 16, .AddrMod = kModeStay, .Use32BitMode = 1, .ClearMode = 1})>();
  if constexpr (rows > 16) zero_rows<row + 16, rows - 16>();
}
inline void begin_products() { stall<kBlockMath, kSfpuBusy>(); }
inline void end_products() {
  set_thread_config<thd::DEST_TARGET_REG_CFG_MATH_Offset.word, 0>();
  stall<kBlockSfpu, kMathBusy>();
}

// A 16-bit load: SrcA, which holds it, plus a SrcB of zeros. Exact.
template <u32 row, u32 rows>
inline void load_from_source() {
  issue<encode(ELWADD{.DstRow = row, .AddrMod = kModeLoad})>();
  if constexpr (rows > 8) {
    load_from_source<row + 8, rows - 8>();
  } else {
    reset_counters<kSrcA | kSrcB>();
  }
}

}  // namespace baretile::kernel
