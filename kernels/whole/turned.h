// Products of a left operand that is stored transposed. Its pages come face by face into rows 16-31 of SrcB, the ones
// that TRNSPSRCB turns: fp32 as tf32 like any operand of a product, bf16 as it is.
#pragma once
#include "math.h"

namespace baretile::kernel {

// A left face by the two right ones of its k, into Dst rows 0-31 or, for the right half of the stored page, 32-63.
template <bool right_transposed, u32 next_phase = 1>
inline void record_turned_product() {
  constexpr u32 column = right_transposed ? 32 : 16;
  set_address_mode<0, 0, 8, 0, 0>();
  set_address_mode<1, column, 64 - 8, 0, 0>();
  set_address_mode<4, 64 - column, 64 - 8, 0, next_phase, false>();
  record<8>();
  unrolled<2>([]<u32 half>() {
    mvmul<32 * half, 0>(), mvmul<32 * half + 8, 1>(), mvmul<32 * half + 16, 0>(), mvmul<32 * half + 24, 4>();
  });
}
// Gives `banks` back with the last face.
template <u32 phases, u32 row, u32 banks, bool right_transposed>
inline void turned_product() {
  set_thread_config<thd::DEST_TARGET_REG_CFG_MATH_Offset.word, row>();
  issue<encode(INCRWC{.RwcB = 8})>(), issue<encode(INCRWC{.RwcB = 8})>();
  unrolled<4>([]<u32 face>() {
    if constexpr (face == 2)  // the lower half of the stored page: the right operand's next k
      unrolled<right_transposed ? 2 : 4>([]<u32>() { issue<encode(INCRWC{.RwcA = 8})>(); });
    issue<encode(TRNSPSRCB{})>();
    for (u32 phase = 0; phase < phases; ++phase) issue<encode(REPLAY{.Len = 4, .StartIdx = face % 2 * 4})>();
    constexpr u32 kFidelity = 8, kAll = 15;
    issue<encode(SETRWC{.BitMask = face == 3 ? kAll : kFidelity, .ClearAB = face == 3 ? banks | kSrcB : kSrcB})>();
  });
}
// As block_product, but no left operand is held from column to column.
template <u32 rows, u32 columns, u32 sides, bool right_transposed, u32 phases, u32 base, u32 height>
inline void turned_products() {
  unrolled<columns * sides>([]<u32 q>() {
    unrolled<rows>([]<u32 n>() {
      constexpr u32 tile = walk_row<rows>(q, n) * columns + q / sides, last = n + 1 == rows;
      turned_product<phases, base + height*(tile * sides + q % sides), last * kSrcA, right_transposed>();
    });
  });
}

}  // namespace baretile::kernel
