// T1, vector unit: an expression is evaluated on 32 lanes of Dst at a time. Such a chunk d of a slot is four rows from
// d & ~3, even columns of a half, or the odd ones (d & 2): lane l holds row l / 8, column 2 (l & 7).
// A slot is a tile of 64 rows (faces F0 … F3) or, in one-row kernels, 8 rows: column half 0 at +0, half 1 at +4, the
// live row first. The operations are kernels/sfpu/<op>.h.
#pragma once
#include "math.h"
#include "sfpu/sfpu_core.h"

namespace baretile::kernel {

// Runs `body` once a chunk; its last store is a store_next.
template <u32 rows, class Body>
inline void for_chunks(Body body) {
  for (u32 i = 0; i < rows / 2; ++i) body();
  reset_counters();
}

// Words of Dst as they are, whatever they mean: the fp32 mode of SFPSTORE would take denormals away (SFPSTORE.md), and
// with them small integers.
inline constexpr u32 kWords = 4;
template <u32 reg, u32 row>
inline void load() {
  issue<encode(SFPLOAD{.Addr = row, .AddrMod = kModeStay, .Mod0 = kWords, .VD = reg})>();
}
template <u32 reg, u32 row>
inline constexpr u32 kStore = encode(SFPSTORE{.Addr = row, .AddrMod = kModeStay, .Mod0 = kWords, .VD = reg});
template <u32 reg, u32... rows>
inline void store() {
  issue<kStore<reg, rows>...>();
}
template <u32 reg, u32 row>
inline void store_next() {
  issue<encode(SFPSTORE{.Addr = row, .AddrMod = kModeNext, .Mod0 = kWords, .VD = reg})>();
}

// First row of group g (four rows) of column half c, and how many groups a half has.
template <u32 rows>
constexpr u32 group_row(u32 g, u32 c) {
  return rows == 8 ? 4 * c : 16 * (2 * (g / 4) + c) + 4 * (g % 4);
}
template <u32 rows>
inline constexpr u32 kGroups = rows == 8 ? 1 : 8;

// Stores `reg` to both column parities of both halves of a group, or to all groups of a half and parity.
template <u32 reg, u32 row, u32 rows, u32 g>
inline void store_across() {
  constexpr u32 left = row + group_row<rows>(g, 0), right = row + group_row<rows>(g, 1);
  store<reg, left, left + 2, right, right + 2>();
}
template <u32 reg, u32 row, u32 rows, u32 half, u32 parity>
inline void store_down() {
  with_indices<kGroups<rows>>([]<u32... g>() { store<reg, row + group_row<rows>(g, half) + 2 * parity...>(); });
}

// Accumulator blocks of group products (eight rows each) into a slot that begins where they do: rows 4 n … 4 n + 3 from
// block n. `split`: the lower four rows hold the products of the operand's low parts.
template <u32 row, u32 blocks, bool split>
inline void settle() {
  unrolled<2 * blocks>([]<u32 i>() {
    constexpr u32 from = row + 8 * (i / 2) + 2 * (i % 2);
    load<0, from>();
    if constexpr (split) {
      load<1, from + 4>();
      add<0, 0, 1>();
    }
    store<0, row + 4 * (i / 2) + 2 * (i % 2)>();
  });
}

// A fold makes LReg0 of LReg0 and LReg1; it may use LReg4 … 7, and LReg1 is lost.
// Folds LReg0 over the eight lanes of each row, leaving the result in all of them.
template <class Fold>
[[gnu::always_inline]] inline void fold_lanes(Fold fold) {
  nop();
  rotate<1, 0>();
  fold();
  nop();
  rotate<1, 0>(), rotate<1, 1>();
  fold();
  nop();
  rotate<1, 0>(), rotate<1, 1>(), rotate<1, 1>(), rotate<1, 1>();
  fold();
}
// The word of LReg0's only lane that is not zero, in all lanes of its row.
inline void spread_lanes() {
  fold_lanes([] { issue<encode(SFPOR{.VD = 0, .VC = 1})>(); });
}
// Brings row 0 of LReg0 … 3 (rows k of LReg0 when all four are equal) side by side: LReg k holds row k of LReg0 in all
// four rows.
inline void spread_rows() {
  move<1, 0>(), move<2, 0>(), move<3, 0>();
  transpose();
}

// What a stored row, column or single value means for a whole slot. Padding is zero.
template <u32 row, u32 rows, u32 half>  // `half`: from the row's first 16 values on to the others, which are read
                                        // before they are overwritten
inline void spread_row() {
  unrolled<4>([]<u32 n>() {
    constexpr u32 i = 3 - n;
    load<0, row + half*(i / 2) + 2 * (i % 2)>();
    spread_rows();
    store_down<0, row, rows, i / 2, i % 2>();
  });
}
template <u32 row, u32 rows>
inline void spread_column() {
  unrolled<kGroups<rows>>([]<u32 g>() {
    load<0, row + group_row<rows>(g, 0)>();
    spread_lanes();
    store_across<0, row, rows, g>();
  });
}
template <u32 row, u32 rows>
inline void spread_value() {
  load<0, row>();
  spread_lanes();
  if constexpr (rows > 8) spread_rows();
  unrolled<kGroups<rows>>([]<u32 g>() { store_across<0, row, rows, g>(); });
}

// Ends of reductions: the slot's columns (rows) folded into one, which then fills the slot.
template <u32 row, u32 rows, class Fold>
inline void finish_columns(Fold fold) {
  unrolled<kGroups<rows>>([&]<u32 g>() {
    load<0, row + group_row<rows>(g, 0)>();
    load<1, row + group_row<rows>(g, 0) + 2>();
    fold();
    load<1, row + group_row<rows>(g, 1)>();
    fold();
    load<1, row + group_row<rows>(g, 1) + 2>();
    fold();
    fold_lanes(fold);
    store_across<0, row, rows, g>();
  });
}
template <u32 row, u32 rows, class Fold>
inline void finish_rows(Fold fold) {
  unrolled<4>([&]<u32 i>() {
    load<0, row + group_row<rows>(0, i / 2) + 2 * (i % 2)>();
    unrolled<kGroups<rows> - 1>([&]<u32 g>() {
      load<1, row + group_row<rows>(g + 1, i / 2) + 2 * (i % 2)>();
      fold();
    });
    spread_rows();
    fold();
    move<1, 2>();
    fold();
    move<1, 3>();
    fold();
    store_down<0, row, rows, i / 2, i % 2>();
  });
}

// Overwrites what lies outside the first valid_rows rows and valid_columns columns of a slot with LReg `reg`. LReg1 … 3
// are lost.
template <u32 reg, u32 row, u32 rows, u32 valid_rows, u32 valid_columns>
inline void fill_outside() {
  if constexpr (valid_columns < 32) {
    load_integer<2, 14>();
    move<1, kLaneTwice>();
    bit_and<1, 2>();  // a lane's column, less half and parity
    unrolled<4>([]<u32 i>() {
      constexpr i32 left = i32(valid_columns) - 16 * i32(i / 2) - i32(i % 2);
      if constexpr (left <= 14) {
        if constexpr (left > 0) only_where_at_least<3, 1, u32(left)>();
        store_down<reg, row, rows, i / 2, i % 2>();
        if constexpr (left > 0) all_lanes();
      }
    });
  }
  if constexpr (valid_rows < 4 * kGroups<rows>) {
    unrolled<kGroups<rows>>([]<u32 g>() {
      constexpr i32 left = i32(valid_rows) - 4 * i32(g);
      if constexpr (left < 4) {
        if constexpr (left > 0) only_where_at_least<3, kLaneTwice, 16 * u32(left)>();
        store_across<reg, row, rows, g>();
        if constexpr (left > 0) all_lanes();
      }
    });
  }
}
// A whole slot of one value.
template <u32 reg, u32 row, u32 rows>
inline void fill() {
  with_indices<rows / 2>([]<u32... d>() { store<reg, row + 2 * d...>(); });
}

// Before the packer, which rounds to seven bits and cuts those to the three of bfp4: what makes that rounding to the
// nearest, ties away from zero. A step of a block is 2^-2 of the power of two in its rounded largest magnitude; on come
// half a step less half of the finer step, together 15/32.
template <u32 from, u32 to, u32 rows>
inline void round_blocks() {
  unrolled<2 * kGroups<rows>>([]<u32 i>() {
    constexpr u32 block = group_row<rows>(i / 2, i % 2);
    load<2, from + block>(), load<3, from + block + 2>();
    magnitude<0, 2>(), magnitude<1, 3>();
    const auto larger = [] { nop(), swap_max<0, 1>(); };
    larger();
    fold_lanes(larger);
    load_bits<1, 0x7F6FFFFF>();  // above, infinity would be nearer
    nop(), swap_min<0, 1>();
    load_bits<1, 0x100000>();
    nop(), add_integer<0, 1>();
    load_bits<1, kInfinity>();
    bit_and<0, 1>();
    scale<0, bits_of(0.1171875f)>();
    move<1, 2>(), take_magnitude<1, 0>(), add<2, 2, 1>(), store<2, to + block>();
    move<1, 3>(), take_magnitude<1, 0>(), add<3, 3, 1>(), store<3, to + block + 2>();
  });
}

}  // namespace baretile::kernel
