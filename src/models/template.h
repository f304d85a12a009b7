// Chat messages as the text a model was trained on.
//   ChatTemplate chat(gguf);  ids = tokenizer.encode(chat.render({{"user", "Hi"}}, true));
#pragma once
#include <span>
#include <string>

#include "models/gguf.h"

namespace baretile {

struct Message {
  std::string role, content;
};

// SmolLM2's template: <|im_start|>role, line, content, <|im_end|>; a system message comes first in any case.
class ChatTemplate {
 public:
  // Unsupported when the file's Jinja text is another template.
  explicit ChatTemplate(const Gguf& gguf);
  std::string render(std::span<const Message> messages, bool add_generation_prompt) const;
};

}  // namespace baretile
