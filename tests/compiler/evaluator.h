// Runs a Schedule on the host in double, page by page through the stored formats, in one arena over eight banks as a
// device has it. It checks what a device would not: pages in range, padding zero after every launch, nothing read that
// was not written.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/reference.h"
#include "tensor/format.h"

namespace baretile::compiler::test {

using Values = std::vector<double>;

class Evaluator {
 public:
  Evaluator(const Schedule& schedule, const std::vector<Values>& externals) : s_(schedule), arena_(8) {
    for (auto& bank : arena_) bank.assign(schedule.arena_bytes, std::byte{0xFF});  // NaN
    for (u32 b = 0; b < schedule.buffers.size(); ++b) {
      const BufferDesc& desc = schedule.buffers[b];
      if (desc.external < 0) continue;
      external_[b].assign(desc.pages * page_bytes(desc.tiling, desc.dtype), std::byte{0xFF});
      if (size_t(desc.external) >= externals.size()) continue;
      write_all(b, externals[size_t(desc.external)]);
    }
  }

  void run() {
    for (const Schedule::Item& item : s_.launches) {
      item_ = &item;
      const KernelSpec& spec = s_.kernels[item.kernel];
      if (spec.kind == KernelKind::attention) {
        attention(spec.attention);
      } else if (spec.kind == KernelKind::move) {
        move(spec.move);
      } else {
        compute(spec.compute);
      }
    }
  }

  Values external(u32 slot) {
    for (u32 b = 0; b < s_.buffers.size(); ++b) {
      if (s_.buffers[b].external == i32(slot)) return read_all(b);
    }
    throw std::runtime_error("no buffer has that slot");
  }

 private:
  using Tile = std::vector<double>;  // rows x 32

  // --- pages ---
  u32 global(u32 local) const { return item_->buffers[local]; }

  std::byte* page(u32 buffer, i64 index) {
    const BufferDesc& desc = s_.buffers[buffer];
    if (index < 0 || u64(index) >= desc.pages) {
      throw std::out_of_range(
          fmt::format("{}: page {} of {} in {}", s_.kernels[item_->kernel].name, index, desc.pages, desc.name));
    }
    size_t bytes = page_bytes(desc.tiling, desc.dtype);
    if (desc.external >= 0) return &external_[buffer][size_t(index) * bytes];
    const size_t run = size_t(index) / 4;  // of four pages in one of eight banks
    const size_t at = desc.arena_offset + (run / 8 * 4 + size_t(index) % 4) * bytes;
    if (at + bytes > s_.arena_bytes) throw std::out_of_range("page outside of the arena");
    return &arena_[run % 8][at];
  }

  static PageFormat one_page(const BufferDesc& desc) { return {{page_rows(desc.tiling), 32}, desc.dtype, desc.tiling}; }

  Tile read(u32 buffer, i64 index) {
    const BufferDesc& desc = s_.buffers[buffer];
    std::vector<float> values(size_t(page_rows(desc.tiling) * 32));
    std::byte* bytes = page(buffer, index);
    if (desc.tiling == Tiling::split) {
      std::memcpy(values.data(), bytes, 512);  // here split pages hold plain fp32
    } else {
      one_page(desc).decode({bytes, page_bytes(desc.tiling, desc.dtype)}, 0, values);
    }
    return {values.begin(), values.end()};
  }

  void write(u32 buffer, i64 index, const Tile& tile) {
    const BufferDesc& desc = s_.buffers[buffer];
    std::vector<float> values(tile.begin(), tile.end());
    std::byte* bytes = page(buffer, index);
    if (desc.tiling == Tiling::split) {
      std::memcpy(bytes, values.data(), 512);
    } else {
      one_page(desc).encode(values, 0, {bytes, page_bytes(desc.tiling, desc.dtype)});
    }
  }

  template <typename T>
  std::vector<T> whole(u32 buffer) {
    const BufferDesc& desc = s_.buffers[buffer];
    PageFormat format(desc.shape, desc.dtype, desc.tiling);
    std::vector<T> values(size_t(element_count(desc.shape)));
    for (u64 p = 0; p < desc.pages; ++p) format.decode({page(buffer, i64(p)), format.page_bytes()}, p, values);
    return values;
  }
  Values read_all(u32 buffer) {
    if (s_.buffers[buffer].dtype == DType::int32) {
      auto values = whole<i32>(buffer);
      return {values.begin(), values.end()};
    }
    auto values = whole<float>(buffer);
    return {values.begin(), values.end()};
  }
  void write_all(u32 buffer, const Values& values) {
    const BufferDesc& desc = s_.buffers[buffer];
    PageFormat format(desc.shape, desc.dtype, desc.tiling);
    std::vector<float> floats(values.begin(), values.end());
    std::vector<i32> ints(values.begin(), values.end());
    for (u64 p = 0; p < desc.pages; ++p) {
      std::span<std::byte> bytes{page(buffer, i64(p)), format.page_bytes()};
      desc.dtype == DType::int32 ? format.encode(ints, p, bytes) : format.encode(floats, p, bytes);
    }
  }

