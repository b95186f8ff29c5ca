#include "cambrian/launch/convert/network_preparation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

/// Whether a file should say how its rows are prepared: its task prepares them.
bool lacks_preparation(const distributed::NetworkFile& network) {
    if (network.preparation || network.identity_json.empty()) return false;
    const Json type = distributed::identity_of(network).at("task").at("type");
    return type == "table" || type == "dataset";
}

evolve::Preparation prepared_again(const std::string& path, const distributed::NetworkFile& network,
                                   std::span<const std::string> overrides,
                                   const evolve::TaskRegistry& tasks,
                                   const evolve::GenomeRegistry& genomes) {
    const Schema schema(tasks, genomes);
    std::string why;
    try {
        const ResolvedConfig config = config_of_network(path, network, "", overrides, schema);
        const auto task = make_task(config, tasks);
        evolve::check_task_fits(*task, network.genome.blueprint);
        const auto preparation = task->preparation();
        const std::string fault =
            preparation ? evolve::preparation_fault(*preparation, network.genome.blueprint)
                        : "the task prepares no rows";
        if (fault.empty()) return *preparation;
        why = fault;
    } catch (const Error& error) {
        why = error.what();
    }
    throw InputError(fmt::format(
        "{} does not say how its rows are prepared (an older version wrote it, and its task cannot "
        "be made again: {}) put the data back, or prepare the rows yourself and add --raw, or "
        "evolve or train again",
        path, why));
}

/// A name from a file that may be anything.
std::string printable(const std::string& name) {
    return listed(std::span(&name, 1));
}

std::string scaling_text(const evolve::PreparedInput& input) {
    const evolve::Scaling& scaling = input.scaling;
    std::string text = "x";
    if (scaling.shift != 0.0)
        text = fmt::format("(x {} {})", scaling.shift < 0.0 ? '+' : '-', std::abs(scaling.shift));
    if (scaling.scale != 1.0) text += fmt::format(" / {}", scaling.scale);
    if (input.factor != 1.0) text += fmt::format(" * {}", input.factor);
    return text == "x" ? "as it is" : text;
}

std::string answer_text(const evolve::PreparedOutput& output) {
    const evolve::Scaling& scaling = output.scaling;
    std::string text = "y";
    if (scaling.scale != 1.0) text += fmt::format(" * {}", scaling.scale);
    if (scaling.shift != 0.0)
        text += fmt::format(" {} {}", scaling.shift < 0.0 ? '-' : '+', std::abs(scaling.shift));
    if (!output.current.empty()) text += " + " + printable(output.current);
    return text == "y" ? "as it is" : text;
}

/// One line for neighbours with one text: "  inputs      a to c (3)  as it is".
template <class Items, class Name, class Text>
std::string grouped_lines(std::string_view head, const Items& items, const Name& name,
                          const Text& text) {
    constexpr int max_printed = 24;
    std::string lines;
    int printed = 0;
    for (std::size_t first = 0; first < items.size(); ++printed) {
        if (printed == max_printed)
            return lines + fmt::format("  {:<11} and {} more, which --json lists\n", "",
                                       items.size() - first);
        const std::string what = text(items[first]);
        std::size_t end = first + 1;
        while (end < items.size() && text(items[end]) == what) ++end;
        const std::string names = end - first == 1 ? name(first)
                                                   : fmt::format("{} to {} ({})", name(first),
                                                                 name(end - 1), end - first);
        lines += fmt::format("  {:<11} {:<26} {}\n", first == 0 ? head : "", names, what);
        first = end;
    }
    return lines;
}

}  // namespace

evolve::Preparation preparation_of(const std::string& network_path,
                                   const distributed::NetworkFile& network,
                                   std::span<const std::string> overrides,
                                   const evolve::TaskRegistry& tasks,
                                   const evolve::GenomeRegistry& genomes) {
    if (lacks_preparation(network))
        return prepared_again(network_path, network, overrides, tasks, genomes);
    if (!overrides.empty())
        throw ConfigError(fmt::format(
            "--set {} has no use here ({} needs no config: it says itself how its rows are "
            "prepared) leave it out",
            overrides.front(), network_path));
    return network.preparation ? *network.preparation
                               : evolve::plain_preparation(network.genome.blueprint);
}

