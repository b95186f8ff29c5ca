#include "cambrian/engine/train/training_progress.hpp"

#include <cmath>

#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian {

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
