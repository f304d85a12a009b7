// Single vector instructions by what they do, and the rules for kernels/sfpu/<op>.h:
//   template <u32 D, u32 A [, u32 B [, u32 C]] [, u32 temporaries …]> inline void op();
// D is the result's LReg, A, B and C the operands', which may be constant registers and keep their values; a temporary
// behind them has another name. All are distinct unless the comment says "D may be an operand". Where it says "Zero
// stays zero", operands of +0 give +0. The compiler reads the parameter list and that comment. Values are fp32,
// denormals count as zero, and a zero's sign is not kept; errors are in units in the last place, as measured on ttsim
// v1.10. Headers <op>_int.h and <op>_uint.h take two's complement words, and what answers a question gives 1.0 or 0.
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

// D += a value whose low 16 bits are zero.
template <u32 D, u32 value>
inline void increase() {
  issue<encode(SFPADDI{.VD = D, .Imm16 = value >> 16})>();
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
// D = a polynomial in R, coefficients from the highest; one whose low 16 bits are zero costs one instruction less.
template <u32 D, u32 R, u32 C, u32 first, u32... rest>
inline void polynomial() {
  load_bits<D, first>();
  ((load_bits<C, rest>(), multiply_add<D, D, R, C>()), ...);
}
template <u32 D, u32 value>
inline void load_integer() {
  issue<encode(SFPLOADI{.Imm16 = value, .Mod0 = 2, .VD = D})>();
}
template <u32 D, u32 A>
inline void bit_and() {
  issue<encode(SFPAND{.VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void bit_or() {
  issue<encode(SFPOR{.VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void bit_xor() {
  issue<encode(SFPXOR{.VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void bit_not() {
  issue<encode(SFPNOT{.VD = D, .VC = A})>();
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
template <u32 D, u32 A, i32 value>
inline void add_constant() {  // D = A + value as integers
  issue<encode(SFPIADD{.Mod1 = 4 | 1, .VD = D, .VC = A, .Imm12 = u32(value) & 0xFFF})>();
}
// D = the low 32 bits of the product of 23-bit integers, less those above the 23rd; or the bits above.
template <u32 D, u32 A, u32 B, bool upper>
inline void multiply_integers() {
  issue<encode(SFPMUL24{.Mod1 = upper, .VD = D, .VC = kZero, .VB = B, .VA = A})>();
}
// D shifted left by A modulo 32, to the right by -A when A is negative.
template <u32 D, u32 A, bool arithmetic = false>
inline void shift_by() {
  issue<encode(SFPSHFT{.Mod1 = arithmetic * 2, .VD = D, .VC = A})>();
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
// D = A, an integer in sign and magnitude, as a float.
template <u32 D, u32 A>
inline void magnitude_to_float() {
  issue<encode(SFPCAST{.Mod1 = 0, .VD = D, .VC = A})>();
}
// D = A, a two's complement integer, as a float; -2^31 becomes -0.
template <u32 D, u32 A = D>
inline void to_float() {
  issue<encode(SFPCAST{.Mod1 = 3, .VD = D, .VC = A})>();  // to sign and magnitude
  magnitude_to_float<D, D>();
}
// D = the exponent field of A, an integer; less 127 on request.
template <u32 D, u32 A, bool unbiased = false>
inline void exponent_field() {
  issue<encode(SFPEXEXP{.Mod1 = !unbiased, .VD = D, .VC = A})>();
}
// D = A with another exponent field; with a mantissa of 1.0; without its sign, NaN or not.
template <u32 D, u32 A, u32 exponent>
inline void set_exponent() {
  issue<encode(SFPSETEXP{.Mod1 = 1, .VD = D, .VC = A, .Imm12 = exponent})>();
}
template <u32 D, u32 A>
inline void clear_mantissa() {
  issue<encode(SFPSETMAN{.Mod1 = 1, .VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void clear_sign() {
  issue<encode(SFPSETSGN{.Mod1 = 1, .VD = D, .VC = A})>();
}
// D = A with the sign of D.
template <u32 D, u32 A>
inline void take_magnitude() {
  issue<encode(SFPSETSGN{.VD = D, .VC = A})>();
}

// Lanes.
enum class Test : u32 { negative = 0, not_zero = 2, not_negative = 4, zero = 6 };  // of the bits as an integer
template <u32 A, Test test>
inline void only_where() {
  issue<encode(SFPSETCC{.Mod1 = u32(test), .VC = A})>();
}
// Lanes where |A| >= 1; there D = the exponent field of A less 127.
template <u32 D, u32 A>
inline void only_where_exponent_not_negative() {
  issue<encode(SFPEXEXP{.Mod1 = 8 | 2, .VD = D, .VC = A})>();
}
// Lanes whose integer A is at least `limit` (up to 2047); D = A - limit.
template <u32 D, u32 A, u32 limit>
inline void only_where_at_least() {
  issue<encode(SFPIADD{.Mod1 = 1 | 8, .VD = D, .VC = A, .Imm12 = (0 - limit) & 0xFFF})>();
}
// Lanes whose integer A is below `limit`; D = A - limit.
template <u32 D, u32 A, u32 limit>
inline void only_where_below() {
  issue<encode(SFPIADD{.Mod1 = 1, .VD = D, .VC = A, .Imm12 = (0 - limit) & 0xFFF})>();
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
inline void other_lanes() { issue<encode(SFPCOMPC{})>(); }  // after one test
inline void all_lanes() { issue<encode(SFPENCC{})>(); }
// All bits of D set where D > A (D <= A) in the total order, else none.
template <u32 D, u32 A>
inline void mask_greater() {
  issue<encode(SFPGT{.Mod1 = 8, .VD = D, .VC = A})>();
}
template <u32 D, u32 A>
inline void mask_at_most() {
  issue<encode(SFPLE{.Mod1 = 8, .VD = D, .VC = A})>();
}
// D = 1.0 where D is so, as bits, else 0.
template <u32 D, Test test>
inline void one_where() {
  if constexpr (test == Test::not_zero) {
    only_where<D, test>();
    load_bits<D, bits_of(1.0f)>();
    all_lanes();
  } else if constexpr (test == Test::zero) {
    issue<encode(SFPLZ{.VD = D, .VC = D})>();
    shift<D, D, -5>();
    magnitude_to_float<D, D>();
  } else {
    shift_arithmetic<D, D, -31>();
    if constexpr (test == Test::not_negative) bit_not<D, D>();
    bit_and<D, kOne>();
  }
}
// D = A / B from a first guess Y at 1 / B: two Newton steps, then one correction of the product.
template <u32 D, u32 A, u32 B, u32 Y, u32 T>
inline void quotient() {
  multiply_add<T, B, Y, kOne, true>();
  multiply_add<Y, Y, T, Y>();
  multiply_add<T, B, Y, kOne, true>();
  multiply_add<Y, Y, T, Y>();
  multiply<D, A, Y>();
  multiply_add<T, D, B, A, true>();
  multiply_add<D, T, Y, D>();
}
// D = NaN where A is.
template <u32 D, u32 A, u32 T, u32 S>
inline void keep_nan() {
  add<T, A, kZero>();  // makes every NaN the positive one
  load_bits<S, kInfinity>();
  only_where_greater<T, S>();
  move<D, T>();
  all_lanes();
}
// D = one of the integers A and B. In the order of sign and magnitude D is the larger and T the smaller at first; a top
// bit in both turns the order of the others, and its meaning in one depends on the type. Where `tested` is so, T
// counts.
template <u32 D, u32 A, u32 B, u32 T, u32 tested, Test test>
inline void choose_integer() {
  move<T, B>();
  move<D, A>();
  swap_max<D, T>();
  only_where<tested, test>();
  move<D, T>();
  all_lanes();
}
// Sign of D: whether A < B as integers. Where their signs differ, the difference may have the wrong one.
template <bool with_sign, u32 D, u32 A, u32 B, u32 T>
inline void compare_integers() {
  move<D, B>();
  subtract_integer_from<D, A>();
  move<T, A>();
  bit_xor<T, B>();
  only_where<T, Test::negative>();
  move<D, with_sign ? A : B>();
  all_lanes();
}
// Every eight lanes turned by one: lane l takes from l - 1.
template <u32 D, u32 A>
inline void rotate() {
  issue<encode(SFPSHFT2{.Mod1 = 3, .VD = D, .VC = A})>();
}
inline void transpose() { issue<encode(SFPTRANSP{})>(); }

}  // namespace baretile::kernel
