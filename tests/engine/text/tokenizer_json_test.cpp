#include "cambrian/engine/text/tokenizer_json.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/split_rules.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"
#include "cambrian/tests/engine/text/tokenizer_support.hpp"

namespace cambrian {
namespace {

using nlohmann::json;
using test::letters;
using test::special;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// With one of everything.
TokenizerDefinition everything() {
    TokenizerDefinition definition = letters();
    definition.unknown_token = "a";
    definition.fuse_unknown = true;
    definition.ignore_merges = true;
    definition.added = {special(20, "<s>"),
                        {.id = 21,
                         .content = "\n\"\\",
                         .single_word = true,
                         .lstrip = true,
                         .rstrip = true,
                         .normalized = true,
                         .special = false}};
    definition.normalizers = {NfcNormalizer{}, PrependNormalizer{"_"}, ReplaceNormalizer{" ", "_"}};
    definition.pre_tokenizers = {
        SplitPreTokenizer{.pattern = std::string(split_rules()[1].pattern), .regex = true},
        SplitPreTokenizer{
            .pattern = " ", .behavior = SplitBehavior::merged_with_next, .invert = true},
        DigitsPreTokenizer{true},
        MetaspacePreTokenizer{.prepend_scheme = PrependScheme::first, .split = false},
        ByteLevelPreTokenizer{.add_prefix_space = false, .use_regex = false}};
    definition.post_processor =
        Template{.single = {"<s>", std::nullopt, "<s>"}, .tokens = {{"<s>", {20, 1}}}};
    definition.decoders = {ReplaceDecoder{"_", " "}, ByteFallbackDecoder{}, FuseDecoder{},
                           StripDecoder{" ", 1}};
    return definition;
}

TEST(TokenizerJson, ComesBackAsItWas) {
    for (const TokenizerDefinition& definition :
         {letters(), everything(), byte_tokenizer(std::vector<std::string>{"<|end|>"})})
        EXPECT_EQ(parse_tokenizer(tokenizer_json(definition), "x"), definition);
    TokenizerDefinition metaspace = letters();
    metaspace.decoders = {MetaspaceDecoder{.prepend_scheme = PrependScheme::never}};
    EXPECT_EQ(parse_tokenizer(tokenizer_json(metaspace), "x"), metaspace);
}

TEST(TokenizerJson, TellsTokenizersApartByWhatTheySay) {
    const Hash128 own = tokenizer_hash(letters());
    // Files of networks hold it.
    EXPECT_EQ(own.hex(), "c8e4f573e1c1cad8482a6831ddf36bcd");
    const std::string compact = json::parse(tokenizer_json(letters())).dump();
    EXPECT_EQ(tokenizer_hash(parse_tokenizer(compact, "x")), own);
    TokenizerDefinition other = letters();
    std::swap(other.vocabulary[1].token, other.vocabulary[2].token);
    EXPECT_NE(tokenizer_hash(other), own);
    other = letters();
    std::swap(other.merges[0], other.merges[1]);
    EXPECT_NE(tokenizer_hash(other), own);
}

TEST(TokenizerJson, HasThePartsOfTheFormat) {
    const json root = json::parse(tokenizer_json(everything()));
    EXPECT_EQ(root["version"], "1.0");
    EXPECT_EQ(root["model"]["type"], "BPE");
    EXPECT_EQ(root["model"]["vocab"]["ab"], 7);
    EXPECT_EQ(root["model"]["merges"][0], (json{"c", "d"}));
    EXPECT_EQ(root["normalizer"]["normalizers"][0], json::parse(R"({"type": "NFC"})"));
    EXPECT_EQ(root["pre_tokenizer"]["pretokenizers"][1],
              json::parse(R"({"type": "Split", "pattern": {"String": " "},
                              "behavior": "MergedWithNext", "invert": true})"));
    EXPECT_EQ(root["post_processor"]["pair"].size(), 6U);
    EXPECT_EQ(root["post_processor"]["special_tokens"]["<s>"]["ids"], (json{20, 1}));
    EXPECT_EQ(root["decoder"]["decoders"][3],
              json::parse(R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})"));
    EXPECT_EQ(root["added_tokens"][1]["lstrip"], true);
    EXPECT_EQ(json::parse(tokenizer_json(letters()))["pre_tokenizer"], nullptr);
}

TEST(TokenizerJson, OlderFormsAreRead) {
    json root = json::parse(tokenizer_json(letters()));
    root["model"].erase("type");
    root["model"]["continuing_subword_prefix"] = "";
    root["model"]["merges"] = {"c d", "a b", "b c", "ab c", "a a"};
    EXPECT_EQ(parse_tokenizer(root.dump(), "x"), letters());
    root["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "_"}, {"add_prefix_space", false}};
    EXPECT_EQ(parse_tokenizer(root.dump(), "x").pre_tokenizers.front(),
              PreTokenizer(MetaspacePreTokenizer{.replacement = "_",
                                                 .prepend_scheme = PrependScheme::never}));
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnow) {
    struct Case {
        std::function<void(json&)> change;
        std::string message;
    };
    for (const Case& row : std::initializer_list<Case>{
             {[](json& j) { j["model"]["type"] = "Unigram"; },
              "model.type is \"Unigram\" (only BPE, byte-pair encoding, is known)"},
             {[](json& j) { j["model"]["dropout"] = 0.1; }, "model.dropout is not known here"},
             {[](json& j) { j["model"]["end_of_word_suffix"] = "</w>"; },
              "model.end_of_word_suffix is not known here"},
             {[](json& j) { j["model"]["more"] = 1; }, "model.more is not a key"},
             {[](json& j) { j["model"]["vocab"] = json::array(); }, "model.vocab is no object"},
             {[](json& j) { j["model"]["vocab"]["x"] = -1; }, "model.vocab.x is -1"},
             {[](json& j) { j["model"]["vocab"]["x"] = 1e9; }, "model.vocab.x is "},
             {[](json& j) { j["model"]["merges"][1] = "a b c"; }, "model.merges[1] is \"a b c\""},
             {[](json& j) { j["model"]["merges"][1] = json{"a"}; }, "model.merges[1] is no merge"},
             {[](json& j) { j["model"].erase("merges"); }, "model.merges is not there"},
             {[](json& j) { j.erase("model"); }, "model is not there"},
             {[](json& j) {
                  j["truncation"] = json{{"max_length", 5}};
              },
              "truncation is not known here (texts are neither cut nor filled up)"},
             {[](json& j) {
                  j["padding"] = json{{"pad_id", 5}};
              },
              "padding is not known here"},
             {[](json& j) {
                  j["normalizer"] = json{{"type", "NFKC"}};
              },
              "normalizer.type is \"NFKC\" (known are NFC, Prepend, Replace, Sequence)"},
             {[](json& j) {
                  j["normalizer"] = json::parse(
                      R"({"type": "Replace", "pattern": {"Regex": " +"}, "content": ""})");
              },
              "normalizer.pattern is an expression"},
             {[](json& j) {
                  j["normalizer"] = json::parse(
                      R"({"type": "Replace", "pattern": {"String": ""}, "content": "a"})");
              },
              "normalizer.pattern is empty"},
             {[](json& j) {
                  j["pre_tokenizer"] = json{{"type", "Punctuation"}};
              },
              "pre_tokenizer.type is \"Punctuation\" (known are ByteLevel, Split, Digits"},
             {[](json& j) {
                  j["pre_tokenizer"] =
                      json{{"type", "Sequence"}, {"pretokenizers", {{{"type", "Whitespace"}}}}};
              },
              "pre_tokenizer.pretokenizers[0].type is \"Whitespace\""},
             {[](json& j) {
                  j["pre_tokenizer"] = json{{"type", "Sequence"}, {"pretokenizers", json::array()}};
                  for (int i = 0; i < 17; ++i)
                      j["pre_tokenizer"]["pretokenizers"].push_back({{"type", "Digits"}});
              },
              "has 17 parts (16 are the most)"},
             {[](json& j) {
                  j["post_processor"] = json{{"type", "BertProcessing"}};
              },
              "post_processor.type is \"BertProcessing\""},
             {[](json& j) {
                  j["decoder"] = json{{"type", "WordPiece"}};
              },
              "decoder.type is \"WordPiece\""},
             {[](json& j) {
                  j["decoder"] =
                      json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 1}};
              },
              "decoder.stop is not known here"},
             {[](json& j) {
                  j["added_tokens"] = json{{{"id", 0}}};
              },
              "added_tokens[0].content is not there"},
         }) {
        json root = json::parse(tokenizer_json(letters()));
        row.change(root);
        try {
            static_cast<void>(parse_tokenizer(root.dump(), "x.json"));
            ADD_FAILURE() << "read: " << row.message;
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), AllOf(StartsWith("x.json cannot be read as tokenizer.json: "),
                                            HasSubstr(row.message)));
        }
    }
}

TEST(TokenizerJson, RefusesWhatIsNoJson) {
    for (const std::string text : {"", "{", "[1]", "{\"model\": \"\\u0000\"}", "null"})
        EXPECT_THROW(static_cast<void>(parse_tokenizer(text, "x")), InputError) << text;
    EXPECT_THROW(static_cast<void>(read_tokenizer("/nonexistent/tokenizer.json")), InputError);
}

}  // namespace
}  // namespace cambrian
