// What emission writes for small kernels, word for word.
#include "compiler/emit/emit.h"

#include <gmock/gmock.h>

#include "baretile/error.h"
#include "compiler/emit/code.h"
#include "tensor/kernel_case.h"

namespace baretile::compiler {
namespace {

using kernel_test::Case;
using kernel_test::random_matrix;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;
constexpr Tiling tile = Tiling::tile, row = Tiling::row, split = Tiling::split;

// The function of one core.
std::string function(const std::string& text, const std::string& core) {
  const size_t begin = text.find("extern \"C\" void kernel_" + core);
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n}\n", begin) + 3 - begin);
}

TEST(Emit, PrintsAMatmulWithReluAsFiveShortFunctions) {
  Case c("relu_matmul", 1, 64, 128);
  const u32 x = c.add_buffer(random_matrix(1, 64, 96, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 96, 128, bf16, tile, 2));
  c.output(c.op("relu", {c.contraction(x, w, 4)}), fp32, tile);
  EXPECT_EQ(emit(c.spec).work.max_workers, 8u);
  EXPECT_EQ("\n" + emit(c.spec).text, R"(
// relu_matmul: 1 x 2 x 4 tiles
#include "compute.h"
#include "sfpu/relu.h"

using namespace baretile;
using namespace baretile::kernel;

extern "C" void kernel_ncrisc(const u32* args) {
  Reader<6144> in;
  for (const u32 item : items(8)) {
    const u32 i = item / 4;
    const u32 j = item % 4;
    in.product(1,
        operand<2048, 3>(args[0], [&](u32 s, u32 n) { const u32 k = s * 3 + n % 3; return i * 3 + k; }),
        operand<2048, 3>(args[1], [&](u32 s, u32 n) { const u32 k = s * 3 + n / 1; return k * 4 + j; }));
  }
  in.finish();
}

extern "C" void kernel_trisc0(const u32*) {
  Unpacker<6144> in;
  in.to_src_a<Format::bf16>();
  in.to_src_b<Format::bf16, 1024>();
  for (const u32 item : items(8)) {
    for (u32 s = 0; s < 1; ++s) {
      const u32 left = in.page();
      const u32 right0 = in.page();
      for (u32 n = 0; n < 3; ++n) {
        for (u32 c = 0; c < 1; ++c) {
          in.right(right0 + (n * 1 + c) * 2048);
          walk<1>(c, [&](u32 r, bool held) {
            if (!held) in.left(left + (r * 3 + n) * 2048);
            in.wait();
          });
        }
      }
      in.free();
    }
  }
  drain();
}

extern "C" void kernel_trisc1(const u32*) {
  setup_math<Format::fp32>();
  record_tile_product<false>();
  for (const u32 item : items(8)) {
    acquire_dst();
    begin_products();
    zero_rows<0, 64>();
    for (u32 k = 0; k < 3; ++k) {
      block_product<1, 1, 1, 16, 4, 0, 64>();
    }
    end_products();
    for_chunks<64>([] {
      load<0, 0>();
      sfpu::relu<0, 0>();
      store_next<0, 0>();
    });
    release_dst();
  }
  drain();
}

extern "C" void kernel_trisc2(const u32*) {
  Packer<4096> out;
  out.to<Format::fp32>();
  for (const u32 item : items(8)) {
    out.acquire();
    out.tile<0>();
    out.release();
  }
  drain();
}

extern "C" void kernel_brisc(const u32* args) {
  Writer<4096> out;
  for (const u32 item : items(8)) {
    const u32 i = item / 4;
    const u32 j = item % 4;
    out.write<4096>(args[2], i * 4 + j);
  }
  out.finish();
}
)");
}

TEST(Emit, SharesLargerProductsOutInBlocksOfWhichEachPageIsReadByOneTile) {
  Case c("blocks", 2, 256, 512);
  const u32 x = c.add_buffer(random_matrix(2, 256, 9 * 32, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 9 * 32, 512, fp32, tile, 2));
  c.output(c.contraction(x, w, 4), fp32, tile);
  EXPECT_EQ(emit(c.spec).work.block_rows, 8u) << "two rows of tiles each, of both matrices below one another";
  EXPECT_EQ(emit(c.spec).work.block_columns, 8u);
  const std::string text = emit(c.spec).text;
  EXPECT_EQ("\n" + function(text, "ncrisc"), R"(
extern "C" void kernel_ncrisc(const u32* args) {
  TeamReader<32768> in;
  team_blocks(1, 8, 8, [&](u32 batch, u32 row, u32 column, bool mine) {
    const u32 b = row / 4;
    const u32 band = row % 4;
    const u32 block = column;
    in.product(3,
        operand<2048, 8>(args[0], [&](u32 s, u32 n) { const u32 k = s * 4 + n % 4; return k < 9 ? b * 72 + (band * 2 + n / 4) * 9 + k : kNoPage; }),
        operand<4096, 8>(args[1], [&](u32 s, u32 n) { const u32 k = s * 4 + n / 2; return k < 9 ? k * 16 + (block * 2 + n % 2) : kNoPage; }));
  });
  in.finish();
}
)");
  EXPECT_EQ("\n" + function(text, "trisc0"), R"(
extern "C" void kernel_trisc0(const u32*) {
  Unpacker<32768> in;
  in.to_src_a<Format::fp32>();
  in.to_src_b<Format::bf16, 1024>();
  team_blocks(1, 8, 8, [&](u32 batch, u32 row, u32 column, bool mine) {
    if (!mine) return in.skip(6);
    for (u32 s = 0; s < 3; ++s) {
      const u32 left = in.page();
      const u32 right0 = in.page();
      for (u32 n = 0; n < least(4, 9 - s * 4); ++n) {
        for (u32 c = 0; c < 2; ++c) {
          in.right(right0 + (n * 2 + c) * 4096);
          walk<2>(c, [&](u32 r, bool held) {
            if (!held) in.left(left + (r * 4 + n) * 2048);
            in.wait();
          });
        }
      }
      in.free();
    }
  });
  drain();
}
)");
  EXPECT_THAT(function(text, "trisc1"), HasSubstr(R"(
    for (u32 k = 0; k < 9; ++k) {
      block_product<2, 2, 1, 16, 4, 0, 64>();
    }
)"));
  EXPECT_THAT(function(text, "brisc"), HasSubstr(R"(
      const u32 i = band * 2 + w / 2;
      const u32 j = block * 2 + w % 2;
      out.write<4096>(args[2], b * 128 + i * 16 + j);
)"));
}

// The reader and T0 would wait for each other for ever in a ring with fewer slots.
TEST(Emit, TakesShorterRunsThanL1HoldsAndSaysWhatFillsItWhenNoneFits) {
  Case c("tight", 1, 512, 512);
  const u32 x = c.add_buffer(random_matrix(1, 512, 512, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 512, 512, bf16, tile, 2));
  c.output(c.contraction(x, w, 4), fp32, tile);
  constexpr u64 kFixed = 0x8000 + 0x58000 + 0x40000;  // firmware, code, output ring
  EXPECT_THAT(emit(c.spec, kFixed + 7 * 8 * 2048).text, HasSubstr("TeamReader<16384>"));
  EXPECT_THAT(emit(c.spec, kFixed + 7 * 8 * 2048 - 1).text, HasSubstr("TeamReader<8192>"));
  EXPECT_THAT(emit(c.spec, kFixed + 7 * 2 * 2048).text, HasSubstr("TeamReader<4096>"));
  EXPECT_THAT(emit(c.spec, kFixed + 7 * 2048).text, HasSubstr("TeamReader<2048>")) << "a block of one tile";
  try {
    emit(c.spec, kFixed + 6 * 2048 - 1);
    ADD_FAILURE() << "fitted";
  } catch (const KernelTooLarge& error) {
    EXPECT_STREQ(error.what(),
                 "kernel tight needs 667648 bytes of a tile's L1, which has 667647; it must be split. "
                 "It needs them for\n"
                 "     2048  left operand, argument 0: 1x512x512 in bf16, 1 slots of 1 pages\n"
                 "     2048  right operand, argument 1: 1x512x512 in bf16, 1 slots of 1 pages\n"
                 "     8192  input to come, 4 slots\n"
                 "   262144  output ring\n"
                 "   393216  firmware and the code of kernels");
  }
}

TEST(Emit, UnpacksASharedLeftOperandOnceAndGatesItsProductsInRegisters) {
  Case c("gate", 1, 1, 64);
  const u32 h = c.add_buffer(random_matrix(1, 1, 64, fp32, split, 1));
  const u32 g = c.contraction(h, c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2)), 2);
  const u32 u = c.contraction(h, c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 3)), 2);
  c.output(c.op("mul", {c.op("reciprocal", {c.op("add", {c.constant(1), c.op("exp", {g})})}), u}), fp32, split);
  const std::string text = emit(c.spec).text;
  EXPECT_EQ("\n" + function(text, "trisc0"), R"(
extern "C" void kernel_trisc0(const u32*) {
  Unpacker<4096> in;
  in.to_src_a<Format::bf16>();
  in.to_src_b<Format::bf16, 256>();
  for (const u32 item : items(2)) {
    for (u32 s = 0; s < 1; ++s) {
      const u32 left = in.page();
      const u32 right0 = in.page();
      const u32 right1 = in.page();
      for (u32 n = 0; n < 2; ++n) {
        for (u32 c = 0; c < 1; ++c) {
          in.right(right0 + (n * 1 + c) * 2048);
          walk<1>(c * 2 + 0, [&](u32 r, bool held) {
            if (!held) in.left(left + (r * 2 + n) * 512);
            in.wait();
          });
          in.right(right1 + (n * 1 + c) * 2048);
          walk<1>(c * 2 + 1, [&](u32 r, bool held) {
            if (!held) in.left(left + (r * 2 + n) * 512);
            in.wait();
          });
        }
      }
      in.free();
    }
  }
  drain();
}
)");
  EXPECT_EQ("\n" + function(text, "trisc1"), R"(
extern "C" void kernel_trisc1(const u32*) {
  setup_math<Format::bf16>();
  record_group_product<1, false>();
  for (const u32 item : items(2)) {
    acquire_dst();
    begin_products();
    zero_rows<0, 32>();
    for (u32 k = 0; k < 2; ++k) {
      block_product<1, 1, 2, 4, 2, 0, 16>();
    }
    end_products();
    settle<0, 2, true>();
    settle<16, 2, true>();
    for_chunks<8>([] {
      load<0, 0>();
      sfpu::exp<1, 0, 2, 3, 4>();
      sfpu::add<1, 10, 1>();
      sfpu::reciprocal<0, 1, 2, 3>();
      load<1, 16>();
      sfpu::mul<0, 0, 1>();
      sfpu::split_high<1, 0, 2>();
      store<1, 0>();
      sfpu::split_low<2, 0, 1, 3>();
      store_next<2, 16>();
    });
    fill_outside<kZero, 0, 8, 1, 32>();
    fill_outside<kZero, 16, 8, 1, 32>();
    release_dst();
  }
  drain();
}
)");
  EXPECT_THAT(function(text, "trisc2"), HasSubstr("out.split<0, 16, 4>();"));
}

