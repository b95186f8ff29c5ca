#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "cambrian/engine/io/archive.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

// Every field of every layer survives JSON and archives.
namespace cambrian::test {
namespace {

void change(std::int64_t& value) {
    value += 7;
}
void change(float& value) {
    value *= 3.0F;
}
void change(bool& value) {
    value = !value;
}
void change(Activation& value) {
    value = value == Activation::gelu ? Activation::relu : Activation::gelu;
}
void change(std::vector<AnyLayer>& value) {
    value.emplace_back(Dense{.in = 2, .out = 9, .bias = false, .activation = Activation::sigmoid});
}
void change(std::string& /*the only variant*/) {}

/// The examples of all layers, and each with one field changed.
std::vector<AnyLayer> samples() {
    std::vector<AnyLayer> result;
    for (const std::string_view type : layer_types()) {
        std::visit(
            [&result]<class L>(const L&) {
                result.emplace_back(L::example());
                const auto vary = [&result](const auto& field) {
                    L layer = L::example();
                    change(layer.*field.member);
                    result.emplace_back(layer);
                };
                std::apply([&](const auto&... field) { (vary(field), ...); }, L::fields);
            },
            default_layer(type)->variant());
    }
    return result;
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
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto same = std::ranges::count(all, all[i]);
        const bool has_fixed_field = all[i].type() == "softmax";
        EXPECT_TRUE(same == 1 || (has_fixed_field && same == 2)) << to_json(all[i]);
    }
}

TEST(LayerList, HoldsEveryLayerOfTheFolder) {
    std::size_t layers = 0;
    const std::filesystem::path folder =
        std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "engine/layers";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".hpp") continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (text.find("static constexpr std::string_view name = \"") == std::string::npos) continue;
        ++layers;
        EXPECT_TRUE(std::ranges::count(layer_types(), entry.path().stem().string()) == 1)
            << entry.path();
    }
    EXPECT_EQ(layers, layer_types().size());
}

}  // namespace
}  // namespace cambrian::test
