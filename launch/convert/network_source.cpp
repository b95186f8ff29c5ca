#include "cambrian/launch/convert/network_source.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"

namespace cambrian::launch {

NetworkSource network_source(const std::string& path, const evolve::TaskRegistry& tasks,
                             const evolve::GenomeRegistry& genomes) {
    const ConfigDocument document = read_config(path, {});
    const Json& json = *document.json;
    if (!json.contains("task")) {
        if (!json.contains("network"))
            throw ConfigError(fmt::format(
                "{} describes no network (it has neither a task nor a network) name a config",
                path));
        try {
            static constexpr std::array<std::string_view, 1> keys{"network"};
            json_read::object(nlohmann::json(json), "", keys);
            if (json["network"].contains("initial"))
                throw ConfigError(
                    "network.initial is set (it replaces the layers of a run, whose task it needs) "
                    "convert that file itself");
            return {blueprint_from_json(nlohmann::json(json["network"])), "", {}};
        } catch (const ConfigError& error) {
            throw ConfigError(fmt::format("{}: {}", path, error.what()));
        } catch (const ShapeError& error) {
            throw ShapeError(fmt::format("{}: {}", path, error.what()));
        }
    }
    const Schema schema(tasks, genomes);
    const ResolvedConfig config =
        json.contains("training") ? resolve_training(document, schema) : resolve(document, schema);
    const auto task = make_task(config, tasks);
    // Who runs the config judges it; that of a run has been.
    Founder founder = make_founder(config, *task, IdleFormats::kept);
    check_genotypes(config, founder.of_runs, nullptr);  // What is written is a network.
    check_initial_fits(config, *task, founder.initial);
    return {std::move(founder.blueprint), identity_text(schema, *config.written),
            task->preparation()};
}

}  // namespace cambrian::launch