  static i64 digits(const std::vector<Digit>& digits, i64 index) {
    i64 page = 0;
    for (Digit digit : digits) {
      page += index % digit.size * digit.stride;
      index /= digit.size;
    }
    if (!digits.empty() && index != 0) throw std::out_of_range("index beyond its digits");
    return page;
  }
  static i64 page_of(const Access& access, i64 b, i64 i, i64 j) {
    return access.map.offset + digits(access.map.batch, b) + digits(access.map.row, i) + digits(access.map.col, j);
  }

  // --- attention ---
  // A matrix of `cols` tiles' width, from its pages.
  std::vector<Tile> rows_of(const Access& access, i64 b, i64 rows, i64 cols) {
    const i64 page_rows = compiler::page_rows(s_.buffers[global(access.buffer)].tiling);
    std::vector<Tile> out(size_t(rows), Tile(size_t(cols * 32)));
    for (i64 r = 0; r < rows; ++r)
      for (i64 j = 0; j < cols; ++j) {
        const bool repeated = access.broadcast == Broadcast::row;
        const Tile page = read(global(access.buffer), page_of(access, b, repeated ? 0 : r / page_rows, j));
        std::copy_n(page.begin() + (repeated ? 0 : r % page_rows * 32), 32, out[size_t(r)].begin() + j * 32);
      }
    return out;
  }
  void attention(const AttentionKernel& a) {
    const auto masks = a.masked && s_.buffers[global(a.mask.buffer)].dtype == DType::boolean;
    const i64 page_rows = compiler::page_rows(s_.buffers[global(a.out.buffer)].tiling);
    for (i64 b = 0; b < a.batch; ++b) {
      const auto q = rows_of(a.query, b, a.queries, a.depth_tiles), k = rows_of(a.key, b, a.keys, a.depth_tiles),
                 v = rows_of(a.value, b, a.keys, a.width_tiles);
      const auto mask = a.masked ? rows_of(a.mask, b, a.queries, ceil_div(a.keys, 32)) : std::vector<Tile>();
      std::vector<Tile> out;
      for (size_t i = 0; i < a.queries; ++i) {
        Tile mixed(a.width_tiles * 32);
        double total = 0;
        for (size_t j = 0; j < a.keys; ++j) {
          if ((a.causal && i64(j) > i64(i) + a.keys - a.queries) || (masks && mask[i][j] == 0)) continue;
          double score = 0;
          for (size_t d = 0; d < q[i].size(); ++d) score += a.scale * q[i][d] * k[j][d];
          const double weight = std::exp(score + (a.masked && !masks ? mask[i][j] : 0));
          total += weight;
          for (size_t d = 0; d < mixed.size(); ++d) mixed[d] += weight * v[j][d];
        }
        for (double& x : mixed) x = total == 0 ? 0 : x / total;
        out.push_back(mixed);
      }
      for (i64 i = 0; i < i64(ceil_div(a.queries, u32(page_rows))); ++i)
        for (i64 j = 0; j < a.width_tiles; ++j) {
          Tile page(size_t(page_rows * 32));
          for (i64 r = 0; r < page_rows && i * page_rows + r < a.queries; ++r)
            std::copy_n(out[size_t(i * page_rows + r)].begin() + j * 32, 32, page.begin() + r * 32);
          write(global(a.out.buffer), page_of(a.out, b, i, j), page);
        }
    }
  }

  // --- compute ---
  struct Place {
    i64 b, i, j;
  };

  void compute(const ComputeKernel& k) {
    k_ = &k;
    reduced_.clear();
    rows_ = k.one_row ? 1 : 32;
    std::vector<std::pair<i64, i64>> written;
    for (i64 b = 0; b < k.batch; ++b)
      for (i64 i = 0; i < k.row_tiles; ++i)
        for (i64 j = 0; j < k.col_tiles; ++j) {
          known_.assign(k.steps.size(), {});
          for (const Output& output : k.outputs) store(output, {b, i, j});
        }
  }

