// FP32 arithmetic of the vector unit on bit patterns, without branches so that loops over lanes vectorise.
#pragma once
#include <bit>

#include "baretile/bits.h"

namespace baretile::sim {

constexpr u32 select(u32 mask, u32 yes, u32 no) { return (yes & mask) | (no & ~mask); }
constexpr u32 mask_if(bool condition) { return condition ? ~0u : 0u; }

// Index of the highest set bit, by way of a conversion to float: clearing the bit below the top one keeps that from
// rounding up.
inline i32 top_bit(u32 value) { return i32(std::bit_cast<u32>(float(i32(value & ~(value >> 1)))) >> 23) - 127; }

// x * y + z as SFPMAD.md describes and ttsim computes: denormals are zero, the product keeps 27 or 28 bits with the
// rest ORed into the last
// ("sticky"), one rounding to nearest even, one NaN.
inline u32 fma_bits(u32 x, u32 y, u32 z) {
  constexpr u32 kSign = 0x80000000, kInfinity = 0x7F800000, kNan = 0x7FC00000, kHidden = 0x800000;
  const u32 xe = x >> 23 & 0xFF, ye = y >> 23 & 0xFF, ze = z >> 23 & 0xFF;
  const u32 xm = ((x & (kHidden - 1)) | kHidden) & mask_if(xe != 0),
            ym = ((y & (kHidden - 1)) | kHidden) & mask_if(ye != 0);
  const u32 zm = (((z & (kHidden - 1)) | kHidden) << 3) & mask_if(ze != 0);
  const u32 p_sign = (x ^ y) & kSign, z_sign = z & kSign;

  // The product from 12-bit halves, cut to three bits below the FP32 mantissa, the last one sticky.
  const u32 xh = xm >> 12, xl = xm & 0xFFF, yh = ym >> 12, yl = ym & 0xFFF;
  const u32 low = xl * yl, middle = xh * yl + xl * yh + (low >> 12);
  const u32 pm = ((xh * yh << 4) + (middle >> 8)) | (mask_if(((middle & 0xFF) | (low & 0xFFF)) != 0) & 1);
  const i32 pe = i32(xe + ye) - 127;

  // Align the term with the smaller exponent: what is shifted out is sticky, but a term shifted to nothing leaves no
  // trace.
  const u32 p_leads = mask_if(pe >= i32(ze));
  const u32 big = select(p_leads, pm, zm), small = select(p_leads, zm, pm);
  const u32 big_sign = select(p_leads, p_sign, z_sign), small_sign = select(p_leads, z_sign, p_sign);
  const i32 top = pe > i32(ze) ? pe : i32(ze), distance = top - (pe < i32(ze) ? pe : i32(ze));
  const u32 shift = u32(distance < 31 ? distance : 31), shifted = small >> shift;
  const u32 aligned = shifted | (mask_if(shifted != 0) & mask_if(shifted << shift != small) & 1);
  const u32 big_wins = mask_if(big >= aligned), r_sign = select(big_wins, big_sign, small_sign);
  const u32 difference = select(big_wins, big - aligned, aligned - big);
  const u32 rm = select(mask_if(p_sign == z_sign), big + aligned, difference);

  // Normalise to bit 26; results below the normal range shift one further, and are flushed after rounding.
  const i32 n0 = top_bit(rm) - 26, re0 = top + n0;
  const u32 tiny = mask_if(re0 <= 0);
  const i32 n = n0 + i32(tiny & 1);
  const u32 right = u32(n) & mask_if(n > 0), left = u32(-n) & mask_if(n < 0);
  const u32 lost = mask_if(n > 0) & mask_if((rm & (right | 1)) != 0) & 1;
  const u32 m = (rm << (left & 31)) >> right | lost;
  const u32 truncated = ((u32(re0) & ~tiny) << 23) + (m >> 3 & (kHidden - 1));
  const u32 rounded = truncated + (mask_if((m & 7) + (truncated & 1) > 4) & 1);

  const u32 zero_sign = p_sign & z_sign;
  u32 result = r_sign | (rounded & mask_if(rounded >> 23 != 0));
  result = select(mask_if(re0 >= 255), r_sign | kInfinity, result);
  result = select(mask_if(rm == 0), zero_sign, result);
  result = select(mask_if(pm == 0) | mask_if(pe < 0), select(mask_if(ze != 0), z, zero_sign), result);

  const u32 x_special = mask_if(xe == 255), y_special = mask_if(ye == 255), z_special = mask_if(ze == 255);
  const u32 nan = (x_special & (mask_if(xm != kHidden) | mask_if(ym == 0))) |
                  (y_special & (mask_if(ym != kHidden) | mask_if(xm == 0))) |
                  (z_special & (mask_if(zm != kHidden << 3) | ((x_special | y_special) & mask_if(z_sign != p_sign))));
  const u32 special = select(nan, kNan, select(z_special, z, p_sign | kInfinity));
  return select(x_special | y_special | z_special | mask_if(pe >= 255), special, result);
}

}  // namespace baretile::sim
