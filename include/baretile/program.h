// A Program is a whole graph made ready to run: kernels, launches in order, and the buffers they use. It is the only thing that the
// compiler hands to the runtime, and a plain value.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "baretile/abi.h"

namespace baretile {

// In the order of promotion: two operands meet in the later one. boolean is stored as bf16 0 and 1. bfp4 and bfp8 are block formats: 16
// consecutive values of a row share the exponent of the largest, and keep a sign and 3 or 7 bits each. They exist in Tiling::tile only.
enum class DType : u8 { boolean, uint32, int32, bfp4, bfp8, bf16, fp32 };
constexpr bool is_integer(DType t) { return t == DType::uint32 || t == DType::int32; }
constexpr bool is_float(DType t) { return t >= DType::bfp4; }
constexpr bool is_block(DType t) { return t == DType::bfp4 || t == DType::bfp8; }
constexpr DType without_blocks(DType t) { return is_block(t) ? DType::bf16 : t; }  // what holds every value of t, one by one
// Of an element; 0: it has no place of its own.
constexpr u32 dtype_bytes(DType t) { return is_block(t) ? 0 : t == DType::boolean || t == DType::bf16 ? 2 : 4; }

// How a matrix [rows, cols] is cut into pages. Leading dimensions repeat the matrix. Padding is zero in every stored page.
enum class Tiling : u8 {
  tile,   // 32 x 32 in four 16 x 16 faces, row-major inside a face; block formats: 64 exponents, then the signs and magnitudes
  row,    // 1 x 32, for matrices of one row: the page is 32 consecutive values
  split,  // left operands of a matmul, fp32 as two bf16: 4 rows x 32 columns as [column half][high 4x16, low 4x16] bf16, 512 bytes
};

// Bytes of one page, as stored in DRAM.
constexpr u32 page_bytes(Tiling tiling, DType dtype) {
  if (is_block(dtype)) return 64 + (dtype == DType::bfp4 ? 512 : 1024);
  return tiling == Tiling::split ? 512 : dtype_bytes(dtype) * (tiling == Tiling::tile ? 1024 : 32);
}

// A buffer's pages go round the DRAM banks in runs of n pages: page p belongs to run r = p / n, which lies in bank r % banks, behind the
// buffer's earlier runs there. A program works whatever n is: it comes with each buffer's address.
struct BufferDesc {
  std::string name;
  std::vector<i64> shape;
  DType dtype = DType::fp32;
  Tiling tiling = Tiling::tile;
  u64 pages = 0;
  i32 external = -1;     // index into the addresses given to Runtime::run, or -1: a temporary of the program's arena
  u64 arena_offset = 0;  // of a temporary: bytes from the arena's base within each bank
};

// The five functions of a tile program as one position-independent image.
struct KernelImage {
  std::string name;
  std::vector<u8> code;
  std::array<u32, 5> entry{abi::kNoEntry, abi::kNoEntry, abi::kNoEntry, abi::kNoEntry, abi::kNoEntry};  // offsets into code, by isa::Core
  std::string key;          // content hash of source, flags and compiler
  std::string source = {};  // path of its text in the kernel cache, or empty
  bool debug = false;       // with bt_print and bt_assert, see kernels/debug/print.h
};

struct LaunchArg {
  enum class Kind : u8 { constant, buffer } kind = Kind::constant;
  u32 value = 0;  // the constant, or an index into Program::buffers whose address is passed
};

struct Launch {
  u32 kernel = 0;        // index into Program::kernels
  u32 max_workers = 0;   // at most this many tiles have work; the runtime takes min(this, the chip's workers)
  std::vector<LaunchArg> args = {};
  std::string label = {};  // for traces and error messages
  std::vector<std::pair<u32, u32>> in_place = {};  // arguments {from, to}: pages of `from` are read once, before the same ones of `to` are written
  i32 beside = -1;       // argument whose run n is what item n mostly reads: tiles then keep to the bank that they are beside
  u32 block_rows = 0, block_columns = 0;  // of blocks that a team of tiles shares out, which the runtime chooses; 0: no team
};

struct Program {
  std::vector<KernelImage> kernels;
  std::vector<BufferDesc> buffers = {};
  std::vector<Launch> launches = {};
  u64 arena_bytes = 0;   // per bank
};

}  // namespace baretile
