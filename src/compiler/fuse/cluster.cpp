// Clusters grow in graph order: each node starts alone and merges with the clusters it reads, nearest first, as long as
// one kernel can hold the result and no value would have to leave the kernel and come back.
#include <algorithm>
#include <set>

#include "compiler/fuse/analysis.h"

namespace baretile::compiler {

namespace {

class Clusterer {
 public:
  Clusterer(Analysis& analysis, const SlotLimits& limits) : a_(analysis), limits_(limits) {}

  void run() {
    for (u32 node = 0; node < a_.graph.nodes.size(); ++node) {
      Family f = a_.family(node);
      if (a_.elementwise(node) || f == Family::reduce || f == Family::contraction) add(node);
    }
  }

 private:
  void add(u32 node) {
    if (a_.elementwise(node) && join_reduced(node)) return;
    const Node& n = a_.graph.nodes[node];
    Cluster cluster;
    cluster.members = {node};
    cluster.limit = limit(node);
    cluster.domain = extents(n.shape);
    if (a_.family(node) == Family::reduce) {
      cluster.domain = extents(a_.graph.nodes[n.inputs[0]].shape);
      cluster.axis = size_t(n.attrs[0]) + 1 == n.shape.size() ? ReduceAxis::cols : ReduceAxis::rows;
      a_.reduced[node] = true;
    } else if (a_.family(node) == Family::contraction) {
      cluster.left = n.inputs[0];
      cluster.right = a_.graph.nodes[n.inputs[1]].dtype;
    }
    a_.cluster_of[node] = i32(a_.clusters.size());
    a_.clusters.push_back(std::move(cluster));
    if (a_.clusters.back().left >= 0) return;
    for (u32 other : clusters_read(node)) {
      const std::optional<Reason> reason = keeps_apart(u32(a_.cluster_of[node]), other, node);
      if (!reason) continue;
      for (u32 input : n.inputs) {
        const u32 base = a_.sources[input].base;
        if (a_.cluster_of[base] == i32(other)) a_.apart[{node, base}] = *reason;
      }
    }
  }

  SlotLimit limit(u32 node) const {
    const auto found = limits_.find(node);
    return found == limits_.end() ? SlotLimit{} : found->second;
  }

  // Arithmetic on reductions and constants alone stays with the reductions, along whose axis it is constant.
  bool join_reduced(u32 node) {
    std::vector<u32> read = clusters_read(node);
    if (read.empty()) return false;
    for (u32 input : a_.graph.nodes[node].inputs) {
      const Source& source = a_.sources[input];
      if (a_.family(source.base) == Family::constant) continue;
      if (!a_.reduced[source.base] || a_.rounds(source.base) || source.relation != Relation::same) return false;
    }
    for (size_t i = 1; i < read.size(); ++i) {
      if (keeps_apart(read[0], read[i], node)) return false;
    }
    Cluster& cluster = a_.clusters[read[0]];
    if (cluster.limit.part != limit(node).part) return false;
    cluster.limit.most = std::min(cluster.limit.most, limit(node).most);
    a_.cluster_of[node] = i32(read[0]);
    cluster.members.push_back(node);
    a_.reduced[node] = true;
    return true;
  }

  // The clusters of a node's inputs, the latest first.
  std::vector<u32> clusters_read(u32 node) const {
    std::vector<u32> bases;
    for (u32 input : a_.graph.nodes[node].inputs) bases.push_back(a_.sources[input].base);
    std::sort(bases.begin(), bases.end(), std::greater<>());
    std::vector<u32> found;
    for (u32 base : bases) {
      i32 cluster = a_.cluster_of[base];
      if (cluster >= 0 && std::find(found.begin(), found.end(), u32(cluster)) == found.end())
        found.push_back(u32(cluster));
    }
    return found;
  }

