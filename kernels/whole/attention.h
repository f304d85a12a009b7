// softmax(scale * q kT + mask) v without ever storing a score. For each tile of 32 queries the tiles of keys pass by,
// and every row keeps the largest score m so far, the sum l of exp(score - m) and the values mixed by these weights; l
// and the mix shrink by exp(m_old - m) when m grows. A row that sees no key gives 0. A mask is added, or shows (1) and
// hides (0) keys. `W` is what the compiler says of a kernel: constants, and the pages of each operand.
#pragma once
#include "compute.h"
#include "sfpu/exp.h"
#include "sfpu/reciprocal.h"

namespace baretile::kernel {

// Once for each group of four rows of a tile: what `body` does in rows 0-3 of each half happens to the group.
template <u32 groups, class Body>
inline void for_groups(Body body) {
  for (u32 g = 0; g < groups; ++g) {
    body();
    issue<encode(INCRWC{.RwcD = 4})>();
    if (g == 3) issue<encode(INCRWC{.RwcD = 8})>(), issue<encode(INCRWC{.RwcD = 8})>();
  }
  reset_counters();
}
// The four chunks of such a group.
template <class Body>
inline void for_chunks_across(Body body) {
  unrolled<4>([&]<u32 n>() { body.template operator()<16 * (n / 2) + 2 * (n % 2)>(); });
}

template <class W>
struct Attention {
  // Dst rows: scores, then weights; m and l of each group; the mask; the mix.
  static constexpr u32 kScores = 0, kMost = 64, kSum = kMost + 2, kMaskRows = 128, kMixed = 192,
                       kHidden = kInfinity | 1u << 31;
  static constexpr bool kOne = W::kQueries == 1, kWide = W::kMaskFormat == Format::fp32;
  static constexpr u32 kGroups = W::kQueries < 32 ? (W::kQueries + 3) / 4 : 8;  // with queries in them
  static constexpr u32 kLength =
      W::kQueries > 8 ? 16 : 4;  // of a product: without the faces' lower halves if they are empty
  // How many keys more than its own number a query sees, if it does not see all: the last one sees the last key.
  static constexpr i32 kAhead = i32(W::kKeys) - i32(W::kQueries), kEdge = kAhead & 31;

  template <class Body>
  static void for_items(Body body) {
    for (const u32 item : items(W::kBatch * W::kQueryTiles)) {
      const u32 i = item % W::kQueryTiles;
      const i32 end = W::kCausal ? 32 * i32(i + 1) + kAhead : W::kKeys;
      body(item / W::kQueryTiles, i, end <= 0 ? 0 : least(W::kKeyTiles, (u32(end) + 31) / 32));
    }
  }

  static void read(const u32* args) {
    Reader<W::kSlot> in;
    for_items([&](u32 b, u32 i, u32 key_tiles) {
      for (u32 j = 0; j < key_tiles; ++j) {
        for (u32 d = 0; d < W::kDepth; ++d) {
          in.template read<W::kQueryBytes>(args[W::kQuery], W::query(b, i, d));
          in.template read<W::kTileBytes>(args[W::kKey], W::key(b, j, d));
        }
        if constexpr (W::kMasked) in.template read<W::kMaskBytes>(args[W::kMaskBuffer], W::mask(b, i, j));
        for (u32 d = 0; d < W::kWidth; ++d) in.template read<W::kTileBytes>(args[W::kValue], W::value(b, j, d));
      }
    });
    in.finish();
  }

