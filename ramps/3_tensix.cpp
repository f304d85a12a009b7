// Lesson 3: the coprocessor. A product of matrices by hand: what the unpack, math and pack threads of a tile are told,
// instruction by instruction. kernels/{unpack,math,pack,sfpu}.h are made of the same instructions.
#include <baretile/baretile.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <random>

using namespace baretile;

// Three of a tile's cores feed a thread of the coprocessor each: TRISC0 (T0) its unpackers, from L1 to the registers
// SrcA and SrcB; TRISC1 (T1) the matrix and the vector unit, from there to Dst; TRISC2 (T2) the packer, from Dst to L1.
// issue() hands over one instruction and does not wait until it is done. What is set once (formats, strides, unused
// features off) the library's headers set here: Unpacker, setup_math, Packer. T0 and T2 are the same in all steps.
static const std::string kCommon = R"(
#include "kernels/pack.h"
#include "kernels/sfpu.h"
#include "kernels/unpack.h"
using namespace baretile;
using namespace baretile::kernel;
// Four addresses in L1, and numbers.
enum Args { kLeft, kRight, kResult, kSeen, kTiles, kPhases, kResults, kHalves };

// Unpacker 0 fills SrcA, unpacker 1 SrcB: 64 rows of 16 values each, a tile of bf16 by one instruction.
extern "C" void kernel_trisc0(const u32* args) {
  Unpacker<2048> unpacker;
  unpacker.to_src_a<Format::bf16>();
  unpacker.to_src_b<Format::bf16, 1024>();
  // Address counters say which values an instruction takes: here X runs from 0 to 1023, in both units.
  issue<encode(SETADCXX{.X0 = 0, .X1 = 1023, .Units = 3})>();
  for (u32 n = 0; n < args[kTiles]; ++n) {
    drain();  // a store to a register overtakes instructions that still wait, and need the addresses before
    config(cfg::THCON_SEC1_REG3_Base_address.word) = (args[kLeft] + 2048 * n) / 16 - 1;  // in 16 bytes, less a header
    config(cfg::THCON_SEC0_REG3_Base_address.word) = (args[kRight] + 2048 * n) / 16 - 1;
    stall<kBlockUnpack, kStoresPending>();  // and an instruction overtakes stores
    // SrcA and SrcB have two banks. SetDatValid gives the one just filled to the matrix unit; the next UNPACR fills the
    // other, and waits by itself until that has been given back. So T0 is up to two tiles ahead of T1.
    issue<encode(UNPACR{.Last = 1, .SetDatValid = 1, .OvrdThreadId = 1, .Unpacker = 1})>();
    issue<encode(UNPACR{.Last = 1, .SetDatValid = 1, .OvrdThreadId = 1, .Unpacker = 0})>();
  }
}

// Dst has 512 rows of 16 values of fp32; its halves take turns in step 5. The semaphore kDstDone counts those that T2
// has yet to pack. T1 waits while it is at its maximum, then clears a half, as MVMUL adds to what is there.
template <u32 half = 0>
inline void begin_result() {
  issue<encode(SEMWAIT{.Cond = 2, .SemMask = kDstDone, .BlockMask = kBlockAll})>();
  set_thread_config<thd::DEST_TARGET_REG_CFG_MATH_Offset.word, 256 * half>();  // a setting that is an instruction
  issue<encode(ZEROACC{.Where = half, .Use32BitMode = 1, .ClearMode = 2})>();
}
inline void end_result() {
  stall<kBlockSync, kMathBusy | kSfpuBusy>();  // the result is there before anyone hears of it
  issue<encode(SEMPOST{.SemMask = kDstDone})>();
}
// The row counters (see step 2) to zero; and the banks of SrcA and SrcB go back to T0.
inline void give_back_sources() { issue<encode(SETRWC{.BitMask = 15, .ClearAB = 3})>(); }

