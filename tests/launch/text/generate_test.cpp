#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using nlohmann::json;
using test::Result;
using test::run;
using testing::HasSubstr;
using testing::StartsWith;

/// A network that has learned a text that repeats itself by heart.
class Generate : public testing::Test {
  protected:
    static const std::string& best() {
        static const test::TemporaryDirectory directory;
        static const std::string path = trained(directory, "characters", "run");
        return path;
    }
    static std::string trained(const test::TemporaryDirectory& directory,
                               const std::string& tokenizer, const std::string& name,
                               const std::string& seed = "1") {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "one two three, ";
        directory.write("text", text);
        const std::string config = directory.write(
            name + ".json",
            R"({"run": {"directory": ")" + directory.file(name) + R"(", "seed": )" + seed +
                R"(}, "task": {"type": "dataset", "source": {"type": "text", "file": ")" +
                directory.file("text") + R"(", "context": 15, "tokenizer": ")" + tokenizer +
                R"("}, "split": {"validation": 0.2, "shuffle": false},
                "loss": {"type": "cross_entropy"}}, "network": {"build": {"type": "transformer",
                "vocabulary": 256, "features": 16, "heads": 2, "blocks": 1, "rope_base": 100}},
                "training": {"epochs": 30, "batch": 8, "learning_rate": 0.02}})");
        const Result result = run({"train", config});
        EXPECT_EQ(result.code, 0) << result.err;
        const std::string unit = tokenizer == "bytes"        ? "byte"
                                 : tokenizer == "characters" ? "character"
                                                             : "token";
        EXPECT_THAT(result.out, HasSubstr(" bits a " + unit));
        return directory.file(name + "/best.cmb");
    }
    /// The lines of --json.
    static std::vector<json> lines(const std::vector<std::string>& arguments) {
        std::vector<std::string> all{"generate", best(), "--json"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Result result = run(all);
        EXPECT_EQ(result.code, 0) << result.err;
        std::vector<json> parsed;
        std::istringstream in(result.out);
        for (std::string line; std::getline(in, line);) parsed.push_back(json::parse(line));
        return parsed;
    }
};

TEST_F(Generate, ContinuesWhatItHasLearned) {
    // As far as the sequences that it has learned from.
    const Result result =
        run({"generate", best(), "--prompt", "one t", "--max-tokens", "9", "--temperature", "0"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "one two three,\n");
    const std::vector<std::string> longer{"--prompt", "one t",         "--max-tokens",
                                          "90",       "--temperature", "0"};
    std::vector<std::string> without_cache = longer;
    without_cache.emplace_back("--no-cache");
    EXPECT_EQ(lines(without_cache), lines(longer));
}

TEST_F(Generate, EndsBeforeAStopWord) {
    const std::vector<json> texts =
        lines({"--prompt", "one", "--temperature", "0", "--stop", "thr", "--stop", "xyz"});
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_EQ(texts[0]["text"], " two ");
    EXPECT_EQ(texts[0]["ending"], "stopped");
    EXPECT_EQ(texts[0]["prompt"], "one");
    EXPECT_EQ(texts[0]["tokens"], 8);
}

TEST_F(Generate, TakesPromptsFromAFileAndTheSeedTellsTheTexts) {
    const test::TemporaryDirectory directory;
    const std::string prompts = directory.write("prompts", "two\none two three, o\n");
    const std::vector<std::string> arguments{"--prompts",    prompts, "--temperature", "3",
                                             "--max-tokens", "30",    "--seed",        "4"};
    const std::vector<json> texts = lines(arguments);
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts[0]["ending"], "length");
    EXPECT_EQ(lines(arguments), texts);
    EXPECT_EQ(lines({"--prompt", "two", "--temperature", "3", "--max-tokens", "30", "--seed", "4"}),
              std::vector<json>{texts[0]});
    std::vector<std::string> other = arguments;
    other.back() = "5";
    EXPECT_NE(lines(other)[0]["text"], texts[0]["text"]);
}

