#include "cambrian/evolve/tasks/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/guarded.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {

std::string_view name(Phase phase) {
    static constexpr std::array<std::string_view, phase_count> names{"train", "validation", "test",
                                                                     "champion"};
    return names[static_cast<std::size_t>(phase)];
}

std::vector<Tensor> Task::data(Phase phase) const {
    const Samples* samples = held(phase);
    if (samples == nullptr) {
        return {};
    }
    return {samples->inputs, samples->targets};
}

std::vector<Tensor> Task::draws(Phase, std::uint64_t, std::uint64_t) const {
    return {};
}

Objective Task::build(const ObjectiveContext&, Phase) const {
    throw ContractViolation(fmt::format("task {} builds no graph", type()));
}

std::vector<double> Task::evaluate(Population&, Phase, std::uint64_t, std::uint64_t) const {
    throw ContractViolation(fmt::format("task {} is not evaluated on the host", type()));
}

std::string Task::try_out(const Blueprint&) const {
    return {};
}

Genome Population::genome(std::size_t) const {
    throw ConfigError(
        "a task asks for the networks themselves (these can only be asked what they answer) let it "
        "use what they answer");
}

std::optional<std::string> first_state(const Blueprint& blueprint) {
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot)
        if (const auto& filled = blueprint.slots[slot]; filled && filled->layer.stateful())
            return fmt::format("slot {} ({})", slot, filled->layer.type());
    if (blueprint.mode == NetworkMode::mesh) return "mode mesh";
    if (blueprint.head.stateful()) return fmt::format("the head ({})", blueprint.head.type());
    for (const Link& link : blueprint.links)
        if (link.kind == LinkKind::backward)
            return fmt::format("the backward link {} → {}", link.source, link.target);
    return std::nullopt;
}

void check_task_fits(const Task& task, const Blueprint& blueprint) {
    const TaskSignature signature = task.signature();
    if (blueprint.input_features != signature.observations ||
        blueprint.output_features != signature.outputs)
        throw ConfigError(fmt::format(
            "the network reads {} and writes {} values (task {} gives {} and reads {}) use a "
            "network made for this task",
            blueprint.input_features, blueprint.output_features, task.type(),
            signature.observations, signature.outputs));
    if (signature.time) return;
    if (const auto state = first_state(blueprint))
        throw ConfigError(fmt::format(
            "{} of the network keeps state (task {} has no time: nothing comes before or after) "
            "use stateless layers, forward links and mode chain, or give the task time, such as "
            "\"sequence_length\" of a table",
            *state, task.type()));
}

void check_preparation(const Task& task) {
    const std::optional<Preparation> preparation = task.preparation();
    if (!preparation) return;
    const TaskSignature signature = task.signature();
    Blueprint widths;
    widths.input_features = signature.observations;
    widths.output_features = signature.outputs;
    if (const std::string fault = preparation_fault(*preparation, widths); !fault.empty())
        throw ConfigError(
            fmt::format("task {} cannot be used ({}: files of its networks could not be read) mend "
                        "its preparation()",
                        task.type(), fault));
}

namespace {

/// Refuses settings that a task of a user's program does not read.
void check_keys(const nlohmann::json& settings, const std::string& type,
                const std::vector<std::string>& keys) {
    if (const nlohmann::json* validation = json_read::find(settings, "validation")) {
        ValidationSettings checked;
        field_json::read_fields(checked, *validation, "task.validation");
    }
    for (const auto& [key, value] : settings.items()) {
        if (key == "type" || key == "validation" || std::ranges::find(keys, key) != keys.end())
            continue;
        throw ConfigError(fmt::format(
            "task.{} is not a key of task \"{}\" ({}) leave it out, or name it where the program "
            "adds the task: tasks.add(\"{}\", factory, {{\"{}\"}}){}",
            key, type, keys.empty() ? "it has none" : "its keys: " + joined(keys), type, key,
            keys.empty() ? "" : " " + nearest_hint(key, keys)));
    }
}

}  // namespace

void TaskRegistry::add(std::string name, Factory factory, std::vector<std::string> keys) {
    CAMBRIAN_ASSERT(factory != nullptr);
    auto checked = [type = name, keys = std::move(keys), make = std::move(factory)](
                       const nlohmann::json& settings, const TaskContext& context) {
        check_keys(settings, type, keys);
        return make(settings, context);
    };
    add(TaskKind{std::move(name), {}, std::move(checked), nullptr});
}

void TaskRegistry::add(const TaskKind& kind) {
    CAMBRIAN_ASSERT(kind.make != nullptr);
    if (!is_plain_name(kind.name))
        throw ConfigError(
            fmt::format("task type \"{}\" cannot be added (names are of small letters, digits and "
                        "_) rename it",
                        shortened(kind.name)));
    const auto [position, added] = kinds_.try_emplace(kind.name, kind);
    if (!added)
        throw ConfigError(fmt::format(
            "task type \"{}\" is registered twice (the name is taken) choose another name",
            position->first));
}

std::unique_ptr<Task> TaskRegistry::make(const nlohmann::json& settings,
                                         const TaskContext& context) const {
    const std::vector<std::string> known = names();
    if (!settings.is_object() || !settings.contains("type") || !settings["type"].is_string())
        throw ConfigError(fmt::format("task.type is missing (it must be a text) choose one of: {}",
                                      joined(known)));
    const auto type = settings["type"].get<std::string>();
    const auto found = kinds_.find(type);
    if (found == kinds_.end())
        throw ConfigError(fmt::format("task.type is \"{}\" (known: {}) {}", type, joined(known),
                                      nearest_hint(type, known)));
    return made_by(fmt::format("task \"{}\"", type), "its factory",
                   [&] { return found->second.make(settings, context); });
}

std::vector<std::string> TaskRegistry::names() const {
    std::vector<std::string> result;
    for (const auto& entry : kinds_) result.push_back(entry.first);
    return result;
}

nlohmann::ordered_json TaskRegistry::schema() const {
    auto variants = nlohmann::ordered_json::object();
    for (const auto& [name, kind] : kinds_) {
        if (!kind.describe) continue;
        nlohmann::ordered_json& variant = variants[name];
        if (!kind.meaning.empty()) variant["description"] = kind.meaning;
        kind.describe(variant);
    }
    return variants;
}

}  // namespace cambrian::evolve
