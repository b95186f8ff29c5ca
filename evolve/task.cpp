#include "cambrian/evolve/task.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/settings.hpp"
#include "cambrian/evolve/tasks/standard.hpp"

namespace cambrian::evolve {

std::string_view name(Phase phase) {
    static constexpr std::array<std::string_view, 3> names{"train", "validation", "test"};
    return names[static_cast<std::size_t>(phase)];
}

std::vector<Tensor> Task::data(Phase) const {
    return {};
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

namespace {

/// The first part of a network that remembers something between steps, in words.
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

}  // namespace

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

// NOLINTNEXTLINE(performance-unnecessary-value-param): the factory is moved from.
void TaskRegistry::add(std::string name, Factory factory) {
    CAMBRIAN_ASSERT(factory != nullptr);
    const auto [position, added] = factories_.try_emplace(std::move(name), std::move(factory));
    if (!added)
        throw ConfigError(fmt::format(
            "task type \"{}\" is registered twice (the name is taken) choose another name",
            position->first));
}

std::unique_ptr<Task> TaskRegistry::make(const nlohmann::json& settings,
                                         const TaskContext& context) const {
    const std::vector<std::string> known = names();
    const auto list = fmt::format("{}", fmt::join(known, ", "));
    if (!settings.is_object() || !settings.contains("type") || !settings["type"].is_string())
        throw ConfigError(
            fmt::format("task.type is missing (it must be a text) choose one of: {}", list));
    const auto type = settings["type"].get<std::string>();
    const auto found = factories_.find(type);
    if (found == factories_.end())
        throw ConfigError(fmt::format("task.type is \"{}\" (known: {}){}", type, list,
                                      nearest_hint(type, known)));
    return found->second(settings, context);
}

std::vector<std::string> TaskRegistry::names() const {
    std::vector<std::string> result;
    for (const auto& entry : factories_) result.push_back(entry.first);
    return result;
}

TaskRegistry standard_tasks() {
    TaskRegistry registry;
    registry.add("xor", make_xor_task);
    registry.add("cart_pole", make_cart_pole_task);
    registry.add("table", make_table_task);
    registry.add("dataset", make_dataset_task);
    return registry;
}

}  // namespace cambrian::evolve
