#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/evolve/tasks/external/external_rollout.hpp"
#include "cambrian/evolve/tasks/external/try_out.hpp"
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
    ExternalLevel level = ExternalLevel::policy;
    ExternalFrames frames = ExternalFrames::json;
    std::int64_t batch = 16;
    RolloutValidation validation{.episodes = 20};

    static constexpr auto fields = FieldTable{
        Field{"command", &ExternalSettings::command,
              "The program that simulates, and its arguments, without a shell; it starts in the "
              "folder of the config."},
        Field{"episodes", &ExternalSettings::episodes, FieldRange{1.0, 1e6},
              "Episodes of an evaluation; fitness is the mean of their sums of rewards. At level "
              "network so many seeds, and what they are for is the program's business."},
        Field{"steps", &ExternalSettings::steps, FieldRange{1.0, 1e9},
              "Steps after which an episode ends, whatever the program says; of level policy "
              "alone."},
        Field{"episode_seeds", &ExternalSettings::episode_seeds,
              "per_generation: fresh seeds in every generation, common to all individuals; fixed: "
              "the same in the whole run."},
        Field{"seconds", &ExternalSettings::seconds, FieldRange{0.001, 1e6},
              "For one answer, at level network for each network that is asked about; after that "
              "the program is ended and counts as failed."},
        Field{"processes", &ExternalSettings::processes, FieldRange{1.0, 1024.0},
              "Programs at work at the same time on each rank."},
        Field{"level", &ExternalSettings::level,
              "policy: networks are computed here, the program steps worlds. network: the program "
              "gets the networks themselves and answers with their fitness."},
        Field{"frames", &ExternalSettings::frames,
              "json: a line of JSON for each message. msgpack: MessagePack, with numbers as bytes "
              "and a length of four bytes before it; after the first message and its answer."},
        Field{"batch", &ExternalSettings::batch, FieldRange{1.0, 1e6},
              "Networks of one message, at most; of level network alone."},
        Field{"validation", &ExternalSettings::validation,
              "The best individual on fresh episodes."},
    };
};

/// "x, v as observations", or "2 observations".
std::string described(const std::vector<std::string>& names, bool named, std::string_view what) {
    return named ? fmt::format("{} as {}", shortened(joined(names)), what)
                 : fmt::format("{} {}", names.size(), what);
}

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
        const ExternalEpisodes episodes = episodes_of(phase, seed, round);
        LaneSettings lanes{.programs = settings_.processes};
        if (settings_.level == ExternalLevel::policy)
            return rollout_fitness(*pool_, population, episodes, lanes);
        lanes.group = static_cast<std::size_t>(settings_.batch);
        return judged_fitness(*pool_, population, episodes, lanes, settings_.frames);
    }
    std::string try_out(const Blueprint& network) const override {
        return evolve::try_out(*pool_,
                               {.episodes = episodes_of(Phase::train, 0, 0),
                                .level = settings_.level,
                                .frames = settings_.frames},
                               network);
    }
    std::unique_ptr<Task> with_episodes(std::int64_t episodes) const override {
        ExternalSettings settings = settings_;
        settings.episodes = episodes;
        settings.validation.episodes = episodes;
        return std::make_unique<ExternalTask>(pool_, std::move(settings));
    }
    /// So that `infer` finds columns by the names of observations, and calls answers as actions.
    std::optional<Preparation> preparation() const override {
        const ExternalInterface& interface = pool_->interface();
        if (!interface.named_observations && !interface.named_actions) return std::nullopt;
        Preparation preparation;
        for (const std::string& name : interface.observations)
            preparation.inputs.push_back(
                {.column = interface.named_observations ? name : std::string()});
        for (const std::string& name : interface.actions)
            preparation.outputs.push_back({.name = interface.named_actions ? name : std::string()});
        return preparation;
    }
    std::vector<std::string> notes() const override {
        const ExternalInterface& interface = pool_->interface();
        return {fmt::format(
            "the program {} {} and {}",
            settings_.level == ExternalLevel::policy ? "steps worlds with" : "judges networks with",
            described(interface.observations, interface.named_observations, "observations"),
            described(interface.actions, interface.named_actions, "actions"))};
    }

  private:
    [[nodiscard]] ExternalEpisodes episodes_of(Phase phase, std::uint64_t seed,
                                               std::uint64_t round) const {
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
        return episodes;
    }

    std::shared_ptr<ProgramPool> pool_;
    ExternalSettings settings_;
};

/// What belongs to the other level means nothing.
void check_level(const ExternalSettings& settings) {
    const ExternalSettings usual;
    if (settings.level == ExternalLevel::network && settings.steps != usual.steps)
        json_read::fail("task.steps", fmt::format("is {}", settings.steps),
                        "at level network the program runs episodes as it likes",
                        R"(leave it out, or tell the program in "settings")");
    if (settings.level == ExternalLevel::policy && settings.batch != usual.batch)
        json_read::fail("task.batch", fmt::format("is {}", settings.batch),
                        "at level policy a message is about all worlds of a shard",
                        "leave it out, or set distributed.shard_size");
}

std::unique_ptr<Task> make_external(const nlohmann::json& json, const TaskContext& context) {
    static constexpr std::array<std::string_view, 2> others{"type", "settings"};
    ExternalSettings settings;
    field_json::read_fields(settings, json, "task", others);
    check_level(settings);
    if (settings.command.empty())
        json_read::fail("task.command", "is empty", "there is no program to start",
                        R"(list it and its arguments, as in ["python3", "simulator.py"])");
    ExternalCommand command{.command = settings.command,
                            .directory = context.base_directory,
                            .seconds = settings.seconds,
                            .level = settings.level,
                            .frames = settings.frames};
    if (const nlohmann::json* own = json_read::find(json, "settings")) {
        if (!own->is_object())
            json_read::fail("task.settings", "is no section", "the program gets an object",
                            "put its settings into braces");
        command.settings = own->dump();
    }
    auto pool = std::make_shared<ProgramPool>(
        std::move(command), static_cast<std::size_t>(settings.processes), context.warn);
    return std::make_unique<ExternalTask>(std::move(pool), std::move(settings));
}

void describe_external(nlohmann::ordered_json& schema) {
    nlohmann::ordered_json& properties = field_json::member(schema, "properties");
    field_json::make_object(properties);
    field_json::describe_fields(properties, ExternalSettings{});
    properties["settings"] = {
        {"type", "object"},
        {"additionalProperties", true},
        {"description", "What the program is told at its start; only it knows what it means."}};
    field_json::require(schema, "command");
}

}  // namespace

/// `{"type": "external", "command": ["python3", "simulator.py"]}`: a program in any language, which
/// steps worlds while the networks are computed here, or judges the networks themselves.
TaskKind external_task() {
    return {"external",
            "A program of your own, in any language: it gets actions and answers with "
            "observations, rewards and ends of episodes, or gets networks and answers with their "
            "fitness; as JSON lines or MessagePack.",
            make_external, describe_external};
}

}  // namespace cambrian::evolve
