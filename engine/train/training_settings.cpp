#include "cambrian/engine/train/training_settings.hpp"

#include <fmt/format.h>

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
    if (settings.learning_rates.empty())
        refuse("learning_rate", "empty", "one for each individual");
    for (const double rate : settings.learning_rates)
        if (!(rate >= 0.0 && std::isfinite(rate)))
            refuse("learning_rate", fmt::format("{}", rate), "a number of at least 0");
    if (settings.clip_norm && !(*settings.clip_norm > 0.0))
        refuse("clip_norm", fmt::format("{}", *settings.clip_norm), "a number above 0");
    if (settings.early_stop.patience < 0)
        refuse("early_stop.patience", fmt::format("{}", settings.early_stop.patience),
               "at least 0");
    (void)rate_factor(settings.schedule, 0.0, static_cast<double>(settings.epochs));
}

namespace {

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

bool TrainingProgress::report(double loss) {
    if (!active_) return false;
    plateau_.report(loss);
    const bool better = loss < counted_ - stop_.min_change;
    if (better) counted_ = loss;
    waited_ = better ? 0 : waited_ + 1;
    active_ = stop_.patience == 0 || waited_ < stop_.patience;
    const bool improved = loss < best_;
    if (improved) best_ = loss;
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
}

}  // namespace cambrian
