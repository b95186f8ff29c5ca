#include "cambrian/engine/text/chat/chat_template.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"

namespace cambrian {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<ChatMessage> chat{{ChatRole::system, "Be brief."},
                                    {ChatRole::user, " Hi \n"},
                                    {ChatRole::assistant, "Yo"},
                                    {ChatRole::user, "Bye"}};

std::string render(std::string_view name, std::span<const ChatMessage> messages,
                   GenerationPrompt prompt = GenerationPrompt::yes) {
    return chat_template(name).render(messages, prompt);
}

// As the published templates give it, run by Jinja.
TEST(ChatTemplate, WritesChatsAsTheFamiliesDo) {
    EXPECT_EQ(render("chatml", chat),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi \n<|im_end|>\n"
              "<|im_start|>assistant\nYo<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
              "<|im_start|>assistant\n");
    EXPECT_EQ(render("llama2", chat),
              "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] Bye [/INST]");
    EXPECT_EQ(render("llama3", chat),
              "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\n");
    EXPECT_EQ(render("gemma", chat),
              "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n"
              "<start_of_turn>model\nYo<end_of_turn>\n<start_of_turn>user\nBye<end_of_turn>\n"
              "<start_of_turn>model\n");
    EXPECT_EQ(render("phi3", chat),
              "<|system|>\nBe brief.<|end|>\n<|user|>\n Hi \n<|end|>\n<|assistant|>\nYo<|end|>\n"
              "<|user|>\nBye<|end|>\n<|assistant|>\n");
    EXPECT_EQ(render("zephyr", chat),
              "<|system|>\nBe brief.</s>\n<|user|>\n Hi \n</s>\n<|assistant|>\nYo</s>\n"
              "<|user|>\nBye</s>\n<|assistant|>\n");
    EXPECT_EQ(render("mistral", std::span(chat).subspan(1)),
              "<s>[INST]  Hi \n [/INST]Yo</s>[INST] Bye [/INST]");
}

TEST(ChatTemplate, EndsWithoutAPrompt) {
    const std::vector<ChatMessage> user{{ChatRole::user, "Hi"}};
    EXPECT_EQ(render("chatml", user, GenerationPrompt::no), "<|im_start|>user\nHi<|im_end|>\n");
    EXPECT_EQ(render("phi3", user, GenerationPrompt::no), "<|user|>\nHi<|end|>\n<|endoftext|>");
    EXPECT_EQ(render("gemma", user, GenerationPrompt::no),
              "<bos><start_of_turn>user\nHi<end_of_turn>\n");
}

TEST(ChatTemplate, RefusesChatsThatDoNotFit) {
    const std::vector<ChatMessage> twice{{ChatRole::user, "a"}, {ChatRole::user, "b"}};
    EXPECT_NO_THROW(render("chatml", twice));
    for (const std::string_view name : {"llama2", "gemma", "mistral"})
        EXPECT_THROW(render(name, twice), InputError) << name;
    EXPECT_THROW(render("mistral", chat), InputError);
    const std::vector<ChatMessage> alone{{ChatRole::system, "a"}};
    EXPECT_THROW(render("gemma", alone), InputError);
    const std::vector<ChatMessage> late{{ChatRole::user, "a"}, {ChatRole::system, "b"}};
    EXPECT_THROW(render("llama2", late), InputError);
    try {
        static_cast<void>(chat_template("chatlm"));
        ADD_FAILURE();
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("did you mean \"chatml\"?"));
    }
}

TEST(ChatTemplate, IsEncodedWhereItsMarksAreTokens) {
    for (const ChatTemplate& family : chat_templates()) {
        const std::string text = family.render(std::span(chat).subspan(1), GenerationPrompt::yes);
        std::vector<std::string> marks;
        for (const std::string_view mark : family.tokens)
            if (!mark.empty()) marks.emplace_back(mark);
        const Tokenizer whole(byte_tokenizer(marks));
        const std::vector<std::int64_t> ids = family.encode(text, whole);
        EXPECT_EQ(whole.decode(ids, SpecialTokens::show), text);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            EXPECT_TRUE(std::ranges::count(ids, *whole.id_of(marks[i])) > 0) << marks[i];
            std::vector<std::string> others = marks;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            EXPECT_THAT([&] { (void)family.encode(text, Tokenizer(byte_tokenizer(others))); },
                        testing::ThrowsMessage<InputError>(
                            HasSubstr("the tokenizer has no special token " + marks[i] + " (")));
        }
    }
}

TEST(ChatTemplate, IsRecognizedByItsText) {
    nlohmann::json config{{"eos_token", "</s>"}};
    // The most common one, line by line as one text.
    config["chat_template"] = std::string("{% for message in messages %}{{'<|im_start|>' + ") +
                              "message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\n'}}"
                              "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant"
                              "\n' }}{% endif %}";
    EXPECT_EQ(recognized_chat_template(config.dump(), "x").name, "chatml");
    config["chat_template"] = "{{ messages }}";
    EXPECT_THROW(static_cast<void>(recognized_chat_template(config.dump(), "x")), InputError);
    EXPECT_THROW(static_cast<void>(recognized_chat_template("{}", "x")), InputError);
    EXPECT_THROW(static_cast<void>(recognized_chat_template("[]", "x")), InputError);
    EXPECT_THROW(static_cast<void>(recognized_chat_template("{", "x")), InputError);
}

TEST(ChatTemplate, MessagesAreReadFromJson) {
    const auto messages = parse_chat(
        R"([{"role": "user", "content": "a"}, {"content": "b", "role": "assistant"}])", "x");
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[1].role, ChatRole::assistant);
    EXPECT_EQ(messages[1].content, "b");
    for (const std::string text :
         {"{}", "[1]", R"([{"role": "user"}])", R"([{"role": "tool", "content": "a"}])",
          R"([{"role": "user", "content": []}])", R"([{"role": "user", "content": "", "x": 1}])"})
        try {
            static_cast<void>(parse_chat(text, "x.json"));
            ADD_FAILURE() << text;
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), HasSubstr("x.json is no chat: messages"));
        }
}

}  // namespace
}  // namespace cambrian
