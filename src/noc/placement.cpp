#include "noc/placement.h"

#include <algorithm>

#include "baretile/isa/grid.h"

namespace baretile::noc {

std::vector<u32> links(NocXY from, NocXY to) {
  std::vector<u32> way;
  for (; from.x != to.x; from.x = u8((from.x + 1) % isa::kGridWidth))
    way.push_back(2 * (from.y * isa::kGridWidth + from.x));
  for (; from.y != to.y; from.y = u8((from.y + 1) % isa::kGridHeight))
    way.push_back(2 * (from.y * isa::kGridWidth + from.x) + 1);
  return way;
}

std::vector<Worker> place_workers(const Chip& chip) {
  struct Place {
    NocXY at, raw;
  };
  const auto place = [&](NocXY at) { return Place{at, chip.raw(at)}; };
  std::vector<Place> left;
  for (const NocXY tile : chip.tiles()) left.push_back(place(tile));
  std::vector<std::vector<Place>> banks;  // their ports
  for (const NocXY b : chip.dram_banks())
    banks.push_back({place(b), place({b.x, u8(b.y + 1)}), place({b.x, u8(b.y + 2)})});

  std::array<u32, 2 * isa::kGridWidth * isa::kGridHeight> load{};  // ways so far, by link
  const auto hops = [](const Place& port, const Place& tile) {
    return (tile.raw.x + isa::kGridWidth - port.raw.x) % isa::kGridWidth +
           (tile.raw.y + isa::kGridHeight - port.raw.y) % isa::kGridHeight;
  };
  const auto busiest = [&](const Place& port, const Place& tile) {
    u32 most = 0;
    for (const u32 link : links(port.raw, tile.raw)) most = std::max(most, load[link]);
    return most << 8 | hops(port, tile);
  };
  const auto best = [](const std::vector<Place>& bank, const Place& tile, const auto& cost) {
    return *std::min_element(bank.begin(), bank.end(),
                             [&](const Place& a, const Place& b) { return cost(a, tile) < cost(b, tile); });
  };
  std::vector<Worker> workers;
  while (left.size() > 1) {
    const std::vector<Place>& near = banks[workers.size() % banks.size()];
    const auto nearest = std::min_element(left.begin(), left.end() - 1, [&](const Place& a, const Place& b) {
      return hops(best(near, a, hops), a) < hops(best(near, b, hops), b);
    });
    const Place tile = *nearest;
    left.erase(nearest);
    Worker& worker = workers.emplace_back(Worker{tile.at, {}});
    for (const std::vector<Place>& bank : banks) {
      const Place port = &bank == &near ? best(bank, tile, hops) : best(bank, tile, busiest);
      worker.ports.push_back(port.at);
      for (const u32 link : links(port.raw, tile.raw)) ++load[link];
    }
  }
  workers.push_back({left.back().at, chip.dram_banks()});
  return workers;
}

}  // namespace baretile::noc
