#include "cambrian/evolve/evaluation/population_runner.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t max_programs = 512;
constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 30;
/// A quarter of the memory for what programs keep, a quarter for operands and outputs; the rest is
/// for data and for the temporaries that all programs share.
std::int64_t share_of_memory(const Backend& backend) {
    const std::int64_t limit = backend.memory().limit;
    return limit > 0 ? limit / 4 : unlimited_bytes;
}

/// Bytes in use but for temporaries.
std::int64_t kept_bytes(const Backend& backend) {
    const Backend::Memory memory = backend.memory();
    return memory.used - memory.temporaries;
}

/// Names the interpreter of a capacity and of so many weights among the structures.
Hash128 key_of(const BytecodeCapacity& capacity, std::int64_t pool) {
    const std::array<std::int64_t, 8> words{-1,
                                            capacity.words,
                                            capacity.weights,
                                            capacity.state,
                                            capacity.memory,
                                            static_cast<std::int64_t>(capacity.neurons),
                                            static_cast<std::int64_t>(capacity.activations),
                                            pool};
    return hash128(std::as_bytes(std::span(words)));
}

void check_outputs(const StructureProgram& program, std::span<const PopulationOutput> outputs) {
    CAMBRIAN_ASSERT(program.outputs.size() == outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
        CAMBRIAN_ASSERT(program.outputs[i].elements == outputs[i].elements &&
                        program.outputs[i].type == outputs[i].type);
}

}  // namespace

PopulationRunner::PopulationRunner(Backend& backend, Family family, WeightUse use)
    : backend_(backend),
      use_(use),
      cache_(max_programs, share_of_memory(backend)),
      stage_(backend, family, use) {}

/// Counted in 30 bits: bytecodes hold places among weights as integers.
std::int64_t PopulationRunner::max_operand_words() const {
    const auto flights = static_cast<std::int64_t>(flights_in_use_);
    return std::min(share_of_memory(backend_) / word_bytes / flights, std::int64_t{1} << 30);
}

std::size_t PopulationRunner::flights() const {
    // All have as large a pool, that of the largest population so far.
    const std::int64_t pool = std::max<std::int64_t>(stage_.pool() * word_bytes, 1);
    const auto fitting = static_cast<std::size_t>(share_of_memory(backend_) / pool);
    const std::size_t most = std::clamp<std::size_t>(backend_.queues(), 2, max_flights);
    return std::clamp<std::size_t>(fitting, 1, most);
}

void PopulationRunner::use_queue_of(std::size_t number) {
    const std::size_t queues = backend_.queues();
    backend_.use_queue(number % queues, std::min(flights_in_use_, queues));
}

bool PopulationRunner::forget_flights() {
    bool held = false;
    for (std::size_t i = 1; i < flights_.size(); ++i) {
        held = held || flights_[i].operands.weights.get() != nullptr;
        flights_[i] = {};
    }
    return held;
}

void PopulationRunner::start(std::size_t number, std::size_t of,
                             std::span<const Individual* const> individuals,
                             const PopulationRequest& request) {
    CAMBRIAN_EXPECT(number < of && of <= max_flights);
    Flight& flight = flights_.at(number);
    flights_in_use_ = of;
    use_queue_of(number);
    flight.outputs.clear();
    flight.begin = flight.end = 0;
    if (individuals.empty()) return;
    GenomeGroups& groups = flight.groups;
    groups.arrange(stage_.read(individuals, max_operand_words()), backend_.lockstep());
    prepare_outputs(
        flight, program_for(*individuals[groups.order()[0]], groups.group_at(0).structure, request),
        individuals.size());
    bool first = true;
    const std::size_t positions = groups.order().size();
    while (flight.end < positions) {
        if (!first) {
            collect(flight);
            ++splits_;
        }
        flight.begin = flight.end;
        flight.end = wave_end(flight, individuals, request.own);
        stage_.upload(individuals, groups.order().subspan(flight.begin, flight.end - flight.begin),
                      flight.operands);
        upload_own(flight, request.own);
        run_wave(flight, individuals, request);
        if (first && request.meanwhile != nullptr) (*request.meanwhile)();
        first = false;
    }
}

const std::vector<PopulationOutput>& PopulationRunner::finish(std::size_t number) {
    Flight& flight = flights_.at(number);
    use_queue_of(number);
    collect(flight);
    return flight.outputs;
}

StructureProgram& PopulationRunner::program_for(const Individual& individual,
                                                const GenomeStructure& structure,
                                                const PopulationRequest& request) {
    const bool graph = structure.size_class == as_graph;
    const BytecodeCapacity capacity =
        graph ? BytecodeCapacity{} : stage_.capacity(structure.size_class);
    const ProgramKey key{.structure = graph ? structure.hash : key_of(capacity, stage_.pool()),
                         .variant = request.variant};
    if (StructureProgram* found = cache_.find(key)) {
        ++reused_;
        return *found;
    }
    ++compiled_;
    const std::size_t own = request.own.size();
    const std::int64_t before = kept_bytes(backend_);
    StructureProgram program =
        graph ? compile_graph(backend_, individual.blueprint(), use_, request.build, own)
              : compile_interpreter(backend_, individual.blueprint(), capacity, stage_.pool(),
                                    request.build, own);
    // Less where the backend has given something back meanwhile.
    program.bytes = std::max<std::int64_t>(kept_bytes(backend_) - before, 0);
    return cache_.insert(key, std::move(program));
}

