#include "noc/placement.h"

#include <iostream>
#include <set>

#include "chip/card.h"

namespace baretile {
namespace {

// src: RoutingPaths.md: answers of NoC 0 go right as far as needed and then down, around the edges.
std::vector<std::string> way(NocXY from, NocXY to) {
  std::vector<std::string> links;
  for (u32 x = from.x; x != to.x; x = (x + 1) % 17) links.push_back(fmt::format("right of {}-{}", x, from.y));
  for (u32 y = from.y; y != to.y; y = (y + 1) % 12) links.push_back(fmt::format("below {}-{}", to.x, y));
  return links;
}

struct Traffic {
  double hops = 0, busiest = 0;  // bytes a cycle on the busiest link when all banks together give 8 x 47.1
};

// Every reader takes as much as any other, through the port of a bank that `port` names.
template <class Port>
Traffic traffic(const Chip& chip, u32 readers, u32 banks, Port port) {
  std::map<std::string, u32> load;
  u32 hops = 0, most = 0;
  for (u32 reader = 0; reader < readers; ++reader)
    for (u32 bank = 0; bank < banks; ++bank) {
      const auto [tile, at] = port(reader, bank);
      const auto links = way(chip.raw(at), chip.raw(tile));
      hops += u32(links.size());
      for (const std::string& link : links) most = std::max(most, ++load[link]);
    }
  return {double(hops) / readers / banks, 8 * 47.1 * most / readers / banks};
}

std::vector<noc::Worker> placed(const Chip& chip) {
  auto workers = noc::place_workers(chip);
  EXPECT_EQ(workers.back().tile, chip.tiles().back()) << "it dispatches";
  workers.pop_back();
  return workers;
}

std::map<u32, u32> card_with(u32 columns, u32 banks) {
  auto tags = kFullTelemetry;
  tags[34] = columns, tags[36] = banks;
  return tags;
}

TEST(Placement, LinksAreThoseOfTheRoutingPages) {
  for (const auto& [from, to] :
       std::vector<std::pair<NocXY, NocXY>>{{{0, 2}, {3, 2}}, {{9, 11}, {2, 4}}, {{5, 5}, {5, 5}}})
    EXPECT_EQ(noc::links(from, to).size(), way(from, to).size());
  EXPECT_THAT(noc::links({15, 11}, {0, 1}),
              testing::ElementsAre(2 * (11 * 17 + 15), 2 * (11 * 17 + 16), 2 * 11 * 17 + 1, 1));
}

TEST(Placement, EachTileWorksOnceAndUsesAPortOfEachBank) {
  for (const auto& [columns, banks] :
       {std::pair{0x3FFFu, 0xFFu}, {0x0FFFu, 0xFFu}, {0x3DEFu, 0xFDu}, {0x0003u, 0x7Fu}}) {
    Card card(card_with(columns, banks));
    const Chip chip = card.chip();
    std::set<std::pair<u8, u8>> seen;
    const auto workers = placed(chip);
    ASSERT_EQ(workers.size(), chip.tiles().size() - 1);
    for (const noc::Worker& worker : workers) {
      EXPECT_TRUE(seen.insert({worker.tile.x, worker.tile.y}).second);
      ASSERT_EQ(worker.ports.size(), chip.dram_banks().size());
      for (u32 bank = 0; bank < worker.ports.size(); ++bank) {
        EXPECT_EQ(worker.ports[bank].x, chip.dram_banks()[bank].x);
        EXPECT_LT(u32(worker.ports[bank].y - chip.dram_banks()[bank].y), 3u);
      }
    }
    EXPECT_FALSE(seen.contains({chip.tiles().back().x, chip.tiles().back().y})) << "it dispatches";
  }
}

TEST(Placement, TheFirstWorkersStandNextToTheBanksInTurn) {
  Card card(card_with(0x3FFF, 0xFF));
  const Chip chip = card.chip();
  const auto workers = placed(chip);
  for (u32 n = 0; n < 8; ++n)
    EXPECT_EQ(way(chip.raw(workers[n].ports[n]), chip.raw(workers[n].tile)).size(), 1u) << "worker " << n;
}

// Measured on a p150, one reader a bank: 31.8 bytes a cycle each on the first eight workers, 46.3 next to the banks.
// src: tt-metal tech_reports/Saturating_DRAM_bandwidth/Saturating_DRAM_bandwidth_Blackhole.md.
TEST(Placement, CountingLinksGivesWhatWasMeasuredOnACard) {
  Card card;
  const Chip chip = card.chip();
  const auto workers = placed(chip);
  const auto rate = [](const Traffic& t) { return 47.1 * std::min(1.0, 64 / t.busiest); };
  const auto plain = [&](u32 n, u32) { return std::pair(chip.tiles()[n], chip.dram_banks()[n]); };
  const auto beside = [&](u32 n, u32) { return std::pair(workers[n].tile, workers[n].ports[n]); };
  EXPECT_NEAR(rate(traffic(chip, 8, 1, plain)), 31.8, 0.5);
  EXPECT_NEAR(rate(traffic(chip, 8, 1, beside)), 46.3, 1);
}

// A link carries 64 bytes a cycle. What it would have to carry if the banks gave all they can, with ports and tiles as
// here and, for comparison, the first port of each bank and tiles row after row.
TEST(Placement, NoLinkIsAskedForMoreThanItCarries) {
  for (const u32 columns : {0x07FFu, 0x0FFFu, 0x3FFFu}) {
    Card card(card_with(columns, 0xFF));
    const Chip chip = card.chip();
    const auto workers = placed(chip);
    const auto spread = [&](u32 reader, u32 bank) {
      return std::pair(workers[reader].tile, workers[reader].ports[bank]);
    };
    const auto own = [&](u32 reader, u32) { return spread(reader, reader % 8); };
    const auto plain = [&](u32 reader, u32 bank) { return std::pair(chip.tiles()[reader], chip.dram_banks()[bank]); };
    std::cout << fmt::format("{} tiles; hops and bytes a cycle on the busiest link\n", chip.tiles().size());
    for (const u32 readers : {8u, 16u, 24u, 48u, u32(workers.size()) / 8 * 8}) {
      const Traffic before = traffic(chip, readers, 8, plain), all = traffic(chip, readers, 8, spread),
                    beside = traffic(chip, readers, 1, own);
      std::cout << fmt::format(
          "  {:3} readers: of their own bank {:4.1f} {:5.1f}, of all banks {:4.1f} {:5.1f}, without placement {:4.1f} "
          "{:5.1f}\n",
          readers, beside.hops, beside.busiest, all.hops, all.busiest, before.hops, before.busiest);
      EXPECT_LT(beside.busiest, 47.2) << readers << ": the banks are the limit";
      EXPECT_LT(beside.hops, 5);
      EXPECT_LT(all.hops, before.hops);
      EXPECT_LT(all.busiest, before.busiest);
      EXPECT_LT(all.busiest, readers < 24 ? 80 : 64);
    }
    for (const auto& [rows, columns_of_it] : {std::pair{4u, 8u}, {8u, 8u}, {10u, chip.columns() - 1}}) {
      const u32 across = columns_of_it;  // clang 14 captures no binding
      const auto team = [&](u32 reader, u32 bank) {
        const NocXY tile = chip.tiles()[reader / across * chip.columns() + reader % across];
        const auto worker = std::find_if(workers.begin(), workers.end(), [&](const auto& w) { return w.tile == tile; });
        return std::pair(tile, worker->ports[bank]);
      };
      const Traffic all = traffic(chip, rows * across, 8, team);
      std::cout << fmt::format("  team of {} x {}: of all banks {:4.1f} {:5.1f}\n", rows, across, all.hops,
                               all.busiest);
      EXPECT_LT(all.busiest, 64);
    }
  }
}

}  // namespace
}  // namespace baretile
