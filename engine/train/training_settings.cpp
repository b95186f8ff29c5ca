#include "cambrian/engine/train/training_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian {
void check(const TrainingSettings& settings) {
    const auto refuse = [](std::string_view key, const std::string& is, std::string_view allowed) {
        throw ConfigError(
            fmt::format("training.{} is {} ({} is needed) change it", key, is, allowed));
    };
    if (settings.epochs < 1) refuse("epochs", fmt::format("{}", settings.epochs), "at least 1");
    if (settings.batch < 1) refuse("batch", fmt::format("{}", settings.batch), "at least 1");
    // Devices compute with float32, where others may be 0 or infinite.
    const auto numbers_of = [](const FieldRange& range) {
        return fmt::format("a number from {} to {}", range.min, range.max);
    };
    const auto require = [&](std::string_view key, double number, const FieldRange& range) {
        if (!range.contains(number)) refuse(key, fmt::format("{}", number), numbers_of(range));
    };
    const auto require_or_zero = [&](std::string_view key, double number) {
        if (number != 0.0 && !representable.contains(number))
            refuse(key, fmt::format("{}", number), "0 or " + numbers_of(representable));
    };
    if (settings.learning_rates.empty())
        refuse("learning_rate", "empty", "one for each individual");
    for (const double rate : settings.learning_rates) require_or_zero("learning_rate", rate);
    if (settings.clip_norm) require("clip_norm", *settings.clip_norm, largest_norms);
    if (settings.early_stop.patience < 0)
        refuse("early_stop.patience", fmt::format("{}", settings.early_stop.patience),
               "at least 0");
    const TargetSettings& targets = settings.targets;
    require("targets.step", targets.step, representable);
    require_or_zero("targets.inverse_learning_rate", targets.inverse_learning_rate);
    require_or_zero("targets.inverse_noise", targets.inverse_noise);
    if (settings.method == TrainingMethod::gradient && !(targets == TargetSettings{}))
        throw ConfigError(
            "training.targets is set (the method gradient has no targets) leave it out, or set "
            "training.method to \"target_propagation\" or \"difference_target_propagation\"");
    (void)rate_factor(settings.schedule, 0.0, static_cast<double>(settings.epochs));
}

namespace {

/// In files, of a best whose epoch an earlier version did not keep.
constexpr std::int64_t unknown_epoch = -1;

/// Whether a text is a pattern in which * stands for any text.
bool fits(std::string_view pattern, std::string_view text) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == text;
    if (text.substr(0, star) != pattern.substr(0, star)) return false;
    text.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped)
        if (fits(pattern, text.substr(skipped))) return true;
    return false;
}

}  // namespace

bool names_parameter(std::string_view pattern, std::string_view name) {
    for (std::size_t start = 0; start <= name.size();) {
        if (fits(pattern, name.substr(start))) return true;
        const std::size_t point = name.find('.', start);
        if (point == std::string_view::npos) break;
        start = point + 1;
    }
    return false;
}

std::vector<bool> decaying_ranges(const Network& network, std::span<const std::string> undecayed) {
    std::vector<bool> decaying;
    for (const WeightRange& range : network.weights()) decaying.push_back(range.parameter.decays());
    for (const std::string& pattern : undecayed) {
        bool found = false;
        for (std::size_t i = 0; i < decaying.size(); ++i) {
            if (!names_parameter(pattern, network.weight_name(i))) continue;
            found = true;
            decaying[i] = false;
        }
        if (!found)
            throw ConfigError(
                fmt::format("training.undecayed has \"{}\" (no parameter of the network is named "
                            "so, the first is "
                            "\"{}\") use names that 'cambrian inspect' lists, or parts of them",
                            shortened(pattern), decaying.empty() ? "" : network.weight_name(0)));
    }
    return decaying;
}

std::vector<bool> frozen_ranges(const Network& network, std::span<const std::string> frozen) {
    const std::span<const WeightRange> ranges = network.weights();
    std::vector<bool> result(ranges.size(), false);
    const int head = network.blueprint().grid.slots();
    const auto is_hidden = [&](const WeightRange& range) {
        if (range.link < 0) return range.slot != head;
        return network.blueprint().links[static_cast<std::size_t>(range.link)].target != head;
    };
    for (const std::string& name : frozen) {
        bool found = false;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            const std::string own = network.weight_name(i);
            if (!(name == "hidden" ? is_hidden(ranges[i])
                                   : own == name || own.starts_with(name + ".")))
                continue;
            result[i] = true;
            found = true;
        }
        if (found) continue;
        std::vector<std::string> parts{"hidden"};
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            const std::string own = network.weight_name(i);
            std::string part = own.substr(0, own.find('.', own.find('.') + 1));
            if (own.starts_with("head.")) part = "head";
            if (parts.back() != part) parts.push_back(std::move(part));
        }
        const std::vector<std::string_view> views(parts.begin(), parts.end());
        throw ConfigError(fmt::format(
            "training.frozen names \"{}\" (no weights of the network are called so) {} ({})", name,
            nearest_hint(name, views), fmt::join(parts, ", ")));
    }
    const auto stays = [&](std::size_t i) { return result[i] || ranges[i].parameter.buffer; };
    for (std::size_t i = 0; i < ranges.size(); ++i)
        if (!stays(i)) return result;
    if (frozen.empty()) return result;
    throw ConfigError(
        "training.frozen names all weights (nothing is left to learn) leave some of them out");
}

bool TrainingProgress::report(std::int64_t epoch, double loss) {
    if (!active_) return false;
    plateau_.report(loss);
    const bool better = loss < counted_ - stop_.min_change;
    if (better) counted_ = loss;
    waited_ = better ? 0 : waited_ + 1;
    active_ = stop_.patience == 0 || waited_ < stop_.patience;
    const bool improved = loss < best_;
    if (improved) {
        best_ = loss;
        best_epoch_ = epoch;
    }
    return improved;
}

void TrainingProgress::save(ArchiveWriter& to) const {
    plateau_.save(to);
    to.write(best_);
    to.write(counted_);
    to.write(waited_);
    to.write(active_);
}

void TrainingProgress::restore(ArchiveReader& from) {
    constexpr std::int64_t most = 1'000'000'000;  // Epochs that a training can have.
    plateau_.restore(from);
    from.read(best_);
    from.read(counted_);
    from.read(waited_);
    from.read(active_);
    if (std::isnan(best_) || std::isnan(counted_) || waited_ < 0 || waited_ > most)
        from.fail("an individual contradicts itself");
    best_epoch_.reset();
}

void TrainingProgress::save_best_epoch(ArchiveWriter& to) const {
    to.write(best_epoch_.value_or(unknown_epoch));
}

void TrainingProgress::restore_best_epoch(ArchiveReader& from, std::int64_t epochs_done) {
    std::int64_t epoch = unknown_epoch;
    from.read(epoch);
    if (epoch < unknown_epoch || epoch > epochs_done)
        from.fail("the best of an individual is of no epoch");
    if (epoch != unknown_epoch) best_epoch_ = epoch;
}

}  // namespace cambrian
