#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizer.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <queue>

#include "baretile/error.h"

namespace baretile {
namespace {

// Unicode's White_Space is spelled out because PCRE2's \s has U+180E besides. SmolLM cuts every digit out first, so a
// run of blanks before a digit stays whole, as at the end of the text.
struct Pre {
  const char *name, *pattern;
};
constexpr Pre kPres[] = {
    {"gpt-2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]+)"
              R"(|[\t-\r\x{85}\p{Z}]+(?![^\t-\r\x{85}\p{Z}])|[\t-\r\x{85}\p{Z}]+)"},
    {"smollm", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]+)"
               R"(|[\t-\r\x{85}\p{Z}]+(?![^\t-\r\x{85}\p{Z}\p{N}])|[\t-\r\x{85}\p{Z}]+)"},
};

pcre2_code* compile_pieces(const std::string& pre) {
  const auto* row = std::ranges::find_if(kPres, [&](const Pre& p) { return pre == p.name; });
  if (row == std::end(kPres))
    throw Unsupported(fmt::format("pre-tokenizer '{}' is not known; use a model with 'gpt-2' or 'smollm'", pre));
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(row->pattern), PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  if (!code)
    throw InternalError(fmt::format("pattern '{}' does not compile: PCRE2 error {} at {}", row->name, error, at));
  return code;
}

// GPT-2's alphabet: printable Latin-1 stands for itself, the other 68 bytes for U+0100 onwards in order.
constexpr bool is_printable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

std::array<int, 0x144> make_alphabet() {
  std::array<int, 0x144> byte_of;
  byte_of.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) byte_of[is_printable(byte) ? byte : next++] = byte;
  return byte_of;
}

std::string token_bytes(const std::string& token, size_t id) {
  static const std::array<int, 0x144> byte_of = make_alphabet();
  std::string bytes;
  for (size_t i = 0; i < token.size(); ++i) {
    u32 point = static_cast<u8>(token[i]);  // the alphabet ends below U+0800: one byte or two
    if (point >= 0xC2 && point < 0xE0 && i + 1 < token.size())
      point = (point & 31) << 6 | (static_cast<u8>(token[++i]) & 63);
    else if (point >= 0x80)
      point = 0xFFFF;
    if (point >= byte_of.size() || byte_of[point] < 0)
      throw UsageError(fmt::format(
          "token {} of the vocabulary is not byte-level ('{}'); use a model with a GPT-2 tokenizer", id, token));
    bytes += static_cast<char>(byte_of[point]);
  }
  return bytes;
}

u64 pair_key(int left, int right) { return static_cast<u64>(left) << 32 | static_cast<u32>(right); }

}  // namespace

Vocabulary read_vocabulary(const Gguf& gguf) {
  if (const std::string& kind = gguf.text("tokenizer.ggml.model"); kind != "gpt2")
    throw Unsupported(fmt::format("{}: tokenizer '{}'; only byte-level BPE ('gpt2') is read", gguf.path(), kind));
  for (const char* key : {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix"})
    if (gguf.has(key) && gguf.boolean(key))
      throw Unsupported(fmt::format("{}: {} is set; use a model without it", gguf.path(), key));
  Vocabulary vocabulary{gguf.texts("tokenizer.ggml.tokens"),
                        gguf.texts("tokenizer.ggml.merges"),
                        {},
                        gguf.text("tokenizer.ggml.pre"),
                        -1};
  const std::vector<i64>& kinds = gguf.integers("tokenizer.ggml.token_type");
  if (kinds.size() != vocabulary.tokens.size())
    throw UsageError(fmt::format("{}: {} token types for {} tokens; convert the model again", gguf.path(), kinds.size(),
                                 vocabulary.tokens.size()));
  constexpr i64 kControl = 3, kUserDefined = 4;  // llama.cpp's llama_token_type
  for (size_t id = 0; id < kinds.size(); ++id)
    if (kinds[id] == kControl || kinds[id] == kUserDefined) vocabulary.special.push_back(static_cast<int>(id));
  const i64 end = gguf.integer("tokenizer.ggml.eos_token_id");
  if (end < 0 || static_cast<u64>(end) >= kinds.size())
    throw UsageError(fmt::format("{}: end token {} of {}; convert the model again", gguf.path(), end, kinds.size()));
  vocabulary.end = static_cast<int>(end);
  return vocabulary;
}

Tokenizer::Tokenizer(const Vocabulary& vocabulary)
    : pieces_(compile_pieces(vocabulary.pre), pcre2_code_free), end_(vocabulary.end) {
  add_special(vocabulary);
  byte_ids_.fill(-1);
  std::vector<bool> special(vocabulary.tokens.size());
  for (int id : special_) special[id] = true;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    bytes_.push_back(special[id] ? vocabulary.tokens[id] : token_bytes(vocabulary.tokens[id], id));
    if (!special[id] && bytes_.back().size() == 1) byte_ids_[static_cast<u8>(bytes_.back()[0])] = static_cast<int>(id);
  }
  add_merges(vocabulary);
}

void Tokenizer::add_special(const Vocabulary& vocabulary) {
  for (int id : vocabulary.special) {
    if (id < 0 || static_cast<size_t>(id) >= vocabulary.tokens.size() || vocabulary.tokens[id].empty())
      throw UsageError(fmt::format("special token {} is empty or outside the {} tokens; convert the model again", id,
                                   vocabulary.tokens.size()));
    starts_special_[static_cast<u8>(vocabulary.tokens[id][0])] = true;
  }
  special_ = vocabulary.special;
  std::ranges::stable_sort(special_, std::ranges::greater{}, [&](int id) { return vocabulary.tokens[id].size(); });
}

void Tokenizer::add_merges(const Vocabulary& vocabulary) {
  std::unordered_map<std::string_view, int> id_of;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (const auto [at, is_new] = id_of.emplace(vocabulary.tokens[id], static_cast<int>(id)); !is_new)
      throw UsageError(fmt::format("tokens {} and {} of the vocabulary are both '{}'; convert the model again",
                                   at->second, id, vocabulary.tokens[id]));
  merges_.reserve(vocabulary.merges.size());
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const std::string_view merge = vocabulary.merges[rank];
    const size_t blank = std::min(merge.find(' '), merge.size());
    const std::string_view left = merge.substr(0, blank), right = merge.substr(std::min(blank + 1, merge.size()));
    const auto l = id_of.find(left), r = id_of.find(right), both = id_of.find(std::string(left).append(right));
    if (l == id_of.end() || r == id_of.end() || both == id_of.end())
      throw UsageError(
          fmt::format("merge {} ('{}') names tokens that the vocabulary lacks; convert the model again", rank, merge));
    merges_.emplace(pair_key(l->second, r->second), Merge{static_cast<int>(rank), both->second});
  }
}