TEST(Emit, FoldsInOnePassAndUsesTheResultInTheNext) {
  Case c("softmax", 1, 33, 70, ReduceAxis::cols);
  const u32 x = c.load(random_matrix(1, 33, 70, fp32, tile, 1));
  const u32 e = c.op("exp", {c.op("sub", {x, c.reduce("max", x)})});
  c.output(c.op("mul", {e, c.op("reciprocal", {c.reduce("sum", e)})}), fp32, tile);
  EXPECT_EQ(emit(c.spec).work.max_workers, 2u);
  EXPECT_EQ("\n" + function(emit(c.spec).text, "trisc1"), R"(
extern "C" void kernel_trisc1(const u32*) {
  setup_math<Format::fp32>();
  for (const u32 item : items(2)) {
    const u32 i = item;
    acquire_dst();
    load_bits<0, 0xFF800000>(), fill<0, 0, 64>();
    for (u32 j = 0; j < 3; ++j) {
      acquire_dst();
      grant_loads();
      take<kDstLoaded>();
      if (j == 2) load_bits<0, 0xFF800000>(), fill_outside<0, 128, 64, 32, 6>();
      for_chunks<64>([] {
        load<0, 0>();
        load<1, 128>();
        sfpu::maximum<0, 0, 1, 2>();
        store_next<0, 0>();
      });
    }
    finish_columns<0, 64>([] { sfpu::maximum<0, 0, 1, 5>(); });
    acquire_dst();
    fill<kZero, 64, 64>();
    for (u32 j = 0; j < 3; ++j) {
      acquire_dst();
      grant_loads();
      take<kDstLoaded>();
      for_chunks<64>([] {
        load<0, 128>();
        load<1, 0>();
        sfpu::sub<0, 0, 1>();
        sfpu::exp<1, 0, 2, 3, 4>();
        store_next<1, 192>();
      });
      if (j == 2) fill_outside<kZero, 192, 64, 32, 6>();
      for_chunks<64>([] {
        load<0, 64>();
        load<1, 192>();
        sfpu::add<0, 0, 1>();
        store_next<0, 64>();
      });
    }
    finish_columns<64, 64>([] { sfpu::add<0, 0, 1>(); });
    for_chunks<64>([] {
      load<0, 64>();
      sfpu::reciprocal<1, 0, 2, 3>();
      store_next<1, 64>();
    });
    for (u32 j = 0; j < 3; ++j) {
      acquire_dst();
      grant_loads();
      take<kDstLoaded>();
      for_chunks<64>([] {
        load<0, 128>();
        load<1, 0>();
        sfpu::sub<0, 0, 1>();
        sfpu::exp<1, 0, 2, 3, 4>();
        load<0, 64>();
        sfpu::mul<1, 1, 0>();
        store_next<1, 128>();
      });
      if (j == 2) fill_outside<kZero, 128, 64, 32, 6>();
      if (i == 1) fill_outside<kZero, 128, 64, 1, 32>();
      release_dst();
    }
  }
  drain();
}
)");
}

