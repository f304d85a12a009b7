// Many tiles at once: what they leave behind, and when, does not depend on how many host threads run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "diff/diff_noc_case.h"  // the core that plays a list of stores and loads
#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;
using namespace diff::rv32;
using diff::NocCase;

constexpr u32 kWindow = 0x40000, kBytes = 0x4000, kCounters = kWindow, kDramEach = 0x10000;

// Random requests of one tile: to L1 and registers of any tile, in no order with those of other tiles; to a part of
// DRAM of its own; to the host.
class Requests {
 public:
  Requests(Board& board, u32 tile) : board_(board), tile_(tile), random_(tile + 1) {}

  NocCase make(u32 count) {
    NocCase list;
    while (count-- > 0) add(list);
    return list;
  }

 private:
  u32 pick(u32 below) { return u32(random_() % below); }
  u32 own() const { return coord(tile_); }
  u32 coord(u32 tile) const {
    const NocXY at = board_.chip.tile(tile).translated();
    return isa::noc_coord(at.x, at.y);
  }
  u32 any() { return coord(pick(board_.chip.tiles())); }
  u32 spot(u32 bytes) { return kWindow + 64 * pick((kBytes - bytes) / 64); }

  void issue(NocCase& list, u32 targ, u32 targ_xy, u32 ret, u32 ret_xy, u32 ctrl, u32 length) {
    const u32 registers[][2] = {{isa::kNiuTargLo, targ},     {isa::kNiuTargCoord, targ_xy},
                                {isa::kNiuRetLo, ret},       {isa::kNiuRetCoord, ret_xy},
                                {isa::kNiuCtrl, ctrl},       {isa::kNiuLen, length},
                                {isa::kNiuData, pick(1000)}, {isa::kNiuCmd, 1}};
    for (const auto& r : registers) list.push_back({isa::kNiuBase + r[0], r[1]});
  }

  void add(NocCase& list) {
    const u32 bytes = 16 + pick(1000), dram = isa::noc_coord(17, 12), offset = tile_ * kDramEach + 64 * pick(100);
    switch (pick(8)) {
      case 0:
        issue(list, spot(bytes), any(), spot(bytes), own(), isa::kNocRead, bytes);
        break;
      case 1:
        issue(list, spot(bytes), own(), spot(bytes), any(), isa::kNocWrite, bytes);
        break;
      case 2:
        issue(list, kCounters + 16 * pick(4), any(), spot(4), own(), isa::kNocAtomic, isa::kNocAtomicIncrement32);
        break;
      case 3:
        if (pick(8) == 0)
          issue(list, spot(64), own(), spot(64), isa::noc_rect(1, 2, 16, 2 + pick(9)), isa::kNocMulticast, 64);
        break;
      case 4:
        issue(list, offset, dram, spot(bytes), own(), isa::kNocRead, bytes);
        break;
      case 5:
        issue(list, spot(bytes), own(), offset, dram, isa::kNocWrite, bytes);
        break;
      case 6:
        issue(list, isa::kTriscResetPc, any(), 0, own(), isa::kNocWriteInline, 4);
        break;
      default:
        list.push_back({isa::kWallClockLo | 1});
        list.push_back({(isa::kNiuBase + isa::kNiuReadAcks) | 1});
        break;
    }
  }

  Board& board_;
  u32 tile_;
  std::mt19937 random_;
};

// Waits for each change of the first counter and adds up the clocks at which it sees them, at 0x50000.
std::vector<u32> listener() {
  return join({{lui(kCounters >> 12, 8), lui(hi20(isa::kWallClockLo), 9), lui(0x50, 10)},
               {lw(5, 8, 0), b_type(-4, 6, 5, 0), addi(6, 5, 0), lw(7, 9, lo12(isa::kWallClockLo))},
               {r_type(0, 0, 11, 11, 7), sw(11, 10, 0), jal(-24, 0)}});
}

