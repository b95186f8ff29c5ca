#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian::evolve {

/// Takes blueprints apart without building networks: what decides the compiled graph becomes a
/// hash, what may differ between individuals that share it becomes operands. Keeps its storage.
class StructureReader {
  public:
    /// Appends the activation codes (slots in index order, depth first, then the head) and enabled
    /// flags (every slot) of a blueprint; → the hash of everything else. The hash is for this
    /// process only.
    [[nodiscard]] Hash128 read(const Blueprint& blueprint);

    [[nodiscard]] const std::vector<std::int32_t>& activations() const { return activations_; }
    [[nodiscard]] const std::vector<std::int32_t>& enabled() const { return enabled_; }
    /// Forgets the operands read so far.
    void clear();

  private:
    void add_layer(const AnyLayer& layer);
    template <class Value>
    void add_value(const Value& value);
    void add(std::int64_t value) { words_.push_back(value); }

    std::vector<std::int64_t> words_;
    std::vector<std::int32_t> activations_;
    std::vector<std::int32_t> enabled_;
};

}  // namespace cambrian::evolve