// Seven outputs, the load and the sum leave Dst no slot for another value, so that the sum's own takes it, or none.
TEST(Emit, MakesWhatTilesTakeOfAReductionOnceWhereDstHasRoomForIt) {
  const auto reciprocals_outside_tiles = [](bool sum_too, u32 outputs) {
    Case c("ahead", 1, 64, 64, ReduceAxis::cols);
    const u32 x = c.load(random_matrix(1, 64, 64, fp32, tile, 1)), sum = c.reduce("sum", x);
    const u32 y = c.op("mul", {x, c.op("reciprocal", {sum})});
    for (u32 n = 0; n < outputs; ++n) c.output(c.op("add", {y, c.constant(float(n) + 0.5f)}), fp32, tile);
    if (sum_too) c.output(sum, fp32, tile, true);
    const std::string text = function(emit(c.spec).text, "trisc1");
    return text.find("sfpu::reciprocal") < text.rfind("for (u32 j");
  };
  EXPECT_TRUE(reciprocals_outside_tiles(false, 1));
  EXPECT_TRUE(reciprocals_outside_tiles(true, 1)) << "in a slot of its own";
  EXPECT_TRUE(reciprocals_outside_tiles(false, 7));
  EXPECT_FALSE(reciprocals_outside_tiles(true, 7));
}