  // Moves all of `from` into `into` if that makes one good kernel, else tells why not. `now` is the latest node that
  // has a cluster.
  std::optional<Reason> keeps_apart(u32 into, u32 from, u32 now) {
    Cluster &x = a_.clusters[into], &y = a_.clusters[from];
    if (into == from) return std::nullopt;
    if (!(x.domain == y.domain)) return Reason::shape;
    if (x.limit.part != y.limit.part) return Reason::dst;
    ReduceAxis axis = x.axis == ReduceAxis::none ? y.axis : x.axis;
    if (y.axis != ReduceAxis::none && y.axis != axis) return Reason::axis;
    i64 left = x.left < 0 ? y.left : x.left;
    if (left >= 0 && axis != ReduceAxis::none) return Reason::passes;
    if (x.left >= 0 && y.left >= 0 && (x.left != y.left || x.right != y.right)) return Reason::left;
    Cluster x_before = x, y_before = y;
    relabel(y.members, into);
    x = {
        x.domain, axis, left, x.left < 0 ? y.right : x.right, {}, {std::min(x.limit.most, y.limit.most), x.limit.part}};
    std::merge(x_before.members.begin(), x_before.members.end(), y.members.begin(), y.members.end(),
               std::back_inserter(x.members));
    y.members.clear();
    const bool fits = slots(a_, x) <= x.limit.most;
    if (fits && !leaves_and_returns(into, now)) return std::nullopt;
    relabel(y_before.members, from);
    x = std::move(x_before);
    y = std::move(y_before);
    return fits ? Reason::between : Reason::dst;
  }

  void relabel(const std::vector<u32>& members, u32 cluster) {
    for (u32 member : members) a_.cluster_of[member] = i32(cluster);
  }

  // Some value of the cluster is needed in memory before another member can be computed.
  bool leaves_and_returns(u32 cluster, u32 now) const {
    std::vector<u32> pending;
    std::vector<bool> visited(a_.graph.nodes.size());
    auto follow = [&](u32 base) {
      for (Use use : a_.users[base]) {
        if (use.node > now || visited[use.node]) continue;
        if (a_.cluster_of[use.node] == i32(cluster) && a_.internal(use.node, use.input)) continue;
        visited[use.node] = true;
        pending.push_back(use.node);
      }
    };
    for (u32 member : a_.clusters[cluster].members) follow(member);
    while (!pending.empty()) {
      u32 node = pending.back();
      pending.pop_back();
      if (a_.cluster_of[node] == i32(cluster)) return true;
      if (a_.cluster_of[node] < 0) {
        follow(node);
      } else {
        for (u32 member : a_.clusters[size_t(a_.cluster_of[node])].members) follow(member);
      }
    }
    return false;
  }

  Analysis& a_;
  const SlotLimits& limits_;
};

// Why the reader of a use takes the value from memory.
Reason reason(const Analysis& a, u32 base, Use use) {
  switch (a.family(use.node)) {
    case Family::contraction:
      return Reason::operand;
    case Family::whole:
      return Reason::whole;
    case Family::gather:
    case Family::scatter:
    case Family::join:
      return Reason::moved;
    default:
      break;
  }
  if (a.rounds(base)) return Reason::rounded;
  if (a.cluster_of[use.node] == a.cluster_of[base]) return Reason::view;
  const auto found = a.apart.find({use.node, base});
  return found == a.apart.end() ? Reason::view : found->second;
}

}  // namespace

size_t slots(const Analysis& analysis, const Cluster& cluster) {
  std::set<u32> loads;
  size_t count = 1;
  for (u32 member : cluster.members) {
    Family f = analysis.family(member);
    if (f == Family::contraction || f == Family::reduce) ++count;
    if (f == Family::contraction) continue;
    for (u32 input : analysis.graph.nodes[member].inputs) {
      bool constant = analysis.family(analysis.sources[input].base) == Family::constant;
      if (!constant && !analysis.internal(member, input)) loads.insert(input);
    }
  }
  return count + loads.size();
}

void find_clusters(Analysis& analysis, const SlotLimits& limits) { Clusterer(analysis, limits).run(); }

u16 reasons(const Analysis& a, u32 base) {
  u16 found = 0;
  for (u32 output : a.graph.outputs) {
    if (a.sources[output].base == base) found |= u16(Reason::result);
  }
  for (Use use : a.users[base]) {
    if (!a.internal(use.node, use.input)) found |= u16(reason(a, base, use));
  }
  return found;
}

}  // namespace baretile::compiler
