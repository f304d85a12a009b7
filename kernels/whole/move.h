// Moves by rows and elements on the two data-movement cores, which share a tile's items: BRISC on NoC 1, NCRISC on NoC
// 0. A core makes one destination page (or row segment) at a time in L1.
#pragma once
#include "noc.h"

namespace baretile::kernel {

// How a tensor [.., rows, cols] of `element` bytes is stored.
template <u32 element, bool tiled, u32 rows, u32 cols>
struct Stored {
  static constexpr u32 kElement = element, kRows = rows, kCols = cols, kPageRows = tiled ? 32 : 1,
                       kPageBytes = element * 32 * kPageRows;
  static constexpr u32 kTileCols = (cols + 31) / 32, kTileRows = (rows + kPageRows - 1) / kPageRows;
  struct Where {
    u32 page, offset;
  };
  static constexpr u32 offset(u32 row, u32 col) {  // in bytes, of an element in its page
    return element * (tiled ? (row / 16 * 2 + col / 16) * 256 + row % 16 * 16 + col % 16 : col);
  }
  static constexpr Where locate(u32 matrix, u32 row, u32 col) {
    return {(matrix * kTileRows + row / kPageRows) * kTileCols + col / 32, offset(row % kPageRows, col % 32)};
  }
};

template <Core core>
struct Mover {
  static constexpr u32 kNoc = core == Core::brisc ? 1 : 0, kScratch = abi::kData + (core == Core::brisc ? 0 : 0x80000);
  static constexpr u32 kLane = core == Core::brisc ? 0 : 1;
  using ReadPort = Niu<kNoc, 0>;
  using WritePort = Niu<kNoc, 1>;

  Banks banks;
  Mover() {
    ReadPort::prepare(kNocRead);
    WritePort::prepare(kNocWrite);
  }
  // Items of this core: the tile's share, every other one.
  static Items::Iterator begin(u32 count) {
    return {mailbox().info.logical_index * 2 + kLane, mailbox().launch.workers * 2, count};
  }

  // Bytes of a page into L1; source and `l1` agree modulo 64.
  void read(u32 buffer, u32 page, u32 page_bytes, u32 offset, u32 l1, u32 bytes) {
    const Banks::Where where = banks.find(buffer, page, page_bytes);
    const u32 before = ReadPort::counter(kNiuReadAcks);
    ReadPort::wait_idle();
    ReadPort::at(kNiuTargLo) = where.address + offset;
    ReadPort::at(kNiuTargCoord) = where.coord;
    ReadPort::at(kNiuRetLo) = l1;
    ReadPort::at(kNiuLen) = bytes;
    ReadPort::at(kNiuCmd) = 1;
    wait_until<core, abi::waypoint("MOVR")>([&] { return ReadPort::counter(kNiuReadAcks) != before; });
    fence();
  }
  void write(u32 buffer, u32 page, u32 page_bytes, u32 offset, u32 l1, u32 bytes) {
    const Banks::Where where = banks.find(buffer, page, page_bytes);
    const u32 before = WritePort::counter(kNiuWriteAcks);
    fence();  // what this core stored is in L1
    WritePort::wait_idle();
    WritePort::at(kNiuTargLo) = l1;
    WritePort::at(kNiuRetLo) = where.address + offset;
    WritePort::at(kNiuRetCoord) = where.coord;
    WritePort::at(kNiuLen) = bytes;
    WritePort::at(kNiuCmd) = 1;
    wait_until<core, abi::waypoint("MOVW")>([&] { return WritePort::counter(kNiuWriteAcks) != before; });
  }
};

inline void clear_words(u32 l1, u32 bytes) {
  for (u32 i = 0; i < bytes; i += 4) reg(l1 + i) = 0;
}
template <u32 element>
inline void copy_element(u32 to, u32 from) {
  if constexpr (element == 2) {
    *reinterpret_cast<volatile u16*>(to) = *reinterpret_cast<volatile u16*>(from);
  } else {
    reg(to) = reg(from);
  }
}

// Source pages by number, a few at a time, from `base` on in L1.
template <Core core, class Src>
class PageCache {
 public:
  PageCache(Mover<core>& mover, u32 buffer, u32 base) : mover_(mover), buffer_(buffer), base_(base) {
    for (u32& page : pages_) page = ~0u;
  }
  u32 address(u32 page) {
    const u32 n = page % kPages, l1 = base_ + n * Src::kPageBytes;
    if (pages_[n] != page) {
      mover_.read(buffer_, page, Src::kPageBytes, 0, l1, Src::kPageBytes);
      pages_[n] = page;
    }
    return l1;
  }
  // The L1 address of an element of the tensor in row-major order, and how many from there on follow it directly.
  struct Run {
    u32 address, length;
  };
  Run find(u32 linear) {
    const u32 col = linear % Src::kCols, row = linear / Src::kCols;
    const auto where = Src::locate(row / Src::kRows, row % Src::kRows, col);
    return {address(where.page) + where.offset, least(16 - col % 16, Src::kCols - col)};
  }

