#include "cambrian/launch/show/evaluation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/analysis/statistics.hpp"

namespace cambrian::launch {
namespace {

/// More classes than these make lines that nobody reads.
constexpr std::size_t max_listed_classes = 20;
constexpr std::size_t columns_side_by_side = 6;
constexpr double star_coverage = 0.99;

std::string percent(std::uint64_t part, std::size_t whole) {
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string("-");
}

bool fits(const evolve::Metric& metric, const evolve::Truth& truth) {
    return metric.classes == truth.classes;
}

std::string deviations_text(const evolve::Truth& truth, const evolve::Answers& answers) {
    const evolve::Deviations found = evolve::deviations(truth, answers);
    std::string text = fmt::format("  {:<20} {:.6g} % on average\n", "deviation", found.average);
    double low = 0.0;
    for (std::size_t i = 0; i < found.buckets.size(); ++i) {
        const std::string range = i < evolve::deviation_ends.size()
                                      ? fmt::format("{} to {} %", low, evolve::deviation_ends[i])
                                      : fmt::format("above {} %", low);
        if (i < evolve::deviation_ends.size()) low = evolve::deviation_ends[i];
        text += fmt::format("    {:<18} {:>8} {:>8}\n", range, found.buckets[i],
                            percent(found.buckets[i], truth.targets.size()));
    }
    return text;
}

/// A label in a column of a table.
std::string label_text(const evolve::Truth& truth, std::size_t k, std::size_t width) {
    if (truth.names.empty()) return fmt::format("{}", truth.labels[k]);
    const std::string& name = truth.names[k];
    return shortened(name, name.size() <= width ? width : width - 3);
}

std::string classes_text(const evolve::Truth& truth, const evolve::Answers& answers) {
    const std::vector<evolve::ClassScore> scores = evolve::class_scores(truth, answers);
    std::string text = fmt::format("  {:<12} {:>8} {:>8} {:>10} {:>8} {:>8}\n", "class", "rows",
                                   "answers", "precision", "recall", "f1");
    const std::size_t listed = std::min(scores.size(), max_listed_classes);
    for (std::size_t k = 0; k < listed; ++k)
        text += fmt::format("  {:<12} {:>8} {:>8} {:>10.4f} {:>8.4f} {:>8.4f}\n",
                            label_text(truth, k, 12), scores[k].targets, scores[k].answers,
                            scores[k].precision, scores[k].recall, scores[k].f1);
    if (listed < scores.size())
        return text + fmt::format("  and {} classes more, which --json lists with the confusion\n",
                                  scores.size() - listed);
    const std::vector<std::uint64_t> matrix = evolve::confusion_matrix(truth, answers);
    text += "  confusion: a line for each class, a column for each answer\n";
    text += fmt::format("  {:<12}", "");
    for (std::size_t k = 0; k < listed; ++k) text += fmt::format(" {:>7}", label_text(truth, k, 7));
    text += "\n";
    for (std::size_t target = 0; target < listed; ++target) {
        text += fmt::format("  {:<12}", label_text(truth, target, 12));
        for (std::size_t answer = 0; answer < listed; ++answer)
            text += fmt::format(" {:>7}", matrix[target * listed + answer]);
        text += "\n";
    }
    return text;
}

std::string reliability_text(const evolve::Truth& truth, const evolve::Answers& answers) {
    std::string text =
        fmt::format("  {:<12} {:>8} {:>10} {:>8}\n", "probability", "rows", "mean", "accuracy");
    for (const evolve::CalibrationBin& bin : evolve::calibration(truth, answers))
        if (bin.rows > 0)
            text += fmt::format("  {:<12} {:>8} {:>10.4f} {:>8.4f}\n",
                                fmt::format("{:.1f} to {:.1f}", bin.low, bin.high), bin.rows,
                                bin.confidence, bin.accuracy);
    return text;
}

/// A row of the table: what it says of every network, and which is better.
struct Measure {
    std::string_view name;
    std::optional<bool> higher{};  ///< None: none is the best.
    std::function<std::optional<double>(const EvaluatedNetwork&)> of;
};

std::vector<Measure> measures_of(const EvaluationTable& table) {
    std::vector<Measure> measures;
    measures.push_back({"fitness", true, [](const EvaluatedNetwork& network) {
                            return network.evaluation
                                       ? std::optional<double>(network.evaluation->fitness)
                                       : std::nullopt;
                        }});
    measures.push_back({"sample deviation", std::nullopt, [](const EvaluatedNetwork& network) {
                            if (!network.evaluation) return std::optional<double>();
                            const auto samples =
                                evolve::distribution_of(network.evaluation->per_sample);
                            return samples ? samples->deviation : std::nullopt;
                        }});
    if (!table.truth) {
        measures.push_back(
            {"accuracy", true, [](const EvaluatedNetwork& network) { return network.accuracy; }});
        return measures;
    }
    for (const evolve::Metric& metric : evolve::metrics())
        if (fits(metric, *table.truth))
            measures.push_back({metric.name, metric.higher, [&](const EvaluatedNetwork& network) {
                                    return network.answers
                                               ? metric.of(*table.truth, *network.answers)
                                               : std::nullopt;
                                }});
    return measures;
}

std::string letter(std::size_t index) {
    std::string text;
    for (++index; index > 0; index = (index - 1) / 26)
        text.insert(text.begin(), static_cast<char>('A' + (index - 1) % 26));
    return text;
}

/// Indices of the best values; none where all are equal, or there is one alone.
std::vector<bool> best_of(const std::vector<std::optional<double>>& values, bool higher) {
    std::optional<double> best;
    std::size_t known = 0;
    for (const auto& value : values) {
        if (!value || !std::isfinite(*value)) continue;
        ++known;
        if (!best || (higher ? *value > *best : *value < *best)) best = value;
    }
    std::vector<bool> marks(values.size(), false);
    if (known < 2) return marks;
    for (std::size_t i = 0; i < values.size(); ++i) marks[i] = values[i] == best;
    const auto marked = static_cast<std::size_t>(std::ranges::count(marks, true));
    return marked == known ? std::vector<bool>(values.size(), false) : marks;
}

std::string pairs_text(const EvaluationTable& table) {
    if (!table.asked_pairs) return "";
    std::string text = fmt::format("  {:<16} {:>9} {:>9} {:>11}\n", "complementary", "coverage",
                                   "overlap", "similarity");
    for (const evolve::ComplementaryPair& pair : table.pairs)
        text +=
            fmt::format("  {:<16} {:>9.4f} {:>9.4f} {:>11.4f}{}\n",
                        letter(pair.first) + " and " + letter(pair.second), pair.coverage,
                        pair.overlap, pair.similarity, pair.coverage >= star_coverage ? " *" : "");
    return text;
}

std::string status_text(const EvaluatedNetwork& network) {
    if (!network.evaluation || network.evaluation->status == evolve::Status::ok) return "";
    return fmt::format(" (not valid: {})", evolve::name(network.evaluation->status));
}

Json metrics_json(const evolve::Truth& truth, const evolve::Answers& answers) {
    Json json;
    for (const evolve::Metric& metric : evolve::metrics())
        if (fits(metric, truth)) {
            const auto value = metric.of(truth, answers);
            json[std::string(metric.name)] = value ? Json(*value) : Json();
        }
    return json;
}

Json classes_json(const evolve::Truth& truth, const evolve::Answers& answers) {
    Json json = Json::array();
    const std::vector<evolve::ClassScore> scores = evolve::class_scores(truth, answers);
    for (std::size_t k = 0; k < scores.size(); ++k)
        json.push_back(
            {{"class", truth.names.empty() ? Json(truth.labels[k]) : Json(truth.names[k])},
             {"rows", scores[k].targets},
             {"answers", scores[k].answers},
             {"precision", scores[k].precision},
             {"recall", scores[k].recall},
             {"f1", scores[k].f1}});
    return json;
}

Json confusion_json(const evolve::Truth& truth, const evolve::Answers& answers) {
    const std::vector<std::uint64_t> matrix = evolve::confusion_matrix(truth, answers);
    Json json = Json::array();
    for (std::size_t target = 0; target < truth.width; ++target) {
        const auto* const first = matrix.data() + target * truth.width;
        json.push_back(std::vector<std::uint64_t>(first, first + truth.width));
    }
    return json;
}

Json calibration_json(const evolve::Truth& truth, const evolve::Answers& answers) {
    Json json = Json::array();
    for (const evolve::CalibrationBin& bin : evolve::calibration(truth, answers))
        json.push_back({{"low", bin.low},
                        {"high", bin.high},
                        {"rows", bin.rows},
                        {"confidence", bin.confidence},
                        {"accuracy", bin.accuracy}});
    return json;
}

Json deviations_json(const evolve::Truth& truth, const evolve::Answers& answers) {
    const evolve::Deviations found = evolve::deviations(truth, answers);
    Json buckets = Json::array();
    for (std::size_t i = 0; i < found.buckets.size(); ++i)
        buckets.push_back(
            {{"up_to",
              i < evolve::deviation_ends.size() ? Json(evolve::deviation_ends[i]) : Json()},
             {"count", found.buckets[i]}});
    return {{"average", found.average}, {"score", found.score}, {"buckets", buckets}};
}

Json network_json(const EvaluationTable& table, const EvaluatedNetwork& network) {
    Json json{{"name", network.name}};
    if (network.evaluation) {
        json["fitness"] = network.evaluation->fitness;
        json["status"] = evolve::name(network.evaluation->status);
        json["samples"] = network.evaluation->per_sample;
    }
    if (network.accuracy) json["accuracy"] = *network.accuracy;
    if (!table.truth || !network.answers) return json;
    json["metrics"] = metrics_json(*table.truth, *network.answers);
    if (!table.truth->classes) {
        json["deviations"] = deviations_json(*table.truth, *network.answers);
        return json;
    }
    json["classes"] = classes_json(*table.truth, *network.answers);
    json["confusion"] = confusion_json(*table.truth, *network.answers);
    json["calibration"] = calibration_json(*table.truth, *network.answers);
    return json;
}

}  // namespace

std::string metrics_text(const evolve::Truth& truth, const evolve::Answers& answers) {
    if (truth.targets.empty()) return "  no row counts: there are no metrics\n";
    std::string text;
    for (const evolve::Metric& metric : evolve::metrics())
        if (fits(metric, truth))
            text += fmt::format("  {:<20} {}\n", metric.name, number(metric.of(truth, answers)));
    if (!truth.classes) return text + deviations_text(truth, answers);
    return text + classes_text(truth, answers) + reliability_text(truth, answers);
}

std::string table_text(const EvaluationTable& table) {
    std::vector<const EvaluatedNetwork*> columns;
    for (const EvaluatedNetwork& network : table.networks) columns.push_back(&network);
    if (table.together) columns.push_back(&*table.together);
    const auto head = [&](std::size_t column) {
        return column < table.networks.size() ? letter(column) : std::string("ensemble");
    };

    std::string text =
        fmt::format("task {}, {}: {} networks{}\n", table.task, table.phase, table.networks.size(),
                    table.truth ? fmt::format(", {} answers", table.truth->rows()) : std::string());
    for (std::size_t i = 0; i < table.networks.size(); ++i)
        text += fmt::format("  {:<3} {}{}\n", letter(i), table.networks[i].name,
                            status_text(table.networks[i]));
    if (table.together) {
        text += fmt::format("  ensemble: {}", table.ensemble);
        for (std::size_t i = 0; i < table.weights.size(); ++i)
            text += fmt::format("{} {} {:.4g}", i == 0 ? "," : "", letter(i), table.weights[i]);
        text += "\n";
    }
    const std::vector<Measure> measures = measures_of(table);
    for (std::size_t begin = 0; begin < columns.size(); begin += columns_side_by_side) {
        const std::size_t end = std::min(begin + columns_side_by_side, columns.size());
        text += fmt::format("  {:<18}", "");
        for (std::size_t i = begin; i < end; ++i) text += fmt::format(" {:>11} ", head(i));
        text += "\n";
        for (const Measure& measure : measures) {
            std::vector<std::optional<double>> values;
            for (const EvaluatedNetwork* network : columns) values.push_back(measure.of(*network));
            if (std::ranges::none_of(values, [](const auto& v) { return v.has_value(); })) continue;
            const std::vector<bool> best = measure.higher ? best_of(values, *measure.higher)
                                                          : std::vector<bool>(values.size(), false);
            text += fmt::format("  {:<18}", measure.name);
            for (std::size_t i = begin; i < end; ++i)
                text += fmt::format(" {:>11}{}", number(values[i]), best[i] ? "*" : " ");
            text += "\n";
        }
    }
    return text + pairs_text(table);
}

Json to_json(const EvaluationTable& table) {
    Json json{{"task", table.task}, {"phase", table.phase}};
    if (table.truth) json["answers"] = table.truth->rows();
    json["networks"] = Json::array();
    for (const EvaluatedNetwork& network : table.networks)
        json["networks"].push_back(network_json(table, network));
    if (table.together) {
        json["ensemble"] = network_json(table, *table.together);
        json["ensemble"]["name"] = table.ensemble;
        if (!table.weights.empty()) json["ensemble"]["weights"] = table.weights;
    }
    if (!table.asked_pairs) return json;
    json["pairs"] = Json::array();
    for (const evolve::ComplementaryPair& pair : table.pairs)
        json["pairs"].push_back({{"first", pair.first},
                                 {"second", pair.second},
                                 {"coverage", pair.coverage},
                                 {"overlap", pair.overlap},
                                 {"similarity", pair.similarity}});
    return json;
}

}  // namespace cambrian::launch