// A PACR takes four rows of Dst from the counter Y on; its address mode then adds four to Y.
extern "C" void kernel_trisc2(const u32* args) {
  Packer<4096> packer;
  packer.to<Format::fp32>();
  for (u32 n = 0; n < args[kResults]; ++n) {
    for (u32 turn = 0; turn < 4000 && args[kResults] > 1; ++turn) fence();  // for step 5
    issue<encode(SEMWAIT{.Cond = 1, .SemMask = kDstDone, .BlockMask = kBlockAll})>();  // while it is zero
    drain();
    reg(args[kSeen] + 4 * n) = reg(kPcBufSemaphore + 4 * 3);  // kDstDone's value
    config(cfg::DEST_TARGET_REG_CFG_PACK_SEC0_Offset.word) = n % args[kHalves] * 256;
    config(cfg::THCON_SEC0_REG1_L1_Dest_addr.word) = (args[kResult] + 4096 * n) / 16 - 1;
    stall<kBlockPack, kStoresPending>();
    issue<encode(SETADC{.Value = 0, .DimensionIndex = 1, .Units = 4})>();  // Y = 0
    unrolled<16>([]<u32 i>() { issue<encode(PACR{.Last = i == 15})>(); });
    stall<kBlockSync, kPackerBusy>();
    issue<encode(SEMGET{.SemMask = kDstDone})>();  // T1 may have that half again
  }
  drain();
}
)";

// A tile: 32 x 32 values, four faces of 16 x 16, top left, top right, bottom left, bottom right, each row by row.
using Values = std::vector<double>;  // tiles as they lie in L1; what is chosen here, bf16 holds exactly
static u32 at(u32 row, u32 column) { return row / 16 * 512 + column / 16 * 256 + row % 16 * 16 + column % 16; }
struct Operands {
  Values left, right, product;  // of each tile on the left with one on the right: what results are compared with
};
static Operands operands(u32 tiles, u32 range, double step) {  // values: step times less than half of the range
  static std::mt19937 random(3);
  const auto value = [&] { return step * (double(random() % range) - range / 2); };
  Operands x{Values(1024 * tiles), Values(1024 * tiles), Values(1024 * tiles)};
  for (u32 i = 0; i < 1024 * tiles; ++i) x.left[i] = value(), x.right[i] = value();
  for (u32 n = 0; n < 1024 * tiles; n += 1024)
    for (u32 i = 0; i < 32 * 32 * 32; ++i)
      x.product[n + at(i / 1024, i % 32)] +=
          x.left[n + at(i / 1024, i / 32 % 32)] * x.right[n + at(i / 32 % 32, i % 32)];
  return x;
}
static double error(const Values& a, const Values& b) {  // root of the mean square
  double sum = 0;
  for (u32 i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / double(a.size()));
}
static void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("not as expected: ") + what);
}

// Puts the operands into the L1 of one worker, launches T0 and T2 from above with `math` as T1 there, fetches results.
constexpr u32 kOperands = abi::kData, kResult = kOperands + 0x10000, kSeen = kResult + 0x10000;
static Values run(Runtime& rt, const std::string& math, const Operands& x, u32 phases = 1, u32 results = 1,
                  u32 halves = 1) {
  std::vector<u16> bf16;
  for (const Values* values : {&x.left, &x.right})
    for (const double value : *values) bf16.push_back(u16(std::bit_cast<u32>(float(value)) >> 16));
  rt.write_l1(0, kOperands, std::as_bytes(std::span(bf16)));
  const u32 tiles = u32(x.left.size() / 1024);
  rt.launch(compile_kernel("tensix", kCommon + math),
            {kOperands, kOperands + 2048 * tiles, kResult, kSeen, tiles, phases, results, halves}, 1);
  std::vector<float> result(1024 * results);
  rt.read_l1(0, kResult, std::as_writable_bytes(std::span(result)));
  return Values(result.begin(), result.end());
}

