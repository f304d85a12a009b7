// Lazy tensors on a device: expressions build a graph; printing, to_host() or realize() compiles and runs it.
//   Runtime rt;  auto x = Tensor::of(rt, {{1, -2}, {3, 4}});  auto w = Tensor::of(rt, {{2, 0}, {0, 3}});
//   std::cout << relu(matmul(x, w));   // [[2, 0], [6, 12]]
#pragma once
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "baretile/program.h"

#pragma GCC visibility push(default)
namespace baretile {

class Runtime;
struct Expr;
using Shape = std::vector<i64>;  // extents, the last axis last; [] is a single number

// What a dtype keeps of a value. fp32: 24 significant bits; bf16: 8, to nearest even from the host, ties away from zero
// on the device. bfp8 and bfp4 are for storage, above all of weights, at 8.5 and 4.5 bits a value: 16 neighbours in a
// row (from a multiple of 16 on) share the exponent of the largest, and each is a multiple of a step, 2^-6 (2^-2) of
// the power of two in the largest, to nearest, ties away from zero, up to 127 (7) steps. The largest of 16 thus keeps 7
// (3) significant bits, one k binades below it k fewer, and what is below half a step is 0. -0 and denormals become 0.
// An infinity or NaN stays one and makes 0 of its block, except for values next to 2^128. A largest of 1.875 times a
// power of two or more counts as the next one in bfp4, which is infinite from 1.875 * 2^127 on, and below 2^-122 rounds
// toward zero. Host and device agree on every bit, but for NaNs. Only casts, uploads and full make such tensors, of two
// rows or more; all else reads them as bf16, exactly, and gives bf16 (views too).

// A handle to a value; copies share it. An axis may have no elements: such a tensor takes neither memory nor work.
class Tensor {
 public:
  // {1, 2} or {{1, 2}, {3, 4}} and so on.
  struct Nested {
    Nested(double number) : value(number) {}
    Nested(std::initializer_list<Nested> list) : rows(list), is_list(true) {}
    std::vector<Nested> rows;
    double value = 0;
    bool is_list = false;
  };

  Tensor() = default;     // empty: without shape or value
  Tensor(double number);  // of shape [] and of no device; it takes shape and dtype from what it meets
  static Tensor of(Runtime& runtime, std::initializer_list<Nested> rows, DType dtype = DType::fp32);
  // Row-major values, as many as the shape has elements; UsageError else. So for the three that follow.
  static Tensor from_host(Runtime& runtime, std::span<const float> values, Shape shape, DType dtype = DType::fp32);
  static Tensor from_host(Runtime& runtime, std::span<const i32> values, Shape shape);
  static Tensor from_host(Runtime& runtime, std::span<const u32> values, Shape shape);
  static Tensor from_host(Runtime& runtime, std::span<const bool> values, Shape shape);
  static Tensor from_host_bf16(Runtime& runtime, std::span<const u16> bits, Shape shape);  // bf16 as stored in files
  static Tensor zeros(Runtime& runtime, Shape shape, DType dtype = DType::fp32);
  static Tensor ones(Runtime& runtime, Shape shape, DType dtype = DType::fp32);
  static Tensor full(Runtime& runtime, Shape shape, double value, DType dtype = DType::fp32);
  static Tensor arange(Runtime& runtime, double first, double end, double step = 1, DType dtype = DType::int32);
  static Tensor linspace(Runtime& runtime, double first, double last, i64 count, DType dtype = DType::fp32);
  static Tensor eye(Runtime& runtime, i64 rows, i64 cols, DType dtype = DType::fp32);
  static Tensor tri(Runtime& runtime, i64 rows, i64 cols, i64 diagonal = 0, DType dtype = DType::fp32);  // 1 up to it
  // Shape and dtype without a value: a graph of these can be compiled and shown, not run.
  static Tensor placeholder(Shape shape, DType dtype = DType::fp32);