 private:
  static constexpr u32 kPages = 8;
  Mover<core>& mover_;
  const u32 buffer_, base_;
  u32 pages_[kPages];
};

// Copies `count` elements to consecutive addresses; the source goes on by `stride` elements of the row-major tensor.
template <Core core, class Src, u32 stride>
inline void copy_run(PageCache<core, Src>& source, u32 to, u32 from, u32 count) {
  constexpr u32 element = Src::kElement;
  while (count > 0) {
    const auto run = source.find(from);
    const u32 n = stride == 1 ? least(run.length, count) : 1;
    for (u32 i = 0; i < n; ++i) copy_element<element>(to + i * element, run.address + i * element);
    to += n * element;
    from += n * stride;
    count -= n;
  }
}

// A box moved between two tensors: element i of the box from kFromOffset + Σ i kFrom to kToOffset + Σ i kTo, counted in
// row-major order. Axes go from the largest kTo to the last one, which is 1. kClear: what lies outside becomes zero;
// otherwise it stays.
template <Core core, class Src, class Dst, class Box>
inline void copy_box(u32 src, u32 dst, u32 pages) {
  constexpr u32 last = Box::kAxes - 1, element = Dst::kElement;
  Mover<core> mover;
  const u32 image = Mover<core>::kScratch;
  PageCache<core, Src> source(mover, src, image + 4096);
  for (auto item = Mover<core>::begin(pages); item != Items::End{}; ++item) {
    const u32 page = *item, col0 = page % Dst::kTileCols * 32, rest = page / Dst::kTileCols;
    const u32 row0 = rest % Dst::kTileRows * Dst::kPageRows, matrix = rest / Dst::kTileRows;
    bool changed = Box::kClear, ready = Box::kClear;
    if (Box::kClear) clear_words(image, Dst::kPageBytes);
    for (u32 row = row0; row < least(row0 + Dst::kPageRows, Dst::kRows); ++row) {
      for (u32 col = col0; col < least(col0 + 32, Dst::kCols);) {
        u32 left = (matrix * Dst::kRows + row) * Dst::kCols + col - Box::kToOffset, from = Box::kFromOffset,
            position = 0;
        bool inside = true;
        for (u32 axis = 0; axis <= last; ++axis) {
          position = left / Box::kTo[axis];
          left -= position * Box::kTo[axis];
          inside = inside && position < Box::kSize[axis];
          from += position * Box::kFrom[axis];
        }
        const u32 segment = 16 - col % 16;  // elements that lie side by side in the page
        u32 n = least(segment, Dst::kCols - col);
        if (!inside) {
          ++col;
          continue;
        }
        n = least(n, Box::kSize[last] - position);
        if (!ready) mover.read(dst, page, Dst::kPageBytes, 0, image, Dst::kPageBytes);
        changed = ready = true;
        copy_run<core, Src, Box::kFrom[last]>(source, image + Dst::offset(row - row0, col - col0), from, n);
        col += n;
      }
    }
    if (changed) mover.write(dst, page, Dst::kPageBytes, 0, image, Dst::kPageBytes);
  }
}

// Every element becomes its number in row-major order.
template <Core core, class Dst>
inline void iota(u32 dst, u32 pages) {
  Mover<core> mover;
  const u32 image = Mover<core>::kScratch;
  for (auto item = Mover<core>::begin(pages); item != Items::End{}; ++item) {
    const u32 page = *item, col0 = page % Dst::kTileCols * 32, rest = page / Dst::kTileCols;
    const u32 row0 = rest % Dst::kTileRows * Dst::kPageRows, first = rest / Dst::kTileRows * Dst::kRows * Dst::kCols;
    clear_words(image, Dst::kPageBytes);
    for (u32 row = row0; row < least(row0 + Dst::kPageRows, Dst::kRows); ++row) {
      for (u32 col = col0; col < least(col0 + 32, Dst::kCols); ++col)
        reg(image + Dst::offset(row - row0, col - col0)) = first + row * Dst::kCols + col;
    }
    mover.write(dst, page, Dst::kPageBytes, 0, image, Dst::kPageBytes);
  }
}

// One index of an int32 row tensor; its page is read when it is another than last time.
template <Core core>
class Indices {
 public:
  Indices(Mover<core>& mover, u32 buffer, u32 l1) : mover_(mover), buffer_(buffer), l1_(l1) {}
  u32 operator[](u32 n) {
    if (n / 32 != page_) {
      page_ = n / 32;
      mover_.read(buffer_, page_, 128, 0, l1_, 128);
    }
    return reg(l1_ + n % 32 * 4);
  }

