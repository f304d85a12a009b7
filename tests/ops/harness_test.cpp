// One harness for every row of ops.def and every function of tensor.h and nn.h (cases.h): alone and in a chain, twice
// with other buffers, offsets and numbers, recorded and replayed, on both simulators with equal bits; gradients against
// differences. Results are compared with double, and what is stored around them with zero. It prints how many
// combinations of operation, dtype and shape it ran: samples of them, or all (every.h).
#include "ops/harness.h"

#include <fstream>
#include <regex>
#include <set>

#include "ops/axis_cases.h"
#include "ops/elementwise_cases.h"
#include "ops/every.h"
#include "ops/index_cases.h"
#include "ops/made_cases.h"
#include "ops/nn_cases.h"
#include "ops/product_cases.h"
#include "ops/view_cases.h"

namespace baretile::ops_test {
namespace {

std::vector<Entry> all_entries() {
  std::vector<Entry> out = elementwise_entries();
  for (const auto& more :
       {axis_entries(), view_entries(), index_entries(), made_entries(), product_entries(), nn_entries()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

// The next shape from a number on, with elements, that an entry takes.
std::optional<Shape> fitting(const Entry& entry, size_t first, DType dtype) {
  for (size_t n = 0; n < kShapes.size(); ++n) {
    const Shape& shape = kShapes[(first + n) % kShapes.size()];
    Source values;
    if (!is_empty(shape) && entry.make(shape, dtype, values)) return shape;
  }
  return std::nullopt;
}

TEST(Harness, ElementByElementAlone) {
  const std::vector<Entry> entries = elementwise_entries();
  if (const auto shapes = every_shape()) return run_alone(entries, *shapes);
  on_both([&](Harness& harness) {
    for (size_t n = 0; n < entries.size(); ++n) {
      const std::vector<DType> dtypes = dtypes_of(entries[n]);
      const DType dtype = dtypes[n % dtypes.size()];
      const Shape shape = *fitting(entries[n], n, dtype);
      std::vector<Harness::Job> jobs;
      add(jobs, entries[n], shape, dtype);
      harness.run(jobs, shape, dtype);
    }
  });
}

// Some of them in one program, which the compiler makes few kernels of: every fifth in fp32, for another shape others;
// every third in other dtypes, each for some of the shapes. All of them without elements.
TEST(Harness, ElementByElementInChains) {
  const std::vector<Entry> entries = elementwise_entries();
  if (const auto shapes = every_shape()) return run_in_chains(entries, *shapes);
  on_both([&](Harness& harness) {
    for (size_t s = 0; s < kShapes.size(); ++s)
      for (size_t d = 0; d < std::size(kAll); ++d) {
        const Shape& shape = kShapes[s];
        const bool empty = is_empty(shape);
        const size_t share = empty ? 1 : d == 0 ? 5 : 3;
        if (share == 3 && s % 4 != d - 1) continue;
        std::vector<Harness::Job> jobs;
        for (size_t n = 0; n < entries.size(); ++n)
          if (n % share == (s + s / 5) % share && entries[n].dtypes & bit_of(kAll[d]))
            add(jobs, entries[n], shape, kAll[d]);
        harness.run(jobs, shape, kAll[d], &kNumbers[0]);
        if (s == 0) harness.run(jobs, shape, kAll[d], &kNumbers[1]);
        if (s == 1) harness.run_at_offsets(jobs, &kNumbers[0]);
      }
  });
}

void run_entries(const std::vector<Entry>& entries) {
  if (const auto shapes = every_shape()) return run_alone(entries, *shapes), run_in_chains(entries, *shapes);
  on_both([&](Harness& harness) {
    for (size_t n = 0; n < entries.size(); ++n) {
      const Entry& entry = entries[n];
      const std::vector<DType> dtypes = dtypes_of(entry);
      const auto run = [&](const Shape& shape, DType dtype, const Numbers* chain) {
        std::vector<Harness::Job> jobs;
        add(jobs, entry, shape, dtype);
        if (jobs.empty()) return;
        harness.run(jobs, shape, dtype, chain);
        if (chain == &kNumbers[1]) harness.run_at_offsets(jobs, chain);
      };
      for (const Shape& shape : kShapes)
        if (is_empty(shape)) run(shape, dtypes[0], nullptr);
      if (const auto shape = fitting(entry, n, dtypes[0])) run(*shape, dtypes[0], nullptr);
      if (const auto shape = fitting(entry, n + 5, dtypes[0]); shape && n % 2) run(*shape, dtypes[0], nullptr);
      const DType other = dtypes[(n + 1) % dtypes.size()];
      if (const auto shape = fitting(entry, n + 9, other)) run(*shape, other, &kNumbers[n % 2]);
    }
  });
}
TEST(Harness, AlongAxes) { run_entries(axis_entries()); }
TEST(Harness, Views) { run_entries(view_entries()); }
TEST(Harness, IndicesAndNewTensors) {
  std::vector<Entry> entries = index_entries();
  for (Entry& entry : made_entries()) entries.push_back(std::move(entry));
  run_entries(entries);
}
TEST(Harness, Products) { run_entries(product_entries()); }
TEST(Harness, Networks) { run_entries(nn_entries()); }

// A row without a gradient does not change between its steps.
void expect_flat(const std::string& name, const Case& c) {
  std::vector<Array> here = arrays(c), beside = here;
  for (Array& x : beside) x = map(x, [](double v) { return v + 1e-4; });
  EXPECT_EQ(wanted(c, here).values, wanted(c, beside).values) << name;
}

TEST(Harness, GradientsAreDifferences) {
  const std::vector<Entry> entries = all_entries();
  const std::vector<Shape> kFew{{1}, {33}, {31, 3}, {2, 3, 7}, {2, 1, 3, 5}};
  std::set<std::string> steps;
  for (const Row& row : kRows) steps.insert(row.name);
  u32 checked = 0;
  for (const Entry& entry : entries)
    for (const Shape& shape : every_shape().value_or(kFew)) {
      if (!(entry.dtypes & bit_of(fp32))) continue;
      Source values{1, true};
      const std::optional<Case> c = entry.make(shape, fp32, values);
      if (c && !c->differentiable && steps.contains(entry.name)) expect_flat(entry.name, *c);
      if (!c || !c->differentiable) continue;
      check_derivatives(fmt::format("{} {}", entry.name, compiler::to_string(shape)), c->inputs, c->call, c->tolerance);
      ++checked;
    }
  fmt::print("{} gradients checked\n", checked);
  EXPECT_GE(checked, every_shape() ? 1u : 200u);
}

// No device: what the graphs are by the book is what the formulas say.
TEST(Harness, GraphsMeanTheirFormulas) {
  u32 checked = 0;
  for (const Entry& entry : all_entries())
    for (const DType dtype : dtypes_of(entry))
      for (const Shape& shape : every_shape().value_or(kShapes)) {
        Source values;
        const std::optional<Case> c = entry.make(shape, dtype, values);
        if (!c || !c->want || c->on_device) continue;
        if (!every_shape() && compiler::element_count(shape) > 200) continue;
        const Array want = c->want(arrays(*c)), got = graph_by_the_book(*c, arrays(*c));
        if (!is_float(dtype) && (!finite(got) || largest(got) > 0x1p31))
          continue;  // the book's integers do not wrap around
        const std::string title =
            fmt::format("{} {} {}", entry.name, compiler::to_string(dtype), compiler::to_string(shape));
        ASSERT_EQ(got.shape, want.shape) << title;
        const double bound = (dtype == bf16 ? 0x1p-7 : 1e-6) * (1 + largest(want));
        u32 wrong = 0;
        for (size_t n = 0; n < want.values.size(); ++n) wrong += !(std::fabs(got.values[n] - want.values[n]) <= bound);
        EXPECT_EQ(wrong, 0u) << title << ": wrong elements of " << want.values.size();
        ++checked;
      }
  fmt::print("{} graphs checked\n", checked);
}

TEST(Harness, EveryRowAndFunctionHasACase) {
  const std::vector<Entry> entries = all_entries();
  std::set<Op> reached;
  std::set<std::string> rows{"where"};  // they mean what ops.def says of them
  for (const Row& row : kRows) rows.insert(row.name);
  // Uploads, which every case begins with, and the macros' parameter.
  std::set<std::string> names{"from_host", "from_host_bf16", "placeholder", "realize", "name"};
  for (const Entry& entry : entries) {
    names.insert(entry.name.substr(0, entry.name.find_first_of(" ,")));
    for (const DType dtype : dtypes_of(entry)) {
      const std::optional<Shape> shape = fitting(entry, 0, dtype);
      ASSERT_TRUE(shape) << entry.name << " takes none of the shapes";
      Source values;
      const Case c = *entry.make(*shape, dtype, values);
      EXPECT_TRUE(c.want || rows.contains(entry.name)) << entry.name << " is judged by its own graph";
      Tensors tensors;
      for (const Input& input : c.inputs) tensors.push_back(Tensor::placeholder(input.value.shape, input.dtype));
      for (const compiler::Node& node : capture(Tensors{c.call(tensors)}).graph.nodes) reached.insert(node.op);
    }
  }
  for (size_t op = 0; op < compiler::kOps.size(); ++op)
    EXPECT_TRUE(reached.contains(Op(op))) << "row " << compiler::kOps[op].name << " has no case";
  const std::regex declared("^(?:  )?(?:static |inline )*(?:Tensor|TopK|void|std::vector<Tensor>) (\\w+)\\(.*"),
      free_function("^(?:inline )?(?:Tensor|std::vector<Tensor>) (\\w+)\\(.*");
  u32 found = 0;
  for (const std::string name : {"tensor.h", "nn.h"}) {
    std::ifstream header(BARETILE_SOURCE_DIR "/include/baretile/" + name);
    ASSERT_TRUE(header);
    for (std::string line; std::getline(header, line);) {
      std::smatch match;
      if (!std::regex_match(line, match, name == "nn.h" ? free_function : declared)) continue;
      ++found;
      EXPECT_TRUE(names.contains(match[1])) << name << " declares " << match[1] << ", which has no case";
    }
  }
  EXPECT_GE(found, 70u);
}

}  // namespace
}  // namespace baretile::ops_test
