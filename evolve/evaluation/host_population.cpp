#include "cambrian/evolve/evaluation/host_population.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian::evolve {
namespace {

// Variants below are the phases of tasks that run on the backend.
constexpr std::int64_t first_batch_variant = 16;
// What steps of a batch and a number of state words are named by.
constexpr std::int64_t step_variant = std::int64_t{1} << 62;
constexpr std::int64_t max_extent = std::int64_t{1} << 30;

/// Words that a network carries in one world.
std::int64_t state_words_of(const Structure& structure) {
    if (const auto* bytecode = structure.bytecode()) return bytecode->capacity.state;
    const Network network(structure.blueprint());
    std::int64_t words = 0;
    for (const StateSpec& spec : network.state()) words += spec.shape.elements();
    return words;
}

/// The states of a network out of the words [batch, words] that were carried for it.
std::vector<Var> unpack_state(const ForwardModel& network, Var words) {
    const std::int64_t batch = words.shape()[0];
    std::vector<Var> state = network.initial_state(*words.graph, batch);
    std::int64_t first = 0;
    for (Var& part : state) {
        // Interpreters have room for more than the networks here need: it stays zero.
        const std::int64_t wanted = part.shape().elements() / batch;
        const std::int64_t held = std::min(wanted, words.shape()[1] - first);
        if (held == 0) continue;
        Var carried = slice(words, 1, first, held);
        if (held < wanted) carried = pad(carried, 1, 0, wanted - held);
        part = reshape(carried, part.shape());
        first += held;
    }
    return state;
}

/// The other way round.
Var pack_state(std::span<const Var> state, Var before) {
    const std::int64_t batch = before.shape()[0];
    const std::int64_t words = before.shape()[1];
    std::vector<Var> parts;
    std::int64_t filled = 0;
    for (const Var part : state) {
        const std::int64_t own = part.shape().elements() / batch;
        const std::int64_t held = std::min(own, words - filled);
        if (held == 0) continue;
        parts.push_back(slice(reshape(part, Shape{batch, own}), 1, 0, held));
        filled += held;
    }
    if (filled < words) parts.push_back(slice(before, 1, filled, words - filled));
    return parts.size() == 1 ? parts.front() : concat(parts, 1);
}

}  // namespace

HostPopulation::HostPopulation(Backend& backend, PopulationRunner& runner,
                               const TaskSignature& signature,
                               std::span<const Individual* const> individuals,
                               std::span<const BirthId> origins)
    : backend_(backend),
      runner_(runner),
      observations_(signature.observations),
      individuals_(individuals),
      origins_(origins),
      steps_(individuals.size()),
      failed_(individuals.size()) {
    CAMBRIAN_EXPECT(origins.empty() || origins.size() == individuals.size());
}

std::vector<float> HostPopulation::outputs(std::span<const float> inputs, std::int64_t batch) {
    if (batch < 1 || static_cast<std::int64_t>(inputs.size()) != batch * observations_)
        throw ShapeError(fmt::format(
            "a population was given {} values for {} rows (a row has {} observations) pass batch × "
            "observations values, row by row",
            inputs.size(), batch, observations_));
    backend_.upload(inputs_.hold(backend_, batch * observations_), 0, inputs);

    const auto build = [&](Graph& graph, const ForwardModel& network,
                           const NetworkOperands& operands) {
        const Var rows = graph.input("rows", ValueType::real, Shape{batch, observations_});
        return std::vector<Var>{stateless_outputs(network, rows, operands)};
    };
    const std::array<Binding, 1> shared{{{inputs_.get(), 0}}};
    return runner_
        .run(individuals_,
             {.variant = first_batch_variant + batch, .build = build, .shared = shared})[0]
        .reals;
}

