#include "cambrian/engine/train/training_settings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

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
