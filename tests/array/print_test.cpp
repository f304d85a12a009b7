// What prints as what. The layouts are NumPy's repr() of the same numbers, but for the width of a line.
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Print : public OnDevice {
 protected:
  static Tensor numbers(Shape shape) {
    i64 count = 1;
    for (const i64 extent : shape) count *= extent;
    return Tensor::arange(runtime(), 0, double(count)).reshape(std::move(shape));
  }
};
ON_EACH_DEVICE(Print);

TEST_P(Print, OneElementAndOneLine) {
  EXPECT_EQ(to_string(Tensor::of(runtime(), {1.5, -0.0, 0.1, 100, 1e30, 123456789, 1e-6})),
            "[1.5, -0, 0.1, 100, 1e+30, 1.23457e+08, 1e-06]");
  const std::vector<float> special{NAN, -NAN, INFINITY, -INFINITY};
  EXPECT_EQ(to_string(Tensor::from_host(runtime(), special, {2, 2})), "[[nan, nan], [inf, -inf]]");
  EXPECT_EQ(to_string(Tensor::of(runtime(), {{1, 0}}, DType::boolean)), "[[true, false]]");
  EXPECT_EQ(to_string(Tensor::full(runtime(), {}, 1, DType::boolean)), "true");
  EXPECT_EQ(to_string(Tensor::full(runtime(), {}, -7, DType::int32)), "-7");
  EXPECT_EQ(to_string(Tensor::zeros(runtime(), {2, 0})), "[]");
  EXPECT_EQ(to_string(numbers({1, 1, 2})), "[[[0, 1]]]");
}

TEST_P(Print, RowsThatDoNotFitOneLineStandBelowEachOther) {
  EXPECT_EQ(to_string(numbers({3, 11}) * 100),
            "[[   0,  100,  200,  300,  400,  500,  600,  700,  800,  900, 1000],\n"
            " [1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100],\n"
            " [2200, 2300, 2400, 2500, 2600, 2700, 2800, 2900, 3000, 3100, 3200]]");
  EXPECT_EQ(to_string(Tensor::of(runtime(), {{1.5, -2, 0.25, 1000, 3, 3, 3, 3, 3, 3, 3},
                                             {1, 2, 3, 1e-10, 3, 3, 3, 3, 3, 3, 3},
                                             {-1, 2, INFINITY, 1, 3, 3, 3, 3, 3, 3, 3}})
                          .slice(1, 0, 4)
                          .repeat(0, 2)),
            "[[   1.5  ,   -2    ,    0.25 , 1000    ],\n"
            " [   1    ,    2    ,    3    ,    1e-10],\n"
            " [  -1    ,    2    ,  inf    ,    1    ],\n"
            " [   1.5  ,   -2    ,    0.25 , 1000    ],\n"
            " [   1    ,    2    ,    3    ,    1e-10],\n"
            " [  -1    ,    2    ,  inf    ,    1    ]]");
}

TEST_P(Print, MatricesStandApartAndLongRowsGoOnBelow) {
  EXPECT_EQ(to_string(numbers({2, 2, 10})),
            "[[[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9],\n"
            "  [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]],\n\n"
            " [[20, 21, 22, 23, 24, 25, 26, 27, 28, 29],\n"
            "  [30, 31, 32, 33, 34, 35, 36, 37, 38, 39]]]");
  EXPECT_EQ(to_string(numbers({40}) * 10),
            "[  0,  10,  20,  30,  40,  50,  60,  70,  80,  90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190,\n"
            " 200, 210, 220, 230, 240, 250, 260, 270, 280, 290, 300, 310, 320, 330, 340, 350, 360, 370, 380, 390]");
}

TEST_P(Print, MoreThanAThousandElementsShowTheirEdges) {
  EXPECT_EQ(to_string(numbers({1001})), "[0, 1, 2, ..., 998, 999, 1000]");
  EXPECT_EQ(to_string(numbers({30, 40})),
            "[[   0,    1,    2, ...,   37,   38,   39],\n"
            " [  40,   41,   42, ...,   77,   78,   79],\n"
            " [  80,   81,   82, ...,  117,  118,  119],\n"
            " ...,\n"
            " [1080, 1081, 1082, ..., 1117, 1118, 1119],\n"
            " [1120, 1121, 1122, ..., 1157, 1158, 1159],\n"
            " [1160, 1161, 1162, ..., 1197, 1198, 1199]]");
  EXPECT_EQ(to_string(numbers({2, 3, 200})),
            "[[[   0,    1,    2, ...,  197,  198,  199],\n"
            "  [ 200,  201,  202, ...,  397,  398,  399],\n"
            "  [ 400,  401,  402, ...,  597,  598,  599]],\n\n"
            " [[ 600,  601,  602, ...,  797,  798,  799],\n"
            "  [ 800,  801,  802, ...,  997,  998,  999],\n"
            "  [1000, 1001, 1002, ..., 1197, 1198, 1199]]]");
  EXPECT_EQ(to_string(numbers({1000})).find("..."), std::string::npos) << "a thousand are shown";
}

}  // namespace
}  // namespace baretile::tensor_test
