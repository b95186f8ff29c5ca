#include "cambrian/evolve/evaluation/program_cache.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/network/structure_words.hpp"

namespace cambrian::evolve {

StructureProgram* ProgramCache::find(const ProgramKey& key) {
    const auto found = positions_.find(key);
    if (found == positions_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return &found->second->program;
}

StructureProgram& ProgramCache::insert(const ProgramKey& key, StructureProgram program) {
    CAMBRIAN_EXPECT(!positions_.contains(key));
    const auto is_full = [&] {
        return recent_.size() >= max_programs_ || bytes_ + program.bytes > max_bytes_;
    };
    while (!recent_.empty() && is_full()) forget_oldest();
    recent_.push_front({key, std::move(program)});
    bytes_ += recent_.front().program.bytes;
    positions_.emplace(key, recent_.begin());
    return recent_.front().program;
}

void ProgramCache::forget_oldest() {
    bytes_ -= recent_.back().program.bytes;
    positions_.erase(recent_.back().key);
    recent_.pop_back();
}

namespace {

std::int64_t at_least_one(std::int64_t count) {
    return std::max<std::int64_t>(1, count);
}

/// Compiles a graph over a population, of whose inputs `count` from `first` on are those of each
/// network.
void finish(Backend& backend, const Graph& graph, std::size_t first, std::size_t count,
            StructureProgram& result) {
    std::vector<std::size_t> operands(count);
    std::iota(operands.begin(), operands.end(), first);
    const Graph population = eliminate_dead_code(vmap(graph, operands));
    for (const ValueId id : population.outputs()) {
        const ValueInfo& info = population.value(id);
        result.per_individual = result.per_individual && info.per_individual;
        result.outputs.push_back({.type = info.type, .elements = info.shape.elements()});
    }
    result.program = backend.compile(population);
}

}  // namespace

NetworkOperands operand_inputs(Graph& graph, const Network& network, WeightUse use) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    auto packed = std::make_shared<const PackedWeights>(
        network, use == WeightUse::evaluated ? min_packed_numbers : none);
    NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, Shape{packed->floats()}),
        .activations = graph.input("activations", ValueType::integer, Shape{packed->integers()}),
        .enabled =
            graph.input("enabled", ValueType::boolean,
                        Shape{at_least_one(static_cast<std::int64_t>(network.slot_count()))}),
        .masters = use == WeightUse::masters};
    if (packed->any()) operands.packed = std::move(packed);
    return operands;
}

StructureProgram compile_graph(Backend& backend, const Blueprint& blueprint, WeightUse use,
                               const BuildOutputs& build, std::size_t own) {
    const Network network(blueprint);
    StructureProgram result;
    result.weights = network.weight_count();
    result.activations = network.activation_count();
    result.slots = network.slot_count();
    StructureWords reader(StructureWords::Genes::apart);
    (void)reader.read(blueprint);
    CAMBRIAN_ASSERT(
        (result.activations == 0 || reader.activations() == network.activation_codes()) &&
        reader.enabled() == network.enabled_flags());

    Graph graph;
    const NetworkOperands operands = operand_inputs(graph, network, use);
    for (const Var output : build(graph, network, operands)) graph.output(output);
    finish(backend, graph, 0, 3 + own, result);
    return result;
}

StructureProgram compile_interpreter(Backend& backend, const Blueprint& blueprint,
                                     const BytecodeCapacity& capacity, std::int64_t pool,
                                     const BuildOutputs& build, std::size_t own) {
    const BytecodeNetwork network(blueprint.input_features, blueprint.output_features, capacity);
    StructureProgram result;
    result.interpreted = true;
    result.weights = pool;
    result.activations = capacity.words;

    Graph graph;
    const Var weights = graph.input("weights", ValueType::real, Shape{pool});
    const Var bytecode = graph.input("bytecode", ValueType::integer, Shape{capacity.words});
    const NetworkOperands operands{
        .weights = weights, .activations = bytecode, .enabled = bytecode};
    for (const Var output : build(graph, network, operands)) graph.output(output);
    finish(backend, graph, 1, 1 + own, result);
    return result;
}

}  // namespace cambrian::evolve
