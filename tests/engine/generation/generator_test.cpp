#include "cambrian/engine/generation/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/generation/generation_graphs.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/language_models.hpp"

namespace cambrian {
namespace {

using test::language_models;
using test::language_network;
using test::language_vocabulary;
using test::language_weights;
using test::LanguageModel;
using Texts = std::vector<std::vector<std::int64_t>>;

std::vector<Prompt> prompts() {
    return {{.tokens = {3, 1, 4, 1, 5}, .number = 0},
            {.tokens = {9}, .number = 1},
            {.tokens = {2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2}, .number = 2}};
}

Texts tokens_of(const std::vector<GeneratedText>& texts) {
    Texts tokens;
    for (const GeneratedText& text : texts) tokens.push_back(text.tokens);
    return tokens;
}

std::unique_ptr<Backend> strict_cpu() {
    return make_cpu_backend({.math = Math::strict});
}

class EveryLanguageModel : public testing::TestWithParam<LanguageModel> {
  protected:
    Network network_ = language_network(GetParam());

    Texts run(Backend& backend, std::span<const Prompt> of, const GenerationSettings& settings,
              std::size_t networks = 1) {
        return tokens_of(
            Generator(backend, network_, language_weights(network_, networks)).run(of, settings));
    }
};

TEST_P(EveryLanguageModel, GivesTheSameTextsWithAndWithoutACacheOfAnySize) {
    const auto backend = strict_cpu();
    for (const double temperature : {0.0, 1.0}) {
        GenerationSettings settings{.sampling = {.temperature = temperature}, .max_tokens = 30};
        settings.cache = false;
        const Texts expected = run(*backend, prompts(), settings, 2);
        ASSERT_EQ(expected.size(), 6U);
        const std::set<std::vector<std::int64_t>> different(expected.begin(), expected.end());
        EXPECT_GT(different.size(), temperature > 0.0 ? 5U : 1U);
        settings.cache = true;
        for (const std::int64_t block : {2, 5, 64}) {
            settings.block = block;
            EXPECT_EQ(run(*backend, prompts(), settings, 2), expected) << block;
        }
    }
}

TEST_P(EveryLanguageModel, GivesTheSameLogitsFromACacheAsFromTheWholeText) {
    constexpr std::int64_t time = 13;
    constexpr std::int64_t capacity = 16;
    const std::vector<float> weights = language_weights(network_, 1)[0];
    const Tensor all(ValueType::real, {network_.weight_count()},
                     std::vector<double>(weights.begin(), weights.end()));
    const Network cached = generation_graphs::with_cache(network_, capacity);
    const Graph step = generation_graphs::step(cached, {});
    const Graph whole = generation_graphs::whole(network_, {}, time);
    const auto backend = strict_cpu();
    Tensor text(ValueType::real, {1, time, 1});
    for (std::int64_t t = 0; t < time; ++t)
        text.elements[static_cast<std::size_t>(t)] =
            static_cast<double>((7 * t + 3) % language_vocabulary);

    std::vector<Tensor> inputs;
    for (const ValueId input : step.inputs()) {
        const ValueInfo& info = step.value(input);
        inputs.emplace_back(info.type, info.shape);
    }
    inputs[0] = all;
    for (std::int64_t t = 0; t < time; ++t) {
        const Tensor position(ValueType::real, {1, 1}, {static_cast<double>(t)});
        inputs[1].elements[0] = text.elements[static_cast<std::size_t>(t)];
        inputs[2] = position;
        const std::vector<Tensor> outputs = evaluate(*backend, step, 1, inputs);
        for (const Update& update : step.updates()) inputs[update.input] = outputs[update.output];
        const std::vector<Tensor> expected =
            evaluate(*backend, whole, 1, std::array{all, text, position});
        EXPECT_EQ(outputs[0].elements, expected[0].elements) << t;
    }
}

TEST_P(EveryLanguageModel, ATextDependsNeitherOnOtherTextsNorOnOtherNetworks) {
    const auto backend = make_cpu_backend({});
    const GenerationSettings settings{.max_tokens = 12, .block = 4};
    const Texts together = run(*backend, prompts(), settings, 3);
    const std::vector<std::vector<float>> weights = language_weights(network_, 3);
    for (std::size_t network = 0; network < 3; ++network) {
        Generator alone(*backend, network_, std::span(weights).subspan(network, 1));
        for (std::size_t prompt = 0; prompt < prompts().size(); ++prompt) {
            const std::vector<Prompt> one{prompts()[prompt]};
            EXPECT_EQ(tokens_of(alone.run(one, settings))[0], together[3 * network + prompt]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Generator, EveryLanguageModel, testing::ValuesIn(language_models()),
                         [](const auto& each) { return std::string(each.param.name); });

class GeneratorTest : public testing::Test {
  protected:
    const LanguageModel& model(std::string_view name) {
        return *std::ranges::find(language_models(), name, &LanguageModel::name);
    }
    std::vector<GeneratedText> run(std::string_view name, const GenerationSettings& settings,
                                   const TokenObserver& observer = {}) {
        const Network network = language_network(model(name));
        return Generator(*backend_, network, language_weights(network, 1))
            .run(prompts(), settings, observer);
    }
    std::unique_ptr<Backend> backend_ = make_cpu_backend({});
};

TEST_F(GeneratorTest, SeesTheWindowOfAttentionAndNoMore) {
    LanguageModel narrow = model("llama");
    const std::string layers = R"({"type": "multi_head_attention", "heads": 2, "rope_base": 100,
        "window": 4}, {"type": "multi_head_attention", "heads": 1, "window": 3})";
    narrow.layers = layers.c_str();
    const Network network = language_network(narrow);
    Generator generator(*backend_, network, language_weights(network, 1));
    GenerationSettings settings{.sampling = {.temperature = 0.0}, .max_tokens = 40, .block = 8};
    const Texts cached = tokens_of(generator.run(prompts(), settings));
    settings.cache = false;
    EXPECT_EQ(cached, tokens_of(generator.run(prompts(), settings)));
    // What is further away than both windows together does not matter.
    std::vector<Prompt> changed = prompts();
    changed[2].tokens[0] = 16;
    settings.cache = true;
    EXPECT_EQ(tokens_of(generator.run(changed, settings))[2], cached[2]);
}

TEST_F(GeneratorTest, ChoosesOnlyIdsThatAreTokens) {
    GenerationSettings settings{.sampling = {.temperature = 2.0}, .max_tokens = 20};
    // 5 is none, and so is what comes after the last.
    settings.known_tokens = std::vector<bool>(12, true);
    settings.known_tokens[5] = false;
    const auto is_known = [](std::int64_t id) { return id < 12 && id != 5; };
    for (const GeneratedText& text : run("llama", settings))
        EXPECT_TRUE(std::ranges::all_of(text.tokens, is_known));
    settings.known_tokens.clear();
    const std::vector<GeneratedText> all = run("llama", settings);
    EXPECT_FALSE(std::ranges::all_of(
        all, [&](const auto& text) { return std::ranges::all_of(text.tokens, is_known); }));
}

TEST_F(GeneratorTest, EndsWhereItIsToldTo) {
    const GenerationSettings settings{.max_tokens = 20};
    const std::vector<GeneratedText> all = run("llama", settings);
    for (const GeneratedText& text : all) {
        EXPECT_EQ(text.tokens.size(), 20U);
        EXPECT_EQ(text.ending, Ending::length);
    }
    // An end token is the last one of its text, and of no other.
    GenerationSettings ending = settings;
    ending.end_tokens = {all[0].tokens[7]};
    const std::vector<GeneratedText> ended = run("llama", ending);
    const auto first = std::ranges::find(all[0].tokens, ending.end_tokens[0]);
    EXPECT_EQ(ended[0].tokens, std::vector(all[0].tokens.begin(), first + 1));
    EXPECT_EQ(ended[0].ending, Ending::token);
    // So is what the caller says, while the others go on.
    std::vector<std::size_t> told(3, 0);
    const std::vector<GeneratedText> stopped = run("llama", settings, [&](const NewToken& token) {
        EXPECT_EQ(token.id, all[token.prompt].tokens[told[token.prompt]]);
        return ++told[token.prompt] < 5 || token.prompt != 1;
    });
    EXPECT_THAT(told, testing::ElementsAre(20, 5, 20));
    EXPECT_EQ(stopped[1].ending, Ending::stopped);
    EXPECT_EQ(stopped[2].tokens, all[2].tokens);
    EXPECT_TRUE(run("llama", {.max_tokens = 0})[0].tokens.empty());
}

TEST_F(GeneratorTest, EndsWithTheLearnedPositionsOfTheNetwork) {
    for (const bool cache : {true, false}) {
        const std::vector<GeneratedText> texts = run("gpt", {.max_tokens = 100, .cache = cache});
        for (std::size_t i = 0; i < texts.size(); ++i) {
            EXPECT_EQ(texts[i].ending, Ending::context);
            // The last token needs no position.
            EXPECT_EQ(prompts()[i].tokens.size() + texts[i].tokens.size(), 49U);
        }
    }
}

TEST_F(GeneratorTest, TellsWhatStepsTook) {
    const Network network = language_network(model("llama"));
    Generator generator(*backend_, network, language_weights(network, 2));
    static_cast<void>(generator.run(prompts(), {.max_tokens = 9}));
    const GenerationTimes& times = generator.times();
    ASSERT_EQ(times.steps.size(), 9U);
    EXPECT_EQ(times.steps[0].position, 10);
    EXPECT_EQ(times.steps[8].position, 18);
    for (const StepTime& step : times.steps) EXPECT_EQ(step.tokens, 6);
}

TEST_F(GeneratorTest, CachesGrowByBlocksUpToTheLongestSequence) {
    const auto capacity = [](std::int64_t positions, std::int64_t longest = 0) {
        return Generator::capacity(positions, 64, longest);
    };
    EXPECT_EQ(capacity(1), 64);
    EXPECT_EQ(capacity(64), 64);
    EXPECT_EQ(capacity(65), 128);
    EXPECT_EQ(capacity(256), 256);
    EXPECT_EQ(capacity(257), 384);
    EXPECT_EQ(capacity(1025), 1152);
    EXPECT_EQ(capacity(1153), 1296);
    EXPECT_EQ(capacity(65, 100), 100);
}

TEST_F(GeneratorTest, RefusesWhatItCannotContinue) {
    const Network network = language_network(model("gpt"));
    Generator generator(*backend_, network, language_weights(network, 1));
    const auto refusal = [&](const Prompt& prompt,
                             const GenerationSettings& settings = {}) -> std::string {
        try {
            static_cast<void>(generator.run(std::array{prompt}, settings));
        } catch (const std::exception& error) {
            return error.what();
        }
        return {};
    };
    using testing::HasSubstr;
    EXPECT_THAT(refusal({}), HasSubstr("prompt 1 has no tokens"));
    EXPECT_THAT(refusal({.tokens = {1, -2}}), HasSubstr("has the token -2"));
    EXPECT_THAT(refusal({.tokens = {1, 17}}),
                HasSubstr("prompt 1 has the token 17 (ids are 0 to 16) use the tokenizer"));
    EXPECT_THAT(refusal({.tokens = std::vector<std::int64_t>(49, 1)}),
                HasSubstr("takes sequences of 48"));
    EXPECT_THAT(refusal({.tokens = {1}}, {.max_tokens = -1}), HasSubstr("max_tokens"));
    EXPECT_THAT(refusal({.tokens = {1}}, {.block = 1}), HasSubstr("block"));
    EXPECT_THAT(refusal({.tokens = {1}}, {.sampling = {.top_p = 2.0}}), HasSubstr("top_p"));

    const Network numbers(
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "dense"}]})"), 3, 2));
    EXPECT_THAT([&] { Generator(*backend_, numbers, language_weights(numbers, 1)); },
                testing::ThrowsMessage<InputError>(HasSubstr("does not read tokens")));
}

