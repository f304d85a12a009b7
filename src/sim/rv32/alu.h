// What the register-to-register instructions compute (RISC-V unprivileged specification), named after the instruction
// where it has one.
#pragma once
#include <bit>

#include "baretile/bits.h"

namespace baretile::sim::alu {

inline constexpr i32 s(u32 value) { return static_cast<i32>(value); }
inline constexpr u32 kIntMin = 0x80000000;

inline constexpr auto add = [](u32 a, u32 b) { return a + b; };
inline constexpr auto sub = [](u32 a, u32 b) { return a - b; };
inline constexpr auto conj = [](u32 a, u32 b) { return a & b; };
inline constexpr auto ior = [](u32 a, u32 b) { return a | b; };
inline constexpr auto exor = [](u32 a, u32 b) { return a ^ b; };
inline constexpr auto sll = [](u32 a, u32 b) { return a << (b & 31); };
inline constexpr auto srl = [](u32 a, u32 b) { return a >> (b & 31); };
inline constexpr auto sra = [](u32 a, u32 b) { return u32(s(a) >> (b & 31)); };
inline constexpr auto second = [](u32, u32 b) { return b; };

inline constexpr auto eq = [](u32 a, u32 b) { return u32(a == b); };
inline constexpr auto ne = [](u32 a, u32 b) { return u32(a != b); };
inline constexpr auto slt = [](u32 a, u32 b) { return u32(s(a) < s(b)); };
inline constexpr auto ge = [](u32 a, u32 b) { return u32(s(a) >= s(b)); };
inline constexpr auto sltu = [](u32 a, u32 b) { return u32(a < b); };
inline constexpr auto geu = [](u32 a, u32 b) { return u32(a >= b); };

inline constexpr auto mul = [](u32 a, u32 b) { return a * b; };
inline constexpr auto mulh = [](u32 a, u32 b) { return u32(u64(i64(s(a)) * i64(s(b))) >> 32); };
inline constexpr auto mulhsu = [](u32 a, u32 b) { return u32(u64(i64(s(a)) * i64(b)) >> 32); };
inline constexpr auto mulhu = [](u32 a, u32 b) { return u32(u64(a) * b >> 32); };
inline constexpr auto div = [](u32 a, u32 b) { return b == 0 ? ~0u : a == kIntMin && b == ~0u ? a : u32(s(a) / s(b)); };
inline constexpr auto divu = [](u32 a, u32 b) { return b == 0 ? ~0u : a / b; };
inline constexpr auto rem = [](u32 a, u32 b) { return b == 0 ? a : a == kIntMin && b == ~0u ? 0u : u32(s(a) % s(b)); };
inline constexpr auto remu = [](u32 a, u32 b) { return b == 0 ? a : a % b; };

inline constexpr auto sh1add = [](u32 a, u32 b) { return (a << 1) + b; };
inline constexpr auto sh2add = [](u32 a, u32 b) { return (a << 2) + b; };
inline constexpr auto sh3add = [](u32 a, u32 b) { return (a << 3) + b; };

inline constexpr auto andn = [](u32 a, u32 b) { return a & ~b; };
inline constexpr auto orn = [](u32 a, u32 b) { return a | ~b; };
inline constexpr auto xnor = [](u32 a, u32 b) { return ~(a ^ b); };
inline constexpr auto min = [](u32 a, u32 b) { return s(a) < s(b) ? a : b; };
inline constexpr auto max = [](u32 a, u32 b) { return s(a) < s(b) ? b : a; };
inline constexpr auto minu = [](u32 a, u32 b) { return a < b ? a : b; };
inline constexpr auto maxu = [](u32 a, u32 b) { return a < b ? b : a; };
inline constexpr auto rol = [](u32 a, u32 b) { return std::rotl(a, int(b & 31)); };
inline constexpr auto ror = [](u32 a, u32 b) { return std::rotr(a, int(b & 31)); };
inline constexpr auto pack = [](u32 a, u32 b) { return (a & 0xFFFF) | b << 16; };
inline constexpr auto clz = [](u32 a) { return u32(std::countl_zero(a)); };
inline constexpr auto ctz = [](u32 a) { return u32(std::countr_zero(a)); };
inline constexpr auto cpop = [](u32 a) { return u32(std::popcount(a)); };
inline constexpr auto sext_b = [](u32 a) { return u32(static_cast<int8_t>(a)); };
inline constexpr auto sext_h = [](u32 a) { return u32(static_cast<int16_t>(a)); };
inline constexpr auto rev8 = [](u32 a) { return __builtin_bswap32(a); };
inline constexpr auto orc_b = [](u32 a) {
  a |= (a & 0xF0F0F0F0) >> 4 | (a & 0x0F0F0F0F) << 4;
  a |= (a & 0xCCCCCCCC) >> 2 | (a & 0x33333333) << 2;
  return a | (a & 0xAAAAAAAA) >> 1 | (a & 0x55555555) << 1;
};
inline constexpr auto brev8 = [](u32 a) {
  a = (a & 0xF0F0F0F0) >> 4 | (a & 0x0F0F0F0F) << 4;
  a = (a & 0xCCCCCCCC) >> 2 | (a & 0x33333333) << 2;
  return (a & 0xAAAAAAAA) >> 1 | (a & 0x55555555) << 1;
};

}  // namespace baretile::sim::alu
