// Files by their endings; what is in their bytes is tested in array/files_test.cpp.
#include "baretile/files.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "capi/support.h"
#include "support/temporary_folder.h"

namespace baretile::capi_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CapiFiles : public Capi {
 protected:
  using Read = std::map<std::string, Handle>;

  std::string path(const std::string& name) const { return folder_.path() / name; }
  static bt_status load(const std::string& path, Read& read, bt_dtype as = BT_AS_STORED) {
    const bt_named add = [](void* data, const char* name, bt_tensor* x) { static_cast<Read*>(data)->emplace(name, x); };
    return bt_load(runtime.get(), path.c_str(), as, add, &read);
  }
  static bt_status save(const std::string& path, std::vector<const char*> names,
                        std::vector<const bt_tensor*> tensors) {
    return bt_save(path.c_str(), names.empty() ? nullptr : names.data(), tensors.data(), tensors.size());
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(CapiFiles, GoOutAndComeBackByTheirEnding) {
  const Handle w = tensor({1.5, -2, 3, 4}, {2, 2}), b = tensor({7, 8}, {2});
  for (const char* name : {"x.npz", "x.safetensors"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(save(path(name), {"w", "b"}, {w.get(), b.get()}), BT_OK) << bt_message();
    Read read;
    ASSERT_EQ(load(path(name), read), BT_OK) << bt_message();
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(bt_rank(read["w"].get()), 2u);
    EXPECT_THAT(floats(read["w"]), ElementsAre(1.5, -2, 3, 4));
    EXPECT_THAT(floats(read["b"]), ElementsAre(7, 8));
    Read whole;
    EXPECT_EQ(load(path(name), whole, BT_INT32), BT_USAGE_ERROR);
    EXPECT_THAT(bt_message(), HasSubstr("1.5 is no int32"));
    EXPECT_TRUE(whole.empty());
  }
  ASSERT_EQ(save(path("x.npy"), {}, {w.get()}), BT_OK) << bt_message();
  Read read;
  ASSERT_EQ(load(path("x.npy"), read, BT_BF16), BT_OK) << bt_message();
  EXPECT_EQ(bt_dtype_of(read[""].get()), BT_BF16);
  EXPECT_THAT(floats(read[""]), ElementsAre(1.5, -2, 3, 4));
  ASSERT_EQ(save(path("none.npz"), {}, {}), BT_OK) << bt_message();
}

TEST_F(CapiFiles, WhatDoesNotFitTheEndingIsAUsageError) {
  const Handle x = tensor({1, 2}, {2});
  const auto refused = [&](const char* name, std::vector<const char*> names, std::vector<const bt_tensor*> tensors) {
    EXPECT_EQ(save(path(name), names, tensors), BT_USAGE_ERROR);
    EXPECT_FALSE(std::filesystem::exists(path(name)));
    return std::string(bt_message());
  };
  EXPECT_THAT(refused("x.bin", {}, {x.get()}), HasSubstr("give .npy, .npz or .safetensors"));
  EXPECT_THAT(refused("x.npy", {}, {x.get(), x.get()}), HasSubstr("one tensor without a name, not 2"));
  EXPECT_THAT(refused("x.npy", {"x"}, {x.get()}), HasSubstr("not 1 with names"));
  EXPECT_THAT(refused("x.npz", {}, {x.get()}), HasSubstr("needs a name for each"));
  EXPECT_THAT(refused("x.npz", {"x", "x"}, {x.get(), x.get()}), HasSubstr("two tensors are called 'x'"));
  EXPECT_THAT(refused("x.npz", {nullptr}, {x.get()}), HasSubstr("a name is NULL"));
  EXPECT_THAT(refused("x.npz", {"x"}, {nullptr}), HasSubstr("tensor 0 is NULL"));

  Read read;
  EXPECT_EQ(load(path("x.bin"), read), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("give .npy, .npz or .safetensors"));
  EXPECT_EQ(load(path("x.npy"), read), BT_SYSTEM_ERROR);
  std::ofstream(path("x.npy")) << "nothing";
  EXPECT_EQ(load(path("x.npy"), read), BT_USAGE_ERROR);
  EXPECT_EQ(load(path("x.npy"), read, 99), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("99 is no dtype"));
  EXPECT_EQ(bt_load(runtime.get(), path("x.npy").c_str(), BT_FP32, nullptr, nullptr), BT_USAGE_ERROR);
  EXPECT_TRUE(read.empty());
}

TEST_F(CapiFiles, NamesThatCWouldCutAreRefused) {
  std::ofstream(path("x.safetensors"), std::ios::binary)
      << std::string("\x48\0\0\0\0\0\0\0", 8)
      << R"({"a\u0000b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}           )"
      << "1234";
  Read read;
  EXPECT_EQ(load(path("x.safetensors"), read), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("the name 'a' has a zero in it"));
  EXPECT_TRUE(read.empty());
}

}  // namespace
}  // namespace baretile::capi_test
