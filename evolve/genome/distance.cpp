#include "cambrian/evolve/genome/distance.hpp"

#include <algorithm>
#include <cmath>

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

void count_unmatched(const HistoricalGene& gene, const History& other, GeneCounts& counts) {
    ++(gene.born > other.last_born ? counts.excess : counts.disjoint);
}

/// Calls matched(gene of a, gene of b) in ascending ids; counts the rest, too. A gene that both
/// have in forms that cannot be compared is one of the rest, once.
template <class Matched>
GeneCounts for_each_match(const History& a, const History& b, Matched matched) {
    GeneCounts counts;
    auto left = a.genes.begin();
    auto right = b.genes.begin();
    while (left != a.genes.end() && right != b.genes.end()) {
        if (left->id == right->id) {
            if (left->form == right->form) {
                ++counts.matching;
                matched(*left, *right);
            } else {
                ++counts.disjoint;
            }
            ++left;
            ++right;
        } else if (left->id < right->id) {
            count_unmatched(*left++, b, counts);
        } else {
            count_unmatched(*right++, a, counts);
        }
    }
    for (; left != a.genes.end(); ++left) count_unmatched(*left, b, counts);
    for (; right != b.genes.end(); ++right) count_unmatched(*right, a, counts);
    return counts;
}

}  // namespace

GeneCounts count_genes(const History& a, const History& b) {
    return for_each_match(a, b, [](const HistoricalGene&, const HistoricalGene&) {});
}

double distance(const Compared& a, const Compared& b, const DistanceSettings& settings) {
    DifferenceSum difference;
    const GeneCounts counts = for_each_match(
        a.history, b.history, [&](const HistoricalGene& left, const HistoricalGene& right) {
            difference.add(a.weights.data() + left.offset, b.weights.data() + right.offset,
                           left.count);
        });
    const std::size_t larger = std::max(a.history.genes.size(), b.history.genes.size());
    const double n = larger < settings.small_genome ? 1.0 : static_cast<double>(larger);
    return (settings.excess * static_cast<double>(counts.excess) +
            settings.disjoint * static_cast<double>(counts.disjoint)) /
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