 private:
  Mover<core>& mover_;
  const u32 buffer_, l1_;
  u32 page_ = ~0u;
};

// dst[r, :] = src[index[r], :]. An index beyond the table takes its last row.
template <Core core, class Src, class Dst>
inline void gather_rows(u32 src, u32 index, u32 dst) {
  constexpr u32 half = 16 * Dst::kElement;  // bytes of 16 columns, which lie side by side in either tensor
  Mover<core> mover;
  const u32 image = Mover<core>::kScratch, block = image + 4096;
  Indices<core> indices(mover, index, image + 8192);
  for (auto item = Mover<core>::begin(Dst::kTileRows * Dst::kTileCols); item != Items::End{}; ++item) {
    const u32 page = *item, tile_col = page % Dst::kTileCols, row0 = page / Dst::kTileCols * Dst::kPageRows;
    clear_words(image, Dst::kPageBytes);
    for (u32 row = row0; row < least(row0 + Dst::kPageRows, Dst::kRows); ++row) {
      const u32 from = least(indices[row], Src::kRows - 1);
      for (u32 h = 0; h < 2; ++h) {
        const auto where = Src::locate(0, from, tile_col * 32 + h * 16);
        const u32 at = where.offset % kNocDramAlign, to = image + Dst::offset(row - row0, h * 16);
        mover.read(src, where.page, Src::kPageBytes, where.offset - at, block, kNocDramAlign);
        for (u32 i = 0; i < half; i += 4) reg(to + i) = reg(block + at + i);
      }
    }
    mover.write(dst, page, Dst::kPageBytes, 0, image, Dst::kPageBytes);
  }
}

// dst[b, index[r], :] = the box's (b, r, :), in place. A row beyond the matrix is dropped.
template <Core core, class Src, class Dst, class Box>
inline void scatter_rows(u32 src, u32 index, u32 dst) {
  constexpr u32 rows = Box::kSize[1], cols = Box::kSize[2], half = 16 * Dst::kElement;
  Mover<core> mover;
  const u32 segment = Mover<core>::kScratch;
  Indices<core> indices(mover, index, segment + 256);
  PageCache<core, Src> source(mover, src, segment + 4096);
  for (auto item = Mover<core>::begin(Box::kSize[0] * rows * Dst::kTileCols); item != Items::End{}; ++item) {
    const u32 tile_col = *item % Dst::kTileCols, row = *item / Dst::kTileCols % rows,
              matrix = *item / Dst::kTileCols / rows;
    const u32 to = indices[row];
    if (to >= Dst::kRows) continue;
    const u32 from = Box::kFromOffset + matrix * Box::kFrom[0] + row * Box::kFrom[1] + tile_col * 32 * Box::kFrom[2];
    clear_words(segment, 2 * half);
    copy_run<core, Src, Box::kFrom[2]>(source, segment, from, least(32, cols - tile_col * 32));
    for (u32 h = 0; h < 2; ++h) {
      const auto where = Dst::locate(matrix, to, tile_col * 32 + h * 16);
      mover.write(dst, where.page, Dst::kPageBytes, where.offset, segment + h * half, half);
    }
  }
}

}  // namespace baretile::kernel
