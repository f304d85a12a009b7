// What a page and a trace hold, and that a browser shows it: Chromium, where it is installed.
#include "explain/viz.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "baretile/runtime.h"
#include "baretile/tensor.h"
#include "compiler/build_support.h"
#include "support/temporary_folder.h"

namespace baretile::viz {
namespace {

namespace fs = std::filesystem;
using compiler::read_file;
using nlohmann::json;
using testing::HasSubstr;

// Of this process: tests run side by side.
const TemporaryFolder kTemporary;
const fs::path& kFolder = kTemporary.path();
const fs::path kPictures = BARETILE_BINARY_DIR;  // where they stay, to be looked at
const fs::path kPage = kFolder / "viz_test.html", kTrace = kFolder / "viz_test.json";

// Before the first Runtime of this process looks.
const bool kSet = [] {
  setenv("BARETILE_VIZ", kPage.c_str(), 1);
  setenv("BARETILE_TRACE", kTrace.c_str(), 1);
  return true;
}();

// relu(x w), twice, and one more kernel; the page is written when its Runtime closes.
void run_some(const std::string& device = "sim") {
  fs::remove(kPage);
  Runtime runtime(device);
  const Tensor x = Tensor::full(runtime, {64, 64}, 0.5), w = Tensor::full(runtime, {64, 96}, -0.25);
  for (int n = 0; n < 2; ++n) EXPECT_EQ(relu(matmul(x, w)).to_host()[0], 0.0f);
  exp(x).to_host();
}

json element(const std::string& page, const std::string& id) {
  const std::string mark = "id=\"" + id + "\">";
  const size_t begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::string browser() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (fs::exists(path)) return path;
  return {};
}

std::string run_browser(const fs::path& page, const std::string& where, const std::string& what) {
  return compiler::run_process(
             {browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,900",
              "--virtual-time-budget=8000", "--user-data-dir=" + (kFolder / "chromium").string(), what,
              "file://" + page.string() + "#" + where},
             std::chrono::seconds(120))
      .output;
}

// What the page's script made of the main part.
std::string shown(const fs::path& page, const std::string& where) {
  const std::string document = run_browser(page, where, "--dump-dom");
  const size_t begin = document.find("<main");
  return begin == std::string::npos ? document : document.substr(begin, document.find("</main>") - begin);
}

void picture(const fs::path& page, const std::string& where, const fs::path& file) {
  run_browser(page, where, "--screenshot=" + file.string());
}

TEST(Viz, APageHoldsLaunchesWithTheirTimesAndCounters) {
  run_some();
  const std::string page = read_file(kPage);
  EXPECT_EQ(page.find("http"), std::string::npos) << "a page must not need the network";
  const json data = element(page, "data");
  EXPECT_EQ(data["device"], "sim");
  ASSERT_EQ(data["tiles"].size(), 120u);
  std::vector<std::string> names;
  for (const json& kernel : data["kernels"]) names.push_back(kernel["name"]);
  EXPECT_THAT(names, testing::Contains(HasSubstr("matmul_relu")));
  const std::vector<u64> runs = data["runs"];
  ASSERT_EQ(runs.size() % 6, 0u);
  u64 last = 0;
  for (size_t i = 0; i < runs.size(); i += 6) {
    EXPECT_LE(last, runs[i + 2]);
    EXPECT_LE(runs[i + 2], runs[i + 3]);  // begin, ready, end
    EXPECT_LE(runs[i + 3], runs[i + 4]);
    EXPECT_GT(runs[i + 5], 0u);  // cycles
    last = runs[i + 4];
  }
  const json& matmul = data["programs"][runs[runs.size() - 12]];
  EXPECT_TRUE(matmul["graph"].get<bool>());
  EXPECT_EQ(data["dropped"], 0);
}

TEST(Viz, ATraceHasEveryLaunchAsAnEventOfPerfetto) {
  run_some();
  const json trace = json::parse(read_file(kTrace)), data = element(read_file(kPage), "data");
  size_t launches = 0;
  for (const json& event : trace["traceEvents"]) {
    launches += event.value("cat", "") == "run";
    EXPECT_TRUE(event["ph"] != "X" || event["dur"].get<double>() >= 0) << event;
  }
  EXPECT_EQ(launches, data["runs"].size() / 6);
}

TEST(Viz, AProgramThatFaultsLeavesAPageOfWhatRanBefore) {
  const std::vector<compiler::KernelSource> sources{
      {"sound", "#include \"kernel.h\"\nextern \"C\" void kernel_brisc(const baretile::u32*) {}"},
      {"unsound",
       "#include \"kernel.h\"\nextern \"C\" void kernel_brisc(const baretile::u32*) { "
       "baretile::kernel::reg(0xF0000000) = 1; }"}};
  const Program program{compiler::build_kernels(sources, {.cache_folder = kFolder / "cache"}),
                        {},
                        {{0, 1, {}, "first"}, {1, 1, {}, "second"}},
                        0};
  fs::remove(kPage);
  EXPECT_THROW(Runtime("sim").run(program, {}), SimFault);
  const json data = element(read_file(kPage), "data");
  const size_t last = data["runs"].size() - 6, program_number = data["programs"].size() - 1;
  EXPECT_EQ(data["runs"][last], program_number);
  EXPECT_EQ(data["runs"][last + 1], 0) << "the first launch of two";
  EXPECT_EQ(data["programs"][program_number]["launches"].size(), 2u);
  EXPECT_FALSE(data["programs"][program_number]["graph"].get<bool>());
}

// The page draws the memory of a tile from numbers of its own.
TEST(Viz, TheMapOfMemoryAgreesWithFirmwareAndKernels) {
  const std::string script = read_file(BARETILE_SOURCE_DIR "/src/explain/viz.js");
  for (const auto& [name, address, bytes] :
       {std::tuple{"mailbox", abi::kMailbox, abi::kKernelArena - abi::kMailbox},
        std::tuple{"kernel images", abi::kKernelArena, abi::kKernelArenaBytes},
        std::tuple{"input ring", abi::kData, abi::kInputRingBytes},
        std::tuple{"output ring", abi::kData + abi::kInputRingBytes, abi::kOutputRingBytes}})
    EXPECT_THAT(script, HasSubstr(fmt::format("['{}', {:#x}, 0x{:X}, ", name, address, bytes)));
}

TEST(Viz, AFileThatCannotBeWrittenIsNamedAtOnce) {
  EXPECT_THAT([] { Recorder("/no/such/folder/viz.html", ""); },
              testing::ThrowsMessage<SystemError>(
                  HasSubstr("cannot write /no/such/folder/viz.html: No such file or directory; give BARETILE_VIZ")));
}

TEST(Viz, APageIsMadeOfWhatTtsimRanToo) {
  const char* ttsim = std::getenv("TTSIM");
  if (!ttsim || !*ttsim) GTEST_SKIP() << "TTSIM names no library";
  run_some("ttsim");
  const json data = element(read_file(kPage), "data");
  EXPECT_EQ(data["device"], "ttsim");
  EXPECT_GE(data["runs"].size(), 3u * 6);
}

class VizBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium: apt-get install chromium";
  }
};

