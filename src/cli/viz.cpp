// baretile viz PROGRAM ARGS…: runs a program and writes what it did as a page.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "baretile/error.h"
#include "cli/command.h"

namespace baretile::cli {
namespace {

// The words before the program are this command's; the program's own may look like them.
int run(Arguments& arguments) {
  std::vector<std::string>& words = arguments.words;
  std::string page = "viz.html", trace;
  while (!words.empty() && words[0].starts_with("-")) {
    const bool is_page = words[0] == "-o", is_trace = words[0] == "--trace";
    if ((!is_page && !is_trace) || words.size() < 2)
      throw UsageError(fmt::format("viz: '{}' is not understood here; add --help to see what is", words[0]));
    (is_page ? page : trace) = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) throw UsageError("viz: name the program to run, and its arguments after it");
  setenv("BARETILE_VIZ", std::filesystem::absolute(page).c_str(), 1);
  if (!trace.empty()) setenv("BARETILE_TRACE", std::filesystem::absolute(trace).c_str(), 1);
  if (!arguments.device.empty()) setenv("BARETILE_DEVICE", arguments.device.c_str(), 1);
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  execvp(command[0], command.data());
  throw SystemError(fmt::format("viz: cannot start {}: {}", words[0], std::strerror(errno)), words[0], errno);
}

}  // namespace

extern const Command kViz = {
    "viz", "runs a program and writes what its kernels did as a page",
    "Usage: baretile viz [-o PAGE] [--trace FILE] PROGRAM [ARGUMENTS]\n\n"
    "Runs any program that uses baretile. When it closes its device, PAGE (viz.html) has its graphs, kernels, their "
    "code\n"
    "and a timeline, in one file for a browser; FILE has the timeline for ui.perfetto.dev. The same without this\n"
    "command: set BARETILE_VIZ=PAGE and BARETILE_TRACE=FILE. Launches run one by one then, which takes longer.\n",
    run, true};

}  // namespace baretile::cli
