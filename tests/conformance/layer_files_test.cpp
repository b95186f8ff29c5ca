#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

// Every field of every layer survives JSON and archives.
namespace cambrian::test {
namespace {

constexpr std::int64_t small_numbers = 9;

void change(std::int64_t& value) {
    value = (value + 1) % small_numbers;
}
void change(float& value) {
    value *= 1.1F;
}
void change(bool& value) {
    value = !value;
}
void change(Activation& value) {
    value = value == Activation::gelu ? Activation::relu : Activation::gelu;
}
void change(Discretization& value) {
    value =
        value == Discretization::euler ? Discretization::zero_order_hold : Discretization::euler;
}
void change(std::vector<AnyLayer>& value) {
    value.emplace_back(Dense{.in = 2, .out = 9, .bias = false, .activation = Activation::sigmoid});
}
void change(OptionalLayer& value) {
    if (value.empty())
        value.layer.emplace_back(Dense{.in = 2, .out = 9});
    else
        value.layer.front() = RmsNorm{.features = 7};
}
void change(double& value) {
    value *= 1.1;
}
void change(std::vector<Neurons::Neuron>& value) {
    value.push_back({NeuronActivation::hat, NeuronAggregation::median});
}
void change(std::vector<Neurons::Connection>& value) {
    value.push_back({.source = -1, .target = 3, .delay = 2, .enabled = false});
}
void change(std::vector<std::int64_t>& value) {
    value.push_back(value.empty() ? 3 : value.back() + 1);
}
void change(std::vector<bool>& value) {
    value.push_back(true);
}
void change(AxisValues& value) {
    if (value.size() > 1)
        for (std::int64_t& each : value.values) change(each);
    else
        change(value.values[0]);
}
/// The next of the words that layers know; a name where there is none.
void change(std::string& value) {
    if (value.empty()) {
        value = "slot.0.table";
        return;
    }
    static constexpr std::array words{"standard", "temperature", "probabilities",
                                      "features", "filter",      "concat"};
    const auto* const found = std::ranges::find(words, value);
    ASSERT_TRUE(found != words.end()) << value;
    value = words[static_cast<std::size_t>(found + 1 - words.begin()) % words.size()];
}

template <class L>
std::vector<L> examples_of() {
    if constexpr (requires { L::examples(); }) {
        return L::examples();
    } else {
        return {L::example()};
    }
}

/// A layer with one field changed until it is valid again; the same layer where that never happens.
template <class L>
L varied(const L& layer, auto member) {
    L result = layer;
    for (int times = 0; times < small_numbers; ++times) {
        change(result.*member);
        if (result.fault().empty()) return result;
    }
    return layer;
}
template <class L>
requires(!requires(const L& layer) { layer.fault(); }) L varied(const L& layer, auto member) {
    L result = layer;
    change(result.*member);
    return result;
}

/// The examples of all layers, and each with one field changed.
std::vector<AnyLayer> samples() {
    std::vector<AnyLayer> result;
    for (const std::string_view type : layer_types()) {
        std::visit(
            [&result]<class L>(const L&) {
                for (const L& layer : examples_of<L>()) result.emplace_back(layer);
                const auto vary = [&result](const auto& field) {
                    const L layer = varied(L::example(), field.member);
                    if (layer != L::example()) result.emplace_back(layer);
                };
                L::fields([&](const auto&... field) { (vary(field), ...); });
            },
            default_layer(type)->variant());
    }
    AnyLayer ruled = Dense::example();
    ruled.rules = {.init = InitRule::orthogonal, .init_scale = 0.5F, .decay = false};
    result.push_back(ruled);
    AnyLayer container = Sequential::example();
    container.rules.init = InitRule::xavier_normal;
    std::get<Sequential>(container.variant()).layers[0].rules.decay = false;
    result.push_back(container);
    MultiHeadAttention yarn = MultiHeadAttention::example();
    yarn.rope_original = 8;
    yarn.rope_yarn = true;
    result.emplace_back(yarn);
    return result;
}

/// Fields of which no other value fits the others of the example.
constexpr std::array fixed_fields{"parallel.combine", "multi_head_attention.causal",
                                  "multi_head_attention.rope_yarn"};

TEST(LayerFields, EachTakesAnotherValue) {
    for (const std::string_view type : layer_types()) {
        std::visit(
            [&]<class L>(const L&) {
                const auto vary = [&](const auto& field) {
                    const std::string name = std::string(type) + "." + std::string(field.name);
                    const bool fixed = std::ranges::find(fixed_fields, name) != fixed_fields.end();
                    EXPECT_TRUE(fixed || varied(L::example(), field.member) != L::example())
                        << name;
                };
                L::fields([&](const auto&... field) { (vary(field), ...); });
            },
            default_layer(type)->variant());
    }
}

TEST(LayerFields, AllSurviveJson) {
    for (const AnyLayer& layer : samples()) {
        const auto json = nlohmann::json::parse(to_json(layer).dump());
        EXPECT_EQ(layer_from_json(json, "layer"), layer) << json;
        EXPECT_EQ(json["type"], layer.type());
    }
}

TEST(LayerFields, AllSurviveAnArchive) {
    for (const AnyLayer& layer : samples()) {
        ArchiveWriter writer;
        writer.write(layer);
        const std::vector<std::byte> bytes = writer.take();
        ArchiveReader reader(bytes, "test");
        AnyLayer read;
        reader.read(read);
        reader.finish();
        EXPECT_EQ(read, layer) << to_json(layer);
    }
}

TEST(LayerFields, EachIsPartOfEquality) {
    const std::vector<AnyLayer> all = samples();
    for (const AnyLayer& layer : all)
        EXPECT_EQ(std::ranges::count(all, layer), 1) << to_json(layer);
}

/// The texts between quotes after `start` in a file.
std::vector<std::string> quoted(const std::string& text, const std::string& start) {
    std::vector<std::string> result;
    const auto begin = text.find(start);
    if (begin == std::string::npos) return result;
    const std::string statement = text.substr(begin, text.find(';', begin) - begin);
    for (std::size_t at = statement.find('"'); at != std::string::npos;) {
        const std::size_t end = statement.find('"', at + 1);
        result.push_back(statement.substr(at + 1, end - at - 1));
        at = statement.find('"', end + 1);
    }
    return result;
}

TEST(LayerList, HoldsEveryLayerOfTheFolder) {
    std::size_t layers = 0;
    const std::filesystem::path folder =
        std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "engine/layers";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".hpp") continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        for (const char* start : {"static constexpr std::string_view name = ", "_layer_names{"})
            for (const std::string& name : quoted(text, start)) {
                ++layers;
                EXPECT_TRUE(std::ranges::count(layer_types(), name) == 1) << entry.path();
            }
    }
    EXPECT_EQ(layers, layer_types().size());
}

}  // namespace
}  // namespace cambrian::test
