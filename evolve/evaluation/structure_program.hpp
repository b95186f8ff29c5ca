#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/forward_model.hpp"

namespace cambrian::evolve {

/// A graph compiled for many networks, all of one structure or all whose bytecodes fit, and the
/// sizes of what is bound to it: weights, activations and enabled flags of each, or the packed
/// weights of all and the bytecode of each.
struct StructureProgram {
    struct Output {
        ValueType type = ValueType::real;
        std::int64_t elements = 0;  ///< Of one individual.
    };
    std::unique_ptr<Program> program;
    std::int64_t weights = 0;
    std::int64_t activations = 0;  ///< Or words of the bytecode.
    std::int64_t slots = 0;        ///< None with a bytecode.
    bool interpreted = false;
    bool per_individual = true;  ///< Every output is; else individuals must run one by one.
    std::vector<Output> outputs;
    std::int64_t bytes = 0;  ///< Of its last run's temporaries.
};

/// Adds shared inputs and everything that is to be computed for one network to a graph; → outputs.
using BuildOutputs = std::function<std::vector<Var>(Graph& graph, const ForwardModel& network,
                                                    const NetworkOperands& operands)>;

/// For every network of the structure of a blueprint.
[[nodiscard]] StructureProgram compile_graph(Backend& backend, const Blueprint& blueprint,
                                             const BuildOutputs& build);
/// For every network between the widths of a blueprint whose bytecode fits a capacity and whose
/// packed weights lie among `pool` words that all share.
[[nodiscard]] StructureProgram compile_interpreter(Backend& backend, const Blueprint& blueprint,
                                                   const BytecodeCapacity& capacity,
                                                   std::int64_t pool, const BuildOutputs& build);

}  // namespace cambrian::evolve