TEST_F(Generate, GivesThePiecesOfSeveralTextsAsTheyAreMade) {
    const std::vector<std::string> arguments{"--prompt",      "one", "--prompt",     "two thr",
                                             "--temperature", "2",   "--max-tokens", "12"};
    std::vector<std::string> with_pieces = arguments;
    with_pieces.emplace_back("--pieces");
    const std::vector<json> texts = lines(arguments);
    std::map<int, std::string> joined;
    std::vector<json> last;
    std::vector<int> order;
    for (const json& line : lines(with_pieces)) {
        if (line.contains("text")) {
            last.push_back(line);
            continue;
        }
        EXPECT_TRUE(last.empty() || line["number"] == 2) << line;
        joined[line["number"]] += line["piece"].get<std::string>();
        order.push_back(line["number"]);
    }
    EXPECT_EQ(last, texts);
    ASSERT_EQ(joined.size(), 2U);
    EXPECT_EQ(joined[1], texts[0]["text"].get<std::string>());
    EXPECT_EQ(joined[2], texts[1]["text"].get<std::string>());
    // Side by side, not one after the other.
    EXPECT_FALSE(std::ranges::is_sorted(order));
    const Result alone = run({"generate", best(), "--prompt", "one", "--pieces"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(alone.err, HasSubstr("--json"));
}

TEST_F(Generate, AnswersAChat) {
    const test::TemporaryDirectory directory;
    const std::string letters =
        directory.write("letters", "one two three, <|user|>\n<|assistant|>\n");
    const std::string tokenizer = directory.file("tokenizer.json");
    ASSERT_EQ(run({"tokenize", "--train", letters, "--kind", "character", "--special-tokens",
                   "</s>", "-o", tokenizer})
                  .code,
              0);
    const std::string network = trained(directory, tokenizer, "a");
    const std::string messages =
        directory.write("chat.json", R"([{"role": "user", "content": "one two"}])");
    const std::string rendered =
        run({"tokenize", "--chat", messages, "--template", "zephyr", "--prompt"}).out;
    const auto made = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all{"generate",      network, "--tokenizer",  tokenizer,
                                     "--temperature", "0",     "--max-tokens", "9"};
        all.insert(all.end(), more.begin(), more.end());
        const Result result = run(all);
        EXPECT_EQ(result.code, 0) << result.err;
        return result.out;
    };
    const std::string answered = made({"--chat", messages, "--template", "zephyr", "--json"});
    EXPECT_EQ(answered, made({"--prompt", rendered, "--json"}));
    // The answer alone.
    EXPECT_EQ(made({"--chat", messages, "--template", "zephyr"}),
              json::parse(answered)["text"].get<std::string>() + "\n");
    const Result both = run({"generate", network, "--chat", messages, "--prompt", "x"});
    EXPECT_EQ(both.code, 2);
    const Result none = run({"generate", network, "--chat", directory.file("none.json")});
    EXPECT_EQ(none.code, 3);
    const Result unknown = run({"generate", network, "--chat", messages, "--template", "zephir"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("zephyr"));
    const Result plain = run({"generate", network, "--tokenizer", tokenizer, "--chat", messages});
    EXPECT_EQ(plain.code, 3);
    EXPECT_THAT(plain.err, HasSubstr("no special token <|im_start|> (the template chatml"));
}

TEST_F(Generate, TellsItsSpeed) {
    const std::vector<json> texts = lines({"--prompt", "one", "--max-tokens", "7", "--speed"});
    ASSERT_EQ(texts.size(), 2U);
    const json& speed = texts[1]["speed"];
    EXPECT_EQ(speed["tokens"], 7);
    EXPECT_EQ(speed["steps"].size(), 7U);
    EXPECT_EQ(speed["steps"][0][0], 2);
    EXPECT_GT(speed["tokens_per_second"], 0.0);
    const Result result =
        run({"generate", best(), "--prompt", "one", "--max-tokens", "7", "--speed"});
    EXPECT_THAT(result.err, StartsWith("7 tokens in "));
}

TEST_F(Generate, SeveralNetworksOfOneStructureContinueEveryPrompt) {
    const test::TemporaryDirectory directory;
    const std::string a = trained(directory, "bytes", "a");
    const std::string b = trained(directory, "bytes", "b", "2");
    const auto text = [](const std::vector<std::string>& networks) {
        std::vector<std::string> all{"generate"};
        all.insert(all.end(), networks.begin(), networks.end());
        all.insert(all.end(), {"--prompt", "one", "--prompt", "two", "--max-tokens", "12", "--json",
                               "--temperature", "2"});
        return run(all).out;
    };
    EXPECT_EQ(text({a, b}), text({a}) + text({b}));
    EXPECT_NE(text({a}).substr(a.size()), text({b}).substr(b.size()));
    const Result other = run({"generate", a, best(), "--prompt", "one"});
    EXPECT_EQ(other.code, 3);
    EXPECT_THAT(other.err, HasSubstr("differ in structure"));
    const std::string small = directory.file("small.cmb");
    distributed::NetworkFile quantised = distributed::read_network(a);
    quantised.genome.blueprint.head_formats.weights = Dtype::int8;
    distributed::write_network(small, quantised);
    EXPECT_THAT(run({"generate", a, small, "--prompt", "one"}).err,
                HasSubstr("differ in number formats: weights in float32 and rows in float32, or "
                          "weights in int8 and rows in float32 (one program"));
    quantised.genome.blueprint.head_formats = {.scales = Scales::tensor};
    distributed::write_network(small, quantised);
    EXPECT_THAT(run({"generate", a, small, "--prompt", "one"}).err,
                HasSubstr("differ in number formats: scales: format, or tensor (one program"));
    const Result plain = run({"generate", a, b, "--prompt", "one", "--max-tokens", "1"});
    EXPECT_THAT(plain.out, StartsWith("--- prompt 1, " + a + "\none"));
}

TEST_F(Generate, APromptGoesOnWithTheFirstSpaceOfItsContinuation) {
    // A mark stands for a space, and for the start of a text.
    const std::string mark = "\xE2\x96\x81";
    json vocabulary{{mark, 0}, {mark + "o", 1}, {mark + "t", 2}};
    for (const char letter : std::string("onetwhr,")) {
        const std::size_t next = vocabulary.size();
        if (!vocabulary.contains(std::string(1, letter))) vocabulary[std::string(1, letter)] = next;
    }
    const json space{{"type", "Metaspace"}, {"replacement", mark}};
    const test::TemporaryDirectory directory;
    const std::string tokenizer = directory.write(
        "tokenizer.json",
        json{{"model",
              {{"type", "BPE"},
               {"vocab", vocabulary},
               {"merges", json::array({json::array({mark, "o"}), json::array({mark, "t"})})}}},
             {"pre_tokenizer", space},
             {"decoder", space}}
            .dump());
    const std::string network = trained(directory, tokenizer, "marks");
    const Result result = run({"generate", network, "--tokenizer", tokenizer, "--prompt", "one",
                               "--max-tokens", "3", "--temperature", "0"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "one two\n");
    const Result other = run({"generate", network, "--tokenizer", "bytes", "--prompt", "one"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("was trained with another one) name that one"));
}

TEST_F(Generate, RefusesWhatItCannotRead) {
    const auto refusal = [](const std::vector<std::string>& arguments, int code) {
        std::vector<std::string> all{"generate"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Result result = run(all);
        EXPECT_EQ(result.code, code);
        return result.err;
    };
    EXPECT_THAT(refusal({best()}, 2), HasSubstr("there is no prompt"));
    const test::TemporaryDirectory directory;
    EXPECT_THAT(refusal({best(), "--prompts", directory.write("empty", "one\r\n\n")}, 3),
                HasSubstr("prompt 2 has no tokens"));
    EXPECT_THAT(refusal({best(), "--prompt", "one", "--tokenizer", "bytes"}, 2),
                HasSubstr("says itself that its tokens are others"));
    EXPECT_THAT(refusal({best(), "--prompt", "ONE"}, 3), HasSubstr("O"));
    EXPECT_THAT(refusal({best(), "--prompt", "one", "--top-p", "0"}, 2), HasSubstr("top_p"));
    const Result block = run({"generate", best(), "--prompt", "one", "--block", "100000000"});
    EXPECT_THAT(block.err, HasSubstr("block is 100000000"));
    EXPECT_EQ(block.out, "");
    EXPECT_THAT(refusal({best(), "--prompts", "/none/there"}, 3), HasSubstr("/none/there"));
    EXPECT_THAT(refusal({best(), "--prompt", "one", "--set", "task.type=xor"}, 2),
                HasSubstr("engine keys alone"));
    EXPECT_THAT(refusal({best(), "--prompt", "one", "--tokenizer", "/none/there"}, 3),
                HasSubstr("/none/there"));

    ASSERT_EQ(run({"evolve", test::write_xor(directory)}).code, 0);
    EXPECT_THAT(refusal({directory.file("run-xor/best.cmb"), "--prompt", "1"}, 3),
                HasSubstr("does not say what its tokens are"));
    EXPECT_THAT(
        refusal({directory.file("run-xor/best.cmb"), "--prompt", "1", "--tokenizer", "bytes"}, 3),
        HasSubstr("does not read tokens"));
}

TEST(GenerateTokenizer, IsTheOneThatTheNetworkWasTrainedWith) {
    const test::TemporaryDirectory directory;
    directory.write("text", "abcabcabcab");
    const auto tokenizer = [&](const std::string& name, const json& vocabulary, int indent) {
        const json model{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}};
        return directory.write(
            name, json{{"model", model}, {"decoder", {{"type", "Fuse"}}}}.dump(indent));
    };
    const json letters{{"a", 0}, {"b", 1}, {"c", 2}};
    const std::string own = tokenizer("own.json", letters, -1);
    const std::string same = tokenizer("same.json", letters, 2);
    const std::string other = tokenizer("other.json", {{"a", 2}, {"b", 0}, {"c", 1}}, -1);
    const auto config = [&](const std::string& name, const std::string& named,
                            const std::string& initial) {
        return directory.write(
            name, R"({"run": {"directory": ")" + directory.file("run") +
                      R"("}, "task": {"type": "dataset", "source": {"type": "text", "file": "text",
                      "context": 4, "tokenizer": ")" +
                      named + R"("}, "loss": {"type": "cross_entropy"}}, "network": {)" + initial +
                      R"(}, "training": {"epochs": 1}})");
    };
    const std::string network = directory.file("network.cmb");
    const std::string fresh = R"("build": {"type": "transformer", "vocabulary": 3, "features": 4,
                                           "heads": 1, "blocks": 1, "rope_base": 100})";
    const Result made = run({"convert", config("own_task.json", own, fresh), network});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(run({"inspect", network}).out, HasSubstr("tokenizer   "));

    const auto generated = [&](const std::string& named) {
        return run(
            {"generate", network, "--tokenizer", named, "--prompt", "a", "--max-tokens", "1"});
    };
    for (const std::string& named : {own, same}) EXPECT_EQ(generated(named).code, 0) << named;
    const Result refused = generated(other);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("was trained with another one) name that one"));

    const std::string initial = R"("initial": "network.cmb")";
    for (const auto& [named, code] : {std::pair(same, 0), std::pair(other, 2)}) {
        const Result evaluated =
            run({"evaluate", network, "--config", config("task.json", named, fresh)});
        EXPECT_EQ(evaluated.code, code) << evaluated.err;
        const Result tuned = run({"train", config("tuned.json", named, initial), "--dry-run"});
        EXPECT_EQ(tuned.code, code) << tuned.err;
        if (code == 0) continue;
        EXPECT_THAT(evaluated.err, HasSubstr("their tokenizers are others"));
        EXPECT_THAT(tuned.err, HasSubstr("their tokenizers are others"));
    }
}

