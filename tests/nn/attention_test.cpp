// Attention whose queries share heads of keys and values, against PyTorch; the numbers come from
// attention_reference.py.
#include "baretile/nn.h"
#include "nn/numbers.h"
#include "tensor/derivative.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

using namespace tensor_test;

struct Expected {
  std::vector<double> second;   // the second batch of the result
  std::vector<double> lengths;  // of the gradients of queries, keys and values
};

const Expected kPlain{{0.393132,  0.132155,  0.483797,  0.060256,  0.497065,  -0.041005, 0.560437,  -0.024451,
                       0.368539,  -0.104626, 0.422385,  -0.021934, -0.098571, -0.138343, -0.199479, -0.175403,
                       -0.116620, -0.157952, -0.154499, -0.143314, 0.003177,  -0.163574, -0.093704, -0.173504},
                      {2.003927, 2.130355, 15.282151}};
const Expected kBoolean{{0.257824,  -0.103077, 0.397824, 0.200827,  0.497065, -0.041005, 0.508994,  -0.225721,
                         0.273525,  -0.037281, 0.422385, -0.021934, 0.148822, -0.109911, -0.226488, -0.329667,
                         -0.116620, -0.157952, 0.086581, -0.088058, 0.020842, -0.220571, -0.093704, -0.173504},
                        {2.072213, 2.084973, 15.783281}};
const Expected kAdded{{0.422588,  0.412731,  0.593077,  0.023121,  0.528628,  -0.000237, 0.656966,  -0.274747,
                       0.333812,  0.091436,  0.603255,  -0.280783, -0.129241, -0.277627, -0.340282, -0.211402,
                       -0.259608, -0.157467, -0.205058, -0.109904, 0.102191,  0.160611,  -0.067920, -0.286712},
                      {2.028689, 2.224011, 15.530169}};

class GroupedAttention : public OnDevice {
 protected:
  GroupedAttention() {
    for (const Shape& shape : {Shape{2, 4, 3, 8}, Shape{2, 2, 5, 8}, Shape{2, 2, 5, 2}, Shape{4, 3, 5}})
      values.push_back(numbers.eighths(shape));
  }
  // The result, then the gradients of its inputs.
  static Tensors with_gradients(const Tensors& x, const Tensor& mask, const Tensor& seed) {
    Tensors all{nn::scaled_dot_product_attention(x[0], x[1], x[2], mask)};
    for (const Tensor& g : grad(all[0], std::span(x).first(3), seed)) all.push_back(g);
    return all;
  }
  void check(const Array* mask, DType dtype, const Expected& want) {
    std::vector<Array> inputs{values[0], values[1], values[2],
                              generate({2, 4, 3, 2}, [](const Shape& i) { return double(i[2] + 1); })};
    Tensors tensors;
    for (const Array& x : inputs) tensors.push_back(upload(x));
    if (mask) inputs.push_back(*mask), tensors.push_back(upload(*mask).cast(dtype).realize());
    const Tensors got = with_gradients(tensors, mask ? tensors[4] : Tensor(), tensors[3]);
    const std::vector<Array> exact = by_the_book(got, tensors, inputs);
    for (size_t n = 0; n < 24; ++n) EXPECT_NEAR(exact[0].values[24 + n], want.second[n], 1e-6) << "element " << n;
    for (size_t n = 0; n < 3; ++n) {
      double square = 0;
      for (const double g : exact[n + 1].values) square += g * g;
      EXPECT_NEAR(std::sqrt(square), want.lengths[n], 1e-5) << "gradient " << n;
    }
    realize(got);
    for (size_t n = 0; n < got.size(); ++n)
      expect(fmt::format("result {}", n), got[n], exact[n], {0, 0x1p-8 * largest(exact[n])});
  }

  Numbers numbers{5};
  std::vector<Array> values;
};
ON_EACH_DEVICE(GroupedAttention);

TEST_P(GroupedAttention, IsThatOfPyTorch) { check(nullptr, fp32, kPlain); }

TEST_P(GroupedAttention, SeesWhatABooleanMaskShowsAllHeads) {
  const Array seen = generate({3, 5}, [](const Shape& i) { return double(i[1] <= i[0] + 2); });
  check(&seen, DType::boolean, kBoolean);
}

TEST_P(GroupedAttention, AddsAMaskOfItsOwnToEachHeadOfQueries) { check(&values[3], fp32, kAdded); }

TEST_P(GroupedAttention, HeadsOfKeysDivideThoseOfQueriesAndMasksHaveTheLatter) {
  const auto of = [](i64 heads, i64 rows, i64 cols) { return Tensor::placeholder({heads, rows, cols}); };
  EXPECT_THROW(nn::scaled_dot_product_attention(of(4, 3, 8), of(3, 5, 8), of(3, 5, 2)), UsageError);
  EXPECT_THROW(nn::scaled_dot_product_attention(of(4, 3, 8), of(2, 5, 8), of(4, 5, 2)), UsageError);
  EXPECT_THROW(nn::scaled_dot_product_attention(of(4, 3, 8), of(2, 5, 8), of(2, 5, 2), of(2, 3, 5)), UsageError);
}

}  // namespace
}  // namespace baretile::nn_test
