// Tensix instructions and configuration registers as C++ values, made from tensix.def and config.def. Freestanding.
//   issue<encode(ELWADD{.DstRow = 4})>();          u32 word = cfg::ALU_FORMAT_SPEC_REG0_SrcA(5) | …;
#pragma once
#include "baretile/bits.h"

namespace baretile::isa {

// Reached only when a field's value does not fit; not constexpr, so that a constant expression with such a value does not compile.
inline u32 field_overflow() { return 0; }

constexpr u32 place(u32 value, u32 lo, u32 width) {
  return value > mask_bits(width) ? field_overflow() : value << lo;
}

// One struct an instruction, one u32 member a field.
#define INSN(name, op, unit) \
  struct name {              \
    static constexpr u32 kOpcode = op;
#define FIELD(name, lo, width) u32 name = 0;
#define END \
  }         \
  ;
#define INSN_UNSUPPORTED(name, op)
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD

#define INSN(name, op, unit)                 \
  constexpr u32 encode(const name& operand) { \
    [[maybe_unused]] const auto& o = operand; \
    u32 word = u32{op} << 24;
#define FIELD(name, lo, width) word |= place(o.name, lo, width);
#undef END
#define END    \
  return word; \
  }
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD
#undef END

#ifndef __riscv  // kernels only encode, and this costs 15 ms of each kernel's compilation
// decode<MVMUL>(word): the operands; the opcode is the caller's to check.
template <class Insn>
constexpr Insn decode(u32 word);
#define INSN(name, op, unit)                                   \
  template <>                                                  \
  constexpr name decode<name>([[maybe_unused]] u32 word) {     \
    name o;
#define FIELD(name, lo, width) o.name = extract(word, lo, width);
#define END \
  return o; \
  }
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD
#undef END
#endif
#undef INSN_UNSUPPORTED

// A field of a 32-bit register word: reg(value) places, reg.get(word) extracts, reg.mask() covers it.
struct Field {
  u32 word, lo, width;
  constexpr u32 operator()(u32 value) const { return place(value, lo, width); }
  constexpr u32 get(u32 bits) const { return extract(bits, lo, width); }
  constexpr u32 mask() const { return mask_bits(width) << lo; }
};

namespace cfg {  // backend configuration, bank 0
#define CFG(name, word, lo, width) inline constexpr Field name{word, lo, width};
#define THD(name, word, lo, width)
#include "baretile/isa/config.def"
#undef CFG
#undef THD
}  // namespace cfg

namespace thd {  // ThreadConfig, written by SETC16
#define CFG(name, word, lo, width)
#define THD(name, word, lo, width) inline constexpr Field name{word, lo, width};
#include "baretile/isa/config.def"
#undef CFG
#undef THD
}  // namespace thd

// Data format codes of unpackers, FPU and packer. src: FormatConversion.md, Dst.md.
enum class Format : u32 { fp32 = 0, fp16 = 1, bfp8a = 2, bfp4a = 3, tf32 = 4, bf16 = 5, bfp8 = 6, bfp4 = 7, int32 = 8, int16 = 9, fp8 = 10, bfp2a = 11, int8 = 14, bfp2 = 15 };

}  // namespace baretile::isa