  explicit operator bool() const { return expr_ != nullptr; }  // false: empty
  const Shape& shape() const;                                  // UsageError for an empty tensor, as for all below
  DType dtype() const;
  size_t rank() const { return shape().size(); }  // number of axes
  Runtime* runtime() const;                       // where it lies; null for numbers and placeholders
  i64 size(i64 axis) const;                       // negative axes count from the last

  std::vector<float> to_host() const;       // of floats and booleans, row-major; computes them if need be
  std::vector<i32> to_host_int32() const;   // of int32 only
  std::vector<u32> to_host_uint32() const;  // of uint32 only
  Tensor& realize();                        // computes the value now and keeps it; gives itself

  Tensor reshape(Shape shape) const;            // one extent may be -1
  Tensor permute(std::vector<i64> axes) const;  // axis i of the result is this one's axes[i]
  Tensor transpose() const;                     // of the last two axes
  // Elements first, first + step, … before end (after it, when step is negative); negative numbers count from the end.
  Tensor slice(i64 axis, i64 first, i64 end, i64 step = 1) const;
  std::vector<Tensor> split(i64 axis, const std::vector<i64>& extents) const;  // which add up to the axis
  Tensor squeeze(i64 axis) const;                                              // without an axis of extent 1
  Tensor unsqueeze(i64 axis) const;                                            // with a new one
  Tensor pad(i64 axis, i64 before, i64 after, double value = 0) const;         // so many more elements at either end
  Tensor repeat(i64 axis, i64 times) const;                                    // the whole axis, end to end
  Tensor index_select(i64 axis, const Tensor& index) const;  // int32 of one axis; beyond the extent: the last
  Tensor flip(i64 axis) const;                               // in reverse order
  Tensor expand(Shape shape) const;                          // axes of 1 repeated, new ones in front
  Tensor cast(DType dtype) const;  // to integers toward zero, as far as they reach; to boolean: whether not zero

  Tensor detach() const;  // the same value, through which no gradient flows; see autograd.h

  // this[b, index[r], :] = values[b, r, :] in place; an index that is no row writes nothing, and none may stand twice.
  // Tensors computed from the old value keep it. The write happens when this tensor, or one computed from it, is
  // realized.
  void assign_rows(const Tensor& index, const Tensor& values);
  // A box along one axis gets new values, from index `first` on; tensors computed from the old value keep it.
  void assign(i64 axis, i64 first, const Tensor& values);

  const std::shared_ptr<Expr>& expr() const { return expr_; }  // for the library's own use, as what follows
  bool detached() const { return detached_; }
  explicit Tensor(std::shared_ptr<Expr> expr) : expr_(std::move(expr)) {}

