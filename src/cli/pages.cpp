#include "cli/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>

#include "baretile/capi.h"

namespace baretile::cli {
namespace {

// A line of text as roff takes it.
std::string roff(const std::string& line) {
  std::string out = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string verbatim(const std::string& text) {
  std::string out = ".nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += roff(line) + "\n";
  return out + ".fi\n";
}

// The words of `help` that are made of `letters` and stand right behind `mark`.
std::set<std::string> words_behind(std::string_view mark, const char* letters, std::string_view help) {
  std::set<std::string> found;
  for (size_t at = help.find(mark); at != help.npos; at = help.find(mark, at + 1)) {
    const std::string_view rest = help.substr(at + mark.size());
    found.emplace(rest.substr(0, rest.find_first_not_of(letters)));
  }
  found.erase("");
  return found;
}

// What may follow a command: the options in its help, and words that its help has right behind its name.
std::set<std::string> words_after(const Command& command) {
  std::set<std::string> words =
      words_behind(fmt::format("baretile {} ", command.name), "abcdefghijklmnopqrstuvwxyz", command.help);
  words.insert({"--help", "--device"});
  for (const std::string& option : words_behind("--", "abcdefghijklmnopqrstuvwxyz0123456789-", command.help))
    if (option[0] != '-') words.insert("--" + option);
  return words;
}

}  // namespace

std::string man_page(std::span<const Command* const> commands, const std::string& more) {
  std::string out = fmt::format(
      ".TH BARETILE 1 \"\" \"baretile {}\"\n.SH NAME\nbaretile \\- tensors on Tenstorrent Blackhole\n.SH SYNOPSIS\n.B "
      "baretile\n"
      "command [\\-\\-device NAME] [arguments]\n.SH COMMANDS\n",
      bt_version());
  for (const Command* c : commands)
    out += fmt::format(".SS {}\n{}\n.PP\n{}", c->name, roff(c->summary), verbatim(c->help));
  return out + ".SH DEVICES\n" + verbatim(more.substr(more.find_first_not_of('\n'))) +
         ".SH EXIT STATUS\n0 when all went well, 2 for a wrong command line, 1 for other errors; the message says what "
         "to do.\n";
}

std::string bash_completion(std::span<const Command* const> commands) {
  std::string names = "help", cases;
  for (const Command* c : commands) {
    names += fmt::format(" {}", c->name);
    cases += fmt::format("    *:{}) words=\"{}\" ;;\n", c->name, fmt::join(words_after(*c), " "));
  }
  return fmt::format(
      "# bash completion for baretile\n_baretile() {{\n  local words\n  case $COMP_CWORD:${{COMP_WORDS[1]}} in\n"
      "    1:*) words=\"{}\" ;;\n{}  esac\n  COMPREPLY=($(compgen -W \"$words\" -- "
      "\"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
      "complete -o default -F _baretile baretile\n",
      names, cases);
}

}  // namespace baretile::cli
