// Runs cases on one simulator: computes, compares, keeps the bits.
#pragma once
#include <map>
#include <set>

#include "baretile/jit.h"
#include "ops/cases.h"

namespace baretile::ops_test {

inline Tensor before(const Tensor& x, const Numbers& n) {
  if (x.dtype() == DType::boolean) return logical_not(x);
  return x + (is_float(x.dtype()) ? n.first : n.first * 4);
}
inline Tensor after(const Tensor& x, const Numbers& n) {
  if (x.dtype() == DType::boolean) return logical_not(x);
  return x * (x.dtype() == DType::uint32 ? -n.factor : n.factor);
}

class Harness {
 public:
  explicit Harness(const char* device) : device_(device), runtime_(device) {}
  ~Harness() {
    fmt::print("{}: {} combinations of operation, dtype and shape, of {} operations; {} results compared\n", device_,
               combinations_.size(), names_.size(), compared_);
  }

  struct Job {
    std::string name;
    Case c;
  };
  // Cases that become one program. In a chain, each operand but an index goes through before(), the result through
  // after().
  void run(const std::vector<Job>& jobs, const Shape& shape, DType dtype, const Numbers* chain = nullptr) {
    std::vector<Job> with_other_values = jobs;
    for (Job& job : with_other_values)
      for (Input& input : job.c.inputs)
        if (is_float(input.dtype)) std::reverse(input.value.values.begin(), input.value.values.end());
    const Operands operands = operands_of(jobs);
    const Tensors first = uploads(jobs, operands), second = uploads(with_other_values, operands);
    const auto call = [&](const Tensors& in) { return calls(jobs, operands, in, chain); };
    const auto bits = check(jobs, call(first), shape, dtype, chain),
               other_bits = check(with_other_values, call(second), shape, dtype, chain);
    expect_same("once more, in other buffers", jobs, bits, bits_of(call(uploads(jobs, operands))));
    if (std::none_of(bits.begin(), bits.end(), [](const auto& b) { return b.empty(); })) {
      Jit jit(call);
      expect_same("recorded", jobs, bits, bits_of(jit(first)));
      expect_same("replayed", jobs, other_bits, bits_of(jit(second)));
    }
    for (const Job& job : jobs) {
      names_.insert(job.name);
      combinations_.insert(fmt::format("{} {} {}", job.name, u32(dtype), compiler::to_string(shape)));
    }
  }
  // The same, in fp32 also as parts of larger tensors; an exception does not keep the others from running.
  void attempt(const std::vector<Job>& jobs, const Shape& shape, DType dtype, const Numbers* chain = nullptr) try {
    run(jobs, shape, dtype, chain);
    if (chain && dtype == fp32) run_at_offsets(jobs, chain);
  } catch (const std::exception& error) {
    if (jobs.size() > 1)
      for (const Job& job : jobs) attempt({job}, shape, dtype, chain);
    else
      ADD_FAILURE() << fmt::format("{}: {} {} {}: {}", device_, jobs[0].name, compiler::to_string(dtype),
                                   compiler::to_string(shape), error.what());
  }
  // The same values as parts of larger tensors, at two places.
  void run_at_offsets(const std::vector<Job>& jobs, const Numbers* chain = nullptr) {
    const Operands operands = operands_of(jobs);
    const auto bits = bits_of(calls(jobs, operands, uploads(jobs, operands), chain));
    for (const i64 offset : {1, 2}) {
      Tensors parts;
      for (const auto& [job, input] : operands.first) {
        const auto& [value, dtype] = jobs[job].c.inputs[input];
        Shape larger = value.shape;
        larger.insert(larger.begin(), 4);
        Array whole = Source{99}(larger, dtype);
        std::copy(value.values.begin(), value.values.end(), whole.values.begin() + offset * i64(value.values.size()));
        parts.push_back(upload(whole, dtype).slice(0, offset, offset + 1).squeeze(0));
      }
      expect_same("of parts of larger tensors", jobs, bits, bits_of(calls(jobs, operands, parts, chain)));
    }
  }