  static void unpack_mask(Unpacker<W::kSlot>& in) {
    if constexpr (kWide) {
      in.loads_to_dst(), in.begin_loads();
      W::kMaskOneRow ? in.template load_row<kMaskRows, kOneRowHalf>() : in.template load_tile<kMaskRows>();
      in.end_loads();
    } else {
      in.template to_src_a<W::kMaskFormat>();
      W::kMaskOneRow ? in.source_row() : in.source_tile();
    }
    in.next();
  }
  static void unpack() {
    Unpacker<W::kSlot> in;
    in.template to_src_b<W::kFormat, kOne ? 32 : 1024, kTileHalf>();
    for_items([&](u32, u32, u32 key_tiles) {
      for (u32 j = 0; j < key_tiles; ++j) {
        in.template to_src_a<W::kFormat, true>();
        for (u32 d = 0; d < W::kDepth; ++d, in.next()) {
          kOne ? in.left_row(in.page()) : in.left(in.page());
          in.right(in.page());
        }
        if constexpr (W::kMasked) unpack_mask(in);
        in.template to_src_a<W::kFormat>();
        in.zero_b();  // for T1 to fill
        for (u32 d = 0; d < W::kWidth; ++d, in.next()) in.right(in.page());
      }
    });
    drain();
  }

  template <class Body>
  static void for_mixed(Body body) {
    unrolled<W::kWidth>(
        [&]<u32 d>() { for_chunks_across([&]<u32 at>() { body.template operator()<kMixed + 64 * d + at>(); }); });
  }

  template <bool transposed>
  static void set_modes() {
    set_tile_modes<transposed>();
    if constexpr (kLength == 16) return;
    set_address_mode<0, transposed ? 32 : 16, 0, 0, 0>();   // next column
    set_address_mode<1, transposed ? 48 : 16, 16, 0, 0>();  // next k
  }
  // Hides what comes more than `ahead` keys after a query's own number in the tile.
  template <i32 ahead>
  static void hide_later() {
    load_integer<2, 14>(), move<1, kLaneTwice>(), bit_and<1, 2>();
    shift<2, kLaneTwice, -4>(), subtract_integer_from<2, 1>();  // column less row, of group 0's first chunk
    unrolled<4 * kGroups>([]<u32 n>() {
      constexpr i32 limit = ahead + 1 - 16 * i32(n / 2 % 2) - i32(n % 2) + 4 * i32(n / 4);
      if constexpr (limit > 14) return;
      if constexpr (limit > -3) only_where_at_least<3, 2, u32(limit)>();
      store<0, kScores + group_row<64>(n / 4, n / 2 % 2) + 2 * (n % 2)>();
      all_lanes();
    });
  }
  static void score(u32 i, u32 j) {
    begin_products(), zero_rows<kScores, 64>(), set_modes<true>();
    for (u32 d = 0; d < W::kDepth; ++d) product<kLength, W::kPhases, kScores, kSrcA | kSrcB>();
    if constexpr (W::kMasked && !kWide) load_from_source<kMaskRows, W::kMaskOneRow ? 8 : 64>();
    end_products();
    if constexpr (W::kMasked && kWide) grant_loads(), take<kDstLoaded>();
    if constexpr (W::kMasked && W::kMaskOneRow && !kOne) spread_row<kMaskRows, 64, kOneRowHalf>();
    const i32 ahead = 32 * (i32(i) - i32(j)) + kAhead;
    load_bits<0, kHidden>();
    if (W::kCausal && kEdge < 31 && ahead == kEdge) hide_later<kEdge>();
    if (W::kCausal && ahead < 0) hide_later<kEdge - 32>();
    if (W::kKeys % 32 != 0 && j + 1 == W::kKeyTiles) fill_outside<0, kScores, 64, 32, W::kKeys % 32>();
  }
  // From scores to weights, m and l; the mix so far goes on the new scale.
  static void weigh() {
    for_groups<kGroups>([] {
      const auto larger = [] { nop(), swap_max<0, 1>(); };
      load_bits<7, W::kScale>(), load_bits<6, kHidden>();
      for_chunks_across([&]<u32 at>() {
        load<1, kScores + at>(), multiply<1, 1, 7>();
        if constexpr (W::kMasked) load<2, kMaskRows + at % 16 + at / 16 * (kOne ? kOneRowHalf : kTileHalf)>();
        if constexpr (W::kMasked && !W::kShows) add<1, 1, 2>();
        if constexpr (W::kShows) only_where<2, Test::zero>(), move<1, 6>(), all_lanes();
        store<1, kScores + at>();
        at == 0 ? move<0, 1>() : larger();
      });
      fold_lanes(larger);
      load<6, kMost>(), move<1, 6>(), larger(), store<0, kMost>();
      subtract<1, 6, 0>(), move<6, 0>(), move<5, kZero>();
      sfpu::exp<7, 1, 2, 3, 4>();
      for_chunks_across([]<u32 at>() {
        load<1, kScores + at>(), subtract<1, 1, 6>();
        sfpu::exp<0, 1, 2, 3, 4>();
        load_integer<4, 0x1000>(), add<5, 5, 0>();
        add_integer<0, 4>(), store<0, kScores + at>();  // MOVD2B cuts to tf32: with half of its last bit that rounds
      });
      move<0, 5>(), fold_lanes([] { add<0, 0, 1>(); });
      load<1, kSum>(), multiply_add<0, 1, 7, 0>(), store<0, kSum>();
      for_mixed([]<u32 at>() { load<0, at>(), multiply<0, 0, 7>(), store<0, at>(); });
    });
  }
  // The weights go from Dst to SrcB as a left operand in tf32, whose low bits the later phases take.
  static void mix() {
    stall<kBlockMath, kSfpuBusy | kSrcBEmpty>();
    unrolled<16>([]<u32 n>() {
      if constexpr (n / 8 * 4 + n % 4 < kGroups)
        issue<encode(MOVD2B{.DstRow = kScores + 4 * n, .InstrMod = 2, .AddrMod = kModeStay, .SrcRow = 4 * n})>();
    });
    set_modes<false>();
    unrolled<W::kWidth>(
        []<u32 d>() { product<kLength, 4, kMixed + 64 * d, d + 1 < W::kWidth ? u32(kSrcA) : kSrcA | kSrcB>(); });
    end_products();
  }

