// T2: output slots of Dst into pages of the output ring. fp32 goes out as it is; bf16 and bfp8 are rounded to nearest,
// ties away from zero; bfp4 is cut, see round_blocks. src: BlackholeA0 PACR.md, Packers/*.md; checked on ttsim v1.10.
#pragma once
#include "cb.h"

namespace baretile::kernel {

template <u32 slot>
class Packer {
 public:
  Packer() {
    set_thread_config<0, 0>();
    config(14) = 0;  // output addresses come from the base alone
    config(15) = 0;
    config(cfg::PCK_DEST_RD_CTRL_Read_32b_data.word) = 1;
    config(cfg::TILE_ROW_SET_MAPPING_0_row_set_mapping_0.word) = 0;
    config(cfg::PCK_EDGE_OFFSET_SEC0_mask.word) = 0xFFFF;  // no column masked
    config(cfg::PACK_COUNTERS_SEC0_pack_reads_per_xy_plane.word) = cfg::PACK_COUNTERS_SEC0_pack_reads_per_xy_plane(16);
    config(cfg::THCON_SEC0_REG1_Pack_L1_Acc.word) = 0;
    config(cfg::DEST_TARGET_REG_CFG_PACK_SEC0_Offset.word) = 0;
    set_thread_config<thd::ADDR_MOD_PACK_SEC0_YsrcIncr.word, thd::ADDR_MOD_PACK_SEC0_YsrcIncr(4)>();
    issue<encode(SETADCXY{.BitMask = 15, .Units = 4})>();
    issue<encode(SETADCZW{.BitMask = 15, .Units = 4})>();
    issue<encode(SETADCXX{.X0 = 0, .X1 = 15, .Units = 4})>();
  }

  // Of the pages that follow. Nothing is under way here, as each page is waited for.
  template <Format format>
  void to() {
    constexpr u32 bytes = read_as<format> == Format::fp32 ? 4 : 2, exponents = in_blocks(format) ? 64 : 0;
    config(cfg::THCON_SEC0_REG1_Exp_section_size.word) = cfg::THCON_SEC0_REG1_Exp_section_size(exponents / 16);
    config(cfg::PCK0_ADDR_CTRL_XY_REG_0_Ystride.word) = cfg::PCK0_ADDR_CTRL_XY_REG_0_Ystride(16 * bytes);
    config(cfg::THCON_SEC0_REG1_Out_data_format.word) =
        cfg::THCON_SEC0_REG1_Out_data_format(u32(format)) | cfg::THCON_SEC0_REG1_In_data_format(u32(read_as<format>));
  }
  // As to(), when the kernel's outputs differ: the matrix unit's idea of Dst changes along.
  template <Format format>
  void switch_to() {
    to<format>();
    config(1) =
        (config(1) & ~cfg::ALU_FORMAT_SPEC_REG2_Dstacc.mask()) | cfg::ALU_FORMAT_SPEC_REG2_Dstacc(u32(read_as<format>));
  }

  void acquire() {
    issue<encode(SEMWAIT{.Cond = 1, .SemMask = kDstDone, .BlockMask = kBlockAll})>();
    drain();
  }
  void release() { issue<encode(SEMGET{.SemMask = kDstDone})>(); }

  template <u32 row>
  void tile() {
    begin<row>();
#pragma unroll
    for (u32 i = 0; i < 15; ++i) pack<0, false>();
    pack<0, true>();
    end();
  }
  // The live row of a slot whose column halves are `half` rows apart.
  template <u32 row, u32 half>
  void row() {
    begin<row>();
    pack<1, false>();
    from<row + half>();
    pack<1, true>();
    end();
  }
  // Four rows as a page of a split matrix: their high parts are in one slot, their low parts in another.
  template <u32 high, u32 low, u32 half>
  void split() {
    begin<high>();
    pack<0, false>();
    from<low>();
    pack<0, false>();
    from<high + half>();
    pack<0, false>();
    from<low + half>();
    pack<0, true>();
    end();
  }

  template <u32 high, u32 low>
  void split_groups(u32 count) {
    unrolled<8>([&]<u32 g>() {
      constexpr u32 row = 32 * (g / 4) + 4 * (g % 4);
      if (g < count) split<high + row, low + row, 16>();
    });
  }

 private:
  template <u32 row>
  static void from() {
    issue<encode(SETADC{.Value = row, .DimensionIndex = 1, .ChannelIndex = 0, .Units = 4})>();
  }
  template <u32 row>
  void begin() {
    config(cfg::THCON_SEC0_REG1_L1_Dest_addr.word) = ring_.reserve() / 16 - 1;
    from<row>();
    stall<kBlockPack, kStoresPending>();
  }
  template <u32 rows, bool last>  // rows 0: four
  static void pack() {
    issue<encode(PACR{.Last = last, .ReadIntfSel = rows})>();
  }
  void end() {
    drain();
    ring_.push(1);
  }

  Producer<OutputRing, slot, Core::trisc2, abi::waypoint("OUFU")> ring_;
};

}  // namespace baretile::kernel
