#include "debug/record.h"

#include <fmt/args.h>

namespace baretile::debug {
namespace {

// Calls use(value) with value `i` in the type that the kernel gave it.
template <class Use>
void with_value(const Record& record, size_t i, Use use) {
  const u32 word = record.values[i];
  switch (record.head >> (20 + 2 * i) & 3) {
    case 1:
      return use(i32(word));
    case 2: {
      float value;
      std::memcpy(&value, &word, sizeof(value));
      return use(value);
    }
    default:
      return use(word);
  }
}

std::string plain(const Record& record, const char* between) {
  std::string out;
  for (size_t i = 0; i < record.values.size(); ++i)
    with_value(record, i, [&](auto value) { out += fmt::format("{}{}", out.empty() ? "" : between, value); });
  return out;
}

std::string unknown(const Record& record) {
  return fmt::format("a record {:#x} of no known place, with values {}", record.head, plain(record, ", "));
}

}  // namespace

std::vector<Record> read_log(std::span<const u32> words, const Symbols& symbols) {
  std::vector<Record> out;
  for (size_t at = 0; at < words.size();) {
    Record record{symbols.site(words[at] & 0xFFFF), words[at], {}};
    const size_t count = std::min<size_t>(record.head >> 16 & 0xF, words.size() - ++at);
    record.values.assign(words.begin() + i64(at), words.begin() + i64(at + count));
    out.push_back(std::move(record));
    at += count;
  }
  return out;
}

std::string printed(const Record& record) {
  if (!record.site) return unknown(record);
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (size_t i = 0; i < record.values.size(); ++i) with_value(record, i, [&](auto value) { values.push_back(value); });
  try {
    return fmt::vformat(record.site->text, values);
  } catch (const fmt::format_error& error) {
    return fmt::format("{}: bt_print(\"{}\") of {}: {}", to_string(record.site->where), record.site->text,
                       plain(record, ", "), error.what());
  }
}

std::string failure(const Record& record) {
  if (!record.site) return unknown(record);
  const std::string values =
      record.values.empty() ? "" : fmt::format("; {} = {}", record.site->names, plain(record, ", "));
  return fmt::format("{}: {}{}", to_string(record.site->where), record.site->text, values);
}

}  // namespace baretile::debug
