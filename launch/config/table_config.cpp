#include "cambrian/launch/config/table_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/config/config_file.hpp"

namespace cambrian::launch {
namespace {

constexpr std::int64_t min_rows = 10;
/// Whole numbers are labels where there are at most so many of them,
constexpr std::size_t max_number_labels = 20;
/// and each stands in so many rows at least.
constexpr std::int64_t rows_of_a_label = 5;
constexpr std::int64_t rows_of_a_generation = 4096;
constexpr std::size_t listed_labels = 8;
constexpr std::size_t line_width = 116;

/// As a config has it, which replaces what is in braces.
std::string as_json(const std::string& text) {
    return nlohmann::json(unexpanded(text)).dump();
}

/// ["a", "b"] in lines that begin with so many blanks.
std::string listed_as_json(const std::vector<std::string>& texts, std::size_t indent) {
    std::string list = "[ ";
    std::size_t width = indent + 2;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string item = as_json(texts[i]) + (i + 1 < texts.size() ? ", " : " ");
        if (i > 0 && width + item.size() > line_width) {
            list += "\n" + std::string(indent + 2, ' ');
            width = indent + 2;
        }
        list += item;
        width += item.size();
    }
    return list + "]";
}

/// Text for a comment: one line.
std::string in_comment(const std::string& text) {
    return shortened(text, 60);
}

std::string labels_text(const ColumnProfile& column) {
    std::string text;
    std::size_t count = 0;
    for (const auto& [label, rows] : column.different) {
        if (count++ == listed_labels) return text + ", ..";
        text += (text.empty() ? "" : ", ") + in_comment(label);
    }
    return text;
}

void check_labels(const TableProfile& profile, const ColumnProfile& target) {
    if (target.constant())
        throw InputError(fmt::format(
            "{}: column {} has one label only (nothing to tell apart) choose another target",
            profile.path, shortened(target.name)));
    if (target.different.size() > ColumnProfile::max_different)
        throw InputError(fmt::format(
            "{}: column {} has more than {} different labels, such as \"{}\" (a class is learnt "
            "from several rows) choose another target",
            profile.path, shortened(target.name), ColumnProfile::max_different,
            shortened(target.different.begin()->first)));
    if (2 * static_cast<std::int64_t>(target.different.size()) > profile.rows)
        throw InputError(fmt::format(
            "{}: column {} has {} different labels in {} rows, such as \"{}\" (a class is learnt "
            "from several rows) choose another target",
            profile.path, shortened(target.name), target.different.size(), profile.rows,
            shortened(target.different.begin()->first)));
}

/// Whether to classify, and why.
std::pair<bool, std::string> mode_of(const TableProfile& profile,
                                     const TableConfigOptions& options) {
    const ColumnProfile& target = profile.column(options.targets.front());
    const std::size_t different = target.different.size();
    if (!options.mode.empty())
        return {options.mode == "classification", fmt::format("as --mode says")};
    if (!target.numeric())
        return {true, fmt::format("the target holds texts, {} different ones", different)};
    if (options.targets.size() > 1) return {false, "there are several targets"};
    if (options.time_offset > 0) return {false, "a forecast of numbers is asked for"};
    if (!target.whole) return {false, "the target holds numbers with fractions"};
    const std::string reason =
        fmt::format("the target holds {}{} different whole numbers",
                    different > ColumnProfile::max_different ? "more than " : "",
                    std::min(different, ColumnProfile::max_different));
    if (different > max_number_labels) return {false, reason};
    // Fewer than two are refused where labels are checked.
    if (target.constant()) return {true, reason};
    const auto rows_of = [](const auto& label) { return label.second; };
    const auto& [rarest, rows] = *std::ranges::min_element(target.different, {}, rows_of);
    if (rows >= rows_of_a_label) return {true, reason};
    return {false,
            fmt::format("{}, {} in {} of {} rows", reason, in_comment(rarest), rows, profile.rows)};
}

/// The columns that a network can read, and why not the others.
void choose_inputs(const TableProfile& profile, const TableConfigOptions& options,
                   TableConfig& config) {
    for (const ColumnProfile& column : profile.columns) {
        const bool target =
            std::ranges::find(options.targets, column.name) != options.targets.end();
        if (target && (options.time_offset == 0 || config.classification)) continue;
        if (!column.numeric())
            config.left_out.emplace_back(column.name, fmt::format("it holds texts, such as \"{}\"",
                                                                  in_comment(column.text)));
        else if (!target && column.constant())
            config.left_out.emplace_back(column.name, "it never changes");
        else if (!target && column.counts && column.whole)
            config.left_out.emplace_back(column.name, "it counts the rows");
        else
            config.inputs.push_back(column.name);
    }
    if (!config.inputs.empty()) return;
    std::vector<std::string> reasons;
    for (const auto& [column, why] : config.left_out)
        reasons.push_back(fmt::format("{}: {}", column, why));
    throw InputError(
        fmt::format("{} has no column to learn from ({}) add some", profile.path,
                    reasons.empty() ? "there are targets alone" : shortened(joined(reasons), 300)));
}

/// Throws where a config cannot hold the names that it needs.
void check_names(const TableProfile& profile, const TableConfigOptions& options,
                 const TableConfig& config) {
    require_utf8(options.csv, "the rows lie in", "rename it");
    for (const auto* names : {&options.targets, &config.inputs})
        for (const std::string& name : *names)
            if (!is_utf8(name))
                throw InputError(fmt::format(
                    "{}:1: column \"{}\" is not UTF-8 (a config is) save the file as UTF-8",
                    profile.path, shortened(name)));
}

/// The key "missing_values" with its reason, or nothing where every cell has a value.
std::string missing_lines(const TableProfile& profile, const TableConfigOptions& options,
                          const TableConfig& config) {
    std::unordered_set<std::string_view> read(config.inputs.begin(), config.inputs.end());
    read.insert(options.targets.begin(), options.targets.end());
    std::int64_t missing = 0;
    for (const ColumnProfile& column : profile.columns)
        if (read.contains(column.name)) missing += column.missing;
    if (missing == 0) return "";
    const bool time = options.time_offset > 0;
    return fmt::format(
        "    // {} cells have no value. mean: that of the column's rows that train (or median); a "
        "row "
        "without a target\n"
        "    // is left out. {}drop: every row that lacks a value is left out.\n"
        "    \"missing_values\": \"mean\",\n",
        missing, time ? "previous: the value of the row before. " : "");
}

std::int64_t hidden_units(std::size_t inputs, std::size_t outputs) {
    std::int64_t units = 8;
    while (units < 64 && units < static_cast<std::int64_t>(inputs + outputs)) units *= 2;
    return units;
}

std::string head_comment(const TableProfile& profile, const TableConfigOptions& options,
                         const TableConfig& config) {
    std::string text = fmt::format("  // {}: {} rows of {} columns, separated by {}.\n",
                                   in_comment(options.csv), profile.rows, profile.columns.size(),
                                   profile.separator == ','   ? "commas"
                                   : profile.separator == ';' ? "semicolons"
                                                              : "tabs");
    text += fmt::format("  // {}, for {}.\n",
                        config.classification ? "Classification" : "Regression", config.reason);
    if (config.classification)
        text +=
            fmt::format("  // Labels: {}.\n", labels_text(profile.column(options.targets.front())));
    for (const auto& [column, why] : config.left_out)
        text += fmt::format("  // Left out: {}, for {}.\n", in_comment(column), why);
    return text;
}

std::string task_lines(const TableProfile& profile, const TableConfigOptions& options,
                       const TableConfig& config) {
    const bool time = options.time_offset > 0;
    std::string text = fmt::format("  \"task\": {{\n    \"type\": \"table\", \"mode\": \"{}\",\n",
                                   config.classification ? "classification" : "regression");
    text += fmt::format("    \"train\": [ {} ],\n", as_json(options.csv));
    text += fmt::format("    \"targets\": {},\n", listed_as_json(options.targets, 15));
    text += fmt::format("    \"inputs\": {},\n", listed_as_json(config.inputs, 14));
    if (time) {
        text += fmt::format(
            "    \"time_offset\": {},  // a row tells of that {} later\n", options.time_offset,
            options.time_offset == 1 ? "one row" : fmt::format("{} rows", options.time_offset));
        if (!config.classification)
            text +=
                "    \"difference\": true,  // networks predict the change: an output of 0 is "
                "\"as now\"\n";
    }
    text += missing_lines(profile, options, config);
    text += time
                ? "    // The last fifth of the rows is not trained on: the best network is judged "
                  "on it.\n"
                : fmt::format(
                      "    // A fifth of the rows{} is not trained on: the best network is "
                      "judged on it.\n",
                      config.classification ? " of each class" : "");
    text += "    \"validation\": { \"fraction\": 0.2, \"every\": 5 },\n";
    if (profile.rows > rows_of_a_generation)
        text += fmt::format(
            "    \"rows_per_evaluation\": {},  // drawn anew for each generation: "
            "all of them take longer\n",
            rows_of_a_generation);
    text +=
        "    \"normalise\": \"mean_deviation\"  // every column to mean 0 and deviation 1; kept "
        "in the network's file\n  },\n";
    return text;
}

std::string network_lines(const TableProfile& profile, const TableConfigOptions& options,
                          const TableConfig& config) {
    const std::size_t outputs = config.classification
                                    ? profile.column(options.targets.front()).different.size()
                                    : options.targets.size();
    const std::int64_t hidden = hidden_units(config.inputs.size(), outputs);
    return fmt::format(
        "  // {} hidden units: the power of two from inputs and outputs ({}) on, from 8 to 64. "
        "More "
        "where the training\n"
        "  // rows are learnt badly, fewer where validation is much worse than training.\n"
        "  \"network\": {{ \"layers\": [ {{ \"type\": \"dense\", \"out\": {}, \"activation\": "
        "\"tanh\" }}, {{ \"type\": \"dense\" }} ] }},\n",
        hidden, config.inputs.size() + outputs, hidden);
}

}  // namespace

