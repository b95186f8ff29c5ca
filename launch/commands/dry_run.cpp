#include "cambrian/launch/commands/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

struct Cost {
    std::int64_t shared = 0;     ///< Bytes of data and draws.
    std::int64_t temporary = 0;  ///< Bytes of temporaries of one run.
};

std::vector<Var> inputs(Graph& graph, const std::vector<Tensor>& tensors, const char* prefix) {
    std::vector<Var> result;
    for (const Tensor& tensor : tensors)
        result.push_back(
            graph.input(fmt::format("{}.{}", prefix, result.size()), tensor.type, tensor.shape));
    return result;
}

std::int64_t bytes(const std::vector<Tensor>& tensors) {
    constexpr std::int64_t word = 4;
    std::int64_t total = 0;
    for (const Tensor& tensor : tensors) total += tensor.shape.elements() * word;
    return total;
}

/// Compiles the objective of the starting structure, as an evaluation does.
Cost cost(const distributed::Experiment& experiment, Backend& backend, std::int64_t individuals) {
    const evolve::Task& task = *experiment.task;
    const Network network(experiment.variation.founder);
    const std::vector<Tensor> data = task.data(evolve::Phase::train);
    const std::vector<Tensor> draws = task.draws(evolve::Phase::train, experiment.seed, 0);
    const auto at_least_one = [](std::int64_t count) { return std::max<std::int64_t>(1, count); };
    Graph graph;
    const NetworkOperands operands{
        graph.input("weights", ValueType::real, Shape{network.weight_count()}),
        graph.input("activations", ValueType::integer,
                    Shape{at_least_one(network.activation_count())}),
        graph.input("enabled", ValueType::boolean, Shape{at_least_one(network.slot_count())})};
    const std::vector<Var> data_inputs = inputs(graph, data, "data");
    const std::vector<Var> draw_inputs = inputs(graph, draws, "draws");
    graph.output(
        task.build({graph, network, operands, data_inputs, draw_inputs}, evolve::Phase::train)
            .fitness);
    constexpr std::array<std::size_t, 3> per_individual{0, 1, 2};
    const auto program = backend.compile(eliminate_dead_code(vmap(graph, per_individual)));
    return {bytes(data) + bytes(draws), program->peak_bytes(individuals)};
}

std::string size_text(std::int64_t count) {
    constexpr double kibi = 1024.0;
    const auto value = static_cast<double>(count);
    if (value < 10 * kibi) return fmt::format("{} B", count);
    if (value < 10 * kibi * kibi) return fmt::format("{:.1f} KiB", value / kibi);
    if (value < 10 * kibi * kibi * kibi) return fmt::format("{:.1f} MiB", value / kibi / kibi);
    return fmt::format("{:.1f} GiB", value / kibi / kibi / kibi);
}

}  // namespace

std::string dry_run_text(const distributed::Experiment& experiment, Backend& backend, int ranks) {
    const Network network(experiment.variation.founder);
    std::string text = experiment.name + "\n" + summary_text(experiment);
    text += structure_table(network);

    const std::uint64_t population = experiment.population.size;
    const std::uint64_t fixed = experiment.distribution.shard_size;
    const std::uint64_t automatic =
        std::max<std::uint64_t>(1, population / (2 * static_cast<std::uint64_t>(ranks)));
    const std::uint64_t shard = std::min(population, fixed == 0 ? automatic : fixed);
    text += fmt::format("  ranks       {} (start more with mpirun or launch/mpi)\n", ranks);
    text += fmt::format("  backend     {}\n", backend.describe().text());
    text += fmt::format("  shards      {} individuals{}\n", shard,
                        fixed == 0 ? " at most, smaller toward the end of a generation" : "");
    if (experiment.task->signature().host) {
        text += "  memory      chosen by the task (it is evaluated on the host)\n";
        return text;
    }
    const Cost of_shard = cost(experiment, backend, static_cast<std::int64_t>(shard));
    text +=
        fmt::format("  memory      {} of temporaries for a shard, {} of data, {} of weights",
                    size_text(of_shard.temporary), size_text(of_shard.shared),
                    size_text(4 * network.weight_count() * static_cast<std::int64_t>(population)));
    const std::int64_t limit = backend.memory().limit;
    text += limit > 0 ? fmt::format(" (limit {})\n", size_text(limit)) : std::string("\n");
    return text;
}

}  // namespace cambrian::launch
