// A KernelSpec over logical matrices, its reference in double precision, and the stored form of its buffers.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "compiler/emit/emit.h"

namespace baretile::kernel_test {

using compiler::Access;
using compiler::Broadcast;
using compiler::ComputeKernel;
using compiler::Digit;
using compiler::KernelBuffer;
using compiler::KernelSpec;
using compiler::ReduceAxis;
using compiler::Step;
using compiler::StepKind;

inline constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;
inline constexpr Tiling tile = Tiling::tile, row = Tiling::row, split = Tiling::split;

// [batch, rows, cols] of values, and how it is stored.
struct Matrix {
  u32 batch = 1, rows = 1, cols = 1;
  DType dtype = DType::fp32;
  Tiling tiling = Tiling::tile;
  std::vector<double> values;
  double& at(u32 b, u32 i, u32 j) { return values[(size_t(b) * rows + i) * cols + j]; }
  double at(u32 b, u32 i, u32 j) const { return values[(size_t(b) * rows + i) * cols + j]; }
  // Of a page: columns, rows (split: four).
  u32 page_rows() const { return tiling == Tiling::tile ? 32 : tiling == Tiling::split ? 4 : 1; }
  u32 tile_rows() const { return u32(ceil_div(rows, page_rows())); }
  u32 tile_cols() const { return u32(ceil_div(cols, 32)); }
  u64 pages() const { return u64{batch} * tile_rows() * tile_cols(); }
  u32 page_bytes() const { return baretile::page_bytes(tiling, dtype); }
};

inline float to_bf16(float x) {  // to nearest, ties to even
  u32 u = std::bit_cast<u32>(x);
  return std::bit_cast<float>((u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000);
}

inline Matrix random_matrix(u32 batch, u32 rows, u32 cols, DType dtype, Tiling tiling, u32 seed, float low = -2,
                            float high = 2) {
  Matrix m{batch, rows, cols, dtype, tiling, std::vector<double>(size_t(batch) * rows * cols)};
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  for (double& v : m.values) {
    const float x = uniform(generator);
    v = dtype == DType::bf16 ? to_bf16(x) : x;
  }
  return m;
}

// Byte offset of an element within its page; split: of its high part, the low part is 128 bytes on.
inline u32 offset_in_page(const Matrix& m, u32 r, u32 c) {
  if (m.tiling == Tiling::split) return 256 * (c / 16) + 32 * r + 2 * (c % 16);
  const u32 index = m.tiling == Tiling::row ? c : (r / 16 * 2 + c / 16) * 256 + r % 16 * 16 + c % 16;
  return index * dtype_bytes(m.dtype);
}

inline float round7(float x) { return std::bit_cast<float>((std::bit_cast<u32>(x) + 0x10000) & 0xFFFE0000); }

inline std::vector<u8> encode(const Matrix& m) {
  std::vector<u8> bytes(m.pages() * m.page_bytes(), 0);
  for (u32 b = 0; b < m.batch; ++b)
    for (u32 i = 0; i < m.rows; ++i)
      for (u32 j = 0; j < m.cols; ++j) {
        const u64 page = (u64{b} * m.tile_rows() + i / m.page_rows()) * m.tile_cols() + j / 32;
        u8* at = bytes.data() + page * m.page_bytes() + offset_in_page(m, i % m.page_rows(), j % 32);
        const float x = float(m.at(b, i, j));
        if (m.tiling == Tiling::split) {
          const float high = round7(x), low = round7(x - high);
          const u16 h = u16(std::bit_cast<u32>(high) >> 16), l = u16(std::bit_cast<u32>(low) >> 16);
          std::memcpy(at, &h, 2);
          std::memcpy(at + 128, &l, 2);
        } else if (m.dtype == DType::bf16) {
          const u16 h = u16(std::bit_cast<u32>(x) >> 16);
          std::memcpy(at, &h, 2);
        } else {
          std::memcpy(at, &x, 4);
        }
      }
  return bytes;
}

// Fills m.values; returns how many bytes outside the matrix are not zero.
inline u32 decode(Matrix& m, std::vector<u8> bytes) {
  m.values.assign(size_t(m.batch) * m.rows * m.cols, 0);
  for (u32 b = 0; b < m.batch; ++b)
    for (u32 i = 0; i < m.rows; ++i)
      for (u32 j = 0; j < m.cols; ++j) {
        const u64 page = (u64{b} * m.tile_rows() + i / m.page_rows()) * m.tile_cols() + j / 32;
        u8* at = bytes.data() + page * m.page_bytes() + offset_in_page(m, i % m.page_rows(), j % 32);
        const auto half = [](u8* p) {
          u16 h;
          std::memcpy(&h, p, 2);
          std::memset(p, 0, 2);
          return double(std::bit_cast<float>(u32(h) << 16));
        };
        double& v = m.at(b, i, j);
        if (m.tiling == Tiling::split) {
          v = half(at);
          v += half(at + 128);
        } else if (m.dtype == DType::bf16) {
          v = half(at);
        } else {
          float x;
          std::memcpy(&x, at, 4);
          std::memset(at, 0, 4);
          v = x;
        }
      }
  u32 stray = 0;
  for (const u8 byte : bytes) stray += byte != 0;
  return stray;
}

// A compute kernel under construction; buffers are matrices, page maps follow from their shapes.
struct Case {
  KernelSpec spec;
  std::vector<Matrix> buffers;
  u32 batch, rows, cols;

  Case(std::string name, u32 batch_, u32 rows_, u32 cols_, ReduceAxis reduce = ReduceAxis::none)
      : batch(batch_), rows(rows_), cols(cols_) {
    spec.name = std::move(name);
    ComputeKernel& k = spec.compute;
    k.batch = batch;
    k.rows = rows;
    k.cols = cols;
    k.one_row = rows == 1;
    k.row_tiles = u32(ceil_div(rows, 32));
    k.col_tiles = u32(ceil_div(cols, 32));
    k.reduce = reduce;
  }
  u32 add_buffer(const Matrix& m) {
    spec.buffers.push_back({m.dtype, m.tiling, {i64(m.batch), i64(m.rows), i64(m.cols)}});
    buffers.push_back(m);
    return u32(buffers.size()) - 1;
  }
  Access access(u32 buffer, u32 col_tiles) const {
    const Matrix& m = buffers[buffer];
    Access a{buffer, {}, Broadcast::none};
    if (m.batch > 1) a.map.batch = {{m.batch, i64(m.tile_rows()) * m.tile_cols()}};
    if (m.tile_rows() > 1) a.map.row = {{m.tile_rows(), i64(m.tile_cols())}};  // split: by row group
    if (col_tiles > 1 && m.cols > 1) a.map.col = {{col_tiles, 1}};
    return a;
  }
  u32 add(Step step) {
    spec.compute.steps.push_back(std::move(step));
    return u32(spec.compute.steps.size()) - 1;
  }
  u32 load(const Matrix& m) {
    Step s;
    s.kind = StepKind::load;
    s.access = access(add_buffer(m), spec.compute.col_tiles);
    const bool row = m.rows == 1 && rows > 1, col = m.cols == 1 && cols > 1;
    s.access.broadcast = row && col ? Broadcast::scalar : row ? Broadcast::row : col ? Broadcast::col : Broadcast::none;
    return add(s);
  }
  u32 constant(float value) {
    Step s;
    s.kind = StepKind::constant;
    s.value = value;
    return add(s);
  }
  u32 op(const std::string& name, std::vector<u32> inputs) {
    Step s;
    s.op = name;
    s.inputs = std::move(inputs);
    return add(s);
  }
  u32 reduce(const std::string& name, u32 input) {
    Step s;
    s.kind = StepKind::reduce;
    s.op = name == "max" ? "maximum" : "add";
    s.value = name == "max" ? -INFINITY : 0;
    s.inputs = {input};
    return add(s);
  }
  u32 contraction(u32 left, u32 right, u32 phases, bool transposed = false, bool left_transposed = false) {
    Step s;
    s.kind = StepKind::contraction;
    const u32 k_tiles = u32(ceil_div(left_transposed ? buffers[left].rows : buffers[left].cols, 32));
    s.contraction.left = access(left, left_transposed ? spec.compute.row_tiles : k_tiles);
    if (left_transposed) std::swap(s.contraction.left.map.row, s.contraction.left.map.col);
    s.contraction.left_transposed = left_transposed;
    s.contraction.right = access(right, transposed ? k_tiles : spec.compute.col_tiles);
    if (transposed) std::swap(s.contraction.right.map.row, s.contraction.right.map.col);
    s.contraction.k_tiles = k_tiles;
    s.contraction.phases = phases;
    s.contraction.right_transposed = transposed;
    return add(s);
  }
  // `reduced`: one row or column, of a step after the reductions.
  u32 output(u32 step, DType dtype, Tiling tiling, bool reduced = false) {
    Matrix m{batch, rows, cols, dtype, tiling, {}};
    if (reduced) (spec.compute.reduce == ReduceAxis::cols ? m.cols : m.rows) = 1;
    const u32 buffer = add_buffer(m);
    spec.compute.outputs.push_back({step, access(buffer, spec.compute.col_tiles)});
    return buffer;
  }

  // A step's values over the whole domain.
  std::vector<double> reference(u32 step) const {
    const Step& s = spec.compute.steps[step];
    std::vector<double> out(size_t(batch) * rows * cols);
    const auto each = [&](auto f) {
      for (u32 b = 0; b < batch; ++b)
        for (u32 i = 0; i < rows; ++i)
          for (u32 j = 0; j < cols; ++j) out[(size_t(b) * rows + i) * cols + j] = f(b, i, j);
    };
    const auto clip = [](u32 index, u32 size) { return size == 1 ? 0 : index; };
    std::vector<std::vector<double>> in;
    for (const u32 input : s.inputs) in.push_back(reference(input));
    switch (s.kind) {
      case StepKind::constant:
        each([&](u32, u32, u32) { return double(s.value); });
        break;
      case StepKind::load: {
        const Matrix& m = buffers[s.access.buffer];
        each([&](u32 b, u32 i, u32 j) { return m.at(clip(b, m.batch), clip(i, m.rows), clip(j, m.cols)); });
        break;
      }
      case StepKind::contraction: {
        const Matrix &l = buffers[s.contraction.left.buffer], &r = buffers[s.contraction.right.buffer];
        each([&](u32 b, u32 i, u32 j) {
          double sum = 0;
          const bool turned = s.contraction.left_transposed;
          for (u32 k = 0; k < (turned ? l.rows : l.cols); ++k)
            sum += l.at(clip(b, l.batch), turned ? k : i, turned ? i : k) *
                   (s.contraction.right_transposed ? r.at(clip(b, r.batch), j, k) : r.at(clip(b, r.batch), k, j));
          return sum;
        });
        break;
      }
      case StepKind::op:
        for (size_t n = 0; n < out.size(); ++n) out[n] = apply(s.op, in[0][n], in.size() > 1 ? in[1][n] : 0);
        break;
      case StepKind::reduce: {
        const bool over_cols = spec.compute.reduce == ReduceAxis::cols, max = s.op == "maximum";
        each([&](u32 b, u32 i, u32 j) {
          double sum = max ? -INFINITY : 0;
          for (u32 n = 0; n < (over_cols ? cols : rows); ++n) {
            const double v = in[0][(size_t(b) * rows + (over_cols ? i : n)) * cols + (over_cols ? n : j)];
            sum = max ? std::max(sum, v) : sum + v;
          }
          return sum;
        });
      }
    }
    return out;
  }
  static double apply(const std::string& op, double a, double b) {
    if (op == "add") return a + b;
    if (op == "sub") return a - b;
    if (op == "mul") return a * b;
    if (op == "neg") return -a;
    if (op == "abs") return std::fabs(a);
    if (op == "maximum") return std::max(a, b);
    if (op == "minimum") return std::min(a, b);
    if (op == "relu") return a > 0 ? a : 0;
    if (op == "exp") return std::exp(a);
    if (op == "log") return std::log(a);
    if (op == "reciprocal") return 1 / a;
    if (op == "sqrt") return std::sqrt(a);
    if (op == "rsqrt") return 1 / std::sqrt(a);
    throw std::runtime_error("no reference for " + op);
  }
};

}  // namespace baretile::kernel_test
