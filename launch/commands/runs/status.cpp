#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/json.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/launch/show/shell_word.hpp"
#include "cambrian/launch/trials/trial_content.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A run as it is, which status.json alone cannot know.
struct Standing {
    distributed::RunStatus status;
    std::optional<std::string> holder;  ///< Who works in the directory.
    bool training = false;
    std::string_view unit = "generation";  ///< What it counts.
    bool asked = false;                    ///< A program asks for its networks: no command goes on.
    bool lost = false;                     ///< It says that it runs, but nobody holds its lock.
    std::string next;  ///< What goes on with it; empty where there is nothing to do.
};

std::string next_of(const fs::path& directory, const Standing& standing) {
    if (standing.holder || standing.status.state == "done") return "";
    if (standing.asked) return std::string(asking_program);
    const bool checkpoint = standing.training ? fs::exists(directory / "training.cmb")
                                              : distributed::holds_checkpoint(directory);
    if (checkpoint) return fmt::format("cambrian resume {}", shell_word(directory.string()));
    return standing.training ? "cambrian train CONFIG" : "cambrian evolve CONFIG --continue";
}

std::string_view unit_in(const Json& config) {
    static const Json::json_pointer place("/steady_state/window");
    evolve::SteadyStateSettings settings;
    if (config.is_object() && config.contains(place) && config.at(place).is_number_unsigned())
        settings.window = config.at(place).get<std::uint64_t>();
    return unit_of(settings);
}

/// What the config of a run says of it; nothing where there is none.
void read_config_of(const fs::path& directory, Standing& standing) {
    const std::optional<ConfigDocument> config = find_run_config(directory);
    if (!config) return;
    standing.training = holds_training(*config);
    standing.unit = standing.training ? "epoch" : unit_in(*config->json);
    standing.asked = asked_by_program(*config->json);
}

Standing standing_of(const fs::path& directory) {
    Standing standing;
    // The lock first: who frees it has written how it ended.
    standing.holder = distributed::holder_of_run(directory);
    const auto status = distributed::read_status_file(directory / "status.json");
    if (!status && holds_trials(directory))
        throw InputError(fmt::format(
            "there is no run in {} (it holds trials, each of which has a folder there) name one of "
            "these",
            directory.string()));
    if (!status && !standing.holder && !fs::exists(directory / "config.json"))
        throw InputError(fmt::format(
            "there is no run in {} (neither status.json nor config.json) name the directory of a "
            "run",
            directory.string()));
    read_config_of(directory, standing);
    standing.status = distributed::known_status(status, directory);
    standing.lost = standing.status.state == "running" && !standing.holder;
    standing.next = next_of(directory, standing);
    return standing;
}

int exit_code_of(const Standing& standing) {
    if (standing.lost) return exit_failed;
    return standing.holder ? exit_done : standing.status.exit_code.value_or(exit_done);
}

std::string state_text(const Standing& standing) {
    const distributed::RunStatus& status = standing.status;
    if (standing.lost)
        return "ended without a word (it was killed, or its host went down: nobody holds its lock)";
    std::string text = status.state;
    if (!standing.holder && !status.reason.empty()) text += fmt::format(" ({})", status.reason);
    if (standing.holder) text += fmt::format(" ({})", *standing.holder);
    if (!standing.holder && status.exit_code)
        text += fmt::format(", exit code {}", *status.exit_code);
    return text;
}

std::string reached_text(const Standing& standing) {
    const distributed::RunStatus& status = standing.status;
    std::string text = fmt::format("  {} {}s", status.generation, standing.unit);
    if (status.best) text += fmt::format(", best fitness {:.6g}", *status.best);
    if (status.validated) text += fmt::format(", validated {:.6g}", *status.validated);
    if (status.tested) text += fmt::format(", tested {:.6g}", *status.tested);
    if (status.solved) text += *status.solved ? ", solved" : ", not solved";
    if (status.champion_tests)
        text += fmt::format(", {} tests of champions", *status.champion_tests);
    return text + '\n';
}

/// What a generation adds to the disk, where that is known.
std::string disk_text(const Standing& standing) {
    const distributed::RunStatus& status = standing.status;
    if (!status.journal_bytes) return "";
    const auto size = [](double bytes) {
        return size_text(static_cast<std::int64_t>(std::llround(bytes)));
    };
    std::string text =
        fmt::format("  writes {} a {} to the journal", size(*status.journal_bytes), standing.unit);
    if (status.individuals_bytes.value_or(0.0) > 0.0)
        text += fmt::format(", {} to individuals.cmb", size(*status.individuals_bytes));
    return text + '\n';
}

Json number(std::optional<double> value) {
    if (!value) return nullptr;
    return std::isfinite(*value) ? Json(*value) : Json(fmt::format("{}", *value));
}

Json json_of(const std::string& directory, const Standing& standing) {
    const distributed::RunStatus& status = standing.status;
    const auto text = [](const std::optional<std::string>& part) {
        return part && !part->empty() ? Json(*part) : Json();
    };
    return {{"directory", directory},
            {"command", standing.training ? "train" : "evolve"},
            {"state", standing.lost ? "lost" : status.state},
            {"holder", text(standing.holder)},
            {"exit_code", status.exit_code ? Json(*status.exit_code) : Json()},
            {"generation", status.generation},
            {"best", number(status.best)},
            {"validated", number(status.validated)},
            {"tested", number(status.tested)},
            {"solved", status.solved ? Json(*status.solved) : Json()},
            {"champion_tests", status.champion_tests ? Json(*status.champion_tests) : Json()},
            {"reason", text(status.reason)},
            {"journal_bytes_per_generation", number(status.journal_bytes)},
            {"individuals_bytes_per_generation", number(status.individuals_bytes)},
            {"next", standing.asked ? Json() : text(standing.next)}};
}

}  // namespace

int status_command(const CommandContext& context, const std::string& directory, bool json) {
    const Standing standing = standing_of(directory);
    if (json) {
        context.out
            << json_of(directory, standing).dump(2, ' ', false, Json::error_handler_t::replace)
            << '\n';
    } else {
        context.out << fmt::format("{}: {}\n", directory, state_text(standing))
                    << reached_text(standing) << disk_text(standing);
        if (!standing.next.empty()) context.out << fmt::format("  go on:  {}\n", standing.next);
    }
    return exit_code_of(standing);
}

}  // namespace cambrian::launch
