#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

#include "baretile/error.h"
#include "baretile/runtime.h"
#include "cli/command.h"
#include "compiler/build/build.h"
#include "models/llama.h"
#include "models/reference.h"
#include "models/sampler.h"
#include "models/template.h"
#include "models/tokenizer.h"

namespace baretile::cli {
namespace {

constexpr const char* kHelp =
    "baretile generate MODEL.gguf PROMPT [options]   lets a Llama model answer; words appear as they come\n"
    "  -n COUNT           at most so many tokens (64)\n"
    "  --temperature T    0 takes the best token each time (0)\n"
    "  --seed S           for a temperature above 0 (1)\n"
    "  --raw              the prompt as it is, not as a chat message\n"
    "  --context N        positions of the key and value caches (512)\n"
    "  --layers N         the first N layers only\n"
    "  --check            also computes every step on the host in fp32 and compares all logits\n"
    "'tools/get-model' fetches a model and prints its path.\n";

struct Options {
  std::string model, prompt;
  int count, seed, context, layers;
  float temperature;
  bool raw, check;
};

int number(Arguments& arguments, const std::string& name, int fallback, int least) {
  const std::string text = arguments.option(name, std::to_string(fallback));
  size_t used = 0;
  int value = least - 1;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
  }
  if (used != text.size() || value < least) throw UsageError(fmt::format("{} takes a whole number from {} up, not '{}'", name, least, text));
  return value;
}

float real(Arguments& arguments, const std::string& name, const std::string& fallback) {
  const std::string text = arguments.option(name, fallback);
  size_t used = 0;
  float value = 0;
  try {
    value = std::stof(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (text.empty() || used != text.size()) throw UsageError(fmt::format("{} takes a number, not '{}'", name, text));
  return value;
}

Options parse(Arguments& arguments) {
  Options o{};
  o.count = number(arguments, "-n", 64, 1);
  o.seed = number(arguments, "--seed", 1, 0);
  o.context = number(arguments, "--context", 512, 1);
  o.layers = number(arguments, "--layers", 0, 0);
  o.temperature = real(arguments, "--temperature", "0");
  o.raw = arguments.flag("--raw");
  o.check = arguments.flag("--check");
  if (arguments.words.size() < 2) throw UsageError("generate needs a model file and a prompt; 'tools/get-model' fetches a model and prints its path");
  o.model = arguments.words[0];
  o.prompt = arguments.words[1];
  arguments.words.erase(arguments.words.begin(), arguments.words.begin() + 2);
  arguments.expect_no_more();
  return o;
}

// A line on a terminal's stderr that the next one replaces; nothing when stderr is no terminal.
class Progress {
 public:
  void show(const std::string& text) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }
  void clear() { show(""); }

 private:
  bool terminal_ = isatty(STDERR_FILENO);
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The largest difference between two rows of logits.
float largest_difference(std::span<const float> a, std::span<const float> b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); i++) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

// Feeds the host's greedy choices to both, so that every step starts from the same tokens.
int check(Llama& model, const Gguf& gguf, const Tokenizer& tokenizer, std::vector<int> tokens, const Options& options) {
  ReferenceLlama reference(gguf, options.layers);
  float most = 0;
  int differing = 0;
  for (int n = 0; n < options.count; n++) {
    const std::vector<float> device = model.forward(tokens);
    const std::span<const float> host = reference.forward(tokens);
    const int ours = greedy(device), theirs = greedy(host);
    const float difference = largest_difference(device, host);
    most = std::max(most, difference);
    differing += ours != theirs;
    fmt::print("step {:3}  host {:6} {:16} device {:6} {:16} max |Δlogit| {:.4f}\n", n, theirs, fmt::format("{:?}", tokenizer.bytes(theirs)), ours,
               fmt::format("{:?}", tokenizer.bytes(ours)), difference);
    std::fflush(stdout);
    if (theirs == tokenizer.end()) break;
    tokens = {theirs};
  }
  fmt::print("max |Δlogit| {:.4f}, {} differing choices\n", most, differing);
  return differing == 0 ? 0 : 1;
}

int generate(Llama& model, const Tokenizer& tokenizer, std::vector<int> tokens, const Options& options, Progress& progress, double started) {
  Sampler sampler(options.temperature, u32(options.seed));
  Utf8Stream text;
  const size_t prompt = tokens.size();
  double first = 0;
  int made = 0;
  while (made < options.count) {
    if (made == 0) progress.show(fmt::format("reading {} prompt tokens", prompt));
    const int next = sampler.pick(model.forward(tokens));
    progress.clear();
    if (made++ == 0) first = now();
    if (next == tokenizer.end()) break;
    fmt::print("{}", text.push(tokenizer.bytes(next)));
    std::fflush(stdout);
    tokens = {next};
  }
  fmt::print("{}\n", text.finish());
  std::fflush(stdout);
  const double rest = now() - first;
  fmt::print(stderr, "{} prompt tokens, first token after {:.2f} s", prompt, first - started);
  if (made > 1) fmt::print(stderr, ", then {:.3f} s a token ({:.2f} tokens/s)", rest / (made - 1), (made - 1) / rest);
  const compiler::BuildStats built = compiler::build_stats();
  fmt::print(stderr, "; {} kernels compiled, {} from the cache\n", built.compiled, built.cached);
  return 0;
}

int run(Arguments& arguments) {
  const double started = now();
  const Options options = parse(arguments);
  const Gguf gguf(options.model);
  const Tokenizer tokenizer(gguf);
  const std::vector<Message> messages{{"user", options.prompt}};
  const std::vector<int> tokens = tokenizer.encode(options.raw ? options.prompt : ChatTemplate(gguf).render(messages, true));

  Progress progress;
  progress.show("opening the device");
  Runtime runtime(arguments.device);
  Llama model(runtime, gguf, {.layers = options.layers, .context = options.context, .loaded = [&](int done, int total) {
                                progress.show(fmt::format("loading weights {}%", 100 * done / total));
                              }});
  progress.clear();
  if (options.check) return check(model, gguf, tokenizer, tokens, options);
  return generate(model, tokenizer, tokens, options, progress, started);
}

}  // namespace

const Command kGenerate{"generate", "let a language model answer a prompt", kHelp, run};

}  // namespace baretile::cli
