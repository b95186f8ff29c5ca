#include "cambrian/engine/train/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian {
namespace {

using field_json::Kind;

/// From `first` to `last` along half a cosine; the share is from 0 to 1. The cosine is ours, the
/// same on every machine.
double along_cosine(double first, double last, double share) {
    const float cosine = elementary::cos(static_cast<float>(share * std::numbers::pi));
    return last + (first - last) * 0.5 * (1.0 + static_cast<double>(cosine));
}

/// A moment of the training after the warm-up.
struct Moment {
    double done;   ///< Epochs.
    double share;  ///< Of all epochs.
};

double factor(const ConstantRate&, const Moment&) {
    return 1.0;
}
double factor(const LinearRate& linear, const Moment& moment) {
    return 1.0 + (linear.end_factor - 1.0) * moment.share;
}
double factor(const CosineRate& cosine, const Moment& moment) {
    return along_cosine(1.0, cosine.end_factor, moment.share);
}
double factor(const StepRate& step, const Moment& moment) {
    double result = 1.0;
    // A product and no power: it rounds the same everywhere.
    for (double left = moment.done - step.epochs; left > 0.0 && result > 0.0; left -= step.epochs)
        result *= step.factor;
    return result;
}
double factor(const OneCycleRate& cycle, const Moment& moment) {
    if (moment.share <= cycle.rise)
        return along_cosine(cycle.start_factor, 1.0, moment.share / cycle.rise);
    return along_cosine(1.0, cycle.end_factor, (moment.share - cycle.rise) / (1.0 - cycle.rise));
}
double factor(const PlateauRate&, const Moment&) {
    return 1.0;
}

/// In the order of the variant.
const std::vector<Kind<RateRule>>& rate_kinds() {
    static const std::vector<Kind<RateRule>> table{
        {"constant", ConstantRate{}, "It stays."},
        {"linear", LinearRate{}, "From 1 to end_factor in a line."},
        {"cosine", CosineRate{}, "From 1 to end_factor along half a cosine."},
        {"step", StepRate{}, "Times factor after every so many epochs."},
        {"one_cycle", OneCycleRate{}, "Up and down once (Smith and Topin, 2019)."},
        {"plateau", PlateauRate{}, "Times factor where the loss stays."}};
    return table;
}

}  // namespace

std::span<const std::string_view> schedule_types() {
    static const std::vector<std::string_view> names = field_json::names(rate_kinds());
    return names;
}

std::string_view name(const Schedule& schedule) {
    return rate_kinds()[schedule.rule.index()].name;
}

float rate_factor(const Schedule& schedule, double done, double total) {
    if (schedule.warm_up >= total && schedule.warm_up > 0.0)
        throw ConfigError(
            fmt::format("training.schedule.warm_up is {} (the training has {} epochs) use a "
                        "shorter one",
                        schedule.warm_up, total));
    if (done <= schedule.warm_up && schedule.warm_up > 0.0)
        return static_cast<float>(done / schedule.warm_up);
    const double since = done - schedule.warm_up;
    const Moment moment{since, std::min(since / (total - schedule.warm_up), 1.0)};
    return static_cast<float>(
        std::visit([&](const auto& rule) { return factor(rule, moment); }, schedule.rule));
}

Plateau::Plateau(const Schedule& schedule)
    : rule_(schedule.rule), best_(std::numeric_limits<double>::infinity()) {}

void Plateau::save(ArchiveWriter& to) const {
    to.write(factor_);
    to.write(best_);
    to.write(waited_);
}

void Plateau::restore(ArchiveReader& from) {
    from.read(factor_);
    from.read(best_);
    from.read(waited_);
    if (!(factor_ >= 0.0 && factor_ <= 1.0) || std::isnan(best_) || waited_ < 0)
        from.fail("a plateau contradicts itself");
}

void Plateau::report(double loss) {
    const PlateauRate* plateau = rule();
    if (plateau == nullptr) return;
    // A loss that is not a number is no progress.
    const bool first = best_ == std::numeric_limits<double>::infinity();
    if (first ? loss < best_ : loss < best_ - plateau->threshold * std::abs(best_)) {
        best_ = loss;
        waited_ = 0;
        return;
    }
    if (++waited_ <= plateau->patience) return;
    waited_ = 0;
    factor_ = std::max(factor_ * plateau->factor, plateau->min_factor);
}

Schedule schedule_from_json(const nlohmann::json& json, std::string_view path) {
    constexpr auto warm_up = Schedule::fields([](const auto& field) { return field; });
    Schedule schedule{.rule = field_json::read_kind(json, path, rate_kinds(), {warm_up.name})};
    if (const nlohmann::json* value = json_read::find(json, warm_up.name))
        field_json::read(schedule.warm_up, *value, json_read::member(path, warm_up.name),
                         warm_up.range);
    return schedule;
}

nlohmann::ordered_json to_json(const Schedule& schedule) {
    nlohmann::ordered_json json;
    field_json::write_kind(json, name(schedule), schedule.rule);
    json["warm_up"] = schedule.warm_up;
    return json;
}

nlohmann::ordered_json schedule_schema() {
    nlohmann::ordered_json variants;
    field_json::describe_kinds(variants, rate_kinds());
    return variants;
}

}  // namespace cambrian
