// T0: pages of the input ring into SrcA (right operands, 16-bit loads), SrcB (left operands) and Dst (32-bit loads).
// src: UNPACR_Regular.md, ADCs.md; every mode checked on ttsim v1.10.
#pragma once
#include "cb.h"

namespace baretile::kernel {

// Where the two halves of a row page (columns 0-15, 16-31) go: so many rows apart.
inline constexpr u32 kOneRowHalf = 4, kTileHalf = 16, kSrcBHalf = 8;

// body(row, held) for each product of a column of a block; the left operand is unpacked unless it is held.
template <u32 rows, class Body>
[[gnu::always_inline]] inline void walk(u32 column, Body body) {
  for (u32 n = 0; n < rows; ++n) body(walk_row<rows>(column, n), n == 0 && column != 0);
}

template <u32 slot>
class Unpacker {
 public:
  Unpacker() {
    set_thread_config<0, 0>();
    set_thread_config<thd::UNPACK_MISC_CFG_CfgContextOffset_0.word, 0>();
    // y 1: Z steps by the x size, 16 datums; z 64: a block format's page begins with 64 exponents.
    config(kDescriptor0 + 1) = 1 | 64 << 16;
    config(kDescriptor1 + 1) = 1 | 64 << 16;
    config(cfg::UNP0_ADD_DEST_ADDR_CNTR_add_dest_addr_cntr.word) = cfg::UNP0_ADD_DEST_ADDR_CNTR_add_dest_addr_cntr(1);
    config(cfg::THCON_SEC0_REG5_Dest_cntx0_address.word) = 64 | 64 << 16;  // row 0: SrcA and Dst begin at address row 4
    config(cfg::THCON_SEC0_REG5_Tile_x_dim_cntx0.word) = 16 | 16 << 16;
    config(cfg::THCON_SEC0_REG7_Offset_address.word) = 0;
    config(cfg::THCON_SEC1_REG2_Disable_zero_compress_cntx0.word) = 0xF;
    issue<encode(SETADCXY{.BitMask = 15, .Units = 3})>();
    issue<encode(SETADCZW{.BitMask = 15, .Units = 3})>();
  }

  // Modes of unpacker 0. Nothing may be under way: next() comes first.
  void loads_to_dst() {
    set_unpacker0(u32(Format::fp32), u32(Format::fp32), 0xFF, 4 * 16 * 4);
    set_thread_config<thd::SRCA_SET_Base.word, 0>();
  }
  template <Format stored, bool transposed = false>
  void to_src_a() {
    constexpr u32 out = u32(stored == Format::fp32 ? Format::tf32 : stored);
    set_unpacker0(u32(stored), out | cfg::THCON_SEC0_REG2_Haloize_mode(transposed), 0xF, 4 * 16 * 2);
    set_thread_config<thd::SRCA_SET_SetOvrdWithAddr.word, thd::SRCA_SET_SetOvrdWithAddr(1)>();
  }
  // Mode of unpacker 1: whole pages of `datums`, or row pages.
  template <Format stored, u32 datums, u32 half = kSrcBHalf>
  void to_src_b() {
    constexpr u32 out = u32(stored == Format::fp32 ? Format::tf32 : stored);
    config(kDescriptor1) = descriptor(u32(stored));
    config(cfg::THCON_SEC1_REG2_Out_data_format.word) = out;
    config(cfg::UNP1_ADDR_CTRL_ZW_REG_1_Zstride.word) = half * 16 * (stored == Format::fp32 ? 4 : 2);
    set_count<2, datums == 32 ? 16 : datums>();
  }

  // The unpackers have taken in what they were given; next() and free() also give its slots back to the reader.
  void wait() { drain(); }
  void next() {
    drain();
    free();
  }
  void free() { ring_.free_taken(); }
  [[gnu::always_inline]] u32 page() { return ring_.take(); }
  void skip(u32 pages) {
    for (; pages != 0; --pages) page(), free();
  }

