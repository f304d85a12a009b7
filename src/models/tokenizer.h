// Byte-level BPE (GPT-2's, and SmolLM's with single digits): text to token ids and back, from the GGUF's own
// vocabulary.
//   Tokenizer tokenizer(gguf);  std::vector<int> ids = tokenizer.encode("Hello");  tokenizer.decode(ids) == "Hello";
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "baretile/bits.h"
#include "models/gguf.h"

struct pcre2_real_code_8;

namespace baretile {

struct Vocabulary {
  std::vector<std::string> tokens;  // by id, in GPT-2's printable alphabet of 256 bytes; special tokens as they are
  std::vector<std::string> merges;  // "left right", best first
  std::vector<int> special;         // ids found whole in the text before anything else
  std::string pre = "gpt-2";        // how text is cut before merging: "gpt-2" or "smollm"
  int end = -1;                     // the token that ends an answer, or -1
};

Vocabulary read_vocabulary(const Gguf& gguf);

// Immutable, so several threads may use one.
class Tokenizer {
 public:
  explicit Tokenizer(const Vocabulary& vocabulary);
  explicit Tokenizer(const Gguf& gguf) : Tokenizer(read_vocabulary(gguf)) {}

  // Special tokens written out in the text become their ids. UsageError when the text is not UTF-8, or has a byte that
  // the vocabulary lacks (SmolLM2: some control characters).
  std::vector<int> encode(std::string_view text) const;
  // The bytes of all tokens, which may end inside a character; see Utf8Stream.
  std::string decode(std::span<const int> ids) const;
  const std::string& bytes(int id) const;  // UsageError when there is no such id

  int size() const { return static_cast<int>(bytes_.size()); }
  int end() const { return end_; }

 private:
  struct Merge {
    int rank, id;
  };
  void add_merges(const Vocabulary& vocabulary);
  void add_special(const Vocabulary& vocabulary);
  size_t find_special(std::string_view text, size_t from, int& id) const;
  void encode_plain(std::string_view text, size_t from, size_t to, std::vector<int>& ids) const;
  void merge_piece(std::string_view text, size_t from, size_t to, std::vector<int>& ids) const;

  std::vector<std::string> bytes_;         // by id
  std::array<int, 256> byte_ids_;          // the token of a single byte, or -1
  std::unordered_map<u64, Merge> merges_;  // by (left id << 32 | right id)
  std::vector<int> special_;               // longest first
  std::array<bool, 256> starts_special_{};
  std::unique_ptr<pcre2_real_code_8, void (*)(pcre2_real_code_8*)> pieces_;
  int end_;
};

// Bytes in any cut to whole UTF-8 characters. A byte that cannot be part of one becomes U+FFFD, as the WHATWG decoder
// does.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);  // what is complete so far
  std::string finish();                      // U+FFFD when a character is cut off, else empty

 private:
  std::string pending_;
};

}  // namespace baretile
