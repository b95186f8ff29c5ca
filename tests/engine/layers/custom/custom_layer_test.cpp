#include "cambrian/engine/layers/custom/custom_layer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/layer_documentation.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/plugin_layer.hpp"

namespace cambrian {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// Sums what it has seen: with a state, an activation, a list and a later field.
struct Memory : test::PluginLayer<Memory> {
    static constexpr std::string_view name = "memory";

    std::int64_t features = 0;
    Activation activation = Activation::tanh;
    std::vector<std::int64_t> marks{};
    float keeps = 0.5F;

    static constexpr auto fields = FieldTable{
        Field{"features", &Memory::features}, Field{"activation", &Memory::activation},
        Field{"marks", &Memory::marks}, Field{"keeps", &Memory::keeps, from_zero_to_one}.later()};

    static std::optional<Memory> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        Memory layer;
        layer.features = in.elements();
        return layer;
    }
    std::vector<ParameterSpec> parameters() const {
        return {{.name = "gain", .shape = {features}, .initial = Initial::ones}};
    }
    std::vector<StateSpec> state() const { return {{.name = "sum", .shape = {features}}}; }
    StepResult step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
        const Var sum = state[0] * static_cast<double>(keeps) + x * operands.parameters[0];
        return {.output = operands.activated(sum), .state = {sum}};
    }
    bool operator==(const Memory&) const = default;
};

/// With two parameters of one name.
struct Twins : test::PluginLayer<Twins> {
    static constexpr std::string_view name = "twins";
    static constexpr auto fields = FieldTable{};

    std::int64_t features = 0;

    std::vector<ParameterSpec> parameters() const {
        return {{.name = "gain", .shape = {1}},
                {.name = "bias", .shape = {1}},
                {.name = "gain", .shape = {2}}};
    }
    Var build(Var x, const LayerOperands&) const { return x; }
    bool operator==(const Twins&) const = default;
};

TEST(CustomLayer, ParametersOfOneNameAreRefused) {
    const Custom twins{"tests", std::make_shared<TypedLayer<Twins>>(Twins{})};
    EXPECT_THAT(
        [&] { static_cast<void>(twins.parameters()); },
        ThrowsMessage<ConfigError>(HasSubstr("layer \"twins\" of the plug-in \"tests\" fails in "
                                             "parameters (two are called \"gain\") mend")));
}

class CustomLayers : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        add_layer_type({"tests", {1, 2}, std::make_shared<TypedLayer<Memory>>(Memory{})});
    }
    static AnyLayer memory(const char* json = R"({"type": "memory", "marks": [3, 4]})") {
        return layer_from_json(nlohmann::json::parse(json), "test");
    }
    static std::vector<std::byte> written(const AnyLayer& layer) {
        ArchiveWriter writer;
        writer.write(layer);
        return writer.take();
    }
    static AnyLayer read(std::span<const std::byte> bytes) {
        ArchiveReader reader(bytes, "test");
        AnyLayer layer;
        reader.read(layer);
        reader.finish();
        return layer;
    }
};

TEST_F(CustomLayers, AreLookedUpByName) {
    EXPECT_THAT(known_layer_types(), Contains("memory"));
    EXPECT_THAT(layer_types(), Not(Contains("memory"))) << "the closed list is what it was";
    EXPECT_THAT(layer_types(), Not(Contains("custom")));
    EXPECT_FALSE(default_layer("custom"));
    EXPECT_EQ(default_layer("memory")->type(), "memory");
    EXPECT_TRUE(default_layer("memory")->stateful());
    EXPECT_EQ(fitted_layer("memory", {3}, {3})->type(), "memory");
    EXPECT_FALSE(fitted_layer("memory", {3}, {4}));
    // Again from the same file is nothing new; others cannot take the name.
    const auto add = [](const char* plugin, Hash128 content) {
        add_layer_type({plugin, content, std::make_shared<TypedLayer<Memory>>(Memory{})});
    };
    EXPECT_NO_THROW(add("tests", (Hash128{1, 2})));
    EXPECT_THAT(
        [&] {
            add("others", {3, 4});
        },
        ThrowsMessage<ConfigError>(HasSubstr("(the plug-in \"tests\" has one of that name)")));
    EXPECT_THAT([&] { add("tests", {3, 4}); }, ThrowsMessage<ConfigError>(HasSubstr("memory")));
}