TableConfig table_config(const TableProfile& profile, const TableConfigOptions& options) {
    TableConfig config;
    std::tie(config.classification, config.reason) = mode_of(profile, options);
    if (config.classification && options.targets.size() > 1)
        throw ConfigError(fmt::format("there are {} targets (a network classifies by one) name one",
                                      options.targets.size()));
    if (profile.rows < min_rows)
        throw InputError(
            fmt::format("{} has {} rows (a part of them trains, a part validates) use {} at least",
                        profile.path, profile.rows, min_rows));
    for (const std::string& name : options.targets) {
        const ColumnProfile& target = profile.column(name);
        if (config.classification)
            check_labels(profile, target);
        else if (!target.numeric())
            throw InputError(
                fmt::format("{}: column {} holds \"{}\" (regression predicts numbers) choose "
                            "another target, or "
                            "--mode classification",
                            profile.path, shortened(name), shortened(target.text)));
    }
    choose_inputs(profile, options, config);
    check_names(profile, options, config);
    config.text =
        "{\n" + head_comment(profile, options, config) +
        fmt::format(
            "  \"run\": {{ \"name\": {0}, \"directory\": \"runs/{{name}}-{{seed}}\", "
            "\"seed\": 1, \"stop\": {{ \"generations\": 60 }} }},\n",
            as_json(options.name)) +
        task_lines(profile, options, config) + network_lines(profile, options, config) +
        "  // Few individuals, each of which learns a few steps by gradient, which its children "
        "inherit: on tables this needs\n"
        "  // far fewer evaluations than chance alone.\n"
        "  \"population\": { \"size\": 16 },\n"
        "  \"learning\": { \"mode\": \"lamarckian\", \"steps\": 10, \"batch\": 16, "
        "\"learning_rate\": 0.01 },\n"
        "  // Of 'cambrian train', which needs no evolution; evolve does not read it.\n"
        "  \"training\": { \"epochs\": 100, \"batch\": 16, \"learning_rate\": 0.005, "
        "\"schedule\": { \"type\": \"cosine\" } }\n"
        "}\n";
    return config;
}

}  // namespace cambrian::launch
