#include "cambrian/distributed/worker/remaking_budget.hpp"

#include <algorithm>

namespace cambrian::distributed {

namespace {

/// So many times as much where weights lie on a backend: whoever is asked for them is at work
/// there.
constexpr double backend_share = 5.0;

}  // namespace

void RemakingBudget::note(const JobResult& result) {
    const auto births = static_cast<double>(result.genomes.size());
    if (births == 0.0 || result.cost.vary <= 0.0) {
        return;
    }
    double seconds_of_one = result.cost.vary / births;
    if (result.remade > 0) {
        seconds_of_one =
            std::max(seconds_of_one, result.remaking / static_cast<double>(result.remade));
    }
    const double share = share_ * (result.made_on_backend ? backend_share : 1.0);
    per_birth_ = share * result.cost.evaluate / births / seconds_of_one;
}

std::size_t RemakingBudget::remakes(std::size_t births) const {
    return static_cast<std::size_t>(std::min(per_birth_ * static_cast<double>(births), unlimited));
}

}  // namespace cambrian::distributed