TEST(Emit, WidensBlocksOnlyWhileThereIsWorkForManyTiles) {
  const auto text = [](u32 col_tiles) {
    Case c("columns", 1, 1, 32 * col_tiles);
    const u32 x = c.add_buffer(random_matrix(1, 1, 32, fp32, split, 1)),
              w = c.add_buffer({1, 32, 32 * col_tiles, bf16, tile, {}});
    c.output(c.contraction(x, w, 2), fp32, row);
    return fmt::format("{} workers\n{}", emit(c.spec).work.max_workers, emit(c.spec).text);
  };
  EXPECT_THAT(text(48), testing::AllOf(HasSubstr("48 workers"), Not(HasSubstr("unrolled"))));
  EXPECT_THAT(text(1536), testing::AllOf(HasSubstr("192 workers"), HasSubstr("unrolled<8>")));
}

TEST(Emit, RefusesWhatNoUnitCanDo) {
  Case integers("integers", 1, 32, 32);
  const u32 x = integers.add_buffer({1, 32, 32, DType::int32, tile, {}});
  integers.output(integers.contraction(x, x, 4), fp32, tile);
  EXPECT_THROW(emit(integers.spec), Unsupported);

  Case unknown("unknown", 1, 32, 32);
  unknown.output(unknown.op("frobnicate", {unknown.load({1, 32, 32, fp32, tile, {}})}), fp32, tile);
  try {
    emit(unknown.spec);
    ADD_FAILURE() << "an operation without a header was emitted";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("kernels/sfpu/frobnicate.h"));
  }

  Case large("large", 1, 32, 32);
  u32 sum = large.load({1, 32, 32, fp32, tile, {}});
  for (u32 n = 0; n < 8; ++n) sum = large.op("add", {sum, large.load({1, 32, 32, fp32, tile, {}})});
  large.output(sum, fp32, tile);
  try {
    emit(large.spec);
    ADD_FAILURE() << "nine tiles went into Dst";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("kernel large needs 576 rows of Dst"));
  }
}

