#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian {

/// Writes bytecodes, for many networks one after another: keeps its storage.
class BytecodeWriter {
  public:
    /// Whether a blueprint has a bytecode form: rows are vectors and every layer has one. Others
    /// run as graphs.
    [[nodiscard]] static bool can_write(const Blueprint& blueprint);
    /// Appends the bytecode of a blueprint that a Network was or could be built from, with all
    /// widths resolved, and the packings that fill its capacity.weights words; → what it needs.
    /// Contract: can_write.
    BytecodeCapacity write(const Blueprint& blueprint, std::vector<std::int32_t>& words,
                           std::vector<BytecodePacking>& packings);

  private:
    friend class BytecodeLayers;

    /// A value in the working memory, before it has a place there.
    struct Vector {
        std::int32_t width = 0;
        std::int32_t room = 0;       ///< Words from its place on that nothing else may use.
        std::int32_t last_use = -1;  ///< Index of an instruction.
        std::int32_t place = 0;
    };

    std::int32_t add_vector(std::int64_t width, std::int64_t more = 0);
    void add(BytecodeInstruction instruction);
    void add_weighted(BytecodeInstruction instruction, std::int64_t from, bool bias);
    void find_weights(const Blueprint& blueprint);
    void write_slots(const Blueprint& blueprint);
    std::int32_t with_links(const Blueprint& blueprint, int slot, std::int32_t value);
    [[nodiscard]] std::int32_t state_of(int source) const;
    void place_vectors();
    [[nodiscard]] std::int32_t free_place(std::int32_t room) const;

    std::vector<BytecodeInstruction>
        instructions_;                  ///< With vectors in place of addresses at first.
    std::vector<Vector> vectors_;       ///< The row first.
    std::vector<std::int32_t> tables_;  ///< Of the instructions that have one, in their order.
    std::vector<BytecodePacking>* packings_ = nullptr;    ///< The caller's, while writing.
    std::vector<std::int32_t> outputs_;                   ///< Vector of every slot's output.
    std::vector<std::int64_t> link_weights_;              ///< First weight of every link.
    std::vector<std::int32_t> live_;                      ///< Vectors placed that are still needed.
    std::vector<std::pair<int, std::int32_t>> backward_;  ///< Sources of backward links, states.
    std::int64_t packed_ = 0;
    std::int64_t state_ = 0;
    std::int64_t memory_ = 0;
    NeuronSet neurons_ = NeuronSet::none;
    ActivationSet activation_set_ = ActivationSet::common;
};

}  // namespace cambrian
