#include "cambrian/evolve/evaluation/population_runner.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t max_programs = 512;
constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 30;
constexpr std::int64_t word_bytes = 4;

/// A quarter of the memory for programs, a quarter for operands and outputs; the rest is for data
/// and for the program that runs.
std::int64_t share_of_memory(const Backend& backend) {
    const std::int64_t limit = backend.memory().limit;
    return limit > 0 ? limit / 4 : unlimited_bytes;
}

/// Operands of a wave are counted in 30 bits: bytecodes hold places among weights as integers.
std::int64_t max_operand_words(const Backend& backend) {
    return std::min(share_of_memory(backend) / word_bytes, std::int64_t{1} << 30);
}

/// Names the interpreter of a capacity and of so many weights among the structures.
Hash128 key_of(const BytecodeCapacity& capacity, std::int64_t pool) {
    const std::array<std::int64_t, 7> words{-1,
                                            capacity.words,
                                            capacity.weights,
                                            capacity.state,
                                            capacity.memory,
                                            (capacity.neurons ? 1 : 0) +
                                                (capacity.plastic ? 2 : 0) +
                                                4 * static_cast<std::int64_t>(capacity.activations),
                                            pool};
    return hash128(std::as_bytes(std::span(words)));
}

}  // namespace

PopulationRunner::PopulationRunner(Backend& backend, Family family, WeightUse use)
    : backend_(backend),
      use_(use),
      cache_(max_programs, share_of_memory(backend)),
      stage_(backend, family, use) {}

const std::vector<PopulationOutput>& PopulationRunner::run(
    std::span<const Individual* const> individuals, const PopulationRequest& request) {
    outputs_.clear();
    if (individuals.empty()) return outputs_;
    groups_.arrange(stage_.read(individuals, max_operand_words(backend_)), backend_.lockstep());
    prepare_outputs(
        program_for(*individuals[groups_.order()[0]], groups_.group_at(0).structure, request),
        individuals.size());
    const std::size_t positions = groups_.order().size();
    for (std::size_t begin = 0; begin < positions;) {
        const std::size_t end = wave_end(individuals, begin, request.own);
        stage_.upload(individuals, groups_.order().subspan(begin, end - begin));
        upload_own(request.own, begin, end);
        run_wave(individuals, begin, end, request);
        if (begin == 0 && request.meanwhile != nullptr) (*request.meanwhile)();
        collect(begin, end);
        if (end < positions) ++splits_;
        begin = end;
    }
    return outputs_;
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
    return cache_.insert(
        key, graph ? compile_graph(backend_, individual.blueprint(), use_, request.build, own)
                   : compile_interpreter(backend_, individual.blueprint(), capacity, stage_.pool(),
                                         request.build, own));
}

void PopulationRunner::prepare_outputs(const StructureProgram& program, std::size_t networks) {
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
        const auto& [type, elements] = program.outputs[i];
        outputs_.push_back({.type = type, .elements = elements, .reals = {}, .integers = {}});
        const std::size_t total = networks * static_cast<std::size_t>(elements);
        (type == ValueType::real ? outputs_[i].reals.resize(total)
                                 : outputs_[i].integers.resize(total));
    }
    const auto same_type = [&](const GrowingBuffer& buffer, const PopulationOutput& output) {
        return buffer.type() == output.type;
    };
    if (!std::ranges::equal(output_buffers_, outputs_, same_type)) {
        output_buffers_.clear();
        for (const PopulationOutput& output : outputs_) output_buffers_.emplace_back(output.type);
    }
}

std::size_t PopulationRunner::wave_end(std::span<const Individual* const> individuals,
                                       std::size_t begin, std::span<const OwnInput> own) const {
    const std::int64_t room = max_operand_words(backend_);
    std::int64_t output_elements = 0;
    for (const PopulationOutput& output : outputs_) output_elements += output.elements;
    for (const OwnInput& input : own) output_elements += input.elements;
    std::int64_t words = 0;
    std::size_t end = begin;
    for (; end < groups_.order().size(); ++end) {
        const Individual& individual = *individuals[groups_.order()[end]];
        words += stage_.words(individual, groups_.group_at(end).structure) + output_elements;
        if (words > room && end > begin) break;
    }
    return end;
}