TEST(Emit, PrintsPageMapsAsIndexArithmetic) {
  const PageMap map{5, {{3, 100}}, {{4, 7}, {2, 50}}, {{8, 1}}};
  EXPECT_EQ(page_expression(map, "b", "i", "j"), "b * 100 + i % 4 * 7 + i / 4 * 50 + j + 5");
  EXPECT_EQ(page_expression({}, "b", "i", "j"), "0");
  EXPECT_EQ(page_expression({3, {}, {}, {{4, -1}}}, "b", "i", "j"), "j * 4294967295 + 3");
}

TEST(Emit, WritesMovesAsOneCallForEachMover) {
  KernelSpec spec;
  spec.name = "permute";
  spec.kind = KernelKind::move;
  spec.buffers = {{bf16, tile, {45, 70}}, {bf16, tile, {70, 45}}};
  spec.move.dst = 1;
  spec.move.sizes = {70, 45};
  spec.move.src_strides = {1, 70};
  spec.move.dst_strides = {45, 1};
  EXPECT_EQ(emit(spec).work.max_workers, 3u);
  EXPECT_EQ("\n" + emit(spec).text, R"(
// permute
#include "compute.h"
#include "whole/move.h"

using namespace baretile;
using namespace baretile::kernel;

using Src = Stored<2, true, 45, 70>;
using Dst = Stored<2, true, 70, 45>;
struct Box {
  static constexpr u32 kAxes = 2, kSize[] = {70, 45}, kFrom[] = {1, 70}, kTo[] = {45, 1};
  static constexpr u32 kFromOffset = 0, kToOffset = 0;
  static constexpr bool kClear = true;
};

extern "C" void kernel_brisc(const u32* args) { copy_box<Core::brisc, Src, Dst, Box>(args[0], args[1], 6); }

extern "C" void kernel_ncrisc(const u32* args) { copy_box<Core::ncrisc, Src, Dst, Box>(args[0], args[1], 6); }
)");
  spec.move.dst_strides = {1, 1};
  EXPECT_THROW(emit(spec), Unsupported);
}

}  // namespace
}  // namespace baretile::compiler
