#include "models/template.h"

#include <gmock/gmock.h>

#include "models/model_path.h"
#include "models/support.h"

namespace baretile {
namespace {

ChatTemplate template_of(const std::string& jinja) {
  const TempFile file(GgufWriter().add("tokenizer.chat_template", jinja).bytes());
  return ChatTemplate(Gguf(file.path()));
}

TEST(ChatTemplate, RendersAsJinjaRendersTheFilesTemplate) {
  const ChatTemplate chat = template_of(vectors()["template"]);
  for (const auto& vector : vectors()["chats"]) {
    std::vector<Message> messages;
    for (const auto& message : vector["messages"]) messages.push_back({message[0], message[1]});
    EXPECT_EQ(chat.render(messages, vector["prompt"]), vector["text"].get<std::string>()) << vector["messages"];
  }
}

TEST(ChatTemplate, RefusesATemplateItDoesNotKnow) {
  EXPECT_THAT(message_of<Unsupported>([] { template_of("{{ messages }}"); }),
              testing::HasSubstr("its chat template (14 bytes)"));
}

TEST(ChatTemplate, KnowsTheTemplateOfTheModelThatGetModelFetches) {
  std::string path;
  const std::string missing = message_of<UsageError>([&] { path = cached_model(); });
  if (path.empty()) GTEST_SKIP() << missing;
  EXPECT_NO_THROW(ChatTemplate{Gguf(path)});
}

}  // namespace
}  // namespace baretile
