#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {
namespace {

using nlohmann::json;
using Names = std::span<const std::string_view>;

/// Keys that say something else than the member of that name.
constexpr std::array<std::string_view, 5> others{"type", "loss", "validation", "inputs",
                                                 "baselines"};
constexpr std::array<std::string_view, 3> losses{"mse", "mae", "cross_entropy"};
constexpr std::array<std::string_view, 4> regression_baselines{"persistence", "mean",
                                                               "least_squares", "autoregressive"};
/// They predict from what a target was.
constexpr std::array<std::string_view, 2> baselines_in_time{"persistence", "autoregressive"};
constexpr std::array<std::string_view, 2> classification_baselines{"majority", "frequencies"};

std::string path_of(std::string_view key) {
    return json_read::member("task", key);
}

[[noreturn]] void refuse(std::string_view key, const std::string& problem, std::string_view why,
                         std::string_view suggestion) {
    json_read::fail(path_of(key), problem, why, suggestion);
}

/// Baselines of a config that names none.
std::vector<std::string> fitting_baselines(const TableSettings& table) {
    if (table.mode == TableMode::classification) return {"majority", "frequencies"};
    return {table.time_offset > 0 ? "persistence" : "mean", "least_squares"};
}

void check_unique(const std::vector<std::string>& texts, std::string_view key) {
    std::unordered_set<std::string> seen;
    for (const std::string& text : texts)
        if (!seen.insert(text).second)
            refuse(key, fmt::format("names \"{}\" twice", shortened(text)), "each may stand once",
                   "leave one of the two out");
}

std::vector<std::string> texts(const json& value, std::string_view key) {
    std::vector<std::string> result;
    field_json::read(result, value, path_of(key), {});
    check_unique(result, key);
    return result;
}

void resolve_paths(std::vector<std::string>& paths, std::string_view key,
                   const TaskContext& context) {
    for (std::string& path : paths)
        path = (std::filesystem::path(context.base_directory) / path).lexically_normal().string();
    check_unique(paths, key);  // However they are written.
}

void read_validation(const json& source, const TaskContext& context, TableSettings& table) {
    static constexpr std::array<std::string_view, 4> kept{"fraction", "seed", "tail_fraction",
                                                          "files"};
    const std::string path = path_of("validation");
    // How often is the coordinator's business; here it is only checked.
    ValidationSettings checked;
    field_json::read_fields(checked, source, path, kept);
    if (const json* tail = json_read::find(source, "tail_fraction"))
        field_json::read(table.tail_fraction, *tail, path + ".tail_fraction",
                         FieldRange{0.0, 1.0, true, true});
    if (const json* files = json_read::find(source, "files")) {
        table.validation = texts(*files, "validation.files");
        resolve_paths(table.validation, "validation.files", context);
    }
    if (const json* fraction = json_read::find(source, "fraction"))
        field_json::read(table.fraction, *fraction, path + ".fraction",
                         FieldRange{0.0, 1.0, true, true});
    if (const json* seed = json_read::find(source, "seed")) {
        field_json::read(table.split_seed, *seed, path + ".seed", {});
        if (table.fraction == 0.0)
            refuse("validation.seed", "is given", "rows are drawn for \"fraction\" alone",
                   "leave it out");
    }
    const int given = (table.fraction > 0.0 ? 1 : 0) + (table.tail_fraction > 0.0 ? 1 : 0) +
                      (table.validation.empty() ? 0 : 1);
    if (given != 1)
        refuse("validation.fraction", "or \"tail_fraction\" or \"files\" is needed",
               "exactly one of the three", "give one of them");
}

void check_files(const TableSettings& table) {
    if (table.train.empty())
        refuse("train", "is empty", "nothing to learn from", "name at least one CSV file");
}

void read_columns(const json& source, TableSettings& table) {
    if (const json* inputs = json_read::find(source, "inputs"); inputs && *inputs != "all") {
        if (!inputs->is_array() || inputs->empty())
            refuse("inputs", "is " + json_text::shown(*inputs),
                   "\"all\" or a list of columns is needed", "change it");
        table.inputs = texts(*inputs, "inputs");
    }
    check_unique(table.targets, "targets");
    if (table.targets.empty())
        refuse("targets", "is empty", "at least one column is predicted", "name it");
    if (table.mode == TableMode::classification && table.targets.size() != 1)
        refuse("targets", fmt::format("names {} columns", table.targets.size()),
               "classification has one", "name one");
    if (table.time_offset > 0) return;
    const std::unordered_set<std::string> known(table.inputs.begin(), table.inputs.end());
    for (const std::string& target : table.targets)
        if (known.contains(target))
            refuse("inputs", fmt::format("holds the target \"{}\"", shortened(target)),
                   "with time_offset 0 the network would read its own answer",
                   "leave it out, or set a \"time_offset\"");
}

void read_loss(const json& source, TableSettings& table) {
    const bool regression = table.mode == TableMode::regression;
    const Names allowed = regression ? Names(losses).first(2) : Names(losses).last(1);
    const json* loss = json_read::find(source, "loss");
    const std::size_t chosen =
        loss == nullptr ? 0 : json_read::choice(*loss, path_of("loss"), allowed);
    table.loss = static_cast<TableLoss>(regression ? chosen : chosen + 2);
    const json* baselines = json_read::find(source, "baselines");
    table.chosen_baselines = baselines != nullptr;
    if (!table.chosen_baselines) {
        table.baselines = fitting_baselines(table);
        return;
    }
    table.baselines = texts(*baselines, "baselines");
    const Names known = regression ? Names(regression_baselines) : Names(classification_baselines);
    for (const std::string& name : table.baselines)
        if (std::ranges::find(known, name) == known.end())
            refuse("baselines", fmt::format("holds \"{}\"", shortened(name)),
                   "known: " + joined(known), nearest_hint(name, known));
}

void check_time(const TableSettings& table) {
    if (table.difference && table.mode == TableMode::classification)
        refuse("difference", "is true", "classes have no differences: regression only",
               "leave it out");
    if (table.difference && table.time_offset == 0)
        refuse("difference", "is true", "a change needs a \"time_offset\" of at least 1",
               "set one, or leave it out");
    for (const std::string_view name : baselines_in_time)
        if (table.time_offset == 0 &&
            std::ranges::find(table.baselines, name) != table.baselines.end())
            refuse("baselines", fmt::format("holds \"{}\"", name),
                   "it needs a \"time_offset\" of at least 1", "set one, or leave it out");
    if (table.warm_up > 0 && table.warm_up >= table.sequence_length)
        refuse("warm_up", fmt::format("is {}", table.warm_up),
               fmt::format("it is less than \"sequence_length\", {}", table.sequence_length),
               "change one of the two");
    if (table.rows_per_evaluation > 0 && table.rows_per_evaluation < table.sequence_length)
        refuse("rows_per_evaluation", fmt::format("is {}", table.rows_per_evaluation),
               fmt::format("a sequence has {} rows", table.sequence_length),
               fmt::format("use 0 for all rows, or at least one sequence of {}",
                           table.sequence_length));
}

}  // namespace

TableSettings table_settings(const json& source, const TaskContext& context) {
    TableSettings table;
    field_json::read_fields(table, source, "task", others);
    check_files(table);
    resolve_paths(table.train, "train", context);
    resolve_paths(table.test, "test", context);
    if (const json* validation = json_read::find(source, "validation"))
        read_validation(*validation, context, table);
    read_loss(source, table);
    check_time(table);
    // A time series is not shuffled.
    if (table.in_time()) table.tail_fraction = std::max(table.tail_fraction, table.fraction);
    read_columns(source, table);
    return table;
}

}  // namespace cambrian::evolve
