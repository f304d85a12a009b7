// Single vector instructions by what they do, and the rules for kernels/sfpu/<op>.h:
//   template <u32 D, u32 A [, u32 B] [, u32 temporaries …]> inline void op();
// D is the result's LReg, A and B the operands'; all are distinct unless the comment says "D may be an operand". The
// compiler reads the parameter list and that comment. Values are fp32, denormals count as zero; errors are in units in
// the last place, as measured on ttsim v1.10.
// Hazards that the hardware does not see (SFPMAD.md: an operand of SFPIADD, SFPSHFT, SFPSWAP or SFPSHFT2 written by the
// instruction just before) are the operation's: nop() in between.
#pragma once
#include "kernel.h"

namespace baretile::kernel {

inline constexpr u32 kZero = 9, kOne = 10, kMinusOne = 11,
                     kLaneTwice = 15;  // constant registers; kLaneTwice: 2 * lane, an integer

inline void nop() { issue<encode(SFPNOP{})>(); }

template <u32 D, u32 A, u32 B, u32 C, bool negate_product = false, bool negate_addend = false>
inline void multiply_add() {
  issue<encode(SFPMAD{.Mod1 = negate_product | negate_addend << 1, .VD = D, .VC = C, .VB = B, .VA = A})>();
}
template <u32 D, u32 A, u32 B>
inline void add() {
  issue<encode(SFPADD{.VD = D, .VC = B, .VB = A, .VA = kOne})>();
}
template <u32 D, u32 A, u32 B>
inline void subtract() {
  multiply_add<D, A, kOne, B, false, true>();
}
template <u32 D, u32 A, u32 B>
inline void multiply() {
  issue<encode(SFPMUL{.VD = D, .VC = kZero, .VB = B, .VA = A})>();
}
// D *= a value whose low 16 bits are zero.
template <u32 D, u32 value>
inline void scale() {
  issue<encode(SFPMULI{.VD = D, .Imm16 = value >> 16})>();
}
template <u32 D, u32 A>
inline void move() {
  issue<encode(SFPMOV{.VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void negate() {
  issue<encode(SFPMOV{.Mod1 = 1, .VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void magnitude() {
  issue<encode(SFPABS{.Mod1 = 1, .VD = D, .VC = A})>();
}
// D = larger, A = smaller, in the total order -NaN < -inf < … < -0 < +0 < … < inf < NaN. A constant A keeps its value.
template <u32 D, u32 A>
inline void swap_max() {
  issue<encode(SFPSWAP{.Mod1 = 9, .VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void swap_min() {
  issue<encode(SFPSWAP{.Mod1 = 1, .VD = D, .VC = A})>();
}

// Bits.
template <u32 D, u32 bits>
inline void load_bits() {
  if constexpr ((bits & 0xFFFF) == 0) {
    issue<encode(SFPLOADI{.Imm16 = bits >> 16, .Mod0 = 0, .VD = D})>();
  } else {
    issue<encode(SFPLOADI{.Imm16 = bits & 0xFFFF, .Mod0 = 10, .VD = D})>();
    issue<encode(SFPLOADI{.Imm16 = bits >> 16, .Mod0 = 8, .VD = D})>();
  }
}
// A float constant as template arguments take it.
constexpr u32 bits_of(float value) { return __builtin_bit_cast(u32, value); }
inline constexpr u32 kInfinity = 0x7F800000, kNaN = 0x7FC00000;
template <u32 D, u32 value>
inline void load_integer() {
  issue<encode(SFPLOADI{.Imm16 = value, .Mod0 = 2, .VD = D})>();
}
template <u32 D, u32 A>
inline void bit_and() {
  issue<encode(SFPAND{.VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void bit_xor() {
  issue<encode(SFPXOR{.VD = D, .VC = A})>();
}
// D += A as integers.
template <u32 D, u32 A>
inline void add_integer() {
  issue<encode(SFPIADD{.Mod1 = 4, .VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void subtract_integer_from() {  // D = A - D
  issue<encode(SFPIADD{.Mod1 = 4 | 2, .VD = D, .VC = A})>();
}
// D = A shifted left by `count`; to the right when it is negative.
template <u32 D, u32 A, i32 count>
inline void shift() {
  issue<encode(SFPSHFT{.Mod1 = 5, .VD = D, .VC = A, .Imm12 = u32(count) & 0xFFF})>();
}
template <u32 D, u32 A, i32 count>
inline void shift_arithmetic() {
  issue<encode(SFPSHFT{.Mod1 = 7, .VD = D, .VC = A, .Imm12 = u32(count) & 0xFFF})>();
}
// D, a two's complement integer, to a float.
template <u32 D>
inline void to_float() {
  issue<encode(SFPCAST{.Mod1 = 3, .VD = D, .VC = D})>();  // to sign and magnitude
  issue<encode(SFPCAST{.Mod1 = 0, .VD = D, .VC = D})>();
}
// D = the exponent field of A, an integer.
template <u32 D, u32 A>
inline void exponent_field() {
  issue<encode(SFPEXEXP{.Mod1 = 1, .VD = D, .VC = A})>();
}

// Lanes.
enum class Test : u32 { negative = 0, not_zero = 2, not_negative = 4, zero = 6 };  // of the bits as an integer
template <u32 A, Test test>
inline void only_where() {
  issue<encode(SFPSETCC{.Mod1 = u32(test), .VC = A})>();
}
// Lanes whose integer A is at least `limit` (up to 2047); D = A - limit.
template <u32 D, u32 A, u32 limit>
inline void only_where_at_least() {
  issue<encode(SFPIADD{.Mod1 = 1 | 8, .VD = D, .VC = A, .Imm12 = (0 - limit) & 0xFFF})>();
}
// Lanes with A <= B in the total order.
template <u32 A, u32 B>
inline void only_where_at_most() {
  issue<encode(SFPLE{.Mod1 = 1, .VD = A, .VC = B})>();
}
template <u32 A, u32 B>
inline void only_where_greater() {
  issue<encode(SFPGT{.Mod1 = 1, .VD = A, .VC = B})>();
}
inline void all_lanes() { issue<encode(SFPENCC{})>(); }
// Every eight lanes turned by one: lane l takes from l - 1.
template <u32 D, u32 A>
inline void rotate() {
  issue<encode(SFPSHFT2{.Mod1 = 3, .VD = D, .VC = A})>();
}
inline void transpose() { issue<encode(SFPTRANSP{})>(); }

}  // namespace baretile::kernel
