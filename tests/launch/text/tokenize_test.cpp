#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/tests/launch/launch_support.hpp"

// `cambrian tokenize`: training, encoding, decoding, chats, and what it refuses.
namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;

std::string file_text(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

class Tokenize : public testing::Test {
  protected:
    Tokenize() {
        text_ = directory_.write("text.txt", "the cat, the hat\nthe bat \xC3\xA9\n");
        tokenizer_ = directory_.file("tokenizer.json");
        trained_ = run({"tokenize", "--train", text_, "--vocabulary", "260", "-o", tokenizer_});
    }

    TemporaryDirectory directory_;
    std::string text_;
    std::string tokenizer_;
    Result trained_;
};

TEST_F(Tokenize, HelpSaysThatTheInputIsAFile) {
    const std::string help = run({"tokenize", "--help"}).out;
    EXPECT_THAT(help, HasSubstr("The file with the text"));
}

TEST_F(Tokenize, LearnsEncodesAndDecodes) {
    ASSERT_EQ(trained_.code, 0) << trained_.err;
    EXPECT_THAT(trained_.err, HasSubstr("260 tokens, 3 merges"));
    const std::string ids = directory_.file("ids.txt");
    ASSERT_EQ(run({"tokenize", text_, "--tokenizer", tokenizer_, "-o", ids}).code, 0);
    const Result decoded = run({"tokenize", ids, "--decode", "--tokenizer", tokenizer_});
    EXPECT_EQ(decoded.out, file_text(text_));
    // The folder of a tokenizer.json does, too; the same text gives the same file.
    EXPECT_EQ(run({"tokenize", text_, "--tokenizer", directory_.path()}).out, file_text(ids));
    const std::string again = directory_.file("again.json");
    ASSERT_EQ(run({"tokenize", "--train", text_, "--vocabulary", "260", "-o", again}).code, 0);
    EXPECT_EQ(file_text(again), file_text(tokenizer_));
}

TEST_F(Tokenize, PrintsIdsNamesOrJson) {
    const std::string word = directory_.write("word.txt", "the\n<|endoftext|>");
    const std::vector<std::string> base{"tokenize", word, "--tokenizer", tokenizer_};
    const auto with = [&](const std::string& flag) {
        std::vector<std::string> arguments = base;
        arguments.push_back(flag);
        return run(arguments).out;
    };
    EXPECT_EQ(run(base).out, "258 10 259\n");
    EXPECT_EQ(with("--ids"), "258 10 259\n");
    EXPECT_EQ(with("--text"), "258\t\"the\"\n10\t\"\xC4\x8A\"\n259\t\"<|endoftext|>\"\n");
    const auto json = nlohmann::json::parse(with("--json"));
    EXPECT_EQ(json["count"], 3);
    EXPECT_EQ(json["ids"], (nlohmann::json{258, 10, 259}));
    EXPECT_EQ(json["tokens"][0], "the");
    const std::string ids = directory_.write("ids.json", "[258, 259]\n");
    EXPECT_EQ(run({"tokenize", ids, "--decode", "--tokenizer", tokenizer_}).out, "the");
    EXPECT_EQ(run({"tokenize", ids, "--decode", "--special", "--tokenizer", tokenizer_}).out,
              "the<|endoftext|>");
}

TEST_F(Tokenize, LearnsBytesAndCharacters) {
    const std::string bytes = directory_.file("bytes.json");
    ASSERT_EQ(run({"tokenize", "--train", text_, "--kind", "byte", "-o", bytes}).code, 0);
    const std::string e = directory_.write("e.txt", "\xC3\xA9");
    EXPECT_EQ(run({"tokenize", e, "--tokenizer", bytes}).out, "195 169\n");
    const std::string characters = directory_.file("characters.json");
    ASSERT_EQ(run({"tokenize", "--train", text_, "--kind", "character", "-o", characters}).code, 0);
    EXPECT_EQ(run({"tokenize", e, "--tokenizer", characters}).out, "9\n");
    const std::string other = directory_.write("z.txt", "z");
    const Result refused = run({"tokenize", other, "--tokenizer", characters});
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("holds the character \"z\" (no token stands for it"));
}

TEST_F(Tokenize, WritesChats) {
    const std::string chat =
        directory_.write("chat.json", R"([{"role": "user", "content": "the"}])");
    EXPECT_EQ(run({"tokenize", "--chat", chat, "--prompt"}).out,
              "<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(run({"tokenize", "--chat", chat, "--template", "mistral"}).out,
              "<s>[INST] the [/INST]");
    const std::string marks = directory_.file("marks.json");
    ASSERT_EQ(run({"tokenize", "--train", text_, "--vocabulary", "261", "--special-tokens",
                   "<|im_start|>", "<|im_end|>", "-o", marks})
                  .code,
              0);
    EXPECT_EQ(run({"tokenize", "--chat", chat, "--tokenizer", marks}).out,
              "259 117 115 101 114 10 258 260 10\n");
    const Result plain = run({"tokenize", "--chat", chat, "--tokenizer", tokenizer_});
    EXPECT_EQ(plain.code, 3);
    EXPECT_THAT(plain.err, AllOf(HasSubstr("no special token <|im_start|> (the template chatml"),
                                 HasSubstr("--template")));
    EXPECT_EQ(run({"tokenize", "--chat", chat, "--template", "none"}).code, 2);
    const std::string config =
        directory_.write("tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
    const Result refused = run({"tokenize", "--chat", chat, "--template", config});
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("a chat_template that is not known"));
}

TEST_F(Tokenize, RefusesWhatMakesNoSense) {
    EXPECT_EQ(run({"tokenize", text_}).code, 2);                          // No tokenizer.
    EXPECT_EQ(run({"tokenize", "--tokenizer", tokenizer_}).code, 2);      // No text.
    EXPECT_EQ(run({"tokenize", "--train", text_}).code, 2);               // No output.
    EXPECT_EQ(run({"tokenize", "--train", text_, "-o", text_}).code, 2);  // Over its own text.
    EXPECT_EQ(run({"tokenize", text_, "--decode"}).code, 2);
    EXPECT_EQ(run({"tokenize", text_, "--tokenizer", tokenizer_, "--prompt"}).code, 2);
    EXPECT_EQ(run({"tokenize", text_, "--tokenizer", text_}).code, 3);
    const Result no_ids = run({"tokenize", text_, "--decode", "--tokenizer", tokenizer_});
    EXPECT_EQ(no_ids.code, 3);
    EXPECT_THAT(no_ids.err, HasSubstr("has \"the\" (ids are whole numbers)"));
    const std::string ids = directory_.write("ids.txt", "1 999");
    EXPECT_THAT(run({"tokenize", ids, "--decode", "--tokenizer", tokenizer_}).err,
                HasSubstr("the id 999 is of no token (they are from 0 to 259)"));
    const Result small =
        run({"tokenize", "--train", text_, "--vocabulary", "256", "-o", directory_.file("x")});
    EXPECT_EQ(small.code, 2);
    EXPECT_THAT(small.err, HasSubstr("a vocabulary of 256 has no room"));
}

}  // namespace
}  // namespace cambrian::launch
