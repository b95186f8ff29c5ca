#pragma once

#include <cstddef>
#include <cstdint>

#include "cambrian/engine/cpu/bytecode/row_products.hpp"
#include "cambrian/engine/cpu/bytecode/row_words.hpp"
#include "cambrian/engine/cpu/bytecode/rows.hpp"

namespace cambrian::cpu::bytecode {

/// What the instructions of some rows work with.
template <class Words>
class RowPass {
  public:
    RowPass(const BytecodeRun& run, const Words& words, const typename Words::State& state)
        : run_(run), words_(words), state_(state) {}

    [[nodiscard]] float* at(std::int64_t word) const { return run_.memory + word * words_.size(); }

  protected:
    using Instruction = BytecodeInstruction;
    using Row = typename Words::Vector;
    static constexpr int lanes = Words::width;
    static constexpr auto vectors = static_cast<std::size_t>(Words::vectors());
    static constexpr auto tile = static_cast<std::size_t>(vectors_at_once<Words>);

    [[nodiscard]] const float* weights(const Instruction& instruction) const {
        return Words::weights(run_.weights, instruction.weights - run_.first_weight);
    }

    const BytecodeRun& run_;
    Words words_;
    typename Words::State state_;
};

}  // namespace cambrian::cpu::bytecode
