#include "cambrian/evolve/strategy/scores.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

FitnessRange fitness_range(const Scores& scores, std::size_t begin, std::size_t end) {
    CAMBRIAN_EXPECT(begin <= end && end <= scores.size());
    FitnessRange range;
    double sum = 0.0;
    std::uint64_t count = 0;
    for (std::size_t position = begin; position < end; ++position) {
        if (!scores.valid(position)) {
            ++range.invalid;
            continue;
        }
        const double fitness = scores.fitness[position];
        if (!range.fittest || fitness > range.best) {
            range.best = fitness;
            range.fittest = position;
        }
        range.worst = count == 0 ? fitness : std::min(range.worst, fitness);
        sum += fitness;
        ++count;
    }
    if (count > 0) {
        range.mean = sum / static_cast<double>(count);
    }
    return range;
}

}  // namespace cambrian::evolve
