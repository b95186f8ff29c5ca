#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/evolve/tasks/external/external_rollout.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {
namespace {

/// What the task `external` reads, beside `settings`, which the program gets as they are.
struct ExternalSettings {
    std::vector<std::string> command;
    std::int64_t episodes = 1;
    std::int64_t steps = 10'000;
    EpisodeSeeds episode_seeds = EpisodeSeeds::per_generation;
    double seconds = 10.0;
    std::int64_t processes = 1;
    RolloutValidation validation{.episodes = 20};

    static constexpr auto fields = std::tuple{
        Field{"command", &ExternalSettings::command,
              "The program that simulates, and its arguments, without a shell; it starts in the "
              "folder of the config."},
        Field{"episodes", &ExternalSettings::episodes, FieldRange{1.0, 1e6},
              "Episodes of an evaluation; fitness is the mean of their sums of rewards."},
        Field{"steps", &ExternalSettings::steps, FieldRange{1.0, 1e9},
              "Steps after which an episode ends, whatever the program says."},
        Field{"episode_seeds", &ExternalSettings::episode_seeds,
              "per_generation: fresh seeds in every generation, common to all individuals; fixed: "
              "the same in the whole run."},
        Field{"seconds", &ExternalSettings::seconds, FieldRange{0.001, 1e6},
              "For one answer; after that the program is ended and counts as failed."},
        Field{"processes", &ExternalSettings::processes, FieldRange{1.0, 1024.0},
              "Programs at work at the same time on each rank."},
        Field{"validation", &ExternalSettings::validation,
              "The best individual on fresh episodes."},
    };
};

class ExternalTask final : public Task {
  public:
    ExternalTask(std::shared_ptr<ProgramPool> pool, ExternalSettings settings)
        : pool_(std::move(pool)), settings_(std::move(settings)) {}

    std::string_view type() const override { return "external"; }
    TaskSignature signature() const override {
        const ExternalInterface& interface = pool_->interface();
        return {.observations = std::ssize(interface.observations),
                .outputs = std::ssize(interface.actions),
                .time = true,
                .stochastic = settings_.episode_seeds == EpisodeSeeds::per_generation,
                .validates = true,
                .host = true};
    }
    std::vector<double> evaluate(Population& population, Phase phase, std::uint64_t seed,
                                 std::uint64_t round) const override {
        ExternalEpisodes episodes{
            .seeds = {}, .steps = settings_.steps, .phase = name(phase), .round = round};
        const bool trains = phase == Phase::train;
        const bool fixed = trains && settings_.episode_seeds == EpisodeSeeds::fixed;
        RandomStream draws(random_key(seed, fmt::format("task/external/{}", name(phase))),
                           fixed ? 0 : round);
        const std::int64_t count = trains ? settings_.episodes : settings_.validation.episodes;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::uint64_t high = draws.bits();
            episodes.seeds.push_back((high << 21U) | (draws.bits() >> 11U));
        }
        return external_fitness(*pool_, population, episodes, settings_.processes);
    }
    std::unique_ptr<Task> with_episodes(std::int64_t episodes) const override {
        ExternalSettings settings = settings_;
        settings.episodes = episodes;
        settings.validation.episodes = episodes;
        return std::make_unique<ExternalTask>(pool_, std::move(settings));
    }
    std::vector<std::string> notes() const override {
        const ExternalInterface& interface = pool_->interface();
        return {fmt::format("the program sees {} as observations and takes {} as actions",
                            shortened(joined(interface.observations)),
                            shortened(joined(interface.actions)))};
    }

  private:
    std::shared_ptr<ProgramPool> pool_;
    ExternalSettings settings_;
};

std::unique_ptr<Task> make_external(const nlohmann::json& json, const TaskContext& context) {
    static constexpr std::array<std::string_view, 2> others{"type", "settings"};
    ExternalSettings settings;
    field_json::read_fields(settings, json, "task", others);
    if (settings.command.empty())
        json_read::fail("task.command", "is empty", "there is no program to start",
                        R"(list it and its arguments, as in ["python3", "simulator.py"])");
    ExternalCommand command{.command = settings.command,
                            .directory = context.base_directory,
                            .seconds = settings.seconds};
    if (const nlohmann::json* own = json_read::find(json, "settings")) {
        if (!own->is_object())
            json_read::fail("task.settings", "is no section", "the program gets an object",
                            "put its settings into braces");
        command.settings = own->dump();
    }
    auto pool = std::make_shared<ProgramPool>(std::move(command), context.warn);
    return std::make_unique<ExternalTask>(std::move(pool), std::move(settings));
}

void describe_external(nlohmann::ordered_json& schema) {
    nlohmann::ordered_json& properties = field_json::member(schema, "properties");
    field_json::make_object(properties);
    field_json::describe_fields(properties, ExternalSettings{});
    properties["settings"] = {
        {"type", "object"},
        {"description", "What the program is told at its start; only it knows what it means."}};
    field_json::require(schema, "command");
}

}  // namespace

/// `{"type": "external", "command": ["python3", "simulator.py"]}`: a simulator in any language,
/// which steps worlds while the networks are computed here.
TaskKind external_task() {
    return {"external",
            "A program of your own that simulates, in any language: it gets actions and answers "
            "with observations, rewards and ends of episodes, as JSON lines.",
            make_external, describe_external};
}

}  // namespace cambrian::evolve
