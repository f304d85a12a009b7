// Lesson 2: the runtime. Kernels of your own on the worker tiles: arguments, memory, the network between tiles, and
// what waiting for each other takes.
#include <baretile/baretile.h>
#include <baretile/isa/noc.h>

#include <iostream>

using namespace baretile;

// What all kernels below begin with. The headers are baretile's own: registers, addresses, the host's records in L1.
static const std::string kCommon = R"(
#include "kernels/noc.h"
using namespace baretile;
using namespace baretile::kernel;

// The two network interfaces of a tile take requests through registers: data goes from "targ" to "ret". A request is on
// its way when the store to kNiuCmd returns, and done when a counter of acknowledgements has moved.
template <u32 noc>
void noc_read(u32 coord, u32 address, u32 l1, u32 bytes) {
  using Port = Niu<noc, 0>;
  const u32 acks = Port::counter(kNiuReadAcks);
  Port::prepare(kNocRead);
  Port::at(kNiuTargCoord) = coord;
  Port::at(kNiuTargLo) = address;
  Port::at(kNiuRetLo) = l1;
  Port::at(kNiuLen) = bytes;
  Port::at(kNiuCmd) = 1;
  while (Port::counter(kNiuReadAcks) == acks) fence();
}
template <u32 noc>
void noc_write(u32 l1, u32 coord, u32 address, u32 bytes, u32 control = kNocWrite, u32 receivers = 1) {
  using Port = Niu<noc, 1>;
  const u32 acks = Port::counter(kNiuWriteAcks);
  Port::prepare(control);
  Port::at(kNiuExclude) = 0;
  Port::at(kNiuTargLo) = l1;
  Port::at(kNiuRetCoord) = coord;
  Port::at(kNiuRetLo) = address;
  Port::at(kNiuLen) = bytes;
  fence();  // what this core stored is in L1 before the interface reads it
  Port::at(kNiuCmd) = 1;
  while (Port::counter(kNiuWriteAcks) - acks < receivers) fence();
}
// Adds 1 to a word of another tile, in one piece: several tiles may do it at once.
inline void noc_increment(u32 coord, u32 address) {
  using Port = Niu<0, 2>;
  Port::prepare(kNocAtomic);
  Port::at(kNiuTargCoord) = coord;
  Port::at(kNiuTargLo) = address;
  Port::at(kNiuRetCoord) = Port::here();
  Port::at(kNiuRetLo) = abi::kData + 0x1000;  // the old value comes back there
  Port::at(kNiuLen) = kNocAtomicIncrement32;
  Port::at(kNiuData) = 1;
  Port::at(kNiuCmd) = 1;
}
// Words of this tile's L1. A core keeps what it read; fence() makes it look again.
inline volatile u32& word(u32 index) { return reg(abi::kData + 4 * index); }
inline void wait_for(u32 index, u32 value) { while (word(index) != value) fence(); }
inline u32 me() { return mailbox().info.logical_index; }
)";

static void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("not as expected: ") + what);
}
static std::span<const std::byte> bytes(const std::vector<u32>& words) { return std::as_bytes(std::span(words)); }
static std::vector<u32> l1_words(Runtime& rt, u32 worker, u32 count) {
  std::vector<u32> words(count);
  rt.read_l1(worker, abi::kData, std::as_writable_bytes(std::span(words)));
  return words;
}
static void clear(Runtime& rt) {
  for (u32 w = 0; w < rt.workers(); ++w) rt.write_l1(w, abi::kData, bytes(std::vector<u32>(16)));
}

// 1. A tile has five small RISC-V cores. A kernel is one text with a function for each core that takes part; every tile
// gets the same code and arguments, and asks which one it is.
static void five_cores(Runtime& rt) {
  const KernelImage kernel = compile_kernel("five", kCommon + R"(
extern "C" void kernel_brisc(const u32* args) { word(0) = args[0] + me(); }
extern "C" void kernel_ncrisc(const u32* args) { word(1) = args[0] * args[1]; }
extern "C" void kernel_trisc0(const u32*) { word(2) = 2; }
extern "C" void kernel_trisc1(const u32*) { word(3) = 3; }
extern "C" void kernel_trisc2(const u32*) { word(4) = 4; }
)");
  rt.launch(kernel, {100, 7});
  std::cout << "1. five cores:";
  for (const u32 value : l1_words(rt, 5, 5)) std::cout << ' ' << value;
  std::cout << " in the L1 of worker 5\n";
  for (u32 w = 0; w < rt.workers(); ++w)
    check(l1_words(rt, w, 5) == std::vector<u32>{100 + w, 700, 2, 3, 4}, "what the cores wrote");
}