std::optional<evolve::Preparation> child_preparation(const NamedNetwork& fitter,
                                                     const NamedNetwork& other, std::string& note) {
    std::optional<evolve::Preparation> own = fitter.file.preparation;
    std::optional<evolve::Preparation> others = other.file.preparation;
    if (own && others && own->ahead.has_value() != others->ahead.has_value()) {
        const auto& [silent, telling] =
            own->ahead ? std::pair(other.path, fitter.path) : std::pair(fitter.path, other.path);
        note +=
            fmt::format("{} does not say how many rows ahead it tells: the child's are as in {}\n",
                        silent, telling);
        own->ahead = others->ahead = own->ahead ? own->ahead : others->ahead;
    }
    if (own && others && own->logits != others->logits) {
        note += fmt::format(
            "outputs are logits of shares in {} alone, or the other is of an older version: the "
            "child's are\n",
            own->logits ? fitter.path : other.path);
        own->logits = others->logits = true;
    }
    if (own && others && own->tokenizer.has_value() != others->tokenizer.has_value()) {
        const auto& [silent, telling] = own->tokenizer ? std::pair(other.path, fitter.path)
                                                       : std::pair(fitter.path, other.path);
        note += fmt::format("{} does not say what its tokenizer is: the child's is that of {}\n",
                            silent, telling);
        own->tokenizer = others->tokenizer = own->tokenizer ? own->tokenizer : others->tokenizer;
    }
    if (own == others) return own;
    if (!own || !others) {
        const auto& [silent, telling] = own ? std::pair(other, fitter) : std::pair(fitter, other);
        note += fmt::format("{} does not say how its rows are prepared: the child's are as in {}\n",
                            silent.path, telling.path);
        return own ? own : others;
    }
    if (const std::string why = evolve::other_meaning(*own, *others); !why.empty())
        throw ConfigError(fmt::format("cannot splice {} and {} ({}) use networks of one task",
                                      fitter.path, other.path, why));
    note +=
        fmt::format("{} and {} scale their rows by other constants: the child's are those of {}\n",
                    fitter.path, other.path, fitter.path);
    return own;
}

std::string preparation_text(const evolve::Preparation& preparation) {
    std::string text = grouped_lines(
        preparation.named() ? "columns" : "inputs", preparation.inputs,
        [&](std::size_t i) {
            const std::string& column = preparation.inputs[i].column;
            return column.empty() ? fmt::format("{}", i) : printable(column);
        },
        scaling_text);
    text += grouped_lines(
        "outputs", preparation.outputs,
        [&](std::size_t i) { return printable(preparation.output_name(i)); }, answer_text);
    if (preparation.logits) text += "  shares      y stands for 1 / (1 + e^-y)\n";
    const std::vector<std::string> classes = preparation.class_names();
    if (!preparation.labels.empty())
        text += fmt::format("  classes     {}\n", listed(classes));
    else if (!classes.empty())
        text += fmt::format("  classes     {} from {} to {}\n", classes.size(), classes.front(),
                            classes.back());
    if (const std::int64_t ahead = preparation.ahead.value_or(0); ahead > 0)
        text += fmt::format("  forecasts   of {} row{} later\n", ahead, ahead == 1 ? "" : "s");
    if (preparation.missing_values != MissingValues::error)
        text +=
            fmt::format("  missing     {}{}\n",
                        missing_values_names[static_cast<std::size_t>(preparation.missing_values)],
                        fills(preparation.missing_values) ? " of the rows that trained" : "");
    if (preparation.tokenizer)
        text += fmt::format("  tokenizer   {}\n", preparation.tokenizer->hex());
    if (preparation.shown)
        text += fmt::format("  shown       each row for {} steps, the last of which answers\n",
                            preparation.sequence_rows);
    else if (preparation.sequence_rows > 0)
        text += fmt::format("  sequences   of {} rows\n", preparation.sequence_rows);
    return text;
}

}  // namespace cambrian::launch
