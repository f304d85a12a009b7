// Random programs for the two math units, as cases that any Tensix model can play: Dst, SrcA and SrcB are filled with
// random bits, a dozen instructions run, and 64 rows of Dst come back as raw bits. The seed decides everything.
#pragma once
#include <bit>
#include <functional>
#include <initializer_list>

#include "diff/tensix_lists.h"

namespace baretile::diff {

class Random {
 public:
  explicit Random(u32 seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  u32 word() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return u32(state_ >> 32);
  }
  u32 below(u32 n) { return u32(u64{word()} * n >> 32); }
  bool one_in(u32 n) { return below(n) == 0; }
  u32 pick(std::initializer_list<u32> values) { return values.begin()[below(u32(values.size()))]; }

  // FP32 bits of the kinds that matter: near 1, tiny, huge, few mantissa bits, special, small integers, anything.
  u32 fp32() {
    const u32 x = word(), fraction = x & 0x807FFFFF;
    switch (below(9)) {
      case 0:
        return x;
      case 1:
        return (x & 0x80FF0000) | 0x3F800000;
      case 2:
        return fraction | below(40) << 23;
      case 3:
        return fraction | (215 + below(41)) << 23;
      case 4:
        return pick(
            {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 1, 0x807FFFFF, 0x00800000, 0xFFFFFFFF, 0x3F800000});
      case 5:
        return x & 0x800000FF;
      case 6:
        return u32(-i32(x & 63));
      case 7:
        return fraction | (100 + below(56)) << 23;
      default:
        return fraction | (120 + below(16)) << 23;
    }
  }

