#include "pci/sim_library.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "baretile/error.h"
#include "pci/simulators.h"

namespace baretile {
namespace {

using testing::HasSubstr;

// Points 2 MiB window 0 at a tile; low corner of the grid is tile 1-2.
void show_tile(Device& device, u32 x, u32 y, u64 addr) {
  const u32 words[] = {u32(addr >> 21), x << 11 | y << 17, 1 << 6};
  for (u32 i = 0; i < 3; i++) device.write(0, 0x1FC00000 + 4 * i, std::as_bytes(std::span(&words[i], 1)));
}
void poke(Device& device, u64 offset, u32 value) { device.write(0, offset, std::as_bytes(std::span(&value, 1))); }
u32 peek(Device& device, u64 offset) {
  u32 value = 0;
  device.read(0, offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

struct SimLibrary : testing::TestWithParam<const char*> {
  void SetUp() override { SKIP_WITHOUT_SIMULATOR(GetParam()); }
  std::unique_ptr<Device> open() const { return pci::open_sim_library(simulator(GetParam())); }
};

TEST_P(SimLibrary, ShowsABlackhole) {
  const auto device = open();
  EXPECT_EQ(device->config_read(0), 0xB1401E52u);
  EXPECT_EQ(device->bar_bytes(4), 32ull << 30);
}

TEST_P(SimLibrary, MemoryKeepsWhatWasWritten) {
  const auto device = open();
  show_tile(*device, 1, 2, 0);
  poke(*device, 0x1000, 42);
  EXPECT_EQ(peek(*device, 0x1000), 42u);
}

TEST_P(SimLibrary, EachDeviceIsAChipOfItsOwn) {
  std::vector<std::unique_ptr<Device>> devices;
  for (u32 i = 0; i < 3; i++) {
    devices.push_back(open());
    show_tile(*devices[i], 1, 2, 0);
    poke(*devices[i], 0x1000, 100 + i);
  }
  for (u32 i = 0; i < 3; i++) EXPECT_EQ(peek(*devices[i], 0x1000), 100 + i);
}

TEST_P(SimLibrary, ANewDeviceStartsFresh) {
  auto device = open();
  show_tile(*device, 1, 2, 0);
  poke(*device, 0x1000, 42);
  device.reset();
  device = open();
  show_tile(*device, 1, 2, 0);
  poke(*device, 0x1004, 1);
  EXPECT_EQ(peek(*device, 0x1004), 1u);
  if (std::string(GetParam()) == "sim") return;  // it may call reading the other word a fault
  EXPECT_EQ(peek(*device, 0x1000), 0u);
}

TEST_P(SimLibrary, AMistakeBecomesASimFaultAndTheProcessLives) {
  const auto device = open(), other = open();
  show_tile(*other, 1, 2, 0);
  poke(*other, 0x1000, 7);
  show_tile(*device, 1, 2, 0);
  try {
    peek(*device, 0x180000);  // past L1
    FAIL() << "no fault";
  } catch (const SimFault& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("read of 4 bytes at BAR0 + 0x180000: "));
    EXPECT_THAT(fault.what(), HasSubstr("180000"));
    EXPECT_FALSE(fault.kind.empty());
    EXPECT_NE(fault.kind, "unknown");
  }
  EXPECT_EQ(peek(*other, 0x1000), 7u);
}

TEST_P(SimLibrary, AfterAFaultEveryCallRepeatsIt) {
  const auto device = open();
  show_tile(*device, 1, 2, 0);
  std::string first;
  try {
    peek(*device, 0x180000);
  } catch (const SimFault& fault) {
    first = fault.what();
  }
  for (int i = 0; i < 2; i++) try {
      device->progress(1);
      FAIL() << "no fault";
    } catch (const SimFault& fault) {
      EXPECT_EQ(fault.what(), first);
    }
}

TEST_P(SimLibrary, NothingOfItReachesStdoutOrStderr) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    const auto device = open();
    device->progress(100);
    printf("ours ");
    fflush(stdout);
  }
  {
    const auto device = open();
    show_tile(*device, 1, 2, 0);
    EXPECT_THROW(peek(*device, 0x180000), SimFault);
    printf("alone\n");
  }
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "ours alone\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(SimLibrary, TheProcessCanStillForkAndForgetsTheMemoryOnClosing) {
  const auto mapped_kib = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
      if (word == "VmSize:") return status >> word, std::stoull(word);
    return 0ull;
  };
  open();
  const auto before = mapped_kib();
  for (int i = 0; i < 3; i++) {
    const auto device = open();
    const pid_t child = fork();
    ASSERT_GE(child, 0) << strerror(errno);
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
  EXPECT_LT(mapped_kib(), before + (4 << 20));
}

TEST_P(SimLibrary, AccessOutsideABarIsTheCallersMistake) {
  const auto device = open();
  std::byte b;
  EXPECT_THROW(device->read(0, 512u << 20, {&b, 1}), UsageError);
  EXPECT_THROW(device->read(4, (32ull << 30) - 1, std::span(&b, 2)), UsageError);
  EXPECT_EQ(device->config_read(0), 0xB1401E52u) << "which is no fault of the simulator";
}

TEST_P(SimLibrary, DmaBuffersAreApartAndPageAligned) {
  const auto device = open();
  const DmaBuffer a = device->dma(100), b = device->dma(8192);
  EXPECT_EQ(a.bytes.size(), 100u);
  EXPECT_EQ(u64(b.bytes.data()) % 4096, 0u);
  EXPECT_EQ(a.noc_addr >> 58, 4u) << "through the outbound iATU";
  EXPECT_GT(b.noc_addr, a.noc_addr + 4096) << "with a gap, so that running over an end is noticed";
  EXPECT_THROW(device->dma(0), UsageError);
}

INSTANTIATE_TEST_SUITE_P(On, SimLibrary, testing::Values("ttsim", "sim"),
                         [](const auto& p) { return std::string(p.param); });

DeviceInfo at(const std::string& path) { return {DeviceKind::ttsim, "ttsim", path, ""}; }

template <class Exception>
std::string opening(const std::string& path) {
  try {
    pci::open_sim_library(at(path));
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SimLibraryFile, ARelativePathIsRefusedWithTheNextStep) {
  EXPECT_THAT(opening<UsageError>("libttsim.so"), HasSubstr("'libttsim.so' is relative; give TTSIM"));
}

TEST(SimLibraryFile, AMissingFileIsNamed) {
  EXPECT_THAT(opening<SystemError>("/nowhere/libttsim.so"), HasSubstr("/nowhere/libttsim.so: No such file"));
}

TEST(SimLibraryFile, ATextFileIsNoLibrary) {
  EXPECT_THAT(opening<SystemError>(BARETILE_SOURCE_DIR "/CMakeLists.txt"), HasSubstr("is not a simulator library"));
}

TEST(SimLibraryFile, ALibraryOfAnotherKindLacksTheInterface) {
  void* math = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_TRUE(math);
  Dl_info libm{};
  ASSERT_NE(dladdr(dlsym(math, "sincos"), &libm), 0);
  EXPECT_THAT(opening<SystemError>(std::filesystem::canonical(libm.dli_fname)), HasSubstr("exports no libttsim_init"));
}

}  // namespace
}  // namespace baretile