TEST_F(CustomLayers, SurviveJsonAndArchives) {
    AnyLayer layer = memory(
        R"({"type": "memory", "features": 2, "activation": "relu", "marks": [7], "keeps": 0.25})");
    layer.rules.decay = false;
    EXPECT_EQ(read(written(layer)), layer);
    AnyLayer plain = memory();
    EXPECT_EQ(to_json(plain).dump(),
              R"({"type":"memory","features":0,"activation":"tanh","marks":[3,4]})");
    EXPECT_EQ(layer_from_json(nlohmann::json(to_json(plain)), "test"), plain);
    EXPECT_FALSE(plain == layer);
    const AnyLayer copy = plain;
    *plain.activations()[0] = Activation::sin;
    EXPECT_EQ(copy.activations(), std::vector{Activation::tanh}) << "a copy shares nothing";
    EXPECT_EQ(std::as_const(plain).activations(), std::vector{Activation::sin});
    EXPECT_EQ(plain.activation_set(), ActivationSet::any);
    plain.resolve({6});
    EXPECT_EQ(to_json(plain).at("features"), 6);
    EXPECT_EQ(to_json(copy).at("features"), 0);
}

TEST_F(CustomLayers, KeysThatAreWrongAreRefused) {
    const auto refused = [](const char* json, const char* text) {
        EXPECT_THAT([&] { static_cast<void>(memory(json)); },
                    ThrowsMessage<ConfigError>(HasSubstr(text)));
    };
    refused(R"({"type": "memory", "mark": [1]})", "marks");
    refused(R"({"type": "memory", "marks": 1})", "marks");
    refused(R"({"type": "memory", "activation": "rely"})", "relu");
    refused(R"({"type": "memori"})", "memory");
}

/// One whose field is a key that every layer has.
struct Greedy : Memory {
    static constexpr std::string_view name = "greedy";
    bool decay = false;
    static constexpr auto fields = FieldTable{Field{"decay", &Greedy::decay}.later()};
    static Greedy example() { return {}; }
    static std::optional<Greedy> fitted(const Shape& /*in*/, const Shape& /*out*/) { return {}; }
    bool operator==(const Greedy&) const = default;
};

TEST_F(CustomLayers, FieldsCannotBeKeysOfEveryLayer) {
    EXPECT_THAT(
        [] {
            add_layer_type({"tests", {1, 2}, std::make_shared<TypedLayer<Greedy>>(Greedy{})});
        },
        ThrowsMessage<ConfigError>(HasSubstr("\"decay\" says something of every layer")));
    EXPECT_FALSE(default_layer("greedy"));
}

TEST_F(CustomLayers, DamagedArchivesAreRefused) {
    const std::vector<std::byte> whole = written(memory());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THROW(static_cast<void>(read(std::span(whole).first(size))), InputError);
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const unsigned change : {1U, 0x80U, 0xFFU}) {
            std::vector<std::byte> bytes = whole;
            bytes[at] ^= static_cast<std::byte>(change);
            try {
                static_cast<void>(read(bytes));
            } catch (const InputError&) {
                ++refused;
            }
        }
    EXPECT_GT(refused, static_cast<int>(whole.size()));
    ArchiveWriter writer;
    for (const char* text : {"custom", "missing", "memory", "{}"}) writer.write(text);
    EXPECT_THAT(
        [&] { static_cast<void>(read(writer.take())); },
        ThrowsMessage<InputError>(HasSubstr(
            "a layer \"memory\" of the plug-in \"missing\" (\"tests\" that is loaded has")));
    // Under its own name, as a layer of the list is written.
    for (const char* text : {"memory", "tests"}) writer.write(text);
    EXPECT_THROW(static_cast<void>(read(writer.take())), InputError);
}

TEST_F(CustomLayers, StepsAreTheSequence) {
    const Network network(test::blueprint_of(
        R"({"layers": [{"type": "memory"}, {"type": "sequential", "layers": [{"type": "memory", "activation": "sin"}]},
                       {"type": "dense"}]})",
        3, 2));
    EXPECT_EQ(network.activation_count(), 3);
    const std::vector<float> weights = test::some_weights(network);
    const Tensor x = test::some_rows({2, 5, 3});
    EXPECT_LE(test::difference(test::run_sequence(network, weights, x),
                               test::run_steps(network, weights, x)),
              1e-12);
    // Activations are operands of a program, other fields are of its structure.
    Blueprint other = network.blueprint();
    *other.slots[0]->layer.activations()[0] = Activation::relu;
    EXPECT_EQ(Network(other).structure_key(), network.structure_key());
    EXPECT_NE(Network(other).activation_codes(), network.activation_codes());
    other.slots[0]->layer = memory();
    EXPECT_NE(Network(other).structure_key(), network.structure_key());
}

TEST_F(CustomLayers, AreDocumented) {
    const LayerDocumentation told = documentation(*default_layer("memory"));
    EXPECT_EQ(told.name, "memory");
    ASSERT_GE(told.fields.size(), 4U);
    EXPECT_EQ(told.fields[3].name, "keeps");
    EXPECT_EQ(told.fields[3].allowed, "from 0.0 to 1.0");
    EXPECT_EQ(told.row, Shape({2}));
    EXPECT_TRUE(layer_schema().at("memory").at("properties").contains("marks"));
}

}  // namespace
}  // namespace cambrian
