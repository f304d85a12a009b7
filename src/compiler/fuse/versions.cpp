// Writes in place: the writer of a new version runs after every reader of the old one.
#include <algorithm>

#include "compiler/fuse/fuse.h"

namespace baretile::compiler {

namespace {

class Order {
 public:
  explicit Order(const FusionPlan& plan) : plan_(plan), writer_(plan.values.size(), -1), readers_(plan.values.size()) {
    for (u32 k = 0; k < plan.kernels.size(); ++k) {
      for (u32 value : plan.kernels[k].writes) writer_[value] = i32(k);
    }
    for (u32 k = 0; k < plan.kernels.size(); ++k) {
      for (u32 value : plan.kernels[k].values) {
        if (writer_[value] != i32(k)) readers_[value].push_back(k);
      }
    }
  }

  const std::vector<u32>& readers(u32 value) const { return readers_[value]; }
  i32 writer(u32 value) const { return writer_[value]; }

  bool reaches(u32 from, u32 to) const {
    std::vector<u32> pending{from};
    std::vector<bool> visited(plan_.kernels.size());
    while (!pending.empty()) {
      u32 kernel = pending.back();
      pending.pop_back();
      if (kernel == to) return true;
      if (visited[kernel]) continue;
      visited[kernel] = true;
      for (u32 k = 0; k < plan_.kernels.size(); ++k) {
        const auto& after = plan_.kernels[k].after;
        if (std::find(after.begin(), after.end(), kernel) != after.end()) pending.push_back(k);
      }
      for (u32 value : plan_.kernels[kernel].writes) {
        pending.insert(pending.end(), readers_[value].begin(), readers_[value].end());
      }
    }
    return false;
  }

 private:
  const FusionPlan& plan_;
  std::vector<i32> writer_;
  std::vector<std::vector<u32>> readers_;
};

}  // namespace

u32 root_of(const FusionPlan& plan, u32 value) {
  while (plan.values[value].alias_of >= 0) value = u32(plan.values[value].alias_of);
  return value;
}

void order_versions(FusionPlan& plan) {
  for (u32 value = 0; value < plan.values.size(); ++value) {
    i32 old = plan.values[value].alias_of;
    if (old < 0) continue;
    Order order(plan);
    u32 writer = u32(order.writer(value));
    if (order.writer(u32(old)) >= 0) plan.kernels[writer].after.push_back(u32(order.writer(u32(old))));
    bool possible = true;
    for (u32 reader : order.readers(u32(old))) {
      possible = possible && !order.reaches(writer, reader);
      if (possible) plan.kernels[writer].after.push_back(reader);
    }
    if (possible) continue;
    u32 copy = copy_value(plan, u32(old), plan.values[u32(old)].desc.tiling);
    plan.values[value].alias_of = i32(copy);
    plan.kernels[writer].after = {u32(plan.kernels.size() - 1)};
  }
}

}  // namespace baretile::compiler
