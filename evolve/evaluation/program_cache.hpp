#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/forward_model.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian::evolve {

/// Which weights of a network programs read.
enum class WeightUse : std::uint8_t {
    evaluated,  ///< Those that formats stand for, large tensors in their codes.
    masters,    ///< As they are: graphs round them, and learn.
};

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
    std::int64_t bytes = 0;  ///< Of the backend, that it keeps: not temporaries, which all share.
};

/// Adds shared inputs and everything that is to be computed for one network to a graph; → outputs.
using BuildOutputs = std::function<std::vector<Var>(Graph& graph, const ForwardModel& network,
                                                    const NetworkOperands& operands)>;

/// Inputs "weights", "activations" and "enabled" for what a network reads.
[[nodiscard]] NetworkOperands operand_inputs(Graph& graph, const Network& network, WeightUse use);

/// For every network of the structure of a blueprint.
/// @param own how many of the inputs that `build` adds first are those of each network, not of all.
[[nodiscard]] StructureProgram compile_graph(Backend& backend, const Blueprint& blueprint,
                                             WeightUse use, const BuildOutputs& build,
                                             std::size_t own);
/// For every network between the widths of a blueprint whose bytecode fits a capacity and whose
/// packed weights lie among `pool` words that all share.
[[nodiscard]] StructureProgram compile_interpreter(Backend& backend, const Blueprint& blueprint,
                                                   const BytecodeCapacity& capacity,
                                                   std::int64_t pool, const BuildOutputs& build,
                                                   std::size_t own);

struct ProgramKey {
    Hash128 structure;
    std::int64_t variant = 0;  ///< Which of the structure's graphs.
    bool operator==(const ProgramKey&) const = default;
};

/// Compiled programs, the least recently used one forgotten first: when there are too many, or
/// when they keep too much memory.
class ProgramCache {
  public:
    ProgramCache(std::size_t max_programs, std::int64_t max_bytes)
        : max_programs_(max_programs), max_bytes_(max_bytes) {}

    /// Null when it is not there; else it becomes the most recent one.
    [[nodiscard]] StructureProgram* find(const ProgramKey& key);
    /// Adds the most recent one. References to others may end.
    StructureProgram& insert(const ProgramKey& key, StructureProgram program);

    [[nodiscard]] std::size_t size() const { return recent_.size(); }

  private:
    struct Entry {
        ProgramKey key;
        StructureProgram program;
    };
    struct KeyHasher {
        std::size_t operator()(const ProgramKey& key) const {
            return Hash128Hasher()(key.structure) ^ static_cast<std::size_t>(key.variant);
        }
    };
    void forget_oldest();

    std::size_t max_programs_;
    std::int64_t max_bytes_;
    std::int64_t bytes_ = 0;
    std::list<Entry> recent_;
    std::unordered_map<ProgramKey, std::list<Entry>::iterator, KeyHasher> positions_;
};

}  // namespace cambrian::evolve
