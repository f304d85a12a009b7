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

namespace baretile {

class Runtime;
struct Expr;
using Shape = std::vector<i64>;

// A handle to a value; copies share it.
class Tensor {
 public:
  // {1, 2} or {{1, 2}, {3, 4}} and so on.
  struct Nested {
    Nested(double number) : value(number) {}
    Nested(std::initializer_list<Nested> list) : rows(list) {}
    std::vector<Nested> rows;
    double value = 0;
  };

  Tensor() = default;
  static Tensor of(Runtime& runtime, std::initializer_list<Nested> rows, DType dtype = DType::fp32);
  // Row-major values. bf16 rounds to nearest even.
  static Tensor from_host(Runtime& runtime, std::span<const float> values, Shape shape, DType dtype = DType::fp32);
  static Tensor from_host(Runtime& runtime, std::span<const i32> values, Shape shape);     // int32: indices
  static Tensor from_host_bf16(Runtime& runtime, std::span<const u16> bits, Shape shape);  // bf16 as stored in files
  static Tensor zeros(Runtime& runtime, Shape shape, DType dtype = DType::fp32);
  static Tensor constant(float value);  // shape [], of no device until it meets a tensor that has one
  // Shape and dtype without a value: a graph of these can be compiled and shown, not run.
  static Tensor placeholder(Shape shape, DType dtype = DType::fp32);

  explicit operator bool() const { return expr_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  size_t rank() const { return shape().size(); }
  i64 size(i64 axis) const;  // negative axes count from the last

  std::vector<float> to_host() const;
  std::vector<i32> to_host_int32() const;
  Tensor& realize();

  Tensor reshape(Shape shape) const;  // one extent may be -1
  Tensor permute(std::vector<i64> axes) const;
  Tensor transpose() const;  // of the last two axes
  Tensor slice(i64 axis, i64 first, i64 end) const;
  Tensor flip(i64 axis) const;
  Tensor expand(Shape shape) const;
  Tensor cast(DType dtype) const;

  // this[b, index[r], :] = values[b, r, :] in place. Tensors computed from the old value keep it. The write happens
  // when this tensor, or one computed from it, is realized.
  void assign_rows(const Tensor& index, const Tensor& values);

  const std::shared_ptr<Expr>& expr() const { return expr_; }
  explicit Tensor(std::shared_ptr<Expr> expr) : expr_(std::move(expr)) {}

 private:
  std::shared_ptr<Expr> expr_;
};

// Computes all of them in one Program.
void realize(std::span<const Tensor> tensors);
inline void realize(std::initializer_list<Tensor> tensors) { realize(std::span(tensors.begin(), tensors.size())); }

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::string to_string(const Tensor& tensor);

// Element by element, with NumPy's broadcasting. A result is fp32 if an operand is, else bf16.
#define UNARY(name, ...) Tensor name(const Tensor& x);
#define BINARY(name, ...)                        \
  Tensor name(const Tensor& x, const Tensor& y); \
  Tensor name(const Tensor& x, float y);         \
  Tensor name(float x, const Tensor& y);
// Along one axis, which remains with extent 1 when keepdims is set.
#define REDUCE(name, ...) Tensor name(const Tensor& x, i64 axis, bool keepdims = false);
#include "baretile/ops.def"

inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) { return sub(x, y); }
inline Tensor operator*(const Tensor& x, const Tensor& y) { return mul(x, y); }
inline Tensor operator+(const Tensor& x, float y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, float y) { return sub(x, y); }
inline Tensor operator*(const Tensor& x, float y) { return mul(x, y); }
inline Tensor operator+(float x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(float x, const Tensor& y) { return sub(x, y); }
inline Tensor operator*(float x, const Tensor& y) { return mul(x, y); }

// Over the last two axes; leading axes broadcast. fp32 if an operand is, else bf16; always accumulated in 32 bits. An
// fp32 left operand of bf16 weights keeps 14 significant bits, fp32 by fp32 keeps 11 (tf32). Two phases of bf16 by bf16
// halve the time and keep 7 bits of the right operand's 8 and 7 of the left's.
Tensor matmul(const Tensor& x, const Tensor& y, u32 phases = 4);
Tensor gather_rows(const Tensor& table, const Tensor& index);  // [n, c] of a table [m, c] by int32 [n]
Tensor concat(std::span<const Tensor> tensors, i64 axis);
inline Tensor concat(std::initializer_list<Tensor> tensors, i64 axis) {
  return concat(std::span(tensors.begin(), tensors.size()), axis);
}

// Composites.
Tensor silu(const Tensor& x);  // x / (1 + e^-x)
Tensor mean(const Tensor& x, i64 axis, bool keepdims = false);
Tensor softmax(const Tensor& x, i64 axis = -1);
Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon = 1e-5f);  // over the last axis
Tensor swap_halves(const Tensor& x);  // [a, b] of the last axis becomes [b, a]
Tensor rope(const Tensor& x, const Tensor& cos,
            const Tensor& sin);  // x * cos + swap_halves(x) * sin; sin negated in its first half

}  // namespace baretile