TEST(GenerateTokenizer, MayHaveFewerTokensThanTheNetworkOutputs) {
    const test::TemporaryDirectory directory;
    directory.write("text", "abcabcabcab");
    const auto tokenizer = [&](const std::string& name, const json& vocabulary) {
        const json model{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}};
        return directory.write(name,
                               json{{"model", model}, {"decoder", {{"type", "Fuse"}}}}.dump());
    };
    const std::string own = tokenizer("own.json", {{"a", 0}, {"b", 1}, {"c", 2}});
    const std::string other = tokenizer("other.json", {{"a", 0}, {"b", 1}});
    const auto config = [&](const std::string& name, const std::string& keys,
                            const std::string& start) {
        return directory.write(
            name, R"({"run": {"directory": ")" + directory.file("run") +
                      R"("}, "task": {"type": "dataset", "source": {"type": "text", "file": "text",
                      "context": 4, "tokenizer": "own.json")" +
                      keys + R"(}, "loss": {"type": "cross_entropy"}}, "network": {)" + start +
                      R"(}, "training": {"epochs": 1}})");
    };
    const std::string network = directory.file("rounded.cmb");
    const Result made = run({"convert",
                             config("rounded.json", R"(, "vocabulary": 8)",
                                    R"("build": {"type": "transformer", "vocabulary": 8,
                                       "features": 4, "heads": 1, "blocks": 1, "rope_base": 100})"),
                             network});
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string initial = R"("initial": "rounded.cmb")";
    const Result tuned =
        run({"train", config("tuned.json", R"(, "vocabulary": 8)", initial), "--dry-run"});
    EXPECT_EQ(tuned.code, 0) << tuned.err;
    const Result narrow = run({"train", config("narrow.json", "", initial), "--dry-run"});
    EXPECT_EQ(narrow.code, 2);
    EXPECT_THAT(narrow.err, HasSubstr("writes 8 values"));

    const auto generated = [&](const std::string& named) {
        return run(
            {"generate", network, "--tokenizer", named, "--prompt", "a", "--max-tokens", "2"});
    };
    EXPECT_EQ(generated(own).code, 0) << generated(own).err;
    EXPECT_THAT(generated(other).err, HasSubstr("was trained with another one) name that one"));
    EXPECT_THAT(generated("bytes").err, HasSubstr("was trained with another one) name that one"));
}

}  // namespace
}  // namespace cambrian::launch