// 1. One MVMUL: 8 rows of SrcB times 16 rows of SrcA, added to 8 rows of Dst. The left operand is the one in SrcB.
static const std::string kOne = R"(
extern "C" void kernel_trisc1(const u32*) {
  setup_math<Format::fp32>();
  begin_result();
  issue<encode(MVMUL{.DstRow = 0, .AddrMod = kModeStay})>();
  give_back_sources(), end_result();
})";
static void one_mvmul(Runtime& rt) {
  const Operands x = operands(1, 15, 1);
  const Values result = run(rt, kOne, x);
  Values expected(1024);  // the rest of Dst stayed zero
  for (u32 i = 0; i < 8 * 16 * 16; ++i)
    expected[at(i / 256, i % 16)] += x.left[at(i / 256, i / 16 % 16)] * x.right[at(i / 16 % 16, i % 16)];
  std::cout << "1. one MVMUL: row 7 begins " << result[at(7, 0)] << ' ' << result[at(7, 1)] << ", on the host "
            << expected[at(7, 0)] << ' ' << expected[at(7, 1)] << "; row 8 begins " << result[at(8, 0)] << '\n';
  check(result == expected, "8 rows of a product");
}

// 2. Sixteen are the product of two tiles. MVMUL names rows of Dst; counters say which rows of SrcA and SrcB, and its
// address mode moves them on. Each face of A meets the two faces of B that share its k, by halves of 8 rows.
static const std::string kProduct = R"(
inline void set_up_product() {
  setup_math<Format::fp32>();
  set_address_mode<0, 0, 8, 0, 0>();    // A stays, B goes on to the lower half of its face
  set_address_mode<1, 0, 24, 0, 0>();   // B goes on to the face below, the next but one
  set_address_mode<2, 16, 24, 0, 0>();  // next face of A, the same two of B again: 40 + 24 is 0 modulo 64
  set_address_mode<3, 16, 40, 0, 0>();  // next face of A, the right two of B
  set_address_mode<4, 0, 0, 0, 1>();    // both back to 0, and on to the next phase: see step 3
}
inline void multiply(u32 phases) {
  for (; phases != 0; --phases) {
    unrolled<16>([]<u32 n>() {
      constexpr u32 mode = n % 2 == 0 ? 0 : n % 4 == 1 ? 1 : n % 8 == 3 ? 2 : n == 7 ? 3 : 4;
      issue<encode(MVMUL{.DstRow = n / 2 % 2 * 32 + n / 4 % 2 * 16 + n % 2 * 8, .AddrMod = mode})>();
    });
  }
  give_back_sources();
})";
static const std::string kSum = kProduct + R"(
extern "C" void kernel_trisc1(const u32* args) {
  set_up_product();
  begin_result();
  for (u32 n = 0; n < args[kTiles]; ++n) multiply(args[kPhases]);
  end_result();
})";
static void tile_products(Runtime& rt) {
  const Operands small = operands(1, 15, 1), x = operands(1, 511, 1. / 256), longer = operands(8, 511, 1. / 256);
  check(run(rt, kSum, small) == small.product, "the product of two tiles");
  std::cout << "2. sixteen MVMULs: 32 x 32 values, all as on the host\n";

  // 3. A multiplier takes 5 bits of SrcA and 7 of SrcB, enough for small integers. A phase takes the high or the low
  // bits of either; four have all eight of bf16 on both sides. What is left is rounding in sums of eight products.
  Values errors;
  for (const u32 phases : {1, 2, 3, 4}) {
    errors.push_back(error(run(rt, kSum, x, phases), x.product));
    std::cout << (phases == 1 ? "3. error with 1, 2, 3, 4 fidelity phases: " : ", ") << errors.back();
  }
  check(std::is_sorted(errors.rbegin(), errors.rend()) && errors[3] < 5e-4, "each phase adds bits");

  // 4. A longer K: the banks change from tile to tile, and Dst keeps the sum.
  Values sum(1024);
  for (u32 i = 0; i < longer.product.size(); ++i) sum[i % 1024] += longer.product[i];
  errors.push_back(error(run(rt, kSum, longer, 4), sum));
  std::cout << "\n4. K loop: 32 x 256 times 256 x 32, error " << errors[4] << '\n';
  check(errors[4] < 2e-3, "the sum of eight products");
}

