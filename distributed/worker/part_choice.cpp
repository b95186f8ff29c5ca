#include "cambrian/distributed/worker/part_choice.hpp"

#include <algorithm>

namespace cambrian::distributed {
namespace {

/// What a choice has to gain.
constexpr double worthwhile = 0.97;
/// Two pairs in which the other takes so much longer are enough.
constexpr double hopeless = 1.1;
constexpr std::size_t max_first_parts = 4;
constexpr std::size_t min_patience = 32;
constexpr std::size_t max_patience = 1024;

}  // namespace

std::size_t PartChoice::parts(std::size_t births) const {
    const std::size_t best = parts_ > 0 ? parts_ : guess(births);
    return std::clamp<std::size_t>(births / settings_.min_births, 1,
                                   turn_of_other() ? other_ : best);
}

std::size_t PartChoice::guess(std::size_t births) const {
    return settings_.first_births == 0
               ? 1
               : std::clamp<std::size_t>(births / settings_.first_births, 1, max_first_parts);
}

void PartChoice::note(std::size_t births, double seconds) {
    if (births < 2 * settings_.min_births) return;  // There was no choice.
    if (parts_ == 0) {
        parts_ = guess(births);
        other_ = 2 * parts_;
    }
    const double of_birth = seconds / static_cast<double>(births);
    if (turn_of_other()) {
        ratios_.at(shards_ / 2) = of_birth / of_best_;
    } else {
        of_best_ = of_birth;
    }
    ++shards_;
    const bool in_vain = trying_ && shards_ == 4 && std::min(ratios_[0], ratios_[1]) > hopeless;
    if (in_vain) std::fill(ratios_.begin() + 2, ratios_.end(), hopeless);
    if (in_vain || (trying_ && shards_ == 2 * pairs)) {
        decide();
    } else if (!trying_ && shards_ >= patience_) {
        trying_ = true;
        shards_ = 0;
    }
}

void PartChoice::decide() {
    // The middle one: other work of a host disturbs single shards.
    auto* const middle = ratios_.begin() + pairs / 2;
    std::nth_element(ratios_.begin(), middle, ratios_.end());
    const bool better = *middle < worthwhile;
    const bool up = other_ > parts_;
    if (better) parts_ = other_;
    // On in a direction that helps, else the other one, later.
    const bool next_up = up == better;
    const std::size_t more = 2 * parts_;
    const std::size_t less = parts_ / 2;
    other_ = next_up ? more : less;
    if (other_ < 1 || other_ > max_parts) other_ = next_up ? less : more;
    patience_ = better ? 0 : std::clamp(2 * patience_, min_patience, max_patience);
    trying_ = patience_ == 0;
    shards_ = 0;
}

}  // namespace cambrian::distributed
