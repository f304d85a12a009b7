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
  const std::vector<NocXY>& banks = chip.dram_banks();
  std::array<u32, 2 * isa::kGridWidth * isa::kGridHeight> load{};  // ways so far, by link
  const auto way = [&](NocXY port, NocXY tile) { return links(chip.raw(port), chip.raw(tile)); };
  const auto hops = [](const std::vector<u32>& way) { return u32(way.size()); };
  const auto busiest = [&](const std::vector<u32>& way) {
    u32 most = 0;
    for (const u32 link : way) most = std::max(most, load[link]);
    return most << 8 | hops(way);
  };
  const auto best_port = [&](NocXY bank, NocXY tile, const auto& cost) {
    NocXY best = bank;
    for (NocXY port = bank; port.y < bank.y + isa::kDramPorts; ++port.y)
      if (cost(way(port, tile)) < cost(way(best, tile))) best = port;
    return best;
  };
  std::vector<NocXY> left(chip.tiles().begin(), chip.tiles().end() - 1);
  std::vector<Worker> workers;
  while (!left.empty()) {
    const NocXY near = banks[workers.size() % banks.size()];
    const auto nearest = std::min_element(left.begin(), left.end(), [&](NocXY a, NocXY b) {
      return hops(way(best_port(near, a, hops), a)) < hops(way(best_port(near, b, hops), b));
    });
    Worker worker{*nearest, {}};
    left.erase(nearest);
    for (const NocXY bank : banks) {
      worker.ports.push_back(bank == near ? best_port(bank, worker.tile, hops) : best_port(bank, worker.tile, busiest));
      for (const u32 link : way(worker.ports.back(), worker.tile)) ++load[link];
    }
    workers.push_back(std::move(worker));
  }
  workers.push_back({chip.tiles().back(), banks});
  return workers;
}

}  // namespace baretile::noc
