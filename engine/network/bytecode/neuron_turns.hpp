#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/layers/neurons.hpp"

namespace cambrian {

/// The order in which the neurons of a plan are computed: often two at a time, for a lane of a GPU
/// that computes one alone waits for itself. A neuron that is not in the longest chain of those
/// left may wait for another to go with, so that neurons of one kind have as many groups as the
/// longest chain has neurons.
class NeuronTurns {
  public:
    struct Turn {
        std::int64_t first = 0;
        std::int64_t second = none;  ///< Goes with it: of the same activation and aggregation.
        /// Whether the next turn is of the same group: its neurons have the same activation and
        /// aggregation and are plastic where these are. Of a group none depends on another in a
        /// step, and turns of two come first.
        bool joins = false;
    };
    static constexpr std::int64_t none = -1;

    NeuronTurns(const Neurons& layer, const NeuronPlan& plan);

    [[nodiscard]] const std::vector<Turn>& turns() const { return turns_; }

    /// Words of two neurons that go together: of each, a head, what else is before its inputs, and
    /// these.
    static constexpr std::int64_t words_of_two = 8;
    /// Whether two neurons that are not plastic have so few inputs that they go together: half of
    /// the words each or, where sums are all they compute, five and three.
    /// @param inputs of the one that has more, if any has.
    /// @param before words before the inputs of each.
    [[nodiscard]] static constexpr bool fit(std::int64_t inputs, std::int64_t fewer_inputs,
                                            std::int64_t before, bool sums) {
        constexpr std::int64_t half = words_of_two / 2;
        if (before + inputs <= half) return true;
        return sums && before + inputs == half + 1 && before + fewer_inputs <= half - 1;
    }

  private:
    std::vector<Turn> turns_;
};

}  // namespace cambrian
