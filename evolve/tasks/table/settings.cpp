#include "cambrian/evolve/tasks/table/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/shortened.hpp"
#include "cambrian/evolve/tasks/settings.hpp"

namespace cambrian::evolve {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 16> keys{"type",
                                                "mode",
                                                "loss",
                                                "train",
                                                "validation",
                                                "test",
                                                "inputs",
                                                "targets",
                                                "time_offset",
                                                "difference",
                                                "sequence_length",
                                                "warm_up",
                                                "normalise",
                                                "missing_values",
                                                "rows_per_evaluation",
                                                "baselines"};
constexpr std::array<std::string_view, 3> validation_keys{"every", "tail_fraction", "files"};
constexpr std::array<std::string_view, 2> modes{"regression", "classification"};
constexpr std::array<std::string_view, 3> losses{"mse", "mae", "cross_entropy"};
constexpr std::array<std::string_view, 3> normalisations{"none", "min_max", "mean_deviation"};
constexpr std::array<std::string_view, 3> regression_baselines{"persistence", "mean",
                                                               "least_squares"};
constexpr std::array<std::string_view, 2> classification_baselines{"majority", "frequencies"};
constexpr std::int64_t most = 1'000'000'000;

/// Baselines of a config that names none.
std::vector<std::string> fitting_baselines(const TableSettings& table) {
    if (table.mode == TableMode::classification) return {"majority", "frequencies"};
    return {table.time_offset > 0 ? "persistence" : "mean", "least_squares"};
}

std::vector<std::string> paths(const Settings& settings, std::string_view key,
                               const TaskContext& context) {
    std::vector<std::string> result = settings.texts(key);
    for (std::string& path : result)
        path = (std::filesystem::path(context.base_directory) / path).lexically_normal().string();
    return result;
}

void read_files(const Settings& settings, const TaskContext& context, TableSettings& table) {
    table.train = paths(settings, "train", context);
    if (table.train.empty()) settings.fail("train", "is empty (name at least one CSV file)");
    table.test = paths(settings, "test", context);
    const nlohmann::json* json = settings.find("validation");
    if (json == nullptr) return;
    const Settings validation(*json, settings.path("validation"), validation_keys);
    // How often is the coordinator's business; here it is only checked.
    [[maybe_unused]] const std::int64_t every = validation.integer("every", 1, 1, most);
    table.tail_fraction = validation.number_between("tail_fraction", 0.0, 0.0, 1.0);
    table.validation = paths(validation, "files", context);
    if (validation.has("tail_fraction") == !table.validation.empty())
        validation.fail("tail_fraction",
                        "or \"files\" is needed (exactly one of the two) give one of them");
}

void read_columns(const Settings& settings, TableSettings& table) {
    const nlohmann::json* inputs = settings.find("inputs");
    if (inputs != nullptr && *inputs != "all") {
        if (!inputs->is_array() || inputs->empty())
            settings.fail("inputs", fmt::format("is {} (expected \"all\" or a list of columns)",
                                                json_text::shown(*inputs)));
        table.inputs = settings.texts("inputs");
    }
    table.targets = settings.texts("targets");
    if (table.targets.empty())
        settings.fail("targets", "is empty (at least one column is predicted)");
    if (table.mode == TableMode::classification && table.targets.size() != 1)
        settings.fail("targets", fmt::format("names {} columns (classification has one)",
                                             table.targets.size()));
    if (table.time_offset > 0) return;
    const std::unordered_set<std::string> known(table.inputs.begin(), table.inputs.end());
    for (const std::string& target : table.targets)
        if (known.contains(target))
            settings.fail("inputs", fmt::format("holds the target \"{}\" (with time_offset 0 the "
                                                "network would read its own answer) leave it out, "
                                                "or set a \"time_offset\"",
                                                shortened(target)));
}

void read_loss(const Settings& settings, TableSettings& table) {
    table.mode = static_cast<TableMode>(settings.choice("mode", 0, modes));
    const bool regression = table.mode == TableMode::regression;
    const Names allowed = regression ? Names(losses).first(2) : Names(losses).last(1);
    const std::size_t chosen = settings.choice("loss", 0, allowed);
    table.loss = static_cast<TableLoss>(regression ? chosen : chosen + 2);
    table.chosen_baselines = settings.has("baselines");
    table.baselines = settings.choices(
        "baselines", regression ? Names(regression_baselines) : Names(classification_baselines));
}

void read_time(const Settings& settings, TableSettings& table) {
    table.time_offset = settings.integer("time_offset", 0, 0, most);
    table.difference = settings.boolean("difference", false);
    if (table.difference && table.mode == TableMode::classification)
        settings.fail("difference", "is true (classes have no differences: regression only)");
    if (table.difference && table.time_offset == 0)
        settings.fail("difference", "is true (a change needs a \"time_offset\" of at least 1)");
    if (table.time_offset == 0 &&
        std::ranges::find(table.baselines, "persistence") != table.baselines.end())
        settings.fail("baselines",
                      "holds \"persistence\" (it needs a \"time_offset\" of at "
                      "least 1)");
    if (!table.chosen_baselines) table.baselines = fitting_baselines(table);

    table.sequence_length = settings.integer("sequence_length", 0, 0, most);
    table.warm_up = settings.integer("warm_up", 0, 0, most);
    if (table.warm_up > 0 && table.warm_up >= table.sequence_length)
        settings.fail("warm_up", fmt::format("is {} (expected less than \"sequence_length\", {})",
                                             table.warm_up, table.sequence_length));
    table.rows_per_evaluation = settings.integer("rows_per_evaluation", 0, 0, most);
    if (table.rows_per_evaluation > 0 && table.rows_per_evaluation < table.sequence_length)
        settings.fail("rows_per_evaluation",
                      fmt::format("is {} (expected 0 for all rows, or at least one sequence of {})",
                                  table.rows_per_evaluation, table.sequence_length));
}

}  // namespace

TableSettings table_settings(const nlohmann::json& json, const TaskContext& context) {
    const Settings settings(json, "task", keys);
    TableSettings table;
    read_files(settings, context, table);
    read_loss(settings, table);
    read_time(settings, table);
    read_columns(settings, table);
    table.normalise = static_cast<Normalise>(
        settings.choice("normalise", static_cast<std::size_t>(table.normalise), normalisations));
    table.missing =
        static_cast<MissingValues>(settings.choice("missing_values", 0, missing_values_names));
    return table;
}

}  // namespace cambrian::evolve
