// Mistakes of callers and machines: a typed error whose sentence names the object, the value and the next step.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "baretile/device.h"
#include "baretile/runtime.h"
#include "baretile/tensor.h"
#include "pci/simulators.h"
#include "support/temporary_folder.h"

namespace baretile {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// What `body` throws, which must be an Expected and nothing derived from it.
template <class Expected, class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error).name(), typeid(Expected).name()) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
template <class Body>
std::string usage(Body body) {
  return error_of<UsageError>(body);
}

Tensor shaped(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }

TEST(ShapeErrors, AMatmulOfWrongRanks) {
  EXPECT_EQ(usage([] {
              matmul(shaped({}), shaped({3, 4}));
            }),
            "matmul: [] by [3, 4]: a number has no axis to multiply along; use mul.");
  EXPECT_THAT(usage([] { matmul(shaped({2, 3}), 2); }), HasSubstr("[2, 3] by []: a number has no axis"));
}

TEST(ShapeErrors, AMatmulWhoseShapesDoNotMatch) {
  EXPECT_EQ(usage([] {
              matmul(shaped({2, 3}), shaped({4, 5}));
            }),
            "matmul: [2, 3] by [4, 5]: 3 columns on the left meet 4 rows on the right; they must agree.");
  EXPECT_THAT(usage([] {
                matmul(shaped({2, 5, 3}), shaped({4, 3, 5}));
              }),
              AllOf(HasSubstr("matmul: shapes [2] and [4] do not broadcast"), HasSubstr("must agree or be 1")));
}

TEST(ShapeErrors, ElementsThatDoNotBroadcast) {
  EXPECT_EQ(usage([] {
              shaped({2, 3}) + shaped({2, 4});
            }),
            "add: shapes [2, 3] and [2, 4] do not broadcast; extents must agree or be 1, from the last axis.");
  EXPECT_THAT(usage([] { maximum(shaped({5}), shaped({3, 4})); }), HasSubstr("maximum: shapes [5] and [3, 4]"));
  EXPECT_THAT(usage([] { rope(shaped({3, 64}), shaped({2, 64}), shaped({2, 64})); }), HasSubstr("[3, 64] and [2, 64]"));
  EXPECT_THAT(usage([] { rms_norm(shaped({3, 64}), shaped({65})); }), HasSubstr("[3, 64] and [65]"));
}

TEST(ShapeErrors, AxesThatAreNotThere) {
  EXPECT_EQ(usage([] { sum(shaped({2, 3}), 2); }), "sum: [2, 3] has no axis 2; it has 2 axes.");
  EXPECT_THAT(usage([] { max(shaped({2, 3}), -3); }), HasSubstr("max: [2, 3] has no axis -3"));
  EXPECT_THAT(usage([] { softmax(shaped({}), -1); }), HasSubstr("[] has no axis -1"));
  EXPECT_THAT(usage([] { shaped({2}).flip(1); }), HasSubstr("flip: [2] has no axis 1"));
  EXPECT_THAT(usage([] { shaped({4}).transpose(); }), HasSubstr("[4] has fewer than two axes; reshape it first"));
}

TEST(ShapeErrors, ViewsThatAreNone) {
  EXPECT_EQ(usage([] { shaped({2, 3}).reshape({4, 2}); }), "reshape: [2, 3] has 6 elements and cannot become [4, 2].");
  EXPECT_THAT(usage([] { shaped({2, 3}).reshape({-1, 4}); }), HasSubstr("[2, 3] has 6 elements and cannot become"));
  EXPECT_THAT(usage([] { shaped({2, 3}).reshape({-1, -1}); }), HasSubstr("cannot become [-1, -1]"));
  EXPECT_THAT(usage([] { shaped({2, 3}).permute({0, 0}); }), HasSubstr("[0, 0] is no order of the axes of [2, 3]"));
  EXPECT_THAT(usage([] {
                shaped({2, 3}).slice(1, 2, 4);
              }),
              HasSubstr("[2, 4) is no part of axis 1 of [2, 3]; give 0 <= first <= end <= 3"));
  EXPECT_THAT(usage([] { shaped({2, 3}).slice(0, 2, 1); }), HasSubstr("[2, 1) is no part of axis 0"));
  EXPECT_THAT(usage([] { shaped({2, 3}).expand({2, 6}); }), HasSubstr("[2, 3] does not repeat into [2, 6]"));
  EXPECT_THAT(usage([] { shaped({2, -1}); }), HasSubstr("[2, -1] has an extent below 0; give 0 or more"));
  EXPECT_THAT(usage([] {
                swap_halves(shaped({2, 7}));
              }),
              HasSubstr("swap_halves: the last axis of [2, 7] has no two halves"));
  EXPECT_THAT(usage([] { swap_halves(shaped({})); }), HasSubstr("swap_halves: the last axis of []"));
  EXPECT_THAT(usage([] {
                shaped({1 << 20, 1 << 20});
              }),
              HasSubstr("[1048576, 1048576] has more than 2^32 - 1 elements"));
  EXPECT_THAT(usage([] {
                shaped({1, 2}).expand({i64{1} << 62, 2});
              }),
              HasSubstr("expand: [4611686018427387904, 2] has"));
  EXPECT_THAT(usage([] { shaped({2}).expand({-1, 2}); }), HasSubstr("expand: [-1, 2] has an extent below 0"));
}