 private:
  std::shared_ptr<Expr> expr_;
  bool detached_ = false;
};

// Computes all of them in one Program.
void realize(std::span<const Tensor> tensors);
inline void realize(std::initializer_list<Tensor> tensors) { realize(std::span(tensors.begin(), tensors.size())); }

// Nested lists as NumPy's: [[1.5, -2], [0, nan]] where a line of 100 columns holds them, else aligned and a row a line.
// Floats have up to six significant digits, booleans are true and false. Of more than 1,000 elements each axis shows
// three at either end.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::string to_string(const Tensor& tensor);

// Element by element, with NumPy's broadcasting. Operands of several dtypes become the latest of boolean, uint32,
// int32, bf16 (block formats too), fp32; a number takes the others' dtype, or makes them fp32 where that cannot hold
// it.
#define UNARY(name, ...) Tensor name(const Tensor& x);
#define BINARY(name, ...) Tensor name(const Tensor& x, const Tensor& y);
#define TERNARY(name, ...) Tensor name(const Tensor& x, const Tensor& y, const Tensor& z);
// Along one axis, several or all; they remain with extent 1 when keepdims is set. Floats are summed in fp32; booleans
// count as int32.
#define REDUCE(name, ...)                                                            \
  Tensor name(const Tensor& x, i64 axis, bool keepdims = false);                     \
  Tensor name(const Tensor& x, const std::vector<i64>& axes, bool keepdims = false); \
  Tensor name(const Tensor& x);
#include "baretile/ops.def"

inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) { return sub(x, y); }
inline Tensor operator*(const Tensor& x, const Tensor& y) { return mul(x, y); }
inline Tensor operator/(const Tensor& x, const Tensor& y) { return div(x, y); }
inline Tensor operator&(const Tensor& x, const Tensor& y) { return bit_and(x, y); }
inline Tensor operator|(const Tensor& x, const Tensor& y) { return bit_or(x, y); }
inline Tensor operator^(const Tensor& x, const Tensor& y) { return bit_xor(x, y); }
inline Tensor operator~(const Tensor& x) { return bit_not(x); }
inline Tensor& operator+=(Tensor& x, const Tensor& y) { return x = x + y; }
inline Tensor& operator-=(Tensor& x, const Tensor& y) { return x = x - y; }
inline Tensor& operator*=(Tensor& x, const Tensor& y) { return x = x * y; }
inline Tensor& operator/=(Tensor& x, const Tensor& y) { return x = x / y; }
inline Tensor operator<(const Tensor& x, const Tensor& y) { return less(x, y); }
inline Tensor operator<=(const Tensor& x, const Tensor& y) { return less_equal(x, y); }
inline Tensor operator>(const Tensor& x, const Tensor& y) { return greater(x, y); }
inline Tensor operator>=(const Tensor& x, const Tensor& y) { return greater_equal(x, y); }

// How exactly a product is computed. `standard`: in one kernel by the matrix unit, which keeps 8 x 8 significant bits
// of bf16 by bf16, 14 x 8 of fp32 by bf16, 11 x 10 of fp32 by fp32, and rounds each product to 2^-11 of the largest of
// eight. `fast`: two phases, half the time; bf16 by bf16 keeps 7 bits. `full`: all of fp32, in six kernels and twelve
// products of one phase; each element is within 2^-21 K times the largest of its row on the left times the largest of
// its column on the right, and mostly as near as a loop in fp32 comes. There an infinity or NaN makes its row or column
// infinite or NaN, and what is below 2^-124 counts as zero.
enum class Precision : u8 { fast, standard, full };

// While one lives, it is the precision of this thread's new products that name none; `standard` otherwise.
class DefaultPrecision {
 public:
  explicit DefaultPrecision(Precision precision) : before_(now_) { now_ = precision; }
  ~DefaultPrecision() { now_ = before_; }
  DefaultPrecision(const DefaultPrecision&) = delete;
  DefaultPrecision& operator=(const DefaultPrecision&) = delete;
  static Precision now() { return now_; }

 private:
  static thread_local Precision now_;
  Precision before_;
};

// Over the last two axes; leading axes broadcast. fp32 if an operand is, else bf16; always accumulated in 32 bits.
// Whole numbers become the floats that they meet; among themselves they give exact ones modulo 2^32 (booleans int32), by
// twenty products of digits in one phase each, in seven kernels.
// Block formats, also transposed on the right, are multiplied as they lie in memory; bfp4 on the right, and either on
// the left, halve the time and lose nothing.
Tensor matmul(const Tensor& x, const Tensor& y, Precision precision = DefaultPrecision::now());
// [n, c] of a table [m, c] by int32 [n]; an index that is no row of the table takes its last one.
Tensor gather_rows(const Tensor& table, const Tensor& index);
Tensor concat(std::span<const Tensor> tensors, i64 axis);
inline Tensor concat(std::initializer_list<Tensor> tensors, i64 axis) {
  return concat(std::span(tensors.begin(), tensors.size()), axis);
}

