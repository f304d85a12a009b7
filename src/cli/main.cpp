// baretile <command> [--device NAME] [arguments]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "baretile/error.h"
#include "cli/command.h"
#include "cli/pages.h"

namespace baretile::cli {
namespace {

const Command* const kCommands[] = {&kChip, &kHello, &kShow, &kGenerate, &kDisasm, &kViz, &kTop};

constexpr const char* kUsage = "Usage: baretile <command> [--device NAME] [arguments]\n\nCommands:\n";
constexpr const char* kMore =
    "\n'baretile <command> --help' says more; 'baretile help --man' and '--completion' print the manual page and "
    "bash's "
    "completion.\n"
    "--device (or BARETILE_DEVICE) takes a name that 'baretile chip check' lists;\n"
    "without it the first of these is used: the library in TTSIM, a card through tt-kmd, a card through sysfs (root), "
    "the simulator.\n";

void print_usage(FILE* to) {
  fmt::print(to, "{}", kUsage);
  for (const Command* c : kCommands) fmt::print(to, "  {:<10} {}\n", c->name, c->summary);
  fmt::print(to, "{}", kMore);
}

// Options take a value each, but for --help.
std::vector<std::string>::iterator own_words_end(std::vector<std::string>& words) {
  auto word = words.begin();
  while (word != words.end() && word->starts_with("-")) {
    const bool alone = *word == "--help" || *word == "-h" || word->find('=') != std::string::npos;
    word += alone || word + 1 == words.end() ? 1 : 2;
  }
  return word;
}

int run(Arguments arguments) {
  if (arguments.words.empty()) {
    print_usage(stderr);
    return 2;
  }
  const std::string name = arguments.words[0];
  if (name == "--help" || name == "-h" || name == "help") {
    if (arguments.flag("--man"))
      fmt::print("{}", man_page(kCommands, kMore));
    else if (arguments.flag("--completion"))
      fmt::print("{}", bash_completion(kCommands));
    else
      print_usage(stdout);
    return 0;
  }
  const auto found =
      std::find_if(std::begin(kCommands), std::end(kCommands), [&](const Command* c) { return name == c->name; });
  if (found == std::end(kCommands))
    throw UsageError(fmt::format("'{}' is no command; 'baretile --help' lists them", name));
  arguments.words.erase(arguments.words.begin());
  // Another program's words begin with its name.
  const auto others = (*found)->runs_another ? own_words_end(arguments.words) : arguments.words.end();
  const std::vector<std::string> rest(others, arguments.words.end());
  arguments.words.erase(others, arguments.words.end());
  if (arguments.flag("--help") || arguments.flag("-h")) {
    fmt::print("{}", (*found)->help);
    return 0;
  }
  arguments.device = arguments.option("--device");
  arguments.words.insert(arguments.words.end(), rest.begin(), rest.end());
  return (*found)->run(arguments);
}

}  // namespace

bool Arguments::flag(const std::string& name) { return std::erase(words, name) > 0; }

std::string Arguments::option(const std::string& name, const std::string& fallback) {
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i].starts_with(name + "=")) {
      const std::string value = words[i].substr(name.size() + 1);
      words.erase(words.begin() + long(i));
      return value;
    }
    if (words[i] != name) continue;
    if (i + 1 == words.size()) throw UsageError(fmt::format("{} needs a value after it", name));
    const std::string value = words[i + 1];
    words.erase(words.begin() + long(i), words.begin() + long(i) + 2);
    return value;
  }
  return fallback;
}

void Arguments::expect_no_more() const {
  if (!words.empty()) throw UsageError(fmt::format("'{}' is not understood here; add --help to see what is", words[0]));
}

}  // namespace baretile::cli

int main(int count, char** words) {
  try {
    return baretile::cli::run({.device = {}, .words = {words + 1, words + count}});
  } catch (const baretile::UsageError& error) {
    fmt::print(stderr, "baretile: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "baretile: {}\n", error.what());
    return 1;
  }
}