/// A network whose weights are stored in a format, and the same of the numbers that these stand
/// for.
std::pair<Network, Network> stored_and_plain(Blueprint blueprint, Dtype dtype) {
    const Network plain(blueprint);
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) slot->formats.weights = dtype;
    blueprint.head_formats.weights = dtype;
    return {Network(blueprint), plain};
}

TEST_F(GeneratorTest, AnswersWithTheNumbersThatCodesStandFor) {
    // The last one is large enough for codes that stay codes.
    const Network large(blueprint_from_json(
        nlohmann::json::parse(R"({"layers": [{"type": "embedding", "vocabulary": 4096,
            "features": 16}, {"type": "multi_head_attention", "heads": 2}, {"type": "dense"}]})"),
        1, 4096));
    EXPECT_TRUE(PackedWeights(stored_and_plain(large.blueprint(), Dtype::int2).first).any());
    for (const Network& network : {language_network(model("llama")), large}) {
        const auto [stored, plain] = stored_and_plain(network.blueprint(), Dtype::int2);
        const std::vector<std::vector<float>> masters = language_weights(stored, 2);
        std::vector<std::vector<float>> numbers;
        for (const std::vector<float>& own : masters)
            numbers.push_back(evaluated_weights(stored, own));
        const auto texts = [&](const Network& of, const std::vector<std::vector<float>>& weights) {
            return tokens_of(Generator(*backend_, of, weights).run(prompts(), {.max_tokens = 12}));
        };
        EXPECT_EQ(texts(stored, masters), texts(plain, numbers));
        EXPECT_NE(texts(stored, masters), texts(plain, masters));
    }
}

TEST_F(GeneratorTest, RefusesACacheThatHasNoRoom) {
    const auto small = make_cpu_backend({.memory_limit = 1 << 20});
    const Network network = language_network(model("llama"));
    Generator generator(*small, network, language_weights(network, 1));
    EXPECT_THAT(
        [&] { static_cast<void>(generator.run(prompts(), {.max_tokens = 4, .block = 1 << 16})); },
        testing::ThrowsMessage<OutOfMemoryError>(testing::HasSubstr("their caches take")));
}

}  // namespace
}  // namespace cambrian
