// One command of the `baretile` program: a file of its own, listed in main.cpp.
#pragma once
#include <string>
#include <vector>

namespace baretile::cli {

struct Arguments {
  std::string device;              // --device, or empty
  std::vector<std::string> words;  // what follows the command, without --device

  // Takes `name` out of the words; true when it was there.
  bool flag(const std::string& name);
  // Takes `name value` or `name=value` out of the words; `fallback` when it is not there. UsageError when the value is
  // missing.
  std::string option(const std::string& name, const std::string& fallback = {});
  // UsageError naming the first word nobody took.
  void expect_no_more() const;
};

struct Command {
  const char* name;
  const char* summary;               // one line in `baretile --help`
  const char* help;                  // what `baretile <name> --help` prints
  int (*run)(Arguments& arguments);  // the exit code
  bool runs_another = false;         // whose options --help and --device may be
};

extern const Command kChip, kHello, kShow, kGenerate, kDisasm, kViz, kTop;

}  // namespace baretile::cli
