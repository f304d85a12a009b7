// AVX2 forms of the matrix unit's inner loops. They give the bits of fpu_ref.h; call them only where avx2_available().
#pragma once
#include "sim/tensix/fpu_ref.h"

namespace baretile::sim {

bool avx2_available();

// Brings the eight rows from `row` on of a bank into its slices, unless they are there already.
void refresh_avx2(SrcASlices&, const SrcBank&, u32 row, ref::Style, bool odd_phase);
void refresh_avx2(SrcBSlices&, const SrcBank&, u32 row, ref::Style, bool high_phase);

// Dst rows += SrcB rows times the 16 SrcA rows from row_a on.
void multiply_avx2(Dst&, u32 dst_row, ref::DstKind, const SrcASlices&, u32 row_a, const SrcBSlices&, u32 row_b,
                   u32 rows, bool half, u32 phase);

void elementwise_avx2(Dst&, u32 dst_row, ref::DstKind, ref::Elementwise, ref::RowPair, ref::Style, u32 phase);

}  // namespace baretile::sim
