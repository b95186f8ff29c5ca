#include "cambrian/engine/train/loss.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/functions.hpp"
#include "cambrian/engine/graph/builders/losses.hpp"
#include "cambrian/engine/train/setting_fields.hpp"

namespace cambrian {
namespace {

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

std::vector<SettingField> fields(MeanSquaredError&) {
    return {};
}
std::vector<SettingField> fields(MeanAbsoluteError&) {
    return {};
}
std::vector<SettingField> fields(HuberLoss& loss) {
    return {{"delta", &loss.delta, positive}};
}
std::vector<SettingField> fields(CrossEntropy& loss) {
    constexpr double most = std::numeric_limits<std::int32_t>::max();
    return {{"ignore_index", &loss.ignore_index, {-most, most}}};
}
std::vector<SettingField> fields(BinaryCrossEntropy&) {
    return {};
}

std::vector<SettingField> fields(Loss& loss) {
    return std::visit([](auto& kind) { return fields(kind); }, loss);
}

struct Row {
    Loss defaults;
    bool classes = false;
    bool accuracy = false;
};
constexpr std::array<std::string_view, 5> names{"mse", "mae", "huber", "cross_entropy",
                                                "bce_with_logits"};
/// In the order of the variant and of the names.
const std::array<Row, names.size()>& rows() {
    static const std::array<Row, names.size()> table{{{MeanSquaredError{}, false, false},
                                                      {MeanAbsoluteError{}, false, false},
                                                      {HuberLoss{}, false, false},
                                                      {CrossEntropy{}, true, true},
                                                      {BinaryCrossEntropy{}, false, true}}};
    return table;
}
static_assert(std::variant_size_v<Loss> == names.size());

}  // namespace

std::span<const std::string_view> loss_types() {
    return names;
}

std::string_view name(const Loss& loss) {
    return names[loss.index()];
}

bool wants_classes(const Loss& loss) {
    return rows()[loss.index()].classes;
}

bool has_accuracy(const Loss& loss) {
    return rows()[loss.index()].accuracy;
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

Loss loss_from_json(const nlohmann::json& json, std::string_view path) {
    Loss loss = rows()[read_type(json, path, names)].defaults;
    read_fields(json, path, fields(loss), std::array<std::string_view, 1>{"type"});
    return loss;
}

nlohmann::ordered_json to_json(const Loss& loss) {
    Loss copy = loss;
    nlohmann::ordered_json json{{"type", name(loss)}};
    write_fields(json, fields(copy));
    return json;
}

}  // namespace cambrian