 private:
  u64 state_;
};

inline constexpr u32 kL1Dst = 0x70000;

// Brackets of every case: T0 fills Dst rows 0 … 63 (32-bit) and, on request, both Src; T1 does `math`; T2 returns 64
// rows from out_row on.
struct MathCase {
  Format src_in = Format::fp32, src = Format::tf32;
  Format configured_b = Format::tf32;  // with implied formats only the vector unit looks at it
  bool use_src = true, dst32 = true, int8 = false;
  u32 out_row = 0;
};

inline std::vector<u8> bytes_of(const std::vector<u32>& values, u32 datum) {
  std::vector<u8> bytes;
  for (u32 v : values)
    for (u32 i = 0; i < datum; i++) bytes.push_back(u8(v >> 8 * i));
  return bytes;
}

inline Case make_case(const MathCase& m, std::string name, const std::vector<u32>& dst, const std::vector<u32>& a,
                      const std::vector<u32>& b, const std::function<void(List&)>& math) {
  Case c{.name = std::move(name),
         .thread = {},
         .inputs = {{kL1Dst, bytes_of(dst, 4)}},
         .out_addr = kL1Out,
         .out_bytes = m.dst32 ? 4096u : 2048u};
  List &t0 = c.thread[0], &t1 = c.thread[1], &t2 = c.thread[2];
  init_semaphore(t0, 2, 1);
  configure_unpacker(t0, 0, {.in = Format::int32, .out = Format::int32, .addr = kL1Dst, .to_dst = true});
  configure_unpack_thread(t0, false);
  t0.push(unpacr(0, false));
  t0.drain();
  if (m.use_src) {
    c.inputs.push_back({kL1A, bytes_of(a, datum_bytes(m.src_in))});
    c.inputs.push_back({kL1B, bytes_of(b, datum_bytes(m.src_in))});
    configure_unpacker(t0, 0, {.in = m.src_in, .out = m.src, .addr = kL1A});
    configure_unpacker(t0, 1, {.in = m.src_in, .out = m.src, .addr = kL1B});
    configure_unpack_thread(t0, true);
    t0.push(unpacr(0, true));
    t0.push(unpacr(1, true));
  }
  post(t0, 2);

  init_semaphore(t1, 1, 1);
  configure_math(t1, {.src_a = m.src,
                      .src_b = m.configured_b,
                      .dst = m.dst32 ? Format::int32 : Format::int16,
                      .dst32 = m.dst32,
                      .int8 = m.int8,
                      .zero_dst = false});
  wait_nonzero(t1, 2);
  get(t1, 2);
  math(t1);
  t1.push(I::SETRWC{.BitMask = 15, .ClearAB = m.use_src ? 3u : 0});
  post(t1, 1);

  const Format raw = m.dst32 ? Format::int32 : Format::int16;
  configure_packer(t2, {.in = raw, .out = raw, .dst_row = m.out_row, .read32 = m.dst32});
  wait_nonzero(t2, 1);
  pack_rows(t2, 16);
  get(t2, 1);
  return c;
}

struct MathStep {
  u32 word, row_a = 0, row_b = 0, phase = 0;
  bool transpose_first = false;  // TRNSPSRCB has no address mode of its own
};

// Address mode 0 moves the counters to the next step's rows.
inline void push_steps(List& t, const std::vector<MathStep>& steps) {
  for (size_t i = 0; i < steps.size(); i++) {
    const MathStep next = i + 1 < steps.size() ? steps[i + 1] : MathStep{};
    address_mode(t, 0, (next.row_a - steps[i].row_a) & 63, (next.row_b - steps[i].row_b) & 63, 0,
                 (next.phase - steps[i].phase) & 3);
    if (steps[i].transpose_first) t.push(I::TRNSPSRCB{});
    t.push(steps[i].word);
  }
}

inline MathStep random_fpu_step(Random& r, const MathCase& m, bool first) {
  const u32 a = first ? 0 : 8 * r.below(8), b = first ? 0 : 8 * r.below(8), phase = first ? 0 : r.below(4),
            dst = 8 * r.below(8);
  const u32 broadcast = r.below(4), accumulate = r.below(2);
  switch (r.below(m.int8 ? 5 : 8)) {
    case 0:
      return {encode(I::MVMUL{.DstRow = dst}), a & ~15u, b, phase};
    case 1:
      return {encode(I::GAPOOL{.DstRow = dst + 4 * r.below(2), .Mod19 = 1}), a & ~15u, b, phase};
    case 2:
      return {encode(I::ELWMUL{.DstRow = dst, .Mod19 = broadcast}), a, b, phase};
    case 3:
      return {encode(I::ELWADD{.DstRow = dst, .Mod19 = broadcast, .DestAccum = accumulate}), a, b, 0};
    case 4:
      return {encode(I::ELWSUB{.DstRow = dst, .Mod19 = broadcast, .DestAccum = accumulate}), a, b, 0};
    case 5:
      return {encode(I::MOVA2D{.DstRow = dst, .InstrMod = 2, .SrcRow = 8 * r.below(8)}), 0, b, phase};
    case 6:
      return {encode(I::MOVB2D{.DstRow = dst, .InstrMod = r.pick({2, 3, 4, 5}), .SrcRow = 8 * r.below(8)}), a, 0,
              phase};
    default:
      return {encode(I::ZEROACC{.Where = r.below(2), .Use32BitMode = m.dst32, .ClearMode = 1}), a, b, phase};
  }
}

// Sources and Dst of one exponent profile, so that sums neither vanish nor all overflow.
inline Case fpu_case(u32 seed) {
  Random r(seed);
  MathCase m;
  const u32 kind = r.below(5);
  m.dst32 = kind == 4 || r.below(2);
  if (kind == 2) m.src_in = m.src = Format::bf16;
  if (kind == 3) m.src_in = m.src = Format::fp16;
  if (kind == 4) m.src_in = m.src = Format::int8, m.int8 = true;
  const u32 low = r.pick({1, 1, 60, 110, 120, 200}), range = r.pick({6, 20, 54});
  const auto fp32 = [&](u32 zero_in) {
    return (r.word() & 0x807FFFFF) | (r.one_in(zero_in) ? 0 : low + r.below(range)) << 23;
  };
  const auto datum = [&] {
    if (m.src == Format::fp16) return r.one_in(5) ? r.word() & 0x83FF : r.word() & 0xFFFF;
    const u32 bits = fp32(12);
    return m.int8 ? r.word() & 0xFF : m.src == Format::bf16 ? bits >> 16 : bits;
  };
  std::vector<u32> dst(1024), a(1024), b(1024);
  for (u32& v : dst) v = m.dst32 ? fp32(12) : r.word();
  for (u32& v : a) v = datum();
  for (u32& v : b) v = datum();
  if (r.one_in(3))  // rows of zeros, as padding has them
    for (u32 row = 0; row < 64; row++)
      if (r.below(3)) std::fill_n(b.begin() + 16 * row, 16, 0);
  if (!m.dst32 && !m.int8 && m.src != Format::fp16)
    for (u32& v : dst) v = (v & 0x807F807F) | fp32(12) >> 16 << 16 | (fp32(12) >> 16);
  std::vector<MathStep> steps;
  for (u32 i = 0; i < 12; i++) {
    steps.push_back(random_fpu_step(r, m, i == 0));
    steps.back().transpose_first = r.one_in(6);
  }
  return make_case(m, "fpu seed " + std::to_string(seed), dst, a, b, [&](List& t) { push_steps(t, steps); });
}

// GMPOOL wants SrcB to be 1.0 everywhere and Dst to hold what it can compare.
inline Case pool_case(u32 seed) {
  Random r(seed);
  MathCase m;
  m.dst32 = r.below(2);
  if (r.below(2)) m.src_in = m.src = Format::bf16;
  const auto datum = [&](bool dst) {
    const u32 bits = (r.word() & 0x807FFFFF) | (r.one_in(8) ? 0 : 1 + r.below(255)) << 23;
    return m.src == Format::bf16 && !dst ? bits >> 16 : bits;
  };
  std::vector<u32> dst(1024), a(1024), b(1024, m.src == Format::bf16 ? 0x3F80 : 0x3F800000);
  for (u32& v : dst) v = datum(true);
  for (u32& v : a) v = datum(false);
  std::vector<MathStep> steps;
  for (u32 i = 0; i < 8; i++) {
    if (r.one_in(3))
      steps.push_back({encode(I::ZEROACC{.Where = r.below(4), .Use32BitMode = m.dst32, .ClearMode = 1})});
    steps.push_back(
        {encode(I::GMPOOL{.DstRow = 4 * r.below(16), .Mod19 = 1}), steps.empty() ? 0 : 16 * r.below(4), 0, 0});
  }
  return make_case(m, "pool seed " + std::to_string(seed), dst, a, b, [&](List& t) { push_steps(t, steps); });
}

}  // namespace baretile::diff