// 5. Two halves of Dst: T1 fills one while T2 packs the other. Here T2 hesitates before each result, and then looks how
// many wait for it: with one half, T1 could not begin the next.
static const std::string kTwoHalves = kProduct + R"(
extern "C" void kernel_trisc1(const u32* args) {
  set_up_product();
  if (args[kHalves] == 2) issue<encode(SEMINIT{.SemMask = kDstDone, .Init = 0, .Max = 2})>();  // it was 1
  for (u32 n = 0; n < args[kTiles]; ++n) {
    if (n % args[kHalves] == 0) begin_result<0>(); else begin_result<1>();
    multiply(1), end_result();
  }
})";
static void double_buffering(Runtime& rt) {
  const Operands x = operands(4, 15, 1);
  std::cout << "5. results that wait for the packer:";
  for (const u32 halves : {1, 2}) {
    const Values result = run(rt, kTwoHalves, x, 1, 4, halves);
    std::vector<u32> seen(4);
    rt.read_l1(0, kSeen, std::as_writable_bytes(std::span(seen)));
    for (const u32 full : seen) std::cout << ' ' << full;
    std::cout << (halves == 1 ? " with one half of Dst," : " with two\n");
    check(result == x.product, "four products");
    check(seen == std::vector<u32>{halves, halves, halves, 1}, "how far T1 came");
  }
}

// 6. The vector unit works on Dst before the packer sees it: relu(x * (x / 64 - 1)), 32 values at a time.
static const std::string kVector = kProduct + R"(
extern "C" void kernel_trisc1(const u32*) {
  set_up_product(), begin_result(), multiply(1);
  stall<kBlockSfpu, kMathBusy>();
  issue<encode(SFPLOADI{.Imm16 = 0x3C80, .VD = 1})>();  // 1 / 64, as bf16, to all 32 lanes of register 1
  for (u32 i = 0; i < 32; ++i) {  // the even columns of four rows of Dst, the odd ones, and on to the next four rows
    issue<encode(SFPLOAD{.AddrMod = kModeStay, .Mod0 = 3, .VD = 0})>();  // x, as fp32
    issue<encode(SFPMAD{.VD = 2, .VC = kMinusOne, .VB = 1, .VA = 0})>();  // D = A * B + C: x / 64 - 1, C a constant
    issue<encode(SFPMAD{.VD = 2, .VC = kZero, .VB = 2, .VA = 0})>();      // x * (x / 64 - 1)
    issue<encode(SFPSETCC{.VC = 2})>();                                   // only lanes where that is negative …
    issue<encode(SFPLOADI{.VD = 2})>();                                   // … become 0
    issue<encode(SFPENCC{})>();                                           // and all lanes again
    issue<encode(SFPSTORE{.AddrMod = kModeNext, .Mod0 = 3, .VD = 2})>();  // this mode moves on
  }
  end_result();
})";
static void vector_unit(Runtime& rt) {
  const Operands x = operands(1, 15, 1);
  const Values result = run(rt, kVector, x);
  for (const u32 i : {4, 5, 7}) std::cout << (i == 4 ? "6. relu: " : ", ") << x.product[i] << " became " << result[i];
  std::cout << '\n';
  for (u32 i = 0; i < 1024; ++i)
    check(result[i] == std::max(0., x.product[i] * (x.product[i] / 64 - 1)), "relu of a polynomial");
}

int main() try {
  Runtime rt;
  for (const auto lesson : {one_mvmul, tile_products, double_buffering, vector_unit}) lesson(rt);
  std::cout << "all of it was checked\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
