// Casts, and tensors from nothing.
#pragma once
#include "baretile/nn.h"
#include "ops/cases.h"

namespace baretile::ops_test {

namespace made_from_nothing {

// A tensor from nothing, of a shape, plus an operand of that shape, of which it has its device.
inline Entry made(const std::string& name, size_t rank, std::function<Tensor(Runtime&, const Shape&)> make,
                  std::function<double(const Shape&, const Shape&)> value, double absolute = 0) {
  return {name, fp32_only, [=](const Shape& shape, DType, Source& values) -> std::optional<Case> {
            if (rank != 0 && shape.size() != rank) return std::nullopt;
            Case c{{{values(shape), fp32}}, [=](const Tensors& t) {
                     return t[0].runtime() ? make(*t[0].runtime(), t[0].shape()) + t[0] : t[0];
                   }};
            c.bound.absolute = absolute, c.on_device = true;
            c.want = [=](const Arrays& in) {
              return generate(shape, [&](const Shape& i) { return value(i, shape) + in[0].at(i); });
            };
            return c;
          }};
}

}  // namespace made_from_nothing

inline std::vector<Entry> made_entries() {
  using made_from_nothing::made;
  using Index = const Shape&;
  std::vector<Entry> out;
  // To integers of all values that both hold.
  for (const DType to : {fp32, bf16, DType::int32, DType::uint32, DType::boolean, DType::bfp8, DType::bfp4})
    out.push_back({fmt::format("cast to {}", compiler::to_string(to)), anything,
                   [to](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
                     if (is_block(to) && (shape.size() < 2 || extent(shape, -2) < 2)) return std::nullopt;
                     Array x = values(shape, dtype);
                     if (to == DType::uint32) x = map(x, [](double v) { return std::fabs(v); });
                     Case c{{{x, dtype}}, [to](const Tensors& t) { return t[0].cast(to); }};
                     c.on_device = is_block(to);
                     c.want = [to](const Arrays& in) {
                       if (is_block(to)) return in_blocks(in[0], to == DType::bfp8 ? 6 : 2);
                       return map(in[0], [&](double v) {
                         return to == DType::boolean ? double(v != 0) : is_integer(to) ? std::trunc(v) : v;
                       });
                     };
                     return c;
                   }});
  out.push_back(made(
      "zeros", 0, [](Runtime& rt, Index s) { return Tensor::zeros(rt, s); }, [](Index, Index) { return 0; }));
  out.push_back(made(
      "ones", 0, [](Runtime& rt, Index s) { return Tensor::ones(rt, s); }, [](Index, Index) { return 1; }));
  out.push_back(made(
      "full", 0, [](Runtime& rt, Index s) { return Tensor::full(rt, s, -1.5); }, [](Index, Index) { return -1.5; }));
  out.push_back(made(
      "arange", 1, [](Runtime& rt, Index s) { return Tensor::arange(rt, 3, 3 + s[0]); },
      [](Index i, Index) { return 3 + double(i[0]); }));
  out.push_back(made(
      "linspace", 1, [](Runtime& rt, Index s) { return Tensor::linspace(rt, 0, double(s[0] - 1), s[0]); },
      [](Index i, Index) { return double(i[0]); }, 0x1p-22));
  out.push_back(made(
      "eye", 2, [](Runtime& rt, Index s) { return Tensor::eye(rt, s[0], s[1]); },
      [](Index i, Index) { return i[0] == i[1]; }));
  out.push_back(made(
      "tri", 2, [](Runtime& rt, Index s) { return Tensor::tri(rt, s[0], s[1], 1); },
      [](Index i, Index) { return i[1] <= i[0] + 1; }));
  out.push_back(made(
      "causal_mask", 2, [](Runtime& rt, Index s) { return nn::causal_mask(rt, s[0], s[1]); },
      [](Index i, Index s) { return i[1] <= i[0] + s[1] - s[0]; }));
  out.push_back(made(
      "of", 2, [](Runtime& rt, Index) { return Tensor::of(rt, {{-2}}); }, [](Index, Index) { return -2; }));
  return out;
}

}  // namespace baretile::ops_test
