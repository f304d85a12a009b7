// The matrix unit's inner loops with vector instructions. They give the bits of fpu_ref.h.
//   if (state.kernels) state.kernels->multiply(…); else ref::multiply(…);
#pragma once
#include "sim/tensix/fpu_ref.h"

namespace baretile::sim {

enum class Simd : u32 { none, avx2, avx512 };
Simd best_simd();  // of this host
inline bool avx2_available() { return best_simd() >= Simd::avx2; }

struct FpuKernels {
  // Makes the slices of 16 SrcA or 8 SrcB rows from `row` on, where Slices::hold() says they are missing.
  void (*slice_a)(SrcASlices&, const SrcBank&, u32 row, ref::Style, bool odd_phase);
  void (*slice_b)(SrcBSlices&, const SrcBank&, u32 row, ref::Style, bool high_phase);
  // The others by DstKind. Dst rows += SrcB rows times the 16 SrcA rows from row_a on, for the bits set in `rows`;
  // `floor` is ref::zero_exponent().
  void (*multiply[3])(Dst&, u32 dst_row, const SrcASlices&, u32 row_a, const SrcBSlices&, u32 row_b, u32 rows,
                      i32 floor);
  void (*add_nothing[3])(Dst&, u32 dst_row, i32 floor);  // what a SrcB row of zeros does
  void (*elementwise[3])(Dst&, u32 dst_row, ref::Elementwise, ref::RowPair, ref::Style, u32 phase);
};
extern const FpuKernels kAvx2Kernels, kAvx512Kernels;

}  // namespace baretile::sim