  const std::map<std::string, std::vector<u32>>& results() const { return results_; }

 private:
  Tensor upload(const Array& x, DType dtype) {
    const auto& v = x.values;
    if (dtype == DType::int32) return Tensor::from_host(runtime_, std::vector<i32>(v.begin(), v.end()), x.shape);
    if (dtype == DType::uint32) return Tensor::from_host(runtime_, std::vector<u32>(v.begin(), v.end()), x.shape);
    return Tensor::from_host(runtime_, x.floats(), x.shape, dtype);
  }
  // Equal operands are one tensor, so that cases which share them become one kernel.
  struct Operands {
    std::vector<std::pair<size_t, size_t>> first;  // of each: a job and its input
    std::vector<std::vector<size_t>> of;           // by job and input
  };
  static Operands operands_of(const std::vector<Job>& jobs) {
    Operands out;
    for (size_t job = 0; job < jobs.size(); ++job) {
      out.of.emplace_back();
      for (size_t input = 0; input < jobs[job].c.inputs.size(); ++input) {
        const auto found = std::find_if(out.first.begin(), out.first.end(), [&](const auto& place) {
          const Input &a = jobs[place.first].c.inputs[place.second], &b = jobs[job].c.inputs[input];
          return a.dtype == b.dtype && a.value.shape == b.value.shape && a.value.values == b.value.values &&
                 is_index(jobs[place.first], place.second) == is_index(jobs[job], input);
        });
        out.of.back().push_back(size_t(found - out.first.begin()));
        if (found == out.first.end()) out.first.push_back({job, input});
      }
    }
    return out;
  }
  Tensors uploads(const std::vector<Job>& jobs, const Operands& operands) {
    Tensors out;
    for (const auto& [job, input] : operands.first) {
      const Input& it = jobs[job].c.inputs[input];
      out.push_back(upload(it.value, it.dtype));
    }
    return out;
  }
  // An operand that says where, not what.
  static bool is_index(const Job& job, size_t input) {
    return input == 1 && job.c.inputs[1].dtype == DType::int32 && job.c.indexed;
  }
  static Tensors calls(const std::vector<Job>& jobs, const Operands& operands, Tensors values, const Numbers* chain) {
    for (size_t n = 0; chain && n < values.size(); ++n)
      if (!is_index(jobs[operands.first[n].first], operands.first[n].second)) values[n] = before(values[n], *chain);
    Tensors out;
    for (size_t job = 0; job < jobs.size(); ++job) {
      Tensors mine;
      for (const size_t n : operands.of[job]) mine.push_back(values[n]);
      const Tensor result = jobs[job].c.call(mine);
      out.push_back(chain ? after(result, *chain) : result);
    }
    return out;
  }

  std::vector<u32> bits(const Tensor& x) {
    if (x.dtype() == DType::int32) return words(x.to_host_int32());
    return x.dtype() == DType::uint32 ? x.to_host_uint32() : words(x.to_host());
  }
  template <class T>
  static std::vector<u32> words(const std::vector<T>& values) {
    std::vector<u32> out;
    for (const T v : values) out.push_back(std::bit_cast<u32>(v));
    return out;
  }
  std::vector<std::vector<u32>> bits_of(const Tensors& tensors) {
    realize(tensors);
    std::vector<std::vector<u32>> out;
    for (const Tensor& x : tensors) out.push_back(bits(x));
    return out;
  }
  void expect_same(const char* how, const std::vector<Job>& jobs, const std::vector<std::vector<u32>>& want,
                   const std::vector<std::vector<u32>>& got) {
    for (size_t n = 0; n < jobs.size(); ++n)
      EXPECT_EQ(got[n], want[n]) << device_ << ": " << jobs[n].name << ", " << how << ", gives other bits";
  }