  void store(const Output& output, Place p) {
    u32 buffer = global(output.access.buffer);
    const BufferDesc& desc = s_.buffers[buffer];
    Extents e = extents(desc.shape);
    if ((e.cols == 1 && k_->reduce == ReduceAxis::cols && p.j > 0) ||
        (e.rows == 1 && k_->reduce == ReduceAxis::rows && p.i > 0))
      return;
    Tile value = step(output.step, p);
    for (i64 r = 0; r < rows_; ++r)
      for (i64 c = 0; c < 32; ++c)
        if (p.i * rows_ + r >= e.rows || p.j * 32 + c >= e.cols) value[size_t(r * 32 + c)] = 0;
    const i64 rows = page_rows(desc.tiling);
    for (i64 g = 0; g < std::max<i64>(1, rows_ / rows); ++g) {  // pages of a tile
      if (p.i * rows_ + g * rows >= e.rows) break;
      Tile part(size_t(rows * 32));
      for (i64 at = 0; at < std::min<i64>(rows, rows_) * 32; ++at) part[size_t(at)] = value[size_t(g * rows * 32 + at)];
      i64 row = rows_ > rows && desc.tiling == Tiling::split ? p.i * rows_ / rows + g : p.i;
      write(buffer, page_of(output.access, p.b, row, p.j), part);
      if (desc.tiling == Tiling::row) break;
    }
  }

  const Tile& step(u32 id, Place p) {
    if (known_[id].empty()) known_[id] = fresh(k_->steps[id], id, p);
    return known_[id];
  }

  Tile fresh(const Step& s, u32 id, Place p) {
    Tile out(size_t(rows_ * 32));
    switch (s.kind) {
      case StepKind::constant:
        std::fill(out.begin(), out.end(), s.value);
        return out;
      case StepKind::load:
        return load(s.access, p);
      case StepKind::contraction:
        return contract(s.contraction, p);
      case StepKind::reduce:
        return reduce(id, p);
      case StepKind::op: {
        Tile x = step(s.inputs[0], p), y = s.inputs.size() > 1 ? step(s.inputs[1], p) : x;
        if (s.op.find("_from_") != std::string::npos) {
          for (size_t n = 0; n < out.size(); ++n) out[n] = s.op.starts_with("float") ? x[n] : std::trunc(x[n]);
          return out;
        }
        Tile z = s.inputs.size() > 2 ? step(s.inputs[2], p) : x;
        Op op = named(s.op);
        for (size_t n = 0; n < out.size(); ++n) {
          out[n] = info(op).family == Family::unary    ? reference::unary(op, x[n])
                   : info(op).family == Family::binary ? reference::binary(op, x[n], y[n])
                                                       : reference::ternary(op, x[n], y[n], z[n]);
        }
        return out;
      }
    }
    return out;
  }

  static Op named(const std::string& header) {
    const std::string name = header.substr(0, std::min(header.rfind("_int"), header.rfind("_uint")));
    for (size_t i = 0; i < kOps.size(); ++i) {
      if (kOps[i].name == name) return Op(i);
    }
    throw std::runtime_error("no op " + name);
  }

  Tile load(const Access& access, Place p) {
    u32 buffer = global(access.buffer);
    Tile page = read(buffer, page_of(access, p.b, p.i, p.j)), out(size_t(rows_ * 32));
    const bool row_page = page.size() == 32;
    if (access.broadcast == Broadcast::none && page.size() != out.size())
      throw std::runtime_error("page and slot differ in size");
    for (i64 r = 0; r < rows_; ++r)
      for (i64 c = 0; c < 32; ++c) {
        double& to = out[size_t(r * 32 + c)];
        switch (access.broadcast) {
          case Broadcast::none:
            to = page[size_t(r * 32 + c)];
            break;
          case Broadcast::row:
            if (!row_page) throw std::runtime_error("a repeated row comes in a row page");
            to = page[size_t(c)];
            break;
          case Broadcast::col:  // as the device does it: all of the row together, so its padding must be zero
            for (i64 n = 0; n < 32; ++n) to += page[size_t(r * 32 + n)];
            break;
          case Broadcast::scalar:
            to = page[0];
            break;
        }
      }
    return out;
  }

