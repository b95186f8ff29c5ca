#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/train/training_settings.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch::schema_test {
namespace {

using test::failure;

Json minimal() {
    return Json::parse(R"({"task": {"type": "xor"}})");
}

TEST(Schema, KnowsEveryKeyOfItsOwnDefaults) {
    const Schema schema;
    const Json defaults = with_defaults(schema, minimal());
    EXPECT_NO_THROW(validate(schema, defaults, Origins("defaults")));
    EXPECT_EQ(with_defaults(schema, defaults), defaults);
}

TEST(Schema, EveryKeyHasATypeAMeaningAndAClass) {
    const Schema schema;
    for (const SchemaKey& entry : schema.all_keys()) {
        const Json& node = schema.resolve(*entry.node);
        EXPECT_FALSE(node.value("description", "").empty()) << entry.key;
        EXPECT_FALSE(allowed_values(schema, node).empty()) << entry.key;
        if (entry.section) continue;
        const std::string key_class = node.value("x-class", "");
        EXPECT_TRUE(key_class == "identity" || key_class == "stop" || key_class == "placement")
            << entry.key;
    }
}

TEST(Schema, DefaultsAreAllowedValues) {
    const Schema schema;
    for (const auto& [type, text] : std::map<std::string, std::string>{
             {"cart_pole", R"({"type": "cart_pole"})"},
             {"table", R"({"type": "table", "train": ["a.csv"], "targets": ["y"]})"}}) {
        Json config = minimal();
        config["task"] = Json::parse(text);
        EXPECT_NO_THROW(validate(schema, with_defaults(schema, config), Origins("defaults")))
            << type;
    }
}

/// The schema of the program, with a change to configs/schema.json.
Schema changed_schema(const char* pointer, const Json& value) {
    Json text = Json::parse(schema_text());
    text[Json::json_pointer(pointer)] = value;
    return Schema(text.dump(), evolve::standard_tasks());
}

TEST(Schema, HasEachDefaultOnce) {
    EXPECT_NO_THROW(changed_schema("/properties/run/properties/name/default", "other"));
    for (const char* repeated :
         {"/properties/population/properties/size", "/properties/mutation/properties/weight_rate",
          "/properties/task/x-variants/table/properties/time_offset",
          "/$defs/layer/x-variants/dense/properties/bias"})
        EXPECT_THAT(failure<ContractViolation>([&] {
                        (void)changed_schema((repeated + std::string("/default")).c_str(), 1);
                    }),
                    testing::HasSubstr("repeats the default of config"))
            << repeated;
}

TEST(Schema, HasADefaultForWhatHasOne) {
    // Keys that may be absent, and mean something then.
    static const std::set<std::string> optional{"run.stop.generations",
                                                "run.stop.fitness",
                                                "run.stop.fitness_of",
                                                "run.stop.solved",
                                                "run.stop.evaluations",
                                                "run.stop.seconds",
                                                "task.type",
                                                "task.changes",
                                                "task.changes[].at",
                                                "task.source.type",
                                                "task.loss.type",
                                                "task.source.files",
                                                "task.source.targets",
                                                "task.source.inputs",
                                                "task.source.file",
                                                "task.loss",
                                                "task.train",
                                                "task.targets",
                                                "task.validation.fraction",
                                                "task.validation.seed",
                                                "task.validation.tail_fraction",
                                                "task.validation.files",
                                                "task.command",
                                                "task.baselines",
                                                "network.layers[].type",
                                                "network.layers[].at",
                                                "network.layers[].enabled",
                                                "network.layers[].clocked",
                                                "network.layers[].dtype",
                                                "network.layers[].activation_dtype",
                                                "network.layers[].dtype_scales",
                                                "network.dtype_scales",
                                                "network.layers[].gate",
                                                "network.links[].source",
                                                "network.links[].target",
                                                "network.links[].from",
                                                "network.links[].to",
                                                "network.input",
                                                "run.stop.candidates",
                                                "network.build.type",
                                                "mutation.layers[].type",
                                                "mutation.layers[].gate",
                                                "training.optimizer.type",
                                                "learning.optimizer.type",
                                                "training.schedule.type"};
    const Schema schema;
    for (const SchemaKey& entry : schema.all_keys()) {
        if (entry.section || schema.default_of(*entry.node) != nullptr ||
            schema.resolve(*entry.node).value("x-optional", false))
            continue;
        EXPECT_TRUE(optional.contains(entry.key)) << entry.key << " " << entry.variant;
    }
}

TEST(Schema, TakesDefaultsFromTheStructs) {
    Json config = Json::parse(R"({"task": {"type": "cart_pole"}, "training": {}})");
    const Json complete = with_defaults(Schema(), config);
    EXPECT_EQ(complete["population"]["size"], evolve::PopulationSettings{}.size);
    EXPECT_EQ(complete["training"]["epochs"], TrainingSettings{}.epochs);
    EXPECT_EQ(complete["task"]["validation"]["every"], evolve::ValidationSettings{}.every);
    EXPECT_EQ(complete["engine"]["family"], "auto");
}

TEST(Schema, KnowsTheKeysOfTasksThatDescribeThem) {
    evolve::TaskRegistry tasks = evolve::standard_tasks();
    tasks.add({"mine", "A task of this test.",
               [](const nlohmann::json&, const evolve::TaskContext&) {
                   return std::unique_ptr<evolve::Task>();
               },
               [](Json& described) {
                   described["properties"]["height"] = {{"type", "number"}, {"default", 2.5}};
               }});
    const Schema schema(tasks);
    Json config = minimal();
    config["task"] = {{"type", "mine"}};
    EXPECT_EQ(with_defaults(schema, config)["task"]["height"], 2.5);
    config["task"]["heigth"] = 1;
    EXPECT_THAT(failure<ConfigError>([&] { validate(schema, config, Origins("test.json")); }),
                testing::HasSubstr("did you mean task.height?"));
}

TEST(Schema, TakesTheWidthsOfLayersAndNamesTheSourcesThatThereAre) {
    const Schema schema;
    EXPECT_EQ(schema.root().at("/$defs/width/maximum"_json_pointer), widest_layer);
    const Json& source = schema.root().at("/$defs/source"_json_pointer);
    const std::string meaning = source.at("/properties/type/description"_json_pointer);
    for (const auto& [name, variant] : source.at("x-variants").items())
        EXPECT_THAT(meaning, testing::HasSubstr(name));
}

TEST(Schema, KnowsEveryFieldOfEveryLayer) {
    const Schema schema;
    for (const std::string_view type : layer_types()) {
        const Json layer = Json(to_json(layer_from_json(nlohmann::json{{"type", type}}, "layer")));
        Json config = minimal();
        config["network"]["layers"] = Json::array({layer});
        EXPECT_NO_THROW(validate(schema, config, Origins("layer"))) << layer.dump();
        const Schema::Keys keys =
            schema.keys(schema.root()["$defs"]["layer"], Json{{"type", type}});
        std::size_t found = 0;
        for (const auto& [name, key] : keys.properties) {
            if (layer.contains(name)) {
                ++found;
                continue;
            }
            // What is said of any layer's parameters has no place in a config where it is not said.
            if (!key->contains("default")) {
                EXPECT_TRUE(takes_rule(*default_layer(type), name)) << type << name;
                continue;
            }
            // A field that came later is written where it is not as it was before.
            nlohmann::json given = nlohmann::json{{"type", type}, {name, (*key)["default"]}};
            EXPECT_EQ(Json(to_json(layer_from_json(given, "layer"))), layer) << type << name;
        }
        EXPECT_EQ(found, layer.size()) << type;
    }
}

}  // namespace
}  // namespace cambrian::launch::schema_test
