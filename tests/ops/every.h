// BARETILE_HARNESS=all: every entry at every shape in every dtype, for which ctest has no time.
#pragma once
#include <cstdlib>

#include "ops/harness.h"

namespace baretile::ops_test {

// Classes of shapes that samples do without: 0 in each rank, more than a page in both axes of ranks 4 and 5.
inline const std::vector<Shape> kMoreShapes{{0, 33}, {2, 0, 3, 5}, {1, 2, 0, 3, 33}, {1, 2, 65, 33}, {2, 1, 2, 33, 37}};

// All shapes, or the one that BARETILE_HARNESS names as messages do: [33, 63]. Nothing: samples are enough.
inline std::optional<std::vector<Shape>> every_shape() {
  const char* asked = std::getenv("BARETILE_HARNESS");
  if (!asked) return std::nullopt;
  std::vector<Shape> out;
  for (const auto& shapes : {kShapes, kMoreShapes})
    for (const Shape& shape : shapes)
      if (asked == std::string_view("all") || asked == compiler::to_string(shape)) out.push_back(shape);
  if (out.empty())
    throw std::invalid_argument(
        fmt::format("BARETILE_HARNESS is '{}'; give 'all' or one of the harness's shapes, such as '[33, 63]'.", asked));
  return out;
}

inline std::vector<DType> dtypes_of(const Entry& entry) {
  std::vector<DType> out;
  for (const DType dtype : kAll)
    if (entry.dtypes & bit_of(dtype)) out.push_back(dtype);
  return out;
}
inline void add(std::vector<Harness::Job>& jobs, const Entry& entry, const Shape& shape, DType dtype) {
  Source values;
  if (std::optional<Case> c = entry.make(shape, dtype, values)) jobs.push_back({entry.name, std::move(*c)});
}

inline void begin(const char* how, const Shape& shape) {
  fmt::print("{} at {} …\n", how, compiler::to_string(shape));
  std::fflush(stdout);  // it takes minutes
}

// Each in one of its dtypes, another for the next shape.
inline void run_alone(const std::vector<Entry>& entries, const std::vector<Shape>& shapes) {
  on_both([&](Harness& harness) {
    for (size_t s = 0; s < shapes.size(); ++s) {
      begin("alone", shapes[s]);
      for (const Entry& entry : entries) {
        const std::vector<DType> dtypes = dtypes_of(entry);
        std::vector<Harness::Job> jobs;
        add(jobs, entry, shapes[s], dtypes[s % dtypes.size()]);
        if (!jobs.empty()) harness.attempt(jobs, shapes[s], dtypes[s % dtypes.size()]);
      }
    }
  });
}

// Each in each of its dtypes, some of them in one program; of fp32 also as parts of larger tensors.
inline void run_in_chains(const std::vector<Entry>& entries, const std::vector<Shape>& shapes) {
  constexpr size_t kTogether = 12;
  on_both([&](Harness& harness) {
    for (size_t s = 0; s < shapes.size(); ++s) {
      begin("in chains", shapes[s]);
      for (const DType dtype : kAll) {
        std::vector<Harness::Job> jobs;
        for (const Entry& entry : entries) {
          if (entry.dtypes & bit_of(dtype)) add(jobs, entry, shapes[s], dtype);
          if (jobs.empty() || (jobs.size() < kTogether && &entry != &entries.back())) continue;
          harness.attempt(jobs, shapes[s], dtype, &kNumbers[s % 2]);
          jobs.clear();
        }
      }
    }
  });
}

}  // namespace baretile::ops_test
