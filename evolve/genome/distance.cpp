#include "cambrian/evolve/genome/distance.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/genome/weight_math.hpp"

namespace cambrian::evolve {

namespace {

/// Adds absolute differences up; the lanes go on from gene to gene, since many have one weight.
class DifferenceSum {
  public:
    void add(const float* a, const float* b, std::int64_t count) {
        count_ += count;
        for (; count >= step; count -= step, a += step, b += step) {
            for (std::size_t k = 0; k < lanes; ++k) {
                lane_[k] += std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
            }
        }
        for (std::int64_t k = 0; k < count; ++k) {
            lane_[static_cast<std::size_t>(k)] +=
                std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
        }
    }
    [[nodiscard]] double mean() const {
        return count_ > 0 ? sum_lanes(lane_) / static_cast<double>(count_) : 0.0;
    }

  private:
    static constexpr std::int64_t step = lanes;
    std::array<double, lanes> lane_{};
    std::int64_t count_ = 0;
};

struct Unmatched {
    std::int64_t excess = 0;
    std::int64_t disjoint = 0;
    void add(const HistoricalGene& gene, std::uint64_t last_born_of_other) {
        ++(gene.born > last_born_of_other ? excess : disjoint);
    }
};

}  // namespace

double distance(const Compared& a, const Compared& b, const DistanceSettings& settings) {
    Unmatched unmatched;
    DifferenceSum difference;
    auto left = a.history.genes.begin();
    auto right = b.history.genes.begin();
    const auto left_end = a.history.genes.end();
    const auto right_end = b.history.genes.end();
    while (left != left_end && right != right_end) {
        if (left->id == right->id) {
            if (left->form == right->form) {
                difference.add(a.weights.data() + left->offset, b.weights.data() + right->offset,
                               left->count);
            }
            ++left;
            ++right;
        } else if (left->id < right->id) {
            unmatched.add(*left++, b.history.last_born);
        } else {
            unmatched.add(*right++, a.history.last_born);
        }
    }
    for (; left != left_end; ++left) {
        unmatched.add(*left, b.history.last_born);
    }
    for (; right != right_end; ++right) {
        unmatched.add(*right, a.history.last_born);
    }
    const std::size_t larger = std::max(a.history.genes.size(), b.history.genes.size());
    const double n = larger < settings.small_genome ? 1.0 : static_cast<double>(larger);
    return (settings.excess * static_cast<double>(unmatched.excess) +
            settings.disjoint * static_cast<double>(unmatched.disjoint)) /
               n +
           settings.weight * difference.mean();
}

double distance(const Individual& a, const Individual& b, const DistanceSettings& settings) {
    CAMBRIAN_EXPECT(a.on_host() && b.on_host());
    return distance({a.structure->history(), a.weights}, {b.structure->history(), b.weights},
                    settings);
}

double distance(const Genome& a, const Genome& b, const DistanceSettings& settings) {
    return distance({history_of(a), a.weights}, {history_of(b), b.weights}, settings);
}

}  // namespace cambrian::evolve