Tensor stack(std::span<const Tensor> tensors, i64 axis);  // along a new axis
inline Tensor stack(std::initializer_list<Tensor> tensors, i64 axis) {
  return stack(std::span(tensors.begin(), tensors.size()), axis);
}
Tensor outer(const Tensor& x, const Tensor& y);  // [n], [m] -> [n, m]
// Sums of products by NumPy's notation with an arrow: einsum("bij,bjk->bik", {x, y}); one or two operands, no repeated
// letter within one.
Tensor einsum(const std::string& formula, const std::vector<Tensor>& operands);

// Composites.
Tensor sigmoid(const Tensor& x);
Tensor softplus(const Tensor& x);                         // log(1 + e^x)
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  // x where positive, else x * slope
Tensor gelu(const Tensor& x);                             // x Φ(x)
Tensor gelu_tanh(const Tensor& x);                        // its approximation by tanh
Tensor clamp(const Tensor& x, double low, double high);   // what is below or above becomes the limit
// The quotient rounded down, and what is left, with the divisor's sign. Of integers exactly, and 0 where the divisor
// is; of floats off by the rounding of x / y where that is large.
Tensor floor_divide(const Tensor& x, const Tensor& y);
Tensor remainder(const Tensor& x, const Tensor& y);
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);  // value where mask is true, else x
Tensor tril(const Tensor& x, i64 diagonal = 0);                         // zero above a diagonal of the last two axes
Tensor triu(const Tensor& x, i64 diagonal = 0);                         // zero below it
Tensor one_hot(const Tensor& index, i64 classes, DType dtype = DType::fp32);       // a new last axis
Tensor any(const Tensor& x, i64 axis, bool keepdims = false);                      // whether one is not zero
Tensor all(const Tensor& x, i64 axis, bool keepdims = false);                      // whether none is zero
Tensor var(const Tensor& x, i64 axis, bool keepdims = false, i64 correction = 0);  // over n - correction
Tensor logsumexp(const Tensor& x, i64 axis, bool keepdims = false);                // log of the sum of e^x
Tensor cumsum(const Tensor& x, i64 axis);                                          // in log2(extent) steps
// int32; the first of equal ones, a NaN before all others.
Tensor argmax(const Tensor& x, i64 axis, bool keepdims = false);
Tensor argmin(const Tensor& x, i64 axis, bool keepdims = false);
// Along the last axis, by counting the smaller ones of every element: work grows with the square of the extent. Stable;
// NaNs are not ordered.
Tensor argsort(const Tensor& x, bool descending = false);
struct TopK {
  Tensor values, indices;
};
TopK topk(const Tensor& x, i64 count);  // the largest of the last axis, the largest first
// x[…, index[…, k]] over the last axis or another, zero beyond it; x and index agree in the other axes. Work grows with
// the product of both extents.
Tensor gather(const Tensor& x, const Tensor& index, i64 axis = -1);
// x[…, index[…, k]] becomes values[…, k], the last of those that meet in one place, or grows by all of them. An index
// that is no place of x changes nothing.
Tensor scatter(const Tensor& x, const Tensor& index, const Tensor& values, i64 axis = -1);
Tensor scatter_add(const Tensor& x, const Tensor& index, const Tensor& values, i64 axis = -1);
// Elements by their number in row-major order, in index's shape; beyond them the last.
Tensor take(const Tensor& x, const Tensor& index);
Tensor silu(const Tensor& x);  // x / (1 + e^-x)
Tensor mean(const Tensor& x, i64 axis, bool keepdims = false);
Tensor softmax(const Tensor& x, i64 axis = -1);                                 // e^x over its sum
Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon = 1e-5f);  // over the last axis
Tensor swap_halves(const Tensor& x);  // [a, b] of the last axis becomes [b, a]
Tensor rope(const Tensor& x, const Tensor& cos,
            const Tensor& sin);  // x * cos + swap_halves(x) * sin; sin negated in its first half

}  // namespace baretile
#pragma GCC visibility pop