void HostPopulation::begin_worlds(std::int64_t batch) {
    if (batch_ == batch) return;
    if (batch_ != 0)
        throw ShapeError(fmt::format(
            "a population was stepped in {} worlds of each network, and then in {} (networks carry "
            "what they remember of each world) call reset() before",
            batch_, batch));
    std::int64_t words = 0;
    for (const Individual* individual : individuals_)
        words = std::max(words, state_words_of(*individual->structure));
    state_words_ = words == 0 ? 0 : generous(words, 4);
    batch_ = batch;
    state_.assign(individuals_.size() * static_cast<std::size_t>(batch * state_words_), 0.0F);
}

std::vector<float> HostPopulation::step(std::span<const float> observations, std::int64_t batch) {
    const auto networks = static_cast<std::int64_t>(individuals_.size());
    if (batch < 1 || batch >= max_extent ||
        static_cast<std::int64_t>(observations.size()) != networks * batch * observations_)
        throw ShapeError(fmt::format(
            "a population of {} networks was given {} values for a step in {} worlds each (an "
            "observation has {}) pass networks × worlds × observations values",
            networks, observations.size(), batch, observations_));
    begin_worlds(batch);
    CAMBRIAN_ASSERT(state_words_ < max_extent);
    const auto build = [&](Graph& graph, const ForwardModel& network,
                           const NetworkOperands& operands) {
        const Var rows = graph.input("observations", ValueType::real, Shape{batch, observations_});
        if (state_words_ == 0) return std::vector<Var>{stateless_outputs(network, rows, operands)};
        const Var words = graph.input("state", ValueType::real, Shape{batch, state_words_});
        if (!network.stateful())
            return std::vector<Var>{network.apply(rows, operands), words + 0.0};
        const StepResult result = network.step(rows, unpack_state(network, words), operands);
        return std::vector<Var>{result.output, pack_state(result.state, words)};
    };
    const std::array<OwnInput, 2> own{{{.elements = batch * observations_, .values = observations},
                                       {.elements = batch * state_words_, .values = state_}}};
    const auto& outputs =
        runner_.run(individuals_, {.variant = step_variant | (batch << 31) | state_words_,
                                   .build = build,
                                   .own = std::span(own).first(state_words_ == 0 ? 1 : 2),
                                   .shared = {}});
    if (state_words_ > 0) state_ = outputs[1].reals;
    return outputs[0].reals;
}

void HostPopulation::reset(std::span<const std::uint8_t> worlds) {
    if (batch_ == 0) return;
    if (worlds.size() != individuals_.size() * static_cast<std::size_t>(batch_))
        throw ShapeError(fmt::format(
            "{} marks were given to reset worlds (there are {} networks with {} each) pass one for "
            "each world",
            worlds.size(), individuals_.size(), batch_));
    const auto words = static_cast<std::size_t>(state_words_);
    for (std::size_t world = 0; world < worlds.size(); ++world)
        if (worlds[world] != 0)
            std::fill_n(state_.begin() + static_cast<std::ptrdiff_t>(world * words), words, 0.0F);
}

void HostPopulation::require(std::size_t network) const {
    if (network >= individuals_.size())
        throw ShapeError(
            fmt::format("a population was asked about network {} (there are {}, counted from 0) "
                        "name one below size()",
                        network, individuals_.size()));
}

std::optional<BirthId> HostPopulation::origin(std::size_t network) const {
    require(network);
    if (origins_.empty()) return std::nullopt;
    return origins_[network];
}

Genome HostPopulation::genome(std::size_t network) const {
    require(network);
    return genome_of(copy_to_host(*individuals_[network], backend_));
}

void HostPopulation::count_steps(std::size_t network, std::uint64_t steps) {
    require(network);
    steps_[network] += steps;
}

void HostPopulation::fail(std::size_t network) {
    require(network);
    failed_[network] = true;
}

Var stateless_outputs(const ForwardModel& network, Var rows, const NetworkOperands& operands) {
    if (!network.stateful()) return network.apply(rows, operands);
    const std::vector<Var> zeros = network.initial_state(*rows.graph, rows.shape()[0]);
    return network.step(rows, zeros, operands).output;
}

}  // namespace cambrian::evolve
