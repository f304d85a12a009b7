// Pieces of Tensix programs that the differential tests share: what must be configured before a tile can be unpacked,
// moved and packed. The register words are those of facts that ran on ttsim: unpacker on T0, math on T1, packer on T2.
#pragma once
#include "diff/program.h"

namespace baretile::diff {

namespace I = isa;
using isa::Format;

inline constexpr u32 kL1A = 0x60000, kL1B = 0x64000, kL1Out = 0x68000;  // input of unpacker 0, of unpacker 1, output

constexpr u32 datum_bytes(Format f) {
  const u32 code = u32(f) & 3;
  return code == 0 ? 4 : code == 1 ? 2 : 1;
}

struct UnpackOptions {
  Format in = Format::bf16, out = Format::bf16;
  u32 addr = kL1A, x_dim = 256, y_dim = 1, z_dim = 4, extra_mode = 0;  // extra_mode: bits added to word 72 or 120
  bool to_dst = false;
  u32 dst_row = 0;  // first row of SrcA or Dst
};

// Words 64 … 93 of unpacker 0, 112 … 125 of unpacker 1.
inline void configure_unpacker(List& t, u32 unit, const UnpackOptions& o) {
  const u32 base = unit ? 112 : 64;
  t.config(base, u32(o.in) | 1u << 4 | o.x_dim << 16);
  t.config(base + 1, o.y_dim | o.z_dim << 16);
  t.config(base + 8, u32(o.out) | o.extra_mode);
  t.config(base + 9, 0xF | (o.to_dst ? 0xF0 : 0));
  t.config(base + 12, (o.addr >> 4) - 1);
  if (unit) return;
  t.config(84, (64 + 16 * o.dst_row) * 0x10001);
  t.config(86, o.x_dim * 0x10001);
  t.config(92, 0);
}

// Thread state of an unpacking thread, counters at zero, `datums` of every UNPACR.
inline void configure_unpack_thread(List& t, bool src_a_set_override, u32 datums = 1024) {
  t.push(I::SETC16{.Value = 0, .Reg = I::thd::CFG_STATE_ID_StateID.word});
  t.push(I::SETC16{.Value = src_a_set_override ? 4u : 0u, .Reg = I::thd::SRCA_SET_Base.word});
  t.push(I::SETC16{.Value = 0, .Reg = I::thd::UNPACK_MISC_CFG_CfgContextOffset_0.word});
  t.push(I::SETADCXY{.BitMask = 15, .Units = 3});
  t.push(I::SETADCZW{.BitMask = 15, .Units = 3});
  t.push(I::SETADCXX{.X0 = 0, .X1 = datums - 1, .Units = 3});
  t.drain();
}

constexpr I::UNPACR unpacr(u32 unit, bool set_valid, u32 addr_mod = 0) {
  return {.Last = 1, .SetDatValid = set_valid, .OvrdThreadId = 1, .AddrMod = addr_mod, .Unpacker = unit};
}

struct MathOptions {
  Format src_a = Format::bf16, src_b = Format::bf16, dst = Format::bf16;
  bool dst32 = false, int8 = false, unsigned_int8 = false;
  u32 relu = 0, relu_threshold = 0;
  bool zero_dst = true;
};

constexpr u32 alu_word(const MathOptions& o) {
  return u32(o.src_a) << 17 | u32(o.src_b) << 21 | u32(o.dst) << 25 | (o.dst32 ? 3u << 29 : 0) |
         (o.int8 ? 1u << 31 : 0) | (o.unsigned_int8 ? 3u << 15 : 0);
}

inline void address_mode(List& t, u32 n, u32 a, u32 b, u32 dst, u32 fidelity = 0, u32 clear = 0,
                         u32 fidelity_clear = 0) {
  t.push(I::SETC16{.Value = a | (clear & 1) << 7 | b << 8 | (clear >> 1 & 1) << 15, .Reg = 12 + n});
  t.push(I::SETC16{.Value = dst | (clear >> 2 & 1) << 11 | fidelity << 13 | fidelity_clear << 15, .Reg = 28 + n});
  t.push(I::SETC16{.Value = 0, .Reg = 47 + n});
}

inline void configure_math(List& t, const MathOptions& o) {
  for (u32 reg : {0, 1, 2, 3, 7}) t.push(I::SETC16{.Value = 0, .Reg = reg});
  t.config(1, alu_word(o));
  t.config(2, o.relu << 2 | o.relu_threshold << 6);
  t.config(220, 0);
  for (u32 n = 0; n < 8; n++) address_mode(t, n, 0, 0, 0);
  t.push(I::SETRWC{.BitMask = 15});
  t.push(I::SFPENCC{.Mod1 = 10, .Imm12 = 3});
  if (o.zero_dst) t.push(I::ZEROACC{.ClearMode = 3});
  t.drain();
}

struct PackOptions {
  Format in = Format::bf16, out = Format::bf16;
  u32 addr = kL1Out, exp_section = 0, edge_mask = 0xFFFF, dst_row = 0, extra_mode = 0;  // extra_mode: bits of word 71
  bool read32 = false;
};

inline void configure_packer(List& t, const PackOptions& o) {
  const u32 e = datum_bytes(o.in);
  t.push(I::SETC16{.Value = 0, .Reg = 0});
  t.config(12, (16 * e) << 16);
  t.config(13, (256 * e) | (1024 * e) << 16);
  t.config(14, 0);
  t.config(15, 0);
  t.config(18, o.read32);
  t.config(20, 0);
  t.config(24, o.edge_mask);
  t.config(28, 16u << 8);
  t.config(68, o.exp_section << 16);
  t.config(69, (o.addr >> 4) - 1);
  t.config(70, u32(o.out) << 4 | u32(o.in) << 8);
  t.config(71, o.extra_mode);
  t.config(180, o.dst_row);
  t.push(I::SETC16{.Value = 4, .Reg = 37});
  t.push(I::SETC16{.Value = 0, .Reg = 38});
  t.push(I::SETADCXY{.BitMask = 15, .Units = 4});
  t.push(I::SETADCZW{.BitMask = 15, .Units = 4});
  t.push(I::SETADCXX{.X0 = 0, .X1 = 15, .Units = 4});
  t.drain();
}

inline void pack_rows(List& t, u32 count) {
  for (u32 i = 0; i < count; i++) t.push(I::PACR{.Last = i + 1 == count});
}

// Semaphore hand-over: `from` posts, `to` waits for it and takes it.
inline void init_semaphore(List& t, u32 sem, u32 max, u32 value = 0) {
  t.push(I::SEMINIT{.SemMask = 1u << sem, .Init = value, .Max = max});
}
inline void post(List& t, u32 sem) { t.push(I::SEMPOST{.SemMask = 1u << sem}); }
inline void wait_nonzero(List& t, u32 sem) { t.push(I::SEMWAIT{.Cond = 1, .SemMask = 1u << sem, .BlockMask = 0x1FF}); }
inline void get(List& t, u32 sem) { t.push(I::SEMGET{.SemMask = 1u << sem}); }

// The 32x32x32 product of SrcB (rows) and SrcA in the four-quadrant order; the last instruction frees both banks.
inline void matmul_tile(List& t, u32 phases) {
  const u32 clear_ab = 3;
  address_mode(t, 0, 0, 8, 0);
  address_mode(t, 1, 0, 24, 0);
  address_mode(t, 2, 16, 24, 0);
  address_mode(t, 3, 16, 40, 0);
  address_mode(t, 4, 0, 0, 0, 1, clear_ab);
  address_mode(t, 5, 0, 0, 0, 0, clear_ab, 1);
  for (u32 p = 0; p < phases; p++)
    for (u32 k = 0; k < 2; k++)
      for (u32 c = 0; c < 2; c++)
        for (u32 q = 0; q < 4; q++) {
          const bool end = q == 3, last_phase = p + 1 == phases;
          const u32 mode = !end ? (q & 1 ? 1 : 0) : c == 0 ? 2 : k == 0 ? 3 : last_phase ? 5 : 4;
          const bool final = end && k && c && last_phase;
          t.push(I::MVMUL{
              .DstRow = 16 * (2 * (q >> 1) + c) + 8 * (q & 1), .AddrMod = mode, .ClearDvalid = final ? 3u : 0});
        }
}

// Every face of SrcA to Dst rows 0 … 63, then the bank is given back.
inline void move_a_to_dst(List& t, u32 rows = 64) {
  for (u32 r = 0; r < rows; r += 8) t.push(I::MOVA2D{.DstRow = r, .InstrMod = 2, .SrcRow = r});
  t.push(I::SETRWC{.ClearAB = 1});
}

}  // namespace baretile::diff
