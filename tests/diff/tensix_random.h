// Random Tensix programs, one generator a unit. A program may be one that a library refuses: then both must refuse it.
#pragma once
#include <random>

#include "diff/tensix_lists.h"

namespace baretile::diff {

class Rng {
 public:
  explicit Rng(u64 seed) : engine_(seed) {}
  u32 bits() { return u32(engine_()); }
  u32 below(u32 n) { return u32(engine_() % n); }
  bool chance(u32 percent) { return below(100) < percent; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(u32(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

// Bytes of 32-bit words: any bits, or mostly ordinary floats with some zeros, denormals, infinities and ties.
inline std::vector<u8> random_words(Rng& r, u32 words) {
  std::vector<u8> bytes;
  const u32 kind = r.below(3);
  for (u32 i = 0; i < words; i++) {
    u32 v = r.bits();
    if (kind == 1) v = (v & 0x807FFFFF) | (110 + r.below(30)) << 23;
    if (kind == 2)
      v = (v & 0x80000000) | r.pick({0u, 1u, 0x7F800000u, 0x7F800001u, 0x3F808000u, 0x3FFFFFFFu, 0x7F7FFFFFu,
                                     0x00400000u, 0x38800000u, 0x47800000u, v & 0x7FFFFFFF});
    for (u32 k = 0; k < 4; k++) bytes.push_back(u8(v >> 8 * k));
  }
  return bytes;
}

// Src or Dst as it is, 19 or 32 bits a datum, into L1: moved as tf32 with denormals kept, packed without conversion.
inline void observe(Case& c, bool dst, u32 unit, u32 rows, const MathOptions& math) {
  List &t1 = c.thread[1], &t2 = c.thread[2];
  configure_math(t1, math);
  t1.push(I::SETC16{.Value = 1, .Reg = 2});
  t1.push(I::SETC16{.Value = 1, .Reg = 3});
  init_semaphore(t1, 1, 1);
  t1.drain();
  t1.config(2, 1);
  if (dst) {
    wait_nonzero(t1, 2);
    get(t1, 2);
  } else if (unit == 0) {
    move_a_to_dst(t1);
  } else {
    for (u32 r = 0; r < 64; r += 4) t1.push(I::MOVB2D{.DstRow = r, .InstrMod = 4, .SrcRow = r});
    t1.push(I::SETRWC{.ClearAB = 2});
  }
  post(t1, 1);
  configure_packer(t2, {.in = Format::fp32, .out = Format::fp32, .read32 = true});
  wait_nonzero(t2, 1);
  pack_rows(t2, rows / 4);
  get(t2, 1);
  c.out_addr = kL1Out;
  c.out_bytes = rows * 64;
}

// A few UNPACRs of one unit over a bank (or Dst) that was filled before; counters, formats, modes and contexts at
// random.
inline Case random_unpack(u64 seed) {
  Rng r(seed);
  Case c;
  c.name = "unpack " + std::to_string(seed);
  List& t0 = c.thread[0];
  const u32 unit = r.below(2);
  const bool dst = unit == 0 && r.chance(30);
  const u32 observed_rows = dst ? 128 : 64;
  c.inputs = {{kL1A, random_words(r, 2048)}, {kL1Out, std::vector<u8>(observed_rows * 64, 0xA5)}};
  const MathOptions math{.src_a = Format::tf32,
                         .src_b = Format::tf32,
                         .dst = Format::fp32,
                         .dst32 = true,
                         .unsigned_int8 = r.chance(15),
                         .zero_dst = !dst};
  t0.config(1, alu_word(math));  // T1 writes the same; the unpacks of int8 must see it whoever comes first
  init_semaphore(t0, 2, 1);
  // What the unpacks under test do not write must stay.
  configure_unpacker(t0, unit, {.in = Format::fp32, .out = dst ? Format::fp32 : Format::tf32, .to_dst = dst});
  configure_unpack_thread(t0, !dst, 1024);
  t0.push(unpacr(unit, false));
  if (dst) {
    t0.drain();
    t0.config(84, 64 + 16 * 64);
    t0.push(unpacr(0, false));
  }
  const u32 count = 1 + r.below(3);
  for (u32 k = 0; k < count; k++) {
    t0.drain();
    UnpackOptions o;
    o.to_dst = dst;
    if (dst) {
      o.in = r.pick({Format::fp32, Format::fp32, Format::int32});
      o.out = o.in == Format::fp32 && r.chance(50) ? Format::tf32 : o.in;
    } else {
      o.in = r.pick({Format::fp32, Format::bf16, Format::fp16, Format::bfp8, Format::bfp4, Format::bfp2, Format::int8,
                     Format::int16, Format::fp8});
      o.out = o.in == Format::fp32 ? r.pick({Format::tf32, Format::bf16, Format::fp16}) : o.in;
    }
    o.x_dim = r.pick({256u, 256u, 16u, 32u, 1u + r.below(64)});
    o.y_dim = r.pick({1u, 1u, 2u, 16u});
    o.z_dim = r.pick({4u, 1u, 0u, 2u});
    o.addr = kL1A + 16 * r.below(64);
    o.dst_row = r.pick({0u, 0u, 16u, 8u, 40u, r.below(64)}) & (r.chance(90) ? ~7u : ~0u);
    if (unit == 0 && !dst && r.chance(20)) o.extra_mode |= 1u << 8;  // transposed
    if (unit == 0 && r.chance(20)) o.extra_mode |= 1u << 9 | r.pick({4u, 8u, 2u, 1u + r.below(15)}) << 16;  // tilized
    if (r.chance(5)) o.extra_mode |= 1u << (4 + r.below(28));
    configure_unpacker(t0, unit, o);
    const u32 context = r.chance(20);
    t0.push(I::SETC16{.Value = context * 0x101, .Reg = 41});
    if (context) {
      t0.config(unit ? 125 : 77, (o.addr >> 4) - 1);
      if (!unit) t0.config(93, r.below(4));
    }
    if (!unit) t0.config(50, r.chance(20) ? 0x100 : 0);
    const u32 stride = r.pick({0u, 64u, 512u, 32u, 256u * r.below(8)});
    t0.config(56, unit ? 0 : stride << 16);
    t0.config(unit ? 59 : 57, r.pick({0u, stride, stride << 16 | 512}));
    t0.push(I::SETADCXX{
        .X0 = r.pick({0u, 0u, 0u, r.below(16)}), .X1 = r.pick({1023u, 255u, 15u, 31u, r.below(1024)}), .Units = 3});
    if (r.chance(30))
      t0.push(I::SETADCXY{.BitMask = r.pick({2u, 8u, 10u, 11u}),
                          .Ch0X = r.below(8),
                          .Ch0Y = r.below(4),
                          .Ch1Y = r.below(3),
                          .Units = 3});
    if (r.chance(30))
      t0.push(I::SETADCZW{.BitMask = 1 + r.below(15),
                          .Ch0X = r.below(4),
                          .Ch0Y = r.below(2),
                          .Ch1X = r.below(3),
                          .Ch1Y = 0,
                          .Units = 3});
    if (r.chance(20))
      t0.push(
          I::INCADCXY{.Ch0X = r.below(2) * 16 % 8, .Ch0Y = r.below(3), .Ch1Y = r.below(2), .Units = 1 + r.below(7)});
    if (r.chance(20)) t0.push(I::INCADCZW{.Ch0X = r.below(3), .Ch1X = r.below(2), .Units = 1 + r.below(7)});
    if (r.chance(20))
      t0.push(I::ADDRCRXY{
          .BitMask = 1 + r.below(15), .Ch0X = r.below(2), .Ch0Y = r.below(3), .Ch1Y = r.below(2), .Units = 3});
    if (r.chance(20))
      t0.push(I::ADDRCRZW{.BitMask = 1 + r.below(7), .Ch0X = r.below(3), .Ch1X = r.below(2), .Units = 3});
    if (r.chance(10))
      t0.push(I::SETADC{
          .Value = r.below(20), .DimensionIndex = r.below(3), .ChannelIndex = r.below(2), .Units = 1 + r.below(7)});
    t0.drain();
    if (!dst && r.chance(10))
      t0.push(I::UNPACR_NOP{
          .UnpackPop = 1, .SrcClrValCtrl = unit == 0 && r.chance(50), .StallClrCntrl = 1, .Unpacker = unit});
    t0.push(unpacr(unit, !dst && k + 1 == count, r.chance(70) ? 0 : r.below(256)));
  }
  if (dst) post(t0, 2);
  t0.push(I::SETC16{.Value = 0, .Reg = 41});
  t0.drain();
  t0.config(50, 0);
  observe(c, dst, unit, observed_rows, math);
  return c;
}

// Dst filled with random words, packed once or twice with random formats, counters, masks and modes.
inline Case random_pack(u64 seed) {
  Rng r(seed);
  Case c;
  c.name = "pack " + std::to_string(seed);
  List &t0 = c.thread[0], &t1 = c.thread[1], &t2 = c.thread[2];
  c.inputs = {{kL1A, random_words(r, 2048)},
              {kL1Out, r.chance(50) ? random_words(r, 1536) : std::vector<u8>(6144, 0xA5)}};
  configure_unpacker(t0, 0, {.in = Format::fp32, .out = Format::fp32, .to_dst = true});
  configure_unpack_thread(t0, false);
  init_semaphore(t0, 2, 1);
  t0.push(unpacr(0, false));
  t0.drain();
  t0.config(84, 64 + 16 * 64);
  t0.push(unpacr(0, false));
  post(t0, 2);
  static constexpr u32 kModes[] = {0x010, 0x011, 0x015, 0x01A, 0x026, 0x050, 0x055, 0x056, 0x057, 0x05F,
                                   0x060, 0x065, 0x066, 0x067, 0x099, 0x100, 0x101, 0x106, 0x107, 0x10F,
                                   0x111, 0x11A, 0x155, 0x166, 0x167, 0x188, 0x199, 0x1EE};
  const u32 mode = r.chance(98) ? kModes[r.below(std::size(kModes))] : r.below(0x200);
  PackOptions o;
  o.in = Format(mode >> 4 & 15);
  o.out = Format(mode & 15);
  o.read32 = mode >> 8;
  o.exp_section = u32(o.out) & 2 ? 4 : r.pick({0u, 1u});
  o.dst_row = r.pick({0u, 0u, 64u, r.below(130)});
  o.extra_mode = (r.chance(u32(o.out) == 0 || o.out == Format::bf16 || o.out == Format::fp16 ? 25 : 1) ? 1u << 19 : 0) |
                 (o.out == Format::fp8 && r.chance(95) ? 1u << 23 : 0);
  o.edge_mask = r.pick({0xFFFFu, 0xFFFFu, 0xFFFFu, 0u});
  MathOptions m{.src_a = Format::bf16, .src_b = Format::bf16, .dst = o.in, .dst32 = o.read32, .zero_dst = false};
  m.relu = r.chance(30) ? r.below(4) : 0;
  m.relu_threshold = r.chance(95) ? 0x400 + r.below(0x7C00) : r.bits() & 0x8000;  // no denormals
  if (m.relu_threshold < 0x8000 && !(m.relu_threshold & 0x7C00 && m.relu_threshold & 0x7F80)) m.relu_threshold = 0;
  configure_math(t1, m);
  init_semaphore(t1, 1, 1);
  t1.drain();
  wait_nonzero(t1, 2);
  get(t1, 2);
  if (r.chance(15)) t1.push(I::ZEROACC{.Where = r.below(4), .Use32BitMode = o.read32, .ClearMode = 1});
  post(t1, 1);
  configure_packer(t2, o);
  const bool rounds = mode == 0x111 || mode == 0x11A;
  t2.config(18, u32{o.read32} | (r.chance(20) ? 2u : 0) | (r.chance(5) ? 4u : 0) |
                    (rounds != (mode != 0x01A && r.chance(3)) ? 8u : 0));
  t2.config(25, r.pick({0u, 0xFFFFu, 0u}));
  if (r.chance(25)) t2.config(20, r.bits() & 0x55555555);
  if (r.chance(10)) t2.config(21, r.bits() & 0x55555555);
  if (r.chance(10)) t2.config(24, o.edge_mask | 1u << 17);
  if (r.chance(15)) t2.config(12, (16 * datum_bytes(o.in) * r.below(4)) << 16);
  if (r.chance(15)) t2.config(14, r.pick({16u, 32u, 40u, 256u}) << 16);
  t2.push(I::SETC16{.Value = r.pick({4u, 4u, 1u, 2u, 0x1004u, 4u | 1u << 4, 0x144u}), .Reg = 37});
  t2.push(I::SETC16{.Value = r.pick({0x2020u, 0x2024u, 0u, 0x820u}), .Reg = 38});
  if (r.chance(30))
    t2.push(I::SETADCXY{.BitMask = r.pick({2u, 10u}), .Ch0Y = r.below(8), .Ch1Y = r.below(2), .Units = 4});
  if (r.chance(30)) t2.push(I::SETADCZW{.BitMask = 3, .Ch0X = r.below(3), .Ch0Y = r.below(2), .Units = 4});
  t2.drain();
  wait_nonzero(t2, 1);
  const u32 interfaces = r.pick({0u, 0u, 0u, 1u, 3u, 5u, 10u});
  if (interfaces == 1 && r.chance(40)) t2.push(I::SETADCXX{.X0 = 0, .X1 = 7, .Units = 4});
  const u32 count = 1 + r.below(16);
  for (u32 i = 0; i < count; i++)
    t2.push(I::PACR{.Last = i + 1 == count || r.chance(10),
                    .Concat = r.chance(5),
                    .ReadIntfSel = interfaces,
                    .AddrMod = r.chance(10)});
  get(t2, 1);
  c.out_addr = kL1Out;
  c.out_bytes = 6144;
  return c;
}

// One GPR instruction on registers 0 … 15; the result depends on the order of execution.
inline u32 random_gpr_word(Rng& r) {
  switch (r.below(4)) {
    case 0:
      return I::encode(
          I::SETDMAREG{.RegIndex16b = r.below(32), .PayloadSigSel = r.below(1 << 14), .PayloadSigSelSize = r.below(4)});
    case 1:
      return I::encode(
          I::MULDMAREG{.OpARegIndex = r.below(16), .OpBRegIndex = r.below(16), .ResultRegIndex = r.below(16)});
    case 2:
      return I::encode(I::NOP{});
    default:
      return I::encode(
          I::ADDDMAREG{.OpARegIndex = r.below(16), .OpBRegIndex = r.below(16), .ResultRegIndex = r.below(16)});
  }
}

inline void random_mop(Rng& r, List& t) {
  t.drain();
  const bool template1 = r.chance(50);
  const u32 outer = r.pick({1u, 2u, 3u, 32u, r.below(40)}),
            inner = r.below(outer > 8 ? 4 : 12);  // ttsim queues at most 512
  t.mop(0, outer);
  t.mop(1, template1 ? inner : r.below(4));
  for (u32 k = 2; k < 9; k++) t.mop(k, r.chance(30) ? I::encode(I::NOP{}) : random_gpr_word(r));
  if (!template1) t.push(I::MOP_CFG{.ZmaskHi16 = r.bits() & 0xFFFF});
  t.push(template1 ? I::MOP{.MopType = 1}
                   : I::MOP{.ZmaskLoOrCount1 = r.bits() & 0xFFFF, .LoopCount = r.pick({0u, 3u, 17u, r.below(33)})});
  t.drain();
}

inline void random_replay(Rng& r, List& t) {
  const u32 start = r.below(32), length = 1 + r.below(r.chance(10) ? 34 : 12);
  t.push(I::REPLAY{.LoadMode = 1, .ExecuteWhileLoading = r.chance(50), .Len = length, .StartIdx = start});
  for (u32 k = 0; k < length; k++) t.push(random_gpr_word(r));
  for (u32 k = r.below(3); k > 0; k--) {
    const u32 skip = r.below(length);
    t.push(I::REPLAY{.Len = 1 + r.below(length - skip), .StartIdx = (start + skip) % 32});
  }
  t.drain();
}

// Configuration words that only this thread touches, in the bank it has selected.
inline void random_config(Rng& r, List& t, u32 thread) {
  static constexpr u32 kWords[3][3] = {{76, 77, 84}, {12, 13, 14}, {124, 125, 86}};
  const u32 word = kWords[thread][r.below(3)], gpr = r.below(16);
  switch (r.below(6)) {
    case 0:
      return t.push(I::SETC16{.Value = r.below(2), .Reg = 0});
    case 1:
      return t.push(I::RDCFG{.CfgReg = word, .Gpr = gpr});
    case 2:
      return t.push(I::RMWCIB1{.CfgReg = word, .Data = r.below(256), .Mask = r.below(256)});
    case 3:
      return t.push(I::RMWCIB3{.CfgReg = word, .Data = r.below(256), .Mask = r.below(256)});
    case 4:
      return t.push(
          I::CFGSHIFTMASK{.CfgReg = word, .ScratchSel = 3, .MaskWidth = 31, .Operation = 3, .DisableMaskOnOldVal = 1});
    default:
      return t.push(I::WRCFG{.CfgReg = word, .Gpr = gpr});
  }
}

// Three threads of GPR, MOP, REPLAY and configuration work that hand each other values behind semaphores and a mutex.
inline Case random_sync(u64 seed) {
  Rng r(seed);
  Case c;
  c.name = "sync " + std::to_string(seed);
  constexpr u32 kShared = 69, kSlot = 16;  // a word for handed-over values; one saved value takes 16 bytes
  for (u32 t = 0; t < 3; t++) {
    List& list = c.thread[t];
    list.push(I::SETC16{.Value = 0, .Reg = 0});
    list.drain();
    for (u32 k = 0; k < 16; k++) list.gpr(k, r.bits());
    list.config(209 + t, r.bits());
    if (t == 0) {
      for (u32 sem = 0; sem < 6; sem++) init_semaphore(list, sem, 15);
      for (u32 word : {76u, 77u, 84u, 12u, 13u, 14u, 124u, 125u, 86u, kShared, 68u}) list.config(word, 0);
      for (u32 sem : {6u, 7u}) {
        init_semaphore(list, sem, 1);
        list.drain();
        list.semaphore(sem, false);
      }
    } else {
      wait_nonzero(list, 5 + t);
      get(list, 5 + t);
      list.drain();
    }
  }
  const u32 steps = 5 + r.below(20);
  for (u32 s = 0; s < steps; s++) {
    const u32 a = r.below(3), b = (a + 1 + r.below(2)) % 3, sem = a * 2 + (b == (a + 2) % 3);
    List &from = c.thread[a], &to = c.thread[b];
    switch (r.below(8)) {
      case 0:
        random_mop(r, from);
        break;
      case 1:
        random_replay(r, from);
        break;
      case 2:
      case 3:
        random_config(r, from, a);
        break;
      case 4:  // a sum that every order of the threads gives
        for (List* list : {&from, &to}) {
          list->push(I::SETC16{.Value = 0, .Reg = 0});
          list->push(I::ATGETM{});
          list->push(I::RDCFG{.CfgReg = 68, .Gpr = 20});
          list->push(I::ADDDMAREG{.OpARegIndex = 20, .OpBRegIndex = 21, .ResultRegIndex = 20});
          list->push(I::WRCFG{.CfgReg = 68, .Gpr = 20});
          list->push(I::ATRELM{});
        }
        break;
      case 5:
        for (u32 k = 0; k < 4; k++) from.push(random_gpr_word(r));
        if (r.chance(50))
          from.push(I::STALLWAIT{.CondMask = r.pick({1u, 2u, 4u, 8u, 16u, 0x400u, 0x800u, 0x1Fu}),
                                 .BlockMask = 1 + r.below(511)});
        break;
      default:  // a value through a configuration word; the answer comes back before the word is used again
        from.push(I::SETC16{.Value = 0, .Reg = 0});
        from.push(I::WRCFG{.CfgReg = kShared, .Gpr = r.below(16)});
        post(from, sem);
        to.push(I::SETC16{.Value = 0, .Reg = 0});
        wait_nonzero(to, sem);
        get(to, sem);
        to.push(I::RDCFG{.CfgReg = kShared, .Gpr = r.below(16)});
        for (u32 t = 0; t < 3; t++)
          if (t != b) {
            const u32 back = b * 2 + (t == (b + 2) % 3);
            post(to, back);
            wait_nonzero(c.thread[t], back);
            get(c.thread[t], back);
          }
    }
  }
  for (u32 t = 0; t < 3; t++) {
    List& list = c.thread[t];
    list.push(I::SETC16{.Value = 0, .Reg = 0});
    list.drain();
    for (u32 k = 0; k < 16; k++) list.save_gpr(kL1Out + kSlot * (16 * t + k), k);
  }
  for (u32 k = 0; u32 word : {76u, 77u, 84u}) c.thread[0].save_config(kL1Out + kSlot * (48 + k++), word);
  c.inputs = {{kL1Out, std::vector<u8>(kSlot * 51, 0)}};
  c.out_addr = kL1Out;
  c.out_bytes = kSlot * 51;
  return c;
}

}  // namespace baretile::diff
