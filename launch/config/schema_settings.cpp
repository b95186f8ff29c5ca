#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/training_settings.hpp"
#include "cambrian/evolve/runs/training_run.hpp"
#include "cambrian/launch/config/schema.hpp"

// Completes the schema of configs by what structs say of their settings: the default of a key
// stands where the struct has it, and nowhere else; kinds of losses, layers, tasks and the like
// tell their types, ranges and meanings, too.
namespace cambrian::launch {
namespace {

template <class Settings>
Json section() {
    Json node;
    field_json::describe_fields<Settings>(node["properties"]);
    return node;
}

template <class Value>
Json initially(const Value& value) {
    Json node;
    field_json::write(node["default"], value);
    return node;
}

Json training_section() {
    const TrainingSettings settings;
    Json node = section<TrainingSettings>();
    Json& properties = node["properties"];
    properties["learning_rate"] = initially(settings.learning_rates.front());
    properties["individuals"] = initially(std::uint64_t{settings.learning_rates.size()});
    properties["observe"] = section<distributed::WatchSettings>();
    return node;
}

/// What structs say, laid out as the schema is.
Json said(const evolve::TaskRegistry& tasks, const evolve::GenomeRegistry& genomes) {
    const distributed::Experiment experiment;
    Json properties;
    properties["run"]["properties"]["seed"] = initially(experiment.seed);
    properties["engine"]["properties"] = {{"family", initially(experiment.family)},
                                          {"mixed", initially(experiment.distribution.mixed)}};
    properties["population"] = section<evolve::PopulationSettings>();
    properties["population"]["properties"]["reevaluate"] = initially(experiment.reevaluate);
    properties["strategy"]["properties"]["type"] = initially(experiment.strategy);
    properties["steady_state"] = section<evolve::SteadyStateSettings>();
    properties["learning"] = section<evolve::LearningSettings>();
    properties["selection"] = section<evolve::SelectionSettings>();
    properties["age_layers"] = section<evolve::AgeLayerSettings>();
    properties["species"] = section<evolve::SpeciesSettings>();
    properties["complexity"] = section<evolve::ComplexitySettings>();
    properties["islands"] = section<evolve::IslandSettings>();
    properties["task"]["x-variants"] = tasks.schema();
    properties["genome"]["properties"]["type"] = initially(experiment.genome);
    properties["genome"]["x-variants"] = genomes.schema();
    properties["training"] = training_section();
    properties["splice"] = section<evolve::SpliceSettings>();
    properties["mutation"] = section<evolve::MutationSettings>();
    const Json added = genomes.mutation_schema();
    for (const auto& [key, node] : added.items()) properties["mutation"]["properties"][key] = node;
    field_json::describe_choice(properties["mutation"]["properties"]["layer_types"]["items"],
                                known_layer_types());
    properties["distributed"] = section<distributed::DistributionSettings>();
    properties["log"] = section<distributed::LogSettings>();
    properties["checkpoint"] = section<distributed::CheckpointSettings>();
    Json kinds;
    kinds["loss"]["x-variants"] = loss_schema();
    kinds["optimizer"]["x-variants"] = optimizer_schema();
    kinds["schedule"] = section<Schedule>();
    kinds["schedule"]["x-variants"] = schedule_schema();
    kinds["source"]["x-variants"] = source_schema();
    kinds["builder"]["x-variants"] = builder_schema();
    kinds["layer"]["x-variants"] = layer_schema();
    return {{"properties", std::move(properties)}, {"$defs", std::move(kinds)}};
}

/// Whether a node says itself which values it takes.
bool has_type(const Json& node) {
    return std::ranges::any_of(std::array{"type", "anyOf", "const", "$ref"},
                               [&](const char* key) { return node.contains(key); });
}

class Merge {
  public:
    explicit Merge(Json& root) : root_(root) {}

    void operator()(Json& node, const Json& said, const std::string& path) const {
        const bool typed = has_type(node);
        const bool is_text = node.is_object() && node.value("type", "") == "string";
        for (const auto& [key, value] : said.items()) {
            if (key == "default") {
                add_default(node, value, path);
            } else if (key == "properties" || key == "x-variants" || key == "$defs") {
                Json& children = node[key];
                if (children.is_null()) children = Json::object();
                for (const auto& [name, child] : value.items())
                    (*this)(children[name], child, path + "." + name);
            } else if (key == "items" && node.contains(key)) {
                (*this)(node[key], value, path + "[]");
            } else if (!node.contains(key) && (!typed || (key == "enum" && is_text))) {
                node[key] = value;
            }
        }
    }

  private:
    void add_default(Json& node, const Json& value, const std::string& path) const {
        if (node.contains("default"))
            throw ContractViolation(fmt::format(
                "the schema repeats the default of {} (a struct has it already) take it out of "
                "configs/schema.json",
                path));
        if (!resolved(node).value("x-optional", false)) node["default"] = value;
    }

    [[nodiscard]] const Json& resolved(const Json& node) const {
        const auto reference = node.find("$ref");
        if (reference == node.end()) return node;
        return resolved(root_.at(Json::json_pointer(reference->get<std::string>().substr(1))));
    }

    Json& root_;
};

}  // namespace

void add_settings(Json& schema, const evolve::TaskRegistry& tasks,
                  const evolve::GenomeRegistry& genomes) {
    Merge merge(schema);
    merge(schema, said(tasks, genomes), "config");
}

}  // namespace cambrian::launch
