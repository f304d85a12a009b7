#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Broadcasting : public OnDevice {
 protected:
  // x * 2 + y in one program for each pair of shapes; exact.
  void check(const std::vector<std::array<Shape, 3>>& cases, DType x_type = fp32, DType y_type = fp32) {
    std::vector<Tensor> outputs;
    std::vector<Array> wants;
    u32 seed = 0;
    for (const auto& [left, right, shape] : cases) {
      const Array x = eighths(left, ++seed), y = eighths(right, ++seed);
      outputs.push_back(upload(x, x_type) * 2 + upload(y, y_type));
      wants.push_back(generate(shape, [&](const Shape& i) { return 2 * x.at(i) + y.at(i); }));
    }
    realize(outputs);
    for (size_t n = 0; n < cases.size(); ++n) expect(fmt::format("case {}", n), outputs[n], wants[n]);
  }
};
ON_EACH_DEVICE(Broadcasting);

TEST_P(Broadcasting, RowsColumnsAndSingleValuesFillMatrices) {
  check({{Shape{33, 40}, {40}, {33, 40}},
         {Shape{33, 40}, {33, 1}, {33, 40}},
         {Shape{33, 40}, {1, 1}, {33, 40}},
         {Shape{33, 40}, {1}, {33, 40}},
         {Shape{33, 1}, {1, 40}, {33, 40}},
         {Shape{1, 70}, {1}, {1, 70}},
         {Shape{1}, {65, 33}, {65, 33}}});
  check({{Shape{33, 40}, {1, 40}, {33, 40}}, {Shape{33, 40}, {33, 1}, {33, 40}}}, fp32, bf16);
  check({{Shape{33, 1}, {33, 40}, {33, 40}}}, bf16, bf16);
}

TEST_P(Broadcasting, LeadingAxesRepeatWholeMatrices) {
  check({{Shape{3, 5, 33}, {5, 33}, {3, 5, 33}},
         {Shape{2, 3, 5, 33}, {3, 1, 33}, {2, 3, 5, 33}},
         {Shape{2, 1, 5, 33}, {1, 3, 5, 1}, {2, 3, 5, 33}},
         {Shape{2, 1, 1, 33}, {3, 4, 1}, {2, 3, 4, 33}},
         {Shape{4, 1, 1}, {1, 37, 1}, {4, 37, 1}}});
}

TEST_P(Broadcasting, EveryShapeFromOneToTwoTilesAndABit) {
  std::vector<std::array<Shape, 3>> cases;
  for (const i64 rows : {1, 31, 32, 33, 63, 65})
    for (const i64 cols : {1, 31, 33, 65}) cases.push_back({Shape{rows, cols}, {rows, cols}, {rows, cols}});
  check(cases);
}

TEST_P(Broadcasting, RanksFromZeroToFour) {
  check({{Shape{}, {}, {}},
         {Shape{5}, {5}, {5}},
         {Shape{65}, {}, {65}},
         {Shape{3, 2, 33}, {3, 2, 33}, {3, 2, 33}},
         {Shape{2, 3, 1, 33}, {2, 3, 1, 33}, {2, 3, 1, 33}},
         {Shape{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}});
}

TEST_P(Broadcasting, ExpandRepeatsWhatHasOneElement) {
  const Array x = eighths({3, 1, 33}, 1), v = eighths({1}, 2);
  Tensor a = upload(x).expand({2, 3, 4, 33}), b = upload(v).expand({33, 5});
  expect("axis", a, generate({2, 3, 4, 33}, [&](const Shape& i) { return x.at(i); }));
  expect("value", b, generate({33, 5}, [&](const Shape& i) { return v.at(i); }));
}

}  // namespace
}  // namespace baretile::tensor_test