// 2. DRAM lies in banks with a network port each; a buffer's pages go round them. One core fetches pages, one computes,
// one stores, each a page ahead of the next: counters in L1 say how far each has got. They are what this chip's
// programs have instead of locks: a word that one core alone writes.
static void pipeline(Runtime& rt) {
  const KernelImage kernel = compile_kernel("pipeline", kCommon + R"(
constexpr u32 kPage = 1024, kSlots = 2;  // slots of pages behind the counters
inline u32 slot(u32 n) { return abi::kData + 0x2000 + n % kSlots * kPage; }
enum { kFetched, kComputed, kStored };
extern "C" void kernel_ncrisc(const u32* args) {
  u32 n = 0;
  for (const u32 page : items(args[1])) {
    while (n - word(kStored) == kSlots) fence();  // until a slot is free
    const Banks::Where from = Banks().find(args[0], page, kPage);
    noc_read<0>(from.coord, from.address, slot(n), kPage);
    word(kFetched) = ++n;
  }
}
extern "C" void kernel_trisc1(const u32* args) {
  u32 n = 0;
  for (const u32 page : items(args[1])) {
    while (word(kFetched) == n) fence();
    for (u32 i = 0; i < kPage / 4; ++i) reg(slot(n) + 4 * i) = 3 * reg(slot(n) + 4 * i) + page;
    word(kComputed) = ++n;
  }
}
extern "C" void kernel_brisc(const u32* args) {
  u32 n = 0;
  for (const u32 page : items(args[1])) {
    while (word(kComputed) == n) fence();
    const Banks::Where to = Banks().find(args[0], page, kPage);
    noc_write<1>(slot(n), to.coord, to.address, kPage);
    word(kStored) = ++n;
  }
}
)");
  const u32 pages = 500, page_words = 256;
  DeviceBuffer buffer = rt.allocate(page_words * 4, pages);
  std::vector<u32> data(pages * page_words);
  for (u32 i = 0; i < data.size(); ++i) data[i] = i;
  rt.write_pages(buffer, 0, bytes(data));
  clear(rt);
  rt.launch(kernel, {u32(buffer.address()), pages});
  std::vector<u32> result(data.size());
  rt.read_pages(buffer, 0, std::as_writable_bytes(std::span(result)));
  for (u32 i = 0; i < data.size(); ++i) check(result[i] == 3 * data[i] + i / page_words, "3 x + page");
  std::cout << "2. DRAM: " << pages << " pages went through " << rt.workers() << " tiles; the last word is "
            << result.back() << '\n';
}

// 3. A multicast writes to a rectangle of tiles: the first of the first row (workers are numbered otherwise) sends a
// word to six others, then the flag that says that it is there; they count themselves in with an atomic addition.
static void multicast(Runtime& rt) {
  const KernelImage kernel = compile_kernel("multicast", kCommon + R"(
extern "C" void kernel_brisc(const u32* args) {
  constexpr u32 kValue = 0, kFlag = 4, kCount = 8, kOthers = 6;  // words; the network wants 16-byte steps
  if (mailbox().info.row != 0 || mailbox().info.column > kOthers) return;
  if (mailbox().info.column == 0) {
    word(kValue) = 2026;
    noc_write<0>(abi::kData + 4 * kValue, args[1], abi::kData + 4 * kValue, 4, kNocMulticast, kOthers);
    word(kFlag) = 1;
    noc_write<0>(abi::kData + 4 * kFlag, args[1], abi::kData + 4 * kFlag, 4, kNocMulticast, kOthers);
    wait_for(kCount, kOthers);
  } else {
    wait_for(kFlag, 1);
    noc_increment(args[0], abi::kData + 4 * kCount);
  }
}
)");
  clear(rt);
  rt.launch(kernel, {isa::noc_coord(1, 2), isa::noc_rect(1, 2, 7, 2)});
  for (u32 w = 0; w < rt.workers(); ++w) {
    const u32 at = rt.noc_coord(w);
    const std::vector<u32> l1 = l1_words(rt, w, 9);
    check((l1[0] == 2026) == (at >> 6 == 2 && (at & 63) <= 7), "who has the word that was sent");
    if (at == isa::noc_coord(1, 2)) std::cout << "3. multicast: " << l1[8] << " tiles have " << l1[0] << '\n';
  }
}