void set_up(Board& board, u32 requests = 60) {
  for (u32 k = 0; k < board.chip.tiles(); ++k) {
    Tile& tile = board.chip.tile(k);
    std::mt19937 random(k);
    for (u32 at = 0; at < kBytes; at += 4) {
      const u32 word = u32(random());
      std::memcpy(tile.l1() + kWindow + at, &word, 4);
    }
    std::vector<u32> list;
    for (const diff::NocStep& step : Requests(board, k).make(requests))
      list.insert(list.end(), {step.address, step.value});
    list.insert(list.end(), {0, 0});
    const NocXY at = tile.translated();
    board.write_code(diff::noc::kList, list, at.x, at.y);
    board.load(isa::Core::brisc, {std::begin(diff::noc::kPlayer), std::end(diff::noc::kPlayer)}, at.x, at.y);
    board.load(isa::Core::ncrisc, listener(), at.x, at.y);
    board.release({isa::Core::brisc, isa::Core::ncrisc}, at.x, at.y);
  }
}

// All of L1, the tiles' parts of DRAM, and the clock of every core that has begun.
u64 state_of(Board& board) {
  std::vector<u8> bytes(isa::kL1Bytes);
  u64 sum = 0;
  const auto add = [&](const void* data, size_t size) {
    sum = sum * 0x9E3779B97F4A7C15ull + std::hash<std::string_view>{}({static_cast<const char*>(data), size});
  };
  for (u32 k = 0; k < board.chip.tiles(); ++k) {
    Tile& tile = board.chip.tile(k);
    add(tile.l1(), isa::kL1Bytes);
    board.chip.read(board.chip.at({17, 12}), k * kDramEach, bytes.data(), kDramEach);
    add(bytes.data(), kDramEach);
    for (const Core& core : tile.cores()) {
      add(&core.time, sizeof(core.time));
      add(core.x, 32 * sizeof(u32));
    }
    const u32 pc = board.read32(isa::kTriscResetPc, tile.translated().x, tile.translated().y);
    add(&pc, sizeof(pc));
  }
  return sum;
}

std::vector<u64> states(u32 threads, u64 step) {
  Board board({.tiles = 140, .banks = 8, .threads = threads});
  set_up(board);
  std::vector<u64> found;
  for (u64 clock = 0; clock < 6000; clock += step) {
    board.run(step);
    if (clock % 1500 == 0) found.push_back(state_of(board));
  }
  found.push_back(state_of(board));
  for (u32 k = 0; k < board.chip.tiles(); ++k) {
    u32 done;
    std::memcpy(&done, board.chip.tile(k).l1() + diff::noc::kDone, 4);
    EXPECT_EQ(done, 1u) << "tile " << k << " has not played its list";
  }
  return found;
}

TEST(Threads, LeaveTheSameMemoryAndClocksHoweverMany) {
  for (const u64 step : {u64{6000}, u64{300}}) {
    const std::vector<u64> one = states(1, step);
    EXPECT_EQ(states(2, step), one);
    EXPECT_EQ(states(4, step), one);
  }
}

size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return size_t(std::distance(begin(tasks), end(tasks)));
}

TEST(Threads, StartWithTheFirstWorkForMany) {
  const size_t before = threads_of_this_process();
  Board board({.tiles = 140, .banks = 8, .threads = 4});
  board.run_brisc({kStay});
  EXPECT_EQ(threads_of_this_process(), before);
  set_up(board);
  board.run(1000);
  EXPECT_EQ(threads_of_this_process(), before + 3);
}

TEST(Threads, AForkedChildStartsItsOwn) {
  Board board({.tiles = 140, .banks = 8, .threads = 3});
  set_up(board, 240);  // more than the parent carries out before the fork
  board.run(1000);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    board.run(2000);
    const u64 state = state_of(board);
    const bool started = threads_of_this_process() == 3;
    _exit(write(ends[1], &state, sizeof(state)) == sizeof(state) && started ? 0 : 1);
  }
  close(ends[1]);
  board.run(2000);
  u64 theirs = 0;
  EXPECT_EQ(read(ends[0], &theirs, sizeof(theirs)), ssize_t(sizeof(theirs)));
  EXPECT_EQ(theirs, state_of(board));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(ends[0]);
}

