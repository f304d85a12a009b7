#include "models/template.h"

#include <fmt/format.h>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr std::string_view kSmolLm2 =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% "
    "endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

std::string turn(std::string_view role, std::string_view content) {
  return fmt::format("<|im_start|>{}\n{}<|im_end|>\n", role, content);
}

}  // namespace

ChatTemplate::ChatTemplate(const Gguf& gguf) {
  const std::string& jinja = gguf.text("tokenizer.chat_template");
  if (jinja != kSmolLm2)
    throw Unsupported(
        fmt::format("{}: its chat template ({} bytes) is not SmolLM2's, the only one known here; give the prompt "
                    "as plain text instead",
                    gguf.path(), jinja.size()));
}

std::string ChatTemplate::render(std::span<const Message> messages, bool add_generation_prompt) const {
  std::string text;
  if (!messages.empty() && messages.front().role != "system")
    text += turn("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
  for (const Message& message : messages) text += turn(message.role, message.content);
  if (add_generation_prompt) text += "<|im_start|>assistant\n";
  return text;
}

}  // namespace baretile