// Where each worker finds the next one: a coordinate that only the host knows, put into its L1.
static void close_ring(Runtime& rt) {
  clear(rt);
  for (u32 w = 0; w < rt.workers(); ++w)
    rt.write_l1(w, abi::kData + 0x100, bytes(std::vector<u32>{rt.noc_coord((w + 1) % rt.workers())}));
}

// 4. A ring: a number goes round all tiles, and each adds its own index.
static void ring(Runtime& rt) {
  const KernelImage kernel = compile_kernel("ring", kCommon + R"(
extern "C" void kernel_brisc(const u32*) {
  constexpr u32 kHere = 0, kOut = 4, kNext = 64;  // words
  if (me() != 0) while (word(kHere) == 0) fence();
  word(kOut) = word(kHere) + me() + (me() == 0);
  noc_write<0>(abi::kData + 4 * kOut, word(kNext), abi::kData + 4 * kHere, 4);
  if (me() == 0) while (word(kHere) == 0) fence();
}
)");
  close_ring(rt);
  rt.launch(kernel, {});
  const u32 sum = l1_words(rt, 0, 1)[0];
  std::cout << "4. ring: 1 + 2 + ... + " << rt.workers() - 1 << " plus the 1 it began with is " << sum << '\n';
  check(sum == 1 + rt.workers() * (rt.workers() - 1) / 2, "the sum of all indices");
}

// 5. The same exchange twice: every tile works for a while, then writes to its neighbour. A tile that does not wait for
// what its neighbour sends reads what was there before, and nobody tells it.
static void without_waiting(Runtime& rt) {
  const std::string text = R"(
extern "C" void kernel_brisc(const u32* args) {
  constexpr u32 kHere = 0, kOut = 4, kSeen = 8, kNext = 64;
  for (u32 turn = 0; turn < args[0] * (1 + me() % 4); ++turn) fence();  // some work, more on some tiles
  word(kOut) = 7;
  noc_write<0>(abi::kData + 4 * kOut, word(kNext), abi::kData + 4 * kHere, 4);
  WAIT
  word(kSeen) = word(kHere);
}
)";
  std::cout << "5. ";
  for (const bool waits : {false, true}) {
    std::string own = text;
    own.replace(own.find("WAIT"), 4, waits ? "wait_for(kHere, 7);" : "");
    close_ring(rt);
    rt.launch(compile_kernel(waits ? "waits" : "hurries", kCommon + own), {200});
    u32 right = 0;
    for (u32 w = 0; w < rt.workers(); ++w) right += l1_words(rt, w, 9)[8] == 7;
    std::cout << (waits ? "; with waiting " : "without waiting ") << right << " of " << rt.workers()
              << " tiles saw their neighbour's word";
    check(waits == (right == rt.workers()), "who saw it");
  }
  std::cout << '\n';
}

// 6. A wait for what never comes: the watchdog says which core of which tile stands at which line.
static void a_wait_too_many() {
  Runtime rt(std::string(), {.deadline = std::chrono::milliseconds(300), .hold_in_reset = {}});
  const KernelImage kernel = compile_kernel("never", kCommon + R"(
extern "C" void kernel_brisc(const u32*) { if (me() == 3) wait_for(0, 1); }  // and nobody writes it
)");
  clear(rt);
  try {
    rt.launch(kernel, {});
    check(false, "the wait ended");
  } catch (const DeviceError& error) {
    std::cout << "6. " << error.what() << '\n';
  }
}

int main() try {
  {
    Runtime rt;
    for (const auto lesson : {five_cores, pipeline, multicast, ring, without_waiting}) lesson(rt);
  }
  a_wait_too_many();
  std::cout << "all of it was checked\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
