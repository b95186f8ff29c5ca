#include "cambrian/engine/train/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {
namespace {

using field_json::Kind;

Var number(Var beside, double value) {
    return constant(*beside.graph, value);
}

Var element_count(Var x) {
    return number(x, static_cast<double>(x.shape().elements()));
}

/// How many of these flags are set.
Var how_many(Var flags) {
    return sum_all(cast(flags, ValueType::real));
}

LossTerms terms(const MeanSquaredError&, Var prediction, Var target) {
    return {mse(prediction, target), element_count(target), number(target, 0.0)};
}
LossTerms terms(const MeanAbsoluteError&, Var prediction, Var target) {
    return {mae(prediction, target), element_count(target), number(target, 0.0)};
}
LossTerms terms(const HuberLoss& loss, Var prediction, Var target) {
    return {huber(prediction, target, loss.delta), element_count(target), number(target, 0.0)};
}
LossTerms terms(const CrossEntropy& loss, Var prediction, Var target) {
    const auto ignored = static_cast<std::int32_t>(loss.ignore_index);
    const Var mean = cross_entropy(prediction, target, {.ignored = ignored});
    const Var counts = not_equal(
        target, constant(*target.graph, static_cast<double>(ignored), ValueType::integer));
    const Var right = logical_and(counts, equal(argmax(prediction, -1), target));
    return {mean, how_many(counts), how_many(right)};
}
LossTerms terms(const BinaryCrossEntropy&, Var prediction, Var target) {
    const Var right = equal(less(0.0, prediction), less(0.5, target));
    return {bce_with_logits(prediction, target), element_count(target), how_many(right)};
}

/// What an answer that is so far off loses.
double lost(const MeanSquaredError&, double distance) {
    return distance * distance;
}
double lost(const MeanAbsoluteError&, double distance) {
    return distance;
}
double lost(const HuberLoss& loss, double distance) {
    const double squared = std::min(distance, loss.delta);
    return squared * (distance - squared / 2.0);
}

/// In the order of the variant.
const std::vector<Kind<Loss>>& loss_kinds() {
    static const std::vector<Kind<Loss>> table{
        {"mse", MeanSquaredError{}, "Mean of (y - t)^2."},
        {"mae", MeanAbsoluteError{}, "Mean of |y - t|."},
        {"huber", HuberLoss{}, "Squares near zero, lines from delta on."},
        {"cross_entropy", CrossEntropy{}, "Of logits and classes."},
        {"bce_with_logits", BinaryCrossEntropy{}, "Of logits and targets from 0 to 1."}};
    return table;
}

}  // namespace

std::span<const std::string_view> loss_types() {
    static const std::vector<std::string_view> names = field_json::names(loss_kinds());
    return names;
}

std::string_view name(const Loss& loss) {
    return loss_kinds()[loss.index()].name;
}

bool wants_classes(const Loss& loss) {
    return std::holds_alternative<CrossEntropy>(loss);
}

bool has_accuracy(const Loss& loss) {
    return wants_classes(loss) || std::holds_alternative<BinaryCrossEntropy>(loss);
}

LossTerms measure(const Loss& loss, Var prediction, Var target) {
    const bool classes = wants_classes(loss);
    const ValueType wanted = classes ? ValueType::integer : ValueType::real;
    const auto extents = prediction.shape().extents();
    const Shape shape(extents.first(extents.size() - (classes && !extents.empty() ? 1 : 0)));
    if (target.info().type != wanted || target.shape() != shape)
        throw ShapeError(fmt::format(
            "{} has targets {} {} beside predictions {} ({} {} are needed) use another loss or "
            "other targets",
            name(loss), cambrian::name(target.info().type), target.shape().text(),
            prediction.shape().text(), cambrian::name(wanted), shape.text()));
    return std::visit([&](const auto& kind) { return terms(kind, prediction, target); }, loss);
}

void require_measurable(const Loss& loss, std::span<const double> targets) {
    double distances = 0.0;
    double sum = 0.0;
    const auto add = [&](const auto& kind) {
        if constexpr (requires { lost(kind, 0.0); })
            for (const double target : targets) {
                distances += std::abs(target);
                sum += lost(kind, std::abs(target));
            }
    };
    std::visit(add, loss);
    const auto count = static_cast<double>(targets.size());
    if (sum > double{std::numeric_limits<float>::max()})
        throw ConfigError(
            fmt::format("targets are about {:.3g} from an answer of 0 (the sum of what all {} lose "
                        "so, by {}, is more than float32 holds) give them a larger unit",
                        distances / count, targets.size(), name(loss)));
    const bool vary = std::ranges::adjacent_find(targets, std::not_equal_to<>{}) != targets.end();
    // Errors of 1/4096 have squares of 2^-24, which is to be no subnormal number.
    constexpr double smallest = double{std::numeric_limits<float>::min()} * 0x1p24;
    if (!has_accuracy(loss) && vary && sum < smallest * count)
        throw ConfigError(fmt::format(
            "targets are about {:.3g} from an answer of 0 (what that loses, by {}, is less than "
            "float32 can compare) give them a smaller unit{}",
            distances / count, name(loss),
            std::holds_alternative<MeanAbsoluteError>(loss) ? "" : ", or use the loss mae"));
}

Loss loss_from_json(const nlohmann::json& json, std::string_view path) {
    return field_json::read_kind(json, path, loss_kinds());
}

nlohmann::ordered_json to_json(const Loss& loss) {
    nlohmann::ordered_json json;
    field_json::write_kind(json, name(loss), loss);
    return json;
}

nlohmann::ordered_json loss_schema() {
    nlohmann::ordered_json variants;
    field_json::describe_kinds(variants, loss_kinds());
    return variants;
}

}  // namespace cambrian