TEST(ShapeErrors, JoinsGathersAndWritesThatDoNotFit) {
  EXPECT_THAT(usage([] {
                concat({shaped({2, 3}), shaped({2, 4})}, 0);
              }),
              HasSubstr("concat: [2, 3] and [2, 4] do not fit along axis 0"));
  EXPECT_THAT(usage([] { concat(std::span<const Tensor>(), 0); }), HasSubstr("concat: no tensors; give at least one"));
  Tensor index = shaped({2}, DType::int32);
  EXPECT_THAT(usage([&] {
                gather_rows(shaped({3, 4, 5}), index);
              }),
              HasSubstr("the table is [3, 4, 5]; give two axes"));
  EXPECT_THAT(usage([&] { shaped({9, 4}).assign_rows(index, shaped({3, 4})); }), HasSubstr("assign_rows: "));
  EXPECT_THAT(usage([&] {
                shaped({9, 4}).assign_rows(index, shaped({2, 5}));
              }),
              AllOf(HasSubstr("[2, 5]"), HasSubstr("[9, 4]")));
}

TEST(DTypeErrors, IndicesAreNoNumbersAndNumbersNoIndices) {
  Tensor index = shaped({4}, DType::int32);
  EXPECT_THAT(usage([&] {
                gather_rows(shaped({5, 4}), shaped({2}));
              }),
              HasSubstr("gather_rows: the index is fp32 [2]; give int32 of one axis"));
  EXPECT_THAT(usage([&] { gather_rows(shaped({5, 4}), shaped({2, 1}, DType::int32)); }), HasSubstr("int32 [2, 1]"));
  EXPECT_THAT(usage([&] {
                shaped({9, 4}, DType::bf16).assign_rows(index, shaped({4, 4}));
              }),
              HasSubstr("fp32 values for a bf16 tensor [9, 4]; cast the values"));
  EXPECT_THAT(usage([&] { concat({shaped({2, 3}), shaped({2, 3}, DType::bf16)}, 0); }), HasSubstr("dtypes must agree"));
}

TEST(ValueErrors, EmptyTensorsAndPlaceholdersHaveNoValues) {
  EXPECT_EQ(usage([] { Tensor() + shaped({2}); }), "add: the tensor is empty; give it a value first.");
  EXPECT_THAT(usage([] { Tensor().shape(); }), HasSubstr("shape: the tensor is empty"));
  EXPECT_THAT(usage([] { Tensor().realize(); }), HasSubstr("realize: the tensor is empty"));
  EXPECT_THAT(usage([] { shaped({2}).to_host(); }), HasSubstr("[2] belongs to no device"));
  EXPECT_THAT(usage([] { Tensor(3).to_host(); }), HasSubstr("belongs to no device"));
  EXPECT_THAT(usage([] { shaped({2}, DType::int32).to_host(); }), HasSubstr("[2] is int32; use to_host for floats"));
  EXPECT_THAT(usage([] { shaped({2}).to_host_int32(); }), HasSubstr("[2] is fp32; use to_host for floats"));
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SIMULATOR("sim"); }
  void TearDown() override {
    for (const char* name : {"BARETILE_CACHE_DIR", "PATH", "TTSIM"}) {
      if (const auto& old = environment_[name]) setenv(name, old->c_str(), 1);
    }
  }
  void set(const char* name, const std::string& value) {
    const char* old = std::getenv(name);
    environment_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    setenv(name, value.c_str(), 1);
  }
  Runtime& runtime() {
    if (!runtime_) runtime_ = std::make_unique<Runtime>("sim");
    return *runtime_;
  }
  // One kernel that no other test compiles.
  std::vector<float> compute(i64 n) {
    return (Tensor::from_host(runtime(), std::vector<float>(size_t(n)), {n}) + 1).to_host();
  }

  const TemporaryFolder own_;
  const fs::path& folder_ = own_.path();

 private:
  std::map<std::string, std::optional<std::string>> environment_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(OnDevice, NumbersThatDoNotFillAShape) {
  const std::vector<float> five(5);
  EXPECT_EQ(usage([&] {
              Tensor::from_host(runtime(), five, {2, 3});
            }),
            "tensor: 5 values for shape [2, 3], which has 6 elements.");
  EXPECT_THAT(usage([&] { Tensor::from_host(runtime(), five, {5}, DType::int32); }), HasSubstr("floats for a tensor of int32; give values of that type"));
  EXPECT_THAT(usage([&] { Tensor::zeros(runtime(), {3, -1}); }), HasSubstr("[3, -1] has an extent below 0"));
  EXPECT_THAT(usage([&] {
                Tensor::of(runtime(), {{1, 2}, {3}});
              }),
              HasSubstr("a list has 1 elements where another has 2; all rows must be equally long"));
  EXPECT_THAT(usage([&] { Tensor::of(runtime(), {{1, 2}, 3}); }), HasSubstr("nest all rows equally deep"));
  EXPECT_THAT(usage([&] { Tensor::of(runtime(), {{1, 2.5}}, DType::int32); }), HasSubstr("2.5 is no int32"));
  EXPECT_THAT(usage([&] { Tensor::of(runtime(), {3e9}, DType::int32); }), HasSubstr("3000000000 is no int32"));
}

