#include "compiler/fuse/page_map.h"
#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

// Element of the base that a view's element is, digit by digit.
i64 element(const View& view, const Shape& shape, i64 index) {
  i64 at = view.offset;
  Shape place = reference::unravel(index, shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    i64 rest = place[axis];
    for (Digit digit : view.axes[axis]) {
      at += rest % digit.size * digit.stride;
      rest /= digit.size;
    }
  }
  return at;
}

Node random_view(const Shape& shape, std::mt19937& random) {
  auto below = [&](i64 n) { return i64(random() % u64(n)); };
  Node node;
  node.shape = shape;
  const i64 axis = below(i64(shape.size()));
  switch (below(4)) {
    case 0:
      node.op = Op::flip, node.attrs = {axis};
      break;
    case 1:
      node.op = Op::permute;
      for (i64 i = 0; i < i64(shape.size()); ++i) node.attrs.push_back(i);
      std::shuffle(node.attrs.begin(), node.attrs.end(), random);
      for (size_t i = 0; i < shape.size(); ++i) node.shape[i] = shape[size_t(node.attrs[i])];
      break;
    case 2: {
      node.op = Op::slice;
      node.attrs.assign(shape.size(), 0);
      i64 first = below(shape[size_t(axis)]) / 32 * 32;
      node.attrs[size_t(axis)] = first;
      node.shape[size_t(axis)] = 1 + below(shape[size_t(axis)] - first);
      break;
    }
    default: {
      node.op = Op::reshape;
      if (shape.size() < 4) {
        i64 by = shape[size_t(axis)] % 32 == 0 ? 32 : shape[size_t(axis)] % 3 == 0 ? 3 : 1;
        node.shape[size_t(axis)] = by;
        node.shape.insert(node.shape.begin() + axis, shape[size_t(axis)] / by);
      } else {
        node.shape[1] *= node.shape[0];
        node.shape.erase(node.shape.begin());
      }
    }
  }
  return node;
}

TEST(View, ChainsOfViewsFindTheElementsThatEachOneNames) {
  std::mt19937 random(3);
  int affine = 0;
  for (int n = 0; n < 2000; ++n) {
    Shape shape = {i64(1 + random() % 4), i64(1 + random() % 7) * 3, i64(8 << random() % 4)};
    std::vector<i64> expected(size_t(element_count(shape)));
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = i64(i);
    View view = contiguous(shape);
    for (int step = 0; step < 5; ++step) {
      Node node = random_view(shape, random);
      auto next = apply(node, view);
      if (!next) break;
      ++affine;
      std::vector<i64> through(size_t(element_count(node.shape)));
      for (size_t i = 0; i < through.size(); ++i) through[i] = expected[size_t(reference::viewed(node, shape, i64(i)))];
      expected = through;
      shape = node.shape;
      view = *next;
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(element(view, shape, i64(i)), expected[i]) << to_string(shape);
    }
  }
  EXPECT_GT(affine, 7000);
}

// Where an element of a matrix lies: page and place in the page.
std::pair<i64, i64> stored_at(i64 index, const Stored& stored) {
  const Extents& e = stored.extents;
  const Extents grid = page_grid(e, stored.tiling);
  i64 b = index / (e.rows * e.cols), r = index / e.cols % e.rows, c = index % e.cols, rows = page_rows(stored.tiling);
  return {(b * grid.rows + r / rows) * grid.cols + c / 32, r % rows * 32 + c % 32};
}

i64 digits(const std::vector<Digit>& list, i64 index) {
  i64 sum = 0;
  for (Digit digit : list) {
    sum += index % digit.size * digit.stride;
    index /= digit.size;
  }
  return sum;
}

TEST(PageMap, EveryElementLiesInThePageThatTheMapNamesAtItsOwnPlace) {
  std::mt19937 random(5);
  int found = 0;
  for (int n = 0; n < 4000; ++n) {
    static constexpr i64 kRows[] = {1, 1, 4, 37, 64, 96}, kCols[] = {1, 32, 45, 64, 192};
    Shape shape = {i64(1 + random() % 3), kRows[random() % 6], kCols[random() % 5]};
    Stored stored{extents(shape), random() % 4 == 0 ? Tiling::split : default_tiling(shape)};
    View view = contiguous(shape);
    for (u64 step = random() % 5; step > 0; --step) {
      Node node = random_view(shape, random);
      auto next = apply(node, view);
      if (!next) break;
      shape = node.shape;
      view = *next;
    }
    Extents seen = extents(shape);
    View three = *reshaped(view, {seen.batch, seen.rows, seen.cols});
    auto access = page_access(three, seen, stored);
    if (!access || access->broadcast != Broadcast::none) continue;
    ++found;
    const i64 rows = page_rows(stored.tiling);
    for (i64 i = 0; i < element_count(shape); ++i) {
      i64 b = i / (seen.rows * seen.cols), r = i / seen.cols % seen.rows, c = i % seen.cols;
      i64 page = access->map.offset + digits(access->map.batch, b) + digits(access->map.row, r / rows) +
                 digits(access->map.col, c / 32);
      auto [expected_page, place] = stored_at(element(three, {seen.batch, seen.rows, seen.cols}, i), stored);
      ASSERT_EQ(page, expected_page) << to_string(shape);
      ASSERT_EQ(r % rows * 32 + c % 32, place) << to_string(shape);
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(PageMap, RefusesWhatCutsPages) {
  auto access = [](Shape shape, std::vector<i64> first, Shape part) {
    Node node;
    node.op = Op::slice;
    node.shape = part;
    node.attrs = first;
    View view = *apply(node, contiguous(shape));
    return page_access(*reshaped(view, {1, part[0], part[1]}), extents(part), {extents(shape), default_tiling(shape)})
        .has_value();
  };
  EXPECT_TRUE(access({64, 64}, {32, 32}, {32, 32}));
  EXPECT_TRUE(access({64, 64}, {0, 0}, {20, 10}));
  EXPECT_FALSE(access({64, 64}, {1, 0}, {32, 32}));
  EXPECT_FALSE(access({64, 64}, {0, 16}, {32, 32}));
  EXPECT_FALSE(access({64, 64}, {0, 0}, {1, 64}));  // one row of a tile is no row page
}

TEST(PageMap, RefusesWhatRunsOverTheEndOfARow) {
  View all = *reshaped(contiguous({3, 1, 45}), {135});
  Node node;
  node.op = Op::slice;
  node.shape = {32};
  node.attrs = {32};
  View view = *reshaped(*apply(node, all), {1, 1, 32});
  EXPECT_FALSE(page_access(view, {1, 1, 32}, {{3, 1, 45}, Tiling::row}));
  EXPECT_TRUE(page_access(view, {1, 1, 32}, {{1, 1, 135}, Tiling::row}));
}

TEST(PageMap, AContractionNeedsZerosBehindItsLastColumn) {
  View view = contiguous({1, 40, 64});
  EXPECT_TRUE(page_access(view, {1, 40, 64}, {{1, 40, 64}, Tiling::tile}, {.zero_cols = true}));
  view.axes[2] = {{40, 1}};
  EXPECT_TRUE(page_access(view, {1, 40, 40}, {{1, 40, 64}, Tiling::tile}));
  EXPECT_FALSE(page_access(view, {1, 40, 40}, {{1, 40, 64}, Tiling::tile}, {.zero_cols = true}));
}

}  // namespace
}  // namespace baretile::compiler::test