  [[gnu::always_inline]] void left(u32 page) {
    base<1>(page);
    unpack<1, true>();
  }
  // A stored page of a transposed operand, face by face, from SrcB row kTileHalf on; see whole/turned.h.
  void left_faces(u32 page) {
    base<1>(page);
    place<1, 1>();
    unrolled<4>([]<u32 face>() {
      issue<encode(SETADC{.Value = 16 * face, .DimensionIndex = 2, .ChannelIndex = 0, .Units = 2})>();
      unpack<1, true>();
    });
    rewind<1>();
  }
  [[gnu::always_inline]] void left_row(u32 page) {  // the other rows become zero
    issue<encode(UNPACR_NOP{.UnpackPop = 1, .Unpacker = 1})>();
    base<1>(page);
    unpack<1, false, kNextHalf>();
    unpack<1, true>();
    rewind<1>();
  }
  // Up to four row groups of a split matrix, 16 rows of SrcB each. Rows past the matrix keep what was there and are
  // never stored.
  void left_groups(u32 count) {
    if (count == 0) return zero_b();
    for (u32 g = 1; g < count; ++g) {
      base<1>(page());
      unpack<1, false, kNextGroup>();
      drain();
    }
    base<1>(page());
    unpack<1, true>();
    rewind<1>();
  }
  [[gnu::always_inline]] void right(u32 page) {
    base<0>(page);
    set_count<1, 1024>();
    unpack<0, true>();
  }

  static void zero_b() { issue<encode(UNPACR_NOP{.UnpackPop = 1, .SetDvalid = 1, .Unpacker = 1})>(); }

  // 16-bit loads: T1 adds SrcA to a SrcB of zeros.
  void source_tile() {
    right(page());
    zero_b();
  }
  void source_row() {
    base<0>(page());
    set_count<1, 16>();
    unpack<0, false, kNextHalf>();
    unpack<0, true>();
    rewind<0>();
    zero_b();
  }

  // 32-bit loads to Dst rows, between begin_loads and end_loads.
  void begin_loads() { take<kDstGranted>(); }
  void end_loads() {
    stall<kBlockSync, kUnpacker0Busy>();
    post<kDstLoaded>();
  }
  template <u32 row>
  void load_tile() {
    base<0>(page());
    set_count<1, 1024>();
    place<0, row / 4>();
    unpack<0, false>();
    rewind<0>();
  }
  template <u32 row, u32 half>
  void load_row() {
    base<0>(page());
    set_count<1, 16>();
    place<0, row / 4>();
    unpack<0, false, kNextInput>();
    place<0, (row + half) / 4>();
    unpack<0, false>();
    rewind<0>();
  }

 private:
  static constexpr u32 kDescriptor0 = cfg::THCON_SEC0_REG0_TileDescriptor.word;
  static constexpr u32 kDescriptor1 = cfg::THCON_SEC1_REG0_TileDescriptor.word;
  static constexpr u32 kNextInput = 1, kNextHalf = 1 | 1 << 4, kNextGroup = 2 << 4;  // Z of channel 0, and of channel 1

  static constexpr u32 descriptor(u32 format) { return format | 1 << 4 | 16 << 16; }  // uncompressed, x size 16

  static void set_unpacker0(u32 in, u32 out, u32 contexts, u32 z_stride) {
    config(kDescriptor0) = descriptor(in);
    config(cfg::THCON_SEC0_REG2_Out_data_format.word) = out;
    config(cfg::THCON_SEC0_REG2_Disable_zero_compress_cntx0.word) = contexts;
    config(cfg::UNP0_ADDR_CTRL_ZW_REG_1_Zstride.word) = z_stride;
  }
  template <u32 units, u32 datums>
  static void set_count() {
    issue<encode(SETADCXX{.X0 = 0, .X1 = datums - 1, .Units = units})>();
  }
  template <u32 unit, u32 z>
  static void place() {
    issue<encode(SETADC{.Value = z, .DimensionIndex = 2, .ChannelIndex = 1, .Units = 1 << unit})>();
  }
  template <u32 unit>
  static void rewind() {
    issue<encode(SETADCZW{.BitMask = 15, .Units = 1 << unit})>();
  }
  template <u32 unit>
  [[gnu::always_inline]] static void base(u32 page) {
    config(unit ? cfg::THCON_SEC1_REG3_Base_address.word : cfg::THCON_SEC0_REG3_Base_address.word) = page / 16 - 1;
    stall<kBlockUnpack, kStoresPending>();
  }
  template <u32 unit, bool valid, u32 step = 0>
  static void unpack() {
    issue<encode(UNPACR{.Last = 1, .SetDatValid = valid, .OvrdThreadId = 1, .AddrMod = step, .Unpacker = unit})>();
  }
  Consumer<InputRing, slot, Core::trisc0, abi::waypoint("INPW")> ring_;
};

}  // namespace baretile::kernel