void PopulationRunner::prepare_outputs(Flight& flight, const StructureProgram& program,
                                       std::size_t networks) {
    for (const auto& [type, elements] : program.outputs) {
        flight.outputs.push_back({.type = type, .elements = elements, .reals = {}, .integers = {}});
        PopulationOutput& output = flight.outputs.back();
        const std::size_t total = networks * static_cast<std::size_t>(elements);
        (type == ValueType::real ? output.reals.resize(total) : output.integers.resize(total));
    }
    const auto same_type = [&](const GrowingBuffer& buffer, const PopulationOutput& output) {
        return buffer.type() == output.type;
    };
    if (std::ranges::equal(flight.buffers, flight.outputs, same_type)) return;
    flight.buffers.clear();
    for (const PopulationOutput& output : flight.outputs) flight.buffers.emplace_back(output.type);
}

std::size_t PopulationRunner::wave_end(const Flight& flight,
                                       std::span<const Individual* const> individuals,
                                       std::span<const OwnInput> own) const {
    const std::int64_t room = max_operand_words();
    std::int64_t output_elements = 0;
    for (const PopulationOutput& output : flight.outputs) output_elements += output.elements;
    for (const OwnInput& input : own) output_elements += input.elements;
    std::int64_t words = 0;
    std::size_t end = flight.begin;
    for (; end < flight.groups.order().size(); ++end) {
        const Individual& individual = *individuals[flight.groups.order()[end]];
        words += stage_.words(individual, flight.groups.group_at(end).structure) + output_elements;
        if (words > room && end > flight.begin) break;
    }
    return end;
}

/// By position, as all that networks have for themselves.
void PopulationRunner::upload_own(const Flight& flight, std::span<const OwnInput> own) {
    while (own_buffers_.size() < own.size()) own_buffers_.emplace_back(ValueType::real);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto width = static_cast<std::size_t>(own[i].elements);
        CAMBRIAN_EXPECT(own[i].values.size() % width == 0);
        reals_.clear();
        for (const std::uint32_t genome :
             flight.groups.order().subspan(flight.begin, flight.end - flight.begin)) {
            const auto values = own[i].values.subspan(genome * width, width);
            reals_.insert(reals_.end(), values.begin(), values.end());
        }
        Buffer& buffer = own_buffers_[i].hold(backend_, static_cast<std::int64_t>(reals_.size()));
        backend_.upload(buffer, 0, std::span<const float>(reals_));
    }
}

void PopulationRunner::run_wave(Flight& flight, std::span<const Individual* const> individuals,
                                const PopulationRequest& request) {
    const auto networks = static_cast<std::int64_t>(flight.end - flight.begin);
    for (std::size_t i = 0; i < flight.outputs.size(); ++i)
        flight.buffers[i].hold(backend_, networks * flight.outputs[i].elements);
    const GenomeGroups& groups = flight.groups;
    for (std::size_t position = flight.begin; position < flight.end;) {
        const std::size_t last = std::min(flight.end, groups.end_of_program(position));
        StructureProgram& program = program_for(*individuals[groups.order()[position]],
                                                groups.group_at(position).structure, request);
        check_outputs(program, flight.outputs);
        if (!program.interpreted)
            for (const std::uint32_t genome : groups.order().subspan(position, last - position))
                CAMBRIAN_ASSERT(individuals[genome]->structure->weight_count() == program.weights);
        run_group(flight, program, position, last, request);
        position = last;
    }
}

void PopulationRunner::run_group(const Flight& flight, StructureProgram& program, std::size_t begin,
                                 std::size_t end, const PopulationRequest& request) {
    const auto max_population = static_cast<std::size_t>(program.program->max_population());
    const std::size_t allowed = program.per_individual ? std::min(end - begin, max_population) : 1;
    std::size_t piece = allowed;
    const Backend::Memory memory = backend_.memory();
    if (memory.limit > 0)
        while (piece > 1 && program.program->peak_bytes(static_cast<std::int64_t>(piece)) >
                                memory.limit - memory.used + memory.temporaries)
            piece = (piece + 1) / 2;
    for (std::size_t position = begin; position < end; position += piece) {
        const std::size_t count = std::min(piece, end - position);
        const std::size_t of_wave = position - flight.begin;
        const auto at = static_cast<std::int64_t>(of_wave);
        inputs_.clear();
        stage_.bind(of_wave, program.interpreted, flight.operands, inputs_);
        for (std::size_t i = 0; i < request.own.size(); ++i)
            inputs_.push_back({own_buffers_[i].get(), at * request.own[i].elements});
        inputs_.insert(inputs_.end(), request.shared.begin(), request.shared.end());
        bound_outputs_.clear();
        for (std::size_t i = 0; i < flight.outputs.size(); ++i)
            bound_outputs_.push_back({flight.buffers[i].get(), at * flight.outputs[i].elements});
        program.program->run(static_cast<std::int64_t>(count), inputs_, bound_outputs_);
        if (piece < allowed && position + count < end) ++splits_;
    }
}

void PopulationRunner::collect(Flight& flight) {
    const auto order = flight.groups.order().subspan(flight.begin, flight.end - flight.begin);
    const auto scatter = [&](auto& staged, auto& target, std::int64_t elements, Buffer& buffer) {
        const auto width = static_cast<std::size_t>(elements);
        staged.resize(order.size() * width);
        backend_.download(buffer, 0, std::span(staged));
        for (std::size_t i = 0; i < order.size(); ++i)
            std::copy_n(staged.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        target.begin() + static_cast<std::ptrdiff_t>(order[i] * width));
    };
    for (std::size_t i = 0; i < flight.outputs.size(); ++i) {
        PopulationOutput& output = flight.outputs[i];
        Buffer& buffer = *flight.buffers[i].get();
        if (output.type == ValueType::real)
            scatter(reals_, output.reals, output.elements, buffer);
        else
            scatter(integers_, output.integers, output.elements, buffer);
    }
}

}  // namespace cambrian::evolve