TEST_F(OnDevice, TensorsOfTwoDevicesDoNotMeet) {
  Runtime other("sim");
  Tensor x = Tensor::zeros(runtime(), {3}), y = Tensor::zeros(other, {3});
  EXPECT_EQ(usage([&] { x + y; }),
            "add: the tensors lie on two devices; bring one to the other with to_host and from_host.");
  EXPECT_THAT(usage([&] { realize({x * 2, y * 2}); }), HasSubstr("belongs to no device, or to another one"));
}

TEST_F(OnDevice, APlaceholderAmongValuesIsNamed) {
  EXPECT_THAT(usage([&] { (Tensor::zeros(runtime(), {3}) + shaped({3})).to_host(); }),
              HasSubstr("a placeholder of shape [3] has no value; use from_host"));
}

TEST_F(OnDevice, ATensorThatNoMemoryHoldsSaysHowMuchThereIs) {
  const u64 bank_bytes = runtime().free_bytes() / runtime().dram_banks();
  const DeviceBuffer most = runtime().allocate(1 << 20, (bank_bytes >> 22 << 2) * runtime().dram_banks());
  const std::string message = error_of<OutOfMemory>([&] { Tensor::zeros(runtime(), {1 << 12, 1 << 12}); });
  EXPECT_THAT(message, HasSubstr("8388608"));  // of 64 MiB over eight banks
  EXPECT_THAT(message, HasSubstr("free"));
}

TEST_F(OnDevice, TtsimThatIsATextFile) {
  set("TTSIM", BARETILE_SOURCE_DIR "/README.md");
  const std::string message = error_of<SystemError>([] { Runtime("ttsim"); });
  EXPECT_THAT(message, AllOf(HasSubstr("/README.md is not a simulator library"), HasSubstr("libttsim.so")));
  EXPECT_EQ(error_of<SystemError>([] { Runtime(""); }), message) << "which is what a plain Runtime opens then";
}

TEST_F(OnDevice, TtsimThatIsNotThere) {
  set("TTSIM", folder_ / "libttsim.so");
  EXPECT_THAT(error_of<SystemError>([] { Runtime("ttsim"); }),
              AllOf(HasSubstr(folder_ / "libttsim.so"), HasSubstr("No such file"), HasSubstr("set TTSIM")));
  set("TTSIM", "libttsim.so");
  EXPECT_THAT(usage([] { Runtime("ttsim"); }), HasSubstr("'libttsim.so' is relative; give TTSIM"));
}

TEST_F(OnDevice, ADeviceOfNoKnownName) {
  EXPECT_THAT(usage([] { Runtime("wormhole"); }), AllOf(HasSubstr("device 'wormhole' is not here; there is"),
                                                        HasSubstr("sim"), HasSubstr("baretile chip check")));
}

TEST_F(OnDevice, NoClangAndNothingCompiledBefore) {
  set("BARETILE_CACHE_DIR", folder_);
  set("PATH", folder_);
  EXPECT_EQ(
      error_of<SystemError>([&] { compute(7001); }),
      "no clang in PATH, and no kernel was compiled before; install the device compiler: apt-get install clang lld");
}

TEST_F(OnDevice, NoClangForAKernelThatTheCacheLacks) {
  set("BARETILE_CACHE_DIR", folder_);
  EXPECT_EQ(compute(7002).at(7001), 1);
  set("PATH", folder_);
  EXPECT_THAT(error_of<SystemError>([&] { compute(7003); }),
              AllOf(HasSubstr("is not in the cache and clang is not in PATH"), HasSubstr("apt-get install clang lld")));
  EXPECT_EQ(compute(7002).at(7001), 1) << "what is known goes on";
}

// Root may write anywhere, so the work is done by a child that is nobody.
TEST_F(OnDevice, ACacheFolderThatCannotBeWritten) {
  // To root no folder of a disk is read-only, but /proc is.
  const fs::path folder = geteuid() == 0 ? fs::path("/proc/baretile") : folder_;
  if (folder == folder_)
    fs::permissions(folder_, fs::perms::all & ~(fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write));
  set("BARETILE_CACHE_DIR", folder);
  EXPECT_THAT(error_of<SystemError>([this] { compute(7004); }),
              AllOf(HasSubstr("cannot write " + folder.string()), HasSubstr("set BARETILE_CACHE_DIR to a folder that you can write")));
  fs::permissions(folder_, fs::perms::all);
}

}  // namespace
}  // namespace baretile