// Two tiles fault in one quantum, the second one earlier.
TEST(Threads, TheFirstTileWithAFaultReportsItHoweverMany) {
  for (const u32 threads : {1u, 2u, 4u}) {
    Board board({.tiles = 140, .banks = 8, .threads = threads});
    for (u32 k = 0; k < board.chip.tiles(); ++k) {
      const NocXY at = board.chip.tile(k).translated();
      std::vector<u32> code(100, addi(5, 5, 1));
      code.push_back(kStay);
      if (k == 30) code[90] = 0xFFFFFFFF;
      if (k == 70) code[10] = 0xFFFFFFFF;
      board.load(isa::Core::brisc, code, at.x, at.y);
      board.release({isa::Core::brisc}, at.x, at.y);
    }
    EXPECT_THAT(fault_of([&] { board.run(1000); }), HasSubstr("illegal or unsupported"));
    const NocXY at = board.chip.tile(30).translated();
    EXPECT_THAT(board.chip.where(), HasSubstr(fmt::format("tile ({},{}) brisc pc 0x168", at.x, at.y)));
  }
}

TEST(Threads, AFaultOfARequestNamesItsCore) {
  for (const u32 threads : {1u, 3u}) {
    Board board({.tiles = 140, .banks = 8, .threads = threads});
    for (u32 k = 0; k < board.chip.tiles(); ++k) {
      const NocXY at = board.chip.tile(k).translated();
      const u32 target = k == 20 ? isa::noc_coord(3, 0) : isa::noc_coord(1, 2);
      std::vector<u32> list;
      const u32 registers[][2] = {{isa::kNiuTargCoord, isa::noc_coord(at.x, at.y)},
                                  {isa::kNiuTargLo, 0x30000},
                                  {isa::kNiuRetLo, 0x30000},
                                  {isa::kNiuRetCoord, target},
                                  {isa::kNiuCtrl, isa::kNocWrite},
                                  {isa::kNiuLen, 16},
                                  {isa::kNiuCmd, 1}};
      for (const auto& r : registers) list.insert(list.end(), {isa::kNiuBase + r[0], r[1]});
      list.insert(list.end(), {0, 0});
      board.write_code(diff::noc::kList, list, at.x, at.y);
      board.load(isa::Core::brisc, {std::begin(diff::noc::kPlayer), std::end(diff::noc::kPlayer)}, at.x, at.y);
      board.release({isa::Core::brisc}, at.x, at.y);
    }
    EXPECT_THAT(fault_of([&] { board.run(1000); }), HasSubstr("NoC coordinate (3,0): no tile there"));
    const NocXY at = board.chip.tile(20).translated();
    EXPECT_THAT(board.chip.where(), HasSubstr(fmt::format("tile ({},{}) brisc pc 0x20: sw", at.x, at.y)));
  }
}

TEST(Threads, TheEnvironmentSaysHowMany) {
  setenv("BARETILE_SIM_THREADS", "3", 1);
  EXPECT_EQ(shape_from_environment().threads, 3u);
  for (const char* wrong : {"0", "65", "two", ""}) {
    setenv("BARETILE_SIM_THREADS", wrong, 1);
    EXPECT_THAT(fault_of([] { shape_from_environment(); }), HasSubstr("use 1 to 64"));
  }
  unsetenv("BARETILE_SIM_THREADS");
  EXPECT_GE(shape_from_environment().threads, 1u);
  EXPECT_LE(shape_from_environment().threads, 4u);
}

TEST(Threads, APoolVisitsEveryIndexOnce) {
  std::array<std::atomic<u32>, 500> visits{};
  Pool pool(4, [&](u32 k) { ++visits[k]; });
  u32 expected[500] = {};
  for (u32 round = 0; round < 2000; ++round) {
    const u32 count = round * 7 % 500;
    pool.run(count);
    for (u32 k = 0; k < count; ++k) ++expected[k];
  }
  for (u32 k = 0; k < 500; ++k) ASSERT_EQ(visits[k], expected[k]) << k;
}

}  // namespace
}  // namespace baretile::sim
