#include "cli/chip_ttsim.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "baretile/error.h"
#include "compiler/build/clang.h"
#include "pci/open.h"

namespace baretile::cli {
namespace {

namespace fs = std::filesystem;

// The release that baretile is tested with. An unknown size is 0 and an unknown hash empty: neither is in ttsim's
// sources, and this row was written where the release could not be reached. The hash must then be given; GitHub shows
// it on the release's page.
struct Release {
  const char *version, *url, *page;
  u64 bytes;
  const char* sha256;
};
constexpr Release kRelease{"v1.10.0", "https://github.com/tenstorrent/ttsim/releases/download/v1.10.0/libttsim_bh.so",
                           "https://github.com/tenstorrent/ttsim/releases/tag/v1.10.0", 0, ""};
constexpr u64 kMostBytes = 64 << 20;  // the library has about 230 KB
constexpr int kNoResume = 33;         // curl: the server does not know byte ranges

std::string sha256_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw SystemError(fmt::format("{} cannot be read", path.string()), path.string());
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) != 1)
    throw InternalError("OpenSSL cannot compute SHA-256");
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

// Continues what is in `part`, if anything is.
void fetch(const std::string& url, const fs::path& part, const fs::path& target) {
  std::vector<std::string> command{"/usr/bin/env", "curl"};
  std::istringstream options(
      "--fail --location --silent --show-error --connect-timeout 20 --speed-limit 1 --speed-time 30 --continue-at -");
  command.insert(command.end(), std::istream_iterator<std::string>(options), {});
  for (const std::string& word : {std::string("--max-filesize"), std::to_string(kMostBytes), std::string("--output"),
                                  part.string(), std::string("--url"), url})
    command.push_back(word);
  compiler::ProcessResult result = compiler::run_process(command, std::chrono::minutes(15));
  if (result.exit_code == kNoResume) {
    fs::remove(part);
    result = compiler::run_process(command, std::chrono::minutes(15));
  }
  if (result.exit_code == 0) return;
  while (!result.output.empty() && result.output.back() == '\n') result.output.pop_back();
  if (result.exit_code == 127)
    throw SystemError(fmt::format("curl is not installed: apt-get install curl, or get {} by other means and run: "
                                  "baretile chip ttsim --from FILE",
                                  url),
                      "curl");
  throw SystemError(
      fmt::format("{} did not come: {}. What came is kept, and the same command continues it. Offline? Get that "
                  "file on another machine, bring it here, and run: baretile chip ttsim --from FILE",
                  url, result.output),
      target.string());
}

void check_size(const fs::path& part, u64 bytes) {
  const u64 have = fs::file_size(part);
  if (bytes == 0 || have == bytes) return;
  fs::remove(part);
  throw SystemError(fmt::format("the file has {} bytes and ttsim {} has {}; it was removed, run the command again",
                                have, kRelease.version, bytes),
                    part.string());
}

}  // namespace

int get_ttsim(Arguments& arguments) {
  const std::string from = arguments.option("--from", kRelease.url),
                    wanted = arguments.option("--sha256", kRelease.sha256);
  arguments.expect_no_more();
  if (wanted.size() != 64 || wanted.find_first_not_of("0123456789abcdef") != wanted.npos)
    throw UsageError(fmt::format(
        "the SHA-256 of ttsim {} is {}; give the 64 digits that {} shows beside libttsim_bh.so: "
        "--sha256 HASH",
        kRelease.version, wanted.empty() ? "not known to this build" : "not '" + wanted + "'", kRelease.page));
  const fs::path target = pci::downloaded_ttsim(), part = target.string() + ".part";
  if (target.empty())
    throw SystemError("no cache folder: none of BARETILE_CACHE_DIR, XDG_CACHE_HOME and HOME is set; set one", "");
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error)
    throw SystemError(fmt::format("{} cannot be made: {}; set BARETILE_CACHE_DIR to a folder that you may write",
                                  target.parent_path().string(), error.message()),
                      target.string(), error.value());
  if (!fs::exists(target) || sha256_of(target) != wanted) {
    if (!fs::exists(part) || sha256_of(part) != wanted)
      fetch(fs::exists(from) ? "file://" + fs::absolute(from).string() : from, part, target);
    check_size(part, wanted == kRelease.sha256 ? kRelease.bytes : 0);
    if (const std::string got = sha256_of(part); got != wanted) {
      fs::remove(part);
      throw SystemError(
          fmt::format("{} has SHA-256 {} and not {}; it was removed. Run the command again; if it says the same, "
                      "the file at that address is another one",
                      from, got, wanted),
          part.string());
    }
    fs::rename(part, target);
  }
  fmt::print("{}\nBARETILE_DEVICE=ttsim, or --device ttsim, runs on it\n", target.string());
  return 0;
}

}  // namespace baretile::cli