  Tile contract(const Contraction& c, Place p) {
    u32 left = global(c.left.buffer), right = global(c.right.buffer);
    const Tiling tiling = s_.buffers[left].tiling;
    Tile out(size_t(rows_ * 32));
    for (i64 k = 0; k < c.k_tiles; ++k) {
      Tile x(size_t(rows_ * 32));
      const i64 page_height = page_rows(tiling), groups = tiling == Tiling::split ? std::max<i64>(1, rows_ / 4) : 1;
      for (i64 g = 0; g < groups && (p.i * groups + g) * page_height < k_->rows; ++g) {
        Tile part = read(left, page_of(c.left, p.b, p.i * groups + g, k));
        std::copy(part.begin(), part.begin() + std::min<i64>(i64(part.size()), rows_ * 32),
                  x.begin() + g * page_height * 32);
      }
      Tile y = read(right, page_of(c.right, p.b, k, p.j));
      if (y.size() != 1024) throw std::runtime_error("a right operand comes in tiles");
      for (i64 r = 0; r < rows_; ++r)
        for (i64 n = 0; n < 32; ++n)
          for (i64 m = 0; m < 32; ++m) {
            out[size_t(r * 32 + n)] += x[size_t(c.left_transposed ? m * 32 + r : r * 32 + m)] *
                                       y[size_t(c.right_transposed ? n * 32 + m : m * 32 + n)];
          }
    }
    return out;
  }

  Tile reduce(u32 id, Place p) {
    const bool cols = k_->reduce == ReduceAxis::cols;
    auto key = std::make_tuple(id, p.b, cols ? p.i : p.j);
    if (auto found = reduced_.find(key); found != reduced_.end()) return found->second;
    const Step& s = k_->steps[id];
    Op op = named(s.op);
    Tile line(size_t(cols ? rows_ : 32), s.value);
    auto outer = std::move(known_);
    for (i64 t = 0; t < (cols ? k_->col_tiles : k_->row_tiles); ++t) {
      known_.assign(k_->steps.size(), {});
      Place at = cols ? Place{p.b, p.i, t} : Place{p.b, t, p.j};
      Tile tile = step(s.inputs[0], at);
      for (i64 r = 0; r < rows_; ++r)
        for (i64 c = 0; c < 32; ++c) {
          if (cols ? at.j * 32 + c >= k_->cols : at.i * 32 + r >= k_->rows) continue;
          double& to = line[size_t(cols ? r : c)];
          to = reference::binary(op, to, tile[size_t(r * 32 + c)]);
        }
    }
    known_ = std::move(outer);
    Tile out(size_t(rows_ * 32));
    for (i64 r = 0; r < rows_; ++r)
      for (i64 c = 0; c < 32; ++c) out[size_t(r * 32 + c)] = line[size_t(cols ? r : c)];
    return reduced_[key] = out;
  }

  // --- moves ---
  void move(const MoveKernel& m) {
    u32 src = global(m.src), dst = global(m.dst);
    Extents e = extents(s_.buffers[dst].shape);
    Values from = m.kind == MoveKernel::Kind::iota ? Values() : read_all(src),
           to(size_t(element_count(s_.buffers[dst].shape)));
    if (m.kind == MoveKernel::Kind::gather_rows) {
      Values index = read_all(global(m.index));
      for (size_t i = 0; i < to.size(); ++i)
        to[i] = from.at(size_t(index[i / size_t(e.cols)]) * size_t(e.cols) + i % size_t(e.cols));
    } else if (m.kind == MoveKernel::Kind::iota) {
      for (size_t i = 0; i < to.size(); ++i) to[i] = double(i);
    } else if (m.kind == MoveKernel::Kind::scatter_rows) {
      Values index = read_all(global(m.index));
      to = read_all(dst);
      for (i64 b = 0; b < m.sizes[0]; ++b)
        for (i64 r = 0; r < m.sizes[1]; ++r)
          for (i64 c = 0; c < m.sizes[2]; ++c) {
            i64 at = m.src_offset + b * m.src_strides[0] + r * m.src_strides[1] + c * m.src_strides[2];
            to.at(size_t((b * e.rows + i64(index[size_t(r)])) * e.cols + c)) = from.at(size_t(at));
          }
    } else {
      if (!m.clear) to = read_all(dst);
      i64 count = 1;
      for (u32 size : m.sizes) count *= size;
      for (i64 n = 0; n < count; ++n) {
        i64 rest = n, at = m.src_offset, out = m.dst_offset;
        for (size_t d = m.sizes.size(); d-- > 0; rest /= m.sizes[d]) {
          at += rest % m.sizes[d] * m.src_strides[d];
          out += rest % m.sizes[d] * m.dst_strides[d];
        }
        to.at(size_t(out)) = from.at(size_t(at));
      }
    }
    write_all(dst, to);
  }

  const Schedule& s_;
  std::vector<std::vector<std::byte>> arena_;
  std::map<u32, std::vector<std::byte>> external_;
  const Schedule::Item* item_ = nullptr;
  const ComputeKernel* k_ = nullptr;
  i64 rows_ = 32;
  std::vector<Tile> known_;
  std::map<std::tuple<u32, i64, i64>, Tile> reduced_;
};

}  // namespace baretile::compiler::test
