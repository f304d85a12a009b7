// One kernel as a value: what fuse/ and schedule make, what emit/ turns into the source of a tile program.
// A compute kernel runs over a domain of output tiles (batch, row, col); each output tile is an expression (Step DAG) evaluated on the SFPU
// over Dst, whose leaves are loads, constants and matmul contractions, with reductions along one axis in between.
#pragma once
#include <bit>
#include <string>
#include <vector>

#include "baretile/program.h"

namespace baretile::compiler {

// One digit of a mixed-radix index: idx % size steps by `stride` pages; the next digit sees idx / size.
struct Digit {
  u32 size = 1;
  i64 stride = 0;
  bool operator==(const Digit&) const = default;
};

// Page of a buffer for domain index (b, i, j): offset + Σ digits. A missing index (broadcast) has no digits.
struct PageMap {
  i64 offset = 0;
  std::vector<Digit> batch, row, col;  // innermost digit first
  bool operator==(const PageMap&) const = default;
};

enum class Broadcast : u8 { none, row, col, scalar };  // the stored page holds one row, one column, or one value that fills the tile

struct Access {
  u32 buffer = 0;  // the kernel's own numbering, see KernelSpec::buffers
  PageMap map;
  Broadcast broadcast = Broadcast::none;
  bool operator==(const Access&) const = default;
};

// Out[i, j] = Σ_k left[i, k] · right[k, j], accumulated in 32-bit Dst.
struct Contraction {
  Access left;                   // map.row by i, map.col by k; tiling tile, row or split (then map.row by group of 4 rows, 8 i + g)
  Access right;                  // map.row by k, map.col by j
  bool left_transposed = false;   // stored [K, M]: pages are found through the map, values are transposed inside the page on the way
  bool right_transposed = false;  // stored [N, K], likewise
  u32 k_tiles = 1;
  u32 phases = 4;                // fidelity phases; of bfp4 on the right only the even ones
  bool operator==(const Contraction&) const = default;
};

enum class StepKind : u8 { load, constant, contraction, op, reduce };

struct Step {
  StepKind kind = StepKind::op;
  std::string op = {};        // op: name of kernels/sfpu/<op>.h; reduce: that of its fold, whose identity is `value`
  std::vector<u32> inputs = {};  // earlier steps
  Access access = {};         // load
  Contraction contraction = {};
  double value = 0;           // constant, reduce
  bool integer = false;       // `value` is a 32-bit word rather than fp32
  bool operator==(const Step& s) const {  // by bits: 0 and -0 are two constants, one NaN is one
    return std::bit_cast<u64>(value) == std::bit_cast<u64>(s.value) && kind == s.kind && op == s.op && inputs == s.inputs &&
           access == s.access && contraction == s.contraction && integer == s.integer;
  }
};

struct Output {
  u32 step = 0;
  Access access;              // buffer's dtype and tiling say how it is packed
  bool operator==(const Output&) const = default;
};

enum class ReduceAxis : u8 { none, cols, rows };  // cols: over j, one result a row; rows: over i, one result a column

struct ComputeKernel {
  u32 batch = 1, row_tiles = 1, col_tiles = 1;  // the domain
  u32 rows = 32, cols = 32;                     // elements of the matrix, for masks at the edges
  bool one_row = false;                         // rows == 1: all pages are Tiling::row (or split), a Dst slot is 8 rows
  ReduceAxis reduce = ReduceAxis::none;         // of every reduce step in the kernel
  std::vector<Step> steps;
  std::vector<Output> outputs;                  // an output of a reduce step (or of steps that depend on reduces and constants only) has one page along the axis
  bool operator==(const ComputeKernel&) const = default;
};

// Moves that no unit of the coprocessor does: by rows or by elements, on the data-movement cores.
struct MoveKernel {
  enum class Kind : u8 {
    gather_rows,   // dst[r, :] = src[index[r], :]
    scatter_rows,  // dst[b, index[r], :] = src[b, r, :], in place, for each b; sizes is {batch, rows, cols} of what is written,
                   // and src[b, r, c] lies at src_offset + b * src_strides[0] + r * src_strides[1] + c * src_strides[2]
    iota,          // dst[d] = d in row-major order; src is dst
    copy,          // dst[d] = src[offset + Σ index_i(d) * stride_i] over elements: any reshape, transpose, slice, concat piece
  } kind = Kind::copy;
  u32 src = 0, dst = 0, index = 0;              // kernel-local buffers; index: int32, Tiling::row pages [1, n]
  std::vector<u32> sizes;                       // copy: extents of the moved box, outermost first
  std::vector<i64> src_strides, dst_strides;    // copy: in elements of the row-major logical tensors
  i64 src_offset = 0, dst_offset = 0;
  bool clear = false;                           // copy: all of dst outside of the box becomes zero, padding too; else it keeps its values
  bool operator==(const MoveKernel&) const = default;
};

// out[b, i] = softmax over j of (scale * query[b, i] · key[b, j] + mask[b, i, j]) value[b, j], see kernels/whole/attention.h. Pages of queries and of the
// result are found by row, those of keys and values too; the mask has queries down and keys across.
struct AttentionKernel {
  Access query, key, value, out, mask;
  u32 batch = 1, queries = 1, keys = 1;         // elements
  u32 depth_tiles = 1, width_tiles = 1;         // columns of queries and keys; of values
  u32 phases = 4;
  double scale = 1;
  bool causal = false;                          // the last query sees the last key, each other one key less than the next
  bool masked = false;                          // by a boolean mask, which says what is seen, or another, which is added
  bool operator==(const AttentionKernel&) const = default;
};

// A kernel that the user wrote, see compiler/custom/custom.h. All buffers are in tiles: the operands, then the result.
struct CustomWork {
  u32 number = 0;         // of the operation
  std::vector<u32> args;  // launch arguments behind the buffers: the number of items, then the user's own
  ComputeKernel after;    // what happens to the result, its only load and output, or no steps
  bool operator==(const CustomWork&) const = default;
};

// What a kernel must know of each buffer it touches; the addresses are launch arguments, so that equal kernels are one image.
struct KernelBuffer {
  DType dtype = DType::fp32;
  Tiling tiling = Tiling::tile;
  std::vector<i64> shape;
  std::string name = {};  // of a value it stands for, as `baretile show` prints it, for messages: no part of what the kernel is
  bool operator==(const KernelBuffer& b) const { return dtype == b.dtype && tiling == b.tiling && shape == b.shape; }
};

enum class KernelKind : u8 { compute, move, attention, custom };

struct KernelSpec {
  std::string name;     // C identifier, for people
  std::vector<KernelBuffer> buffers;  // launch argument n is the bank address of buffer n
  KernelKind kind = KernelKind::compute;
  ComputeKernel compute;
  MoveKernel move;
  AttentionKernel attention;
  CustomWork custom;
  bool operator==(const KernelSpec&) const = default;
};

struct Schedule {
  std::vector<BufferDesc> buffers;
  std::vector<KernelSpec> kernels;              // distinct ones
  struct Item {
    u32 kernel = 0;
    std::vector<u32> buffers;                   // what the kernel's local buffer numbers 0, 1, … stand for in this launch
    std::string label;
  };
  std::vector<Item> launches;
  u64 arena_bytes = 0;
};

}  // namespace baretile::compiler