TEST_F(VizBrowser, ShowsEachView) {
  run_some();
  const json kernels = element(read_file(kPage), "data")["kernels"];
  size_t number = 0;
  while (kernels[number]["name"].get<std::string>().find("matmul_relu") == std::string::npos) ++number;
  const std::string kernel = "kernel-" + std::to_string(number);
  const std::string overview = shown(kPage, "overview");
  EXPECT_THAT(overview, HasSubstr("matmul_relu_1x64x96</a>"));
  const std::string one = shown(kPage, kernel);
  for (const char* text :
       {"contract 2 tiles", "class=\"tile\"", "first as launch", "in.<span class=\"x\">finish</span>", "SETC16", "ALU_",
        "MVMUL", "temporary", "NoC 1: 0 reads, 1 write", "of 4 KiB"})
    EXPECT_THAT(one, HasSubstr(text));
  EXPECT_THAT(shown(kPage, "graph-1"), HasSubstr("leaves"));
  EXPECT_THAT(shown(kPage, "timeline"), HasSubstr("What runs in this view"));
  EXPECT_THAT(shown(kPage, "kernel-999"), HasSubstr("There is no kernel 999"));
  for (const std::string& view : {std::string("overview"), kernel, std::string("timeline")}) {
    const fs::path file = kPictures / ("viz_" + view.substr(0, view.find('-')) + ".png");
    picture(kPage, view, file);
    EXPECT_GT(fs::file_size(file), 15'000u) << "an empty page";
  }
}

// Events as a person makes them, sent by a script at the end of the page.
TEST_F(VizBrowser, KeysAndSearchAndLinksGoWhereTheySay) {
  run_some();
  std::string page = read_file(kPage);
  page.insert(page.rfind("</body>"), R"(<script>(async () => {
    const log = [], wait = () => new Promise(done => setTimeout(done, 300)), view = () => location.hash.split('-')[0] + ' ' + document.querySelector('h1').textContent;
    const key = async k => { document.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true})); await wait(); };
    await wait();
    await key('j'); const first = location.hash; await key('j'); log.push(location.hash !== first); await key('k'); log.push(location.hash === first);
    const all = (await key('t'), $('span').textContent); await key('+'); log.push($('span').textContent !== all); await key('0'); log.push($('span').textContent === all);
    const theme = document.documentElement.dataset.theme; await key('d'); log.push(document.documentElement.dataset.theme !== theme);
    await key('/'); log.push(document.activeElement.id);
    $('search').value = 'relu MATMUL'; $('search').dispatchEvent(new Event('input')); log.push(shown.length);
    $('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); await wait(); log.push(view());
    const jump = document.querySelector('.asm a[data-to]'); jump.click(); log.push(document.querySelector('.hit').id === 'a' + jump.dataset.to);
    document.querySelector('main a[href^="#graph"]').click(); await wait(); log.push(view());
    await key('o'); log.push(location.hash);
    $('main').textContent = log.join('; ');
  })();</script>)");
  const fs::path probed = kFolder / "probed.html";
  std::ofstream(probed) << page;
  EXPECT_EQ(shown(probed, ""),
            "<main id=\"main\" tabindex=\"-1\">true; true; true; true; true; search; 1; "
            "#kernel matmul_relu_1x64x96; true; #graph Graph 0: 4 nodes, 3 launches; #overview");
}