// Where the first special token at or after `from` starts, and its id; text.size() when there is none.
size_t Tokenizer::find_special(std::string_view text, size_t from, int& id) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (!starts_special_[static_cast<u8>(text[at])]) continue;
    for (int special : special_)
      if (text.substr(at).starts_with(bytes_[special])) {
        id = special;
        return at;
      }
  }
  return text.size();
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> ids;
  for (size_t at = 0; at < text.size();) {
    int id = -1;
    const size_t special = find_special(text, at, id);
    if (special > at) encode_plain(text, at, special, ids);
    if (id >= 0) ids.push_back(id);
    at = special + (id >= 0 ? bytes_[id].size() : 0);
  }
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, size_t from, size_t to, std::vector<int>& ids) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create_from_pattern(pieces_.get(), nullptr), pcre2_match_data_free);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + from);
  const size_t length = to - from;
  u32 options = PCRE2_ANCHORED;
  for (size_t at = 0; at < length; options = PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK) {
    const int result = pcre2_match(pieces_.get(), subject, length, at, options, match.get(), nullptr);
    if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21)
      throw UsageError(
          fmt::format("the text is not UTF-8 at byte {}; convert it first", from + pcre2_get_startchar(match.get())));
    const size_t end = result < 0 ? at : pcre2_get_ovector_pointer(match.get())[1];
    if (end <= at) throw InternalError(fmt::format("no piece of text at byte {}: PCRE2 result {}", from + at, result));
    merge_piece(text, from + at, from + end, ids);
    at = end;
  }
}

// Merges the pair of lowest rank, leftmost first, until none is left; a heap keeps long runs at n log n.
void Tokenizer::merge_piece(std::string_view text, size_t from, size_t to, std::vector<int>& ids) const {
  struct Symbol {
    int id, previous, next;
  };
  struct Candidate {
    int rank, at, left, right, merged;
    bool operator<(const Candidate& other) const { return std::pair(rank, at) > std::pair(other.rank, other.at); }
  };
  std::vector<Symbol> symbols;
  for (size_t i = from; i < to; ++i) {
    const int id = byte_ids_[static_cast<u8>(text[i])], n = static_cast<int>(symbols.size());
    if (id < 0)
      throw UsageError(fmt::format("the vocabulary has no token for byte {:#04x} at byte {} of the text; remove it",
                                   static_cast<u8>(text[i]), i));
    symbols.push_back({id, n - 1, i + 1 < to ? n + 1 : -1});
  }
  std::priority_queue<Candidate> queue;
  const auto consider = [&](int at) {
    if (at < 0 || symbols[at].next < 0) return;
    const int left = symbols[at].id, right = symbols[symbols[at].next].id;
    const auto merge = merges_.find(pair_key(left, right));
    if (merge != merges_.end()) queue.push({merge->second.rank, at, left, right, merge->second.id});
  };
  for (size_t i = 0; i < symbols.size(); ++i) consider(static_cast<int>(i));
  for (; !queue.empty();) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.id != best.left || left.next < 0 || symbols[left.next].id != best.right) continue;  // merged meanwhile
    Symbol& right = symbols[left.next];
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[left.next].previous = best.at;
    consider(left.previous);
    consider(best.at);
  }
  for (const Symbol& symbol : symbols)
    if (symbol.id >= 0) ids.push_back(symbol.id);
}

const std::string& Tokenizer::bytes(int id) const {
  if (id < 0 || id >= size())
    throw UsageError(fmt::format("token {} is outside the vocabulary of {}; pass ids that encode() gave", id, size()));
  return bytes_[id];
}

std::string Tokenizer::decode(std::span<const int> ids) const {
  std::string text;
  for (int id : ids) text += bytes(id);
  return text;
}

std::string Utf8Stream::push(std::string_view bytes) {
  constexpr const char* kReplacement = "\uFFFD";
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const u8 byte = static_cast<u8>(bytes[i]);
    const u8 lead = pending_.empty() ? byte : static_cast<u8>(pending_[0]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    // Second bytes that would make an overlong form, a surrogate or a value above U+10FFFF are refused (Unicode table
    // 3-7).
    const u8 low = pending_.size() != 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const u8 high = pending_.size() != 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (!pending_.empty() && (byte < low || byte > high)) {
      out += kReplacement;  // the cut-off character; this byte is looked at again
      pending_.clear();
      continue;
    }
    ++i;
    if (length == 0) {
      out += kReplacement;
      continue;
    }
    pending_ += static_cast<char>(byte);
    if (pending_.size() == length) out += std::exchange(pending_, {});
  }
  return out;
}

std::string Utf8Stream::finish() { return std::exchange(pending_, {}).empty() ? "" : "\uFFFD"; }

}  // namespace baretile
