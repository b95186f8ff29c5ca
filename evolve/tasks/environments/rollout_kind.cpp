#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/tasks/environment.hpp"

// Environments as types of tasks: whose settings are read, and told to the schema of configs.
namespace cambrian::evolve {
namespace {

std::vector<std::string_view> with_type(std::vector<std::string_view> keys) {
    keys.emplace_back("type");
    return keys;
}

/// @param rollout what the settings that a config may hold leave out is as usual.
template <class Settings>
TaskKind kind_of(std::string name, EnvironmentKind kind, std::string meaning,
                 const Settings& defaults, RolloutSettings (*rollout)(const Settings&)) {
    const auto describe = [kind, defaults](nlohmann::ordered_json& schema) {
        nlohmann::ordered_json& properties = schema["properties"];
        field_json::describe_fields(properties, defaults);
        nlohmann::ordered_json own;
        kind.describe(own);
        properties.update(own);
    };
    const auto make = [kind, defaults, rollout](const nlohmann::json& json, const TaskContext&) {
        auto environment = kind.make(json, with_type(setting_keys<Settings>()));
        Settings settings = defaults;
        field_json::read_fields(settings, json, "task", with_type(kind.keys));
        return make_rollout_task(std::move(environment), rollout(settings));
    };
    return {std::move(name), std::move(meaning), make, describe};
}

}  // namespace

TaskKind rollout_task(const Environment& usual, EnvironmentKind kind, std::string meaning,
                      const RolloutSettings& defaults) {
    std::string name(usual.type());
    if (usual.reset_draws() == 0)
        return kind_of<FixedStartSettings>(
            std::move(name), std::move(kind), std::move(meaning), {defaults.steps},
            [](const FixedStartSettings& fixed) { return RolloutSettings{.steps = fixed.steps}; });
    return kind_of<RolloutSettings>(std::move(name), std::move(kind), std::move(meaning), defaults,
                                    [](const RolloutSettings& settings) { return settings; });
}

TaskKind rollout_task(std::function<std::unique_ptr<Environment>()> environment,
                      std::string meaning) {
    const std::unique_ptr<Environment> usual = environment();
    EnvironmentKind kind{.keys = {},
                         .make = [environment = std::move(environment)](
                                     const nlohmann::json&,
                                     std::span<const std::string_view>) { return environment(); },
                         .describe =
                             [](nlohmann::ordered_json& properties) {
                                 properties = nlohmann::ordered_json::object();
                             }};
    return rollout_task(*usual, std::move(kind), std::move(meaning), RolloutSettings{});
}

}  // namespace cambrian::evolve