TEST_F(VizBrowser, OpensTwoThousandKernels) {
  Recording recording;
  recording.device.name = "none";
  recording.tiles = {{1, 2}, {2, 2}};
  auto& program = recording.programs.emplace_back();
  for (u32 n = 0; n < 2000; ++n) {
    KernelImage image{"kernel_number_" + std::to_string(n), {}, {}, "key" + std::to_string(n)};
    for (u32 i = 0; i < 3000; ++i) image.code.push_back(u8(i * n >> 3));
    for (u32 core = 0; core < 5; ++core) image.entry[core] = 600 * core;
    program.program.kernels.push_back(image);
    program.program.launches.push_back({n, 1, {}, image.name});
    recording.launches.push_back({0, n, n * 1e-3, n * 1e-3 + 1e-4, n * 1e-3 + 8e-4, 1000});
  }
  const fs::path page = kFolder / "viz_2000.html";
  std::ofstream(page) << to_html(recording);
  EXPECT_LT(fs::file_size(page), 40u << 20);
  EXPECT_THAT(shown(page, "kernel-1999"), HasSubstr("<h1>kernel_number_1999</h1>"));
  EXPECT_THAT(shown(page, "overview"), HasSubstr("and 1975 more in the list"));
}

}  // namespace
}  // namespace baretile::viz