/// By position, as all that networks have for themselves.
void PopulationRunner::upload_own(std::span<const OwnInput> own, std::size_t begin,
                                  std::size_t end) {
    while (own_buffers_.size() < own.size()) own_buffers_.emplace_back(ValueType::real);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto width = static_cast<std::size_t>(own[i].elements);
        CAMBRIAN_EXPECT(own[i].values.size() % width == 0);
        reals_.clear();
        for (const std::uint32_t genome : groups_.order().subspan(begin, end - begin)) {
            const auto values = own[i].values.subspan(genome * width, width);
            reals_.insert(reals_.end(), values.begin(), values.end());
        }
        Buffer& buffer = own_buffers_[i].hold(backend_, static_cast<std::int64_t>(reals_.size()));
        backend_.upload(buffer, 0, std::span<const float>(reals_));
    }
}

void PopulationRunner::run_wave(std::span<const Individual* const> individuals, std::size_t begin,
                                std::size_t end, const PopulationRequest& request) {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        output_buffers_[i].hold(backend_,
                                static_cast<std::int64_t>(end - begin) * outputs_[i].elements);
    for (std::size_t position = begin; position < end;) {
        const std::size_t last = std::min(end, groups_.end_of_program(position));
        StructureProgram& program = program_for(*individuals[groups_.order()[position]],
                                                groups_.group_at(position).structure, request);
        check_group(program, individuals, position, last);
        run_group(program, begin, position, last, request);
        position = last;
    }
}

void PopulationRunner::check_group(const StructureProgram& program,
                                   std::span<const Individual* const> individuals,
                                   std::size_t begin, std::size_t end) const {
    CAMBRIAN_ASSERT(program.outputs.size() == outputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        CAMBRIAN_ASSERT(program.outputs[i].elements == outputs_[i].elements &&
                        program.outputs[i].type == outputs_[i].type);
    if (program.interpreted) return;
    for (const std::uint32_t genome : groups_.order().subspan(begin, end - begin))
        CAMBRIAN_ASSERT(individuals[genome]->structure->weight_count() == program.weights);
}

void PopulationRunner::run_group(StructureProgram& program, std::size_t wave, std::size_t begin,
                                 std::size_t end, const PopulationRequest& request) {
    std::size_t piece = program.per_individual ? end - begin : 1;
    const Backend::Memory memory = backend_.memory();
    if (memory.limit > 0)
        while (piece > 1 && program.program->peak_bytes(static_cast<std::int64_t>(piece)) >
                                memory.limit - memory.used + program.bytes)
            piece = (piece + 1) / 2;
    for (std::size_t position = begin; position < end; position += piece) {
        const std::size_t count = std::min(piece, end - position);
        inputs_.clear();
        stage_.bind(position - wave, program.interpreted, inputs_);
        for (std::size_t i = 0; i < request.own.size(); ++i)
            inputs_.push_back({own_buffers_[i].get(), static_cast<std::int64_t>(position - wave) *
                                                          request.own[i].elements});
        inputs_.insert(inputs_.end(), request.shared.begin(), request.shared.end());
        bound_outputs_.clear();
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            bound_outputs_.push_back(
                {output_buffers_[i].get(),
                 static_cast<std::int64_t>(position - wave) * outputs_[i].elements});
        program.program->run(static_cast<std::int64_t>(count), inputs_, bound_outputs_);
        if (program.per_individual && position + count < end) ++splits_;
    }
    cache_.set_bytes(program.program->peak_bytes(static_cast<std::int64_t>(piece)));
}

void PopulationRunner::collect(std::size_t begin, std::size_t end) {
    const auto scatter = [&](auto& staged, auto& target, std::int64_t elements, Buffer& buffer) {
        const auto width = static_cast<std::size_t>(elements);
        staged.resize((end - begin) * width);
        backend_.download(buffer, 0, std::span(staged));
        for (std::size_t position = begin; position < end; ++position)
            std::copy_n(
                staged.begin() + static_cast<std::ptrdiff_t>((position - begin) * width), width,
                target.begin() + static_cast<std::ptrdiff_t>(groups_.order()[position] * width));
    };
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        PopulationOutput& output = outputs_[i];
        Buffer& buffer = *output_buffers_[i].get();
        if (output.type == ValueType::real)
            scatter(reals_, output.reals, output.elements, buffer);
        else
            scatter(integers_, output.integers, output.elements, buffer);
    }
}

}  // namespace cambrian::evolve
