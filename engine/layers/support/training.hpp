#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {

/// A running statistic and what it becomes after a pass.
struct BufferUpdate {
    Var buffer;
    Var value;
    std::size_t range = 0;  ///< Of Network::weights(): the network that holds the layer knows.
};

/// What layers know and say while a pass of training is written into a graph; without one they are
/// in inference. One for each pass.
class TrainingPass {
  public:
    /// @param key integer [2], as of Op::random.
    /// @param id integer scalar: each gives new random numbers. Either may be per individual.
    TrainingPass(Var key, Var id) : key_(key), id_(id) {}

    [[nodiscard]] Var key() const { return key_; }
    [[nodiscard]] Var id() const { return id_; }
    /// A key [2] that nothing else in this pass has; of equal keys and ids, the same for equal
    /// calls in order.
    [[nodiscard]] Var next_key();
    /// A key [2] for each id, an integer scalar: draws `first` and the next of it under `key`.
    [[nodiscard]] static Var derived_key(Var key, Var id, std::int64_t first = 0);

    void update(Var buffer, Var value) { updates_.push_back({buffer, value}); }
    /// Of batch statistics, in the order of layers.
    [[nodiscard]] std::span<const BufferUpdate> updates() const { return updates_; }
    /// Says which range of weights the update with this number is of.
    void place(std::size_t update, std::size_t range) { updates_[update].range = range; }

  private:
    Var key_;
    Var id_;
    std::int64_t keys_ = 0;
    std::vector<BufferUpdate> updates_;
};

}  // namespace cambrian