  static void math() {
    setup_math<W::kFormat, true>();
    record_tile_product<true>();
    if constexpr (kLength == 4) record<4>(), mvmul<0, 0>(), mvmul<16, 1>(), mvmul<0, 0>(), mvmul<16, 4>();
    for_items([](u32, u32 i, u32 key_tiles) {
      acquire_dst();
      load_bits<0, 0xFF7FFFFF>();  // below every score but -inf
      for_groups<8>([] {
        store<0, kMost>(), store<kZero, kSum>();
        for_mixed([]<u32 at>() { store<kZero, at>(); });
      });
      for (u32 j = 0; j < key_tiles; ++j) score(i, j), weigh(), mix();
      for_groups<kGroups>([] {
        load<1, kSum>(), only_where<1, Test::zero>(), move<1, kernel::kOne>(), all_lanes();
        sfpu::reciprocal<4, 1, 2, 3>();
        for_mixed([]<u32 at>() { load<0, at>(), multiply<0, 0, 4>(), store<0, at>(); });
      });
      if (W::kQueries % 32 != 0 && i + 1 == W::kQueryTiles)
        unrolled<W::kWidth>([]<u32 d>() { fill_outside<kZero, kMixed + 64 * d, 64, W::kQueries % 32, 32>(); });
      release_dst();
    });
    drain();
  }

  static void pack() {
    Packer<W::kOutBytes> out;
    out.template to<W::kFormat>();
    for_items([&](u32, u32, u32) {
      out.acquire();
      unrolled<W::kWidth>([&]<u32 d>() {
        kOne ? out.template row<kMixed + 64 * d, kTileHalf>() : out.template tile<kMixed + 64 * d>();
      });
      out.release();
    });
    drain();
  }
  static void write(const u32* args) {
    Writer<W::kOutBytes> out;
    for_items([&](u32 b, u32 i, u32) {
      for (u32 d = 0; d < W::kWidth; ++d) out.template write<W::kOutBytes>(args[W::kOut], W::out(b, i, d));
    });
    out.finish();
  }
};

}  // namespace baretile::kernel
