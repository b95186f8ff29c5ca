#include "cambrian/distributed/worker/part_choice.hpp"

#include <algorithm>

namespace cambrian::distributed {
namespace {

/// Shards whose fastest stands for a choice: other work of a host disturbs single ones.
constexpr std::size_t measured_shards = 4;
/// What a choice has to gain.
constexpr double worthwhile = 0.97;
constexpr std::size_t min_patience = 32;
constexpr std::size_t max_patience = 1024;

}  // namespace

std::size_t PartChoice::parts(std::size_t births) const {
    return std::clamp<std::size_t>(births / min_births, 1, chosen());
}

void PartChoice::note(std::size_t births, double seconds) {
    if (births < 2 * min_births) return;  // There was no choice.
    const double speed = seconds / static_cast<double>(births);
    fastest_ = shards_ == 0 ? speed : std::min(fastest_, speed);
    ++shards_;
    if (trying_ && shards_ == measured_shards) compare();
    if (!trying_ && shards_ >= measured_shards && shards_ >= patience_) try_next();
}

void PartChoice::compare() {
    const bool better = fastest_ < worthwhile * fastest_of_best_;
    const std::size_t before = parts_;
    if (better) parts_ = tried_;
    // On in a direction that helped, else the other one, later.
    const bool upwards = (tried_ > before) == better;
    tried_ = upwards ? 2 * parts_ : parts_ / 2;
    if (tried_ < 1 || tried_ > max_parts) tried_ = upwards ? parts_ / 2 : 2 * parts_;
    patience_ = better ? 0 : std::clamp(2 * patience_, min_patience, max_patience);
    trying_ = false;
    shards_ = 0;
}

void PartChoice::try_next() {
    fastest_of_best_ = fastest_;
    trying_ = true;
    shards_ = 0;
}

}  // namespace cambrian::distributed
