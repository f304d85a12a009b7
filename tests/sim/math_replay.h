// What the tests of both math units share: replay of cases recorded from ttsim, and the MVMUL vectors.
#pragma once
#include <gtest/gtest.h>

#include "diff/diff_vectors.h"
#include "diff/math_cases.h"
#include "sim/coprocessor_player.h"
#include "sim/tensix/fpu.h"
#include "sim/tensix/units.h"

namespace baretile::sim {

inline constexpr Operands kNone;

inline u32 fnv1a(const std::vector<u8>& bytes) {
  u32 hash = 2166136261u;
  for (u8 byte : bytes) hash = (hash ^ byte) * 16777619u;
  return hash;
}

// A file of diff::record_ttsim: each seed's program must leave what ttsim left.
inline void replay(diff::Case (*make)(u32), const std::string& file, const FpuKernels* kernels = best_fpu_kernels()) {
  const std::vector<u32> words = diff::read_vectors(file);
  ASSERT_EQ(words.size(), 1 + 2 * words[0]);
  for (u32 i = 0; i < words[0]; i++) {
    const diff::Case c = make(words[1 + 2 * i]);
    diff::CoprocessorPlayer player;
    player.tensix().units().state.kernels = kernels;
    const diff::Outcome outcome = player.play(c);
    ASSERT_EQ(outcome.end, diff::Outcome::End::done) << c.name << ": " << outcome.message;
    ASSERT_EQ(fnv1a(outcome.output), words[2 + 2 * i]) << c.name;
  }
}

constexpr u32 src_of_fp32(u32 bits) { return bits >> 31 << 18 | (bits >> 13 & 0x3FF) << 8 | (bits >> 23 & 0xFF); }
inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline float float_of(u32 x) { return std::bit_cast<float>(x); }

// One MVMUL on ttsim: matrices of FP32 patterns (BF16 Dst in the upper halves), see tests/sim/vectors/mvmul.bin.
struct MvmulVector {
  u32 phase, fp32;
  u32 a[16][16], b[8][16], before[8][16], after[8][16];
};

inline std::vector<MvmulVector> mvmul_vectors() {
  const std::vector<u32> words = diff::read_vectors("mvmul.bin");
  std::vector<MvmulVector> vectors(words.size() * 4 / sizeof(MvmulVector));
  std::memcpy(vectors.data(), words.data(), vectors.size() * sizeof(MvmulVector));
  return vectors;
}

inline void load(State& s, const MvmulVector& v) {
  for (u32 r = 0; r < 16; r++)
    for (u32 c = 0; c < kColumns; c++) s.src_a[0].rows[r][c] = src_of_fp32(v.a[r][c]);
  for (u32 r = 0; r < 8; r++)
    for (u32 c = 0; c < kColumns; c++) {
      s.src_b[0].rows[r][c] = src_of_fp32(v.b[r][c]);
      if (v.fp32)
        s.dst.write32(r, c, dst_of_fp32(v.before[r][c]));
      else
        s.dst.write16(r, c, dst_of_bf16(u16(v.before[r][c] >> 16)));
    }
  s.src_a[0].touch();
  s.src_b[0].touch();
}

inline u32 result(const State& s, const MvmulVector& v, u32 r, u32 c) {
  return v.fp32 ? fp32_of_dst(s.dst.read32(r, c)) : u32{bf16_of_dst(s.dst.read16(r, c))} << 16;
}

// Every recorded MVMUL, executed with these kernels (null: the reference).
inline void expect_recorded_products(const FpuKernels* kernels) {
  auto s = std::make_unique<State>();
  s->kernels = kernels;
  for (const MvmulVector& v : mvmul_vectors()) {
    load(*s, v);
    Operands o{.phase = v.phase, .format_a = isa::Format::tf32, .format_b = isa::Format::tf32};
    o.fp32 = v.fp32;
    exec(*s, o, isa::MVMUL{});
    for (u32 r = 0; r < 8; r++)
      for (u32 c = 0; c < kColumns; c++)
        ASSERT_EQ(result(*s, v, r, c), v.after[r][c]) << "phase " << v.phase << " fp32 " << v.fp32;
  }
}

template <class Insn>
FaultKind kind_of_fault(State& s, const Operands& o, const Insn& insn) {
  try {
    exec(s, o, insn);
  } catch (const Fault& f) {
    return f.kind;
  }
  ADD_FAILURE() << "no fault";
  return FaultKind::internal;
}

}  // namespace baretile::sim