  std::vector<std::vector<u32>> check(const std::vector<Job>& jobs, const Tensors& results, const Shape& shape,
                                      DType dtype, const Numbers* chain) {
    const auto out = bits_of(results);
    for (size_t n = 0; n < jobs.size(); ++n) {
      const Case& c = jobs[n].c;
      const std::string title = fmt::format("{}: {} {} {}{}", device_, jobs[n].name, compiler::to_string(dtype),
                                            compiler::to_string(shape), chain ? ", in a chain" : "");
      std::vector<Array> inputs = arrays(c);
      for (size_t i = 0; chain && i < inputs.size(); ++i)
        if (!is_index(jobs[n], i))
          inputs[i] = map(inputs[i], [&](double v) { return before(v, c.inputs[i].dtype, *chain); });
      Array want = wanted(c, inputs);
      if (chain) want = map(want, [&](double v) { return after(v, results[n].dtype(), *chain); });
      Bound bound = c.bound;
      bound.absolute *= 1 + largest(want);
      if (results[n].dtype() == bf16) bound.absolute += c.bf16_absolute * (1 + largest(want));
      compare(title, results[n], want, bound);
      results_[fmt::format("{} #{}", title, results_.size())] = out[n];
    }
    return out;
  }
  void compare(const std::string& title, const Tensor& got, const Array& want, Bound bound) {
    EXPECT_EQ(got.shape(), want.shape) << title;
    if (got.shape() != want.shape || want.values.empty()) return;
    EXPECT_EQ(padding(got), 0u) << title << " leaves something in its padding";
    const std::vector<u32> words = bits(got);
    u32 wrong = 0;
    for (size_t n = 0; n < words.size(); ++n) {
      const double value = is_float(got.dtype()) || got.dtype() == DType::boolean ? std::bit_cast<float>(words[n]) : 0;
      const bool right = is_integer(got.dtype()) ? words[n] == u32(i64(want.values[n]))
                                                 : close(value, want.values[n], got.dtype(), bound);
      if (right || ++wrong > 2) continue;
      ADD_FAILURE() << fmt::format("{}: element {} is {} ({:#x}) instead of {}", title, n, value, words[n],
                                   want.values[n]);
    }
    EXPECT_EQ(wrong, 0u) << title << ": wrong elements of " << words.size();
    compared_ += words.size();
  }
  // Values in padding that are not +0; of blocks, bytes that the host stores otherwise for the same values.
  u32 padding(const Tensor& x) {
    if (!is_block(x.dtype())) return values_in_padding(runtime_, x);
    const DeviceBuffer& storage = x.expr()->storage;
    std::vector<std::byte> pages(storage.bytes()), host(storage.bytes());
    runtime_.read_pages(storage, 0, pages);
    PageFormat(x.shape(), x.dtype()).encode(std::span<const float>(x.to_host()), 0, host);
    u32 differ = 0;
    for (size_t n = 0; n < pages.size(); ++n) differ += pages[n] != host[n];
    return differ;
  }

  const std::string device_;
  Runtime runtime_;
  std::map<std::string, std::vector<u32>> results_;
  std::set<std::string> combinations_, names_;
  u64 compared_ = 0;
};

// Runs `body` on the in-tree simulator, and on ttsim where it is there, which must give the same bits.
template <class Body>
void on_both(Body body) {
  setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
  std::map<std::string, std::vector<u32>> first;
  for (const char* device : {"sim", "ttsim"}) {
    if (simulator_path(device).empty()) {
      fmt::print("{}: not here, so that its bits are not compared\n", device);
      continue;
    }
    Harness harness(device);
    body(harness);
    std::map<std::string, std::vector<u32>> results;
    for (const auto& [name, bits] : harness.results()) results[name.substr(name.find(' '))] = bits;
    if (!first.empty()) {
      EXPECT_EQ(first.size(), results.size());
      for (const auto& [name, bits] : results) EXPECT_EQ(bits, first[name]) << name << " differs between simulators";
    }
    first = std::move(results);
  }
}

}  // namespace baretile::ops_test
