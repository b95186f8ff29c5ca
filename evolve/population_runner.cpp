#include "cambrian/evolve/population_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t most_programs = 512;
constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 30;
constexpr std::int64_t word_bytes = 4;

/// A quarter of the memory for programs, a quarter for operands and outputs; the rest is for data
/// and for the program that runs.
std::int64_t share_of_memory(const Backend& backend) {
    const std::int64_t limit = backend.memory().limit;
    return limit > 0 ? limit / 4 : unlimited_bytes;
}

std::int64_t at_least_one(std::int64_t count) {
    return std::max<std::int64_t>(1, count);
}

}  // namespace

Buffer& GrowingBuffer::hold(Backend& backend, std::int64_t elements) {
    const std::int64_t held = buffer_ ? buffer_->elements() : 0;
    if (buffer_ && held >= elements) return *buffer_;
    buffer_.reset();
    const auto [used, limit] = backend.memory();
    std::int64_t wanted = std::max(elements, held + held / 2);
    if (limit > 0 && used + wanted * word_bytes > limit) wanted = elements;
    buffer_ = backend.allocate(type_, at_least_one(wanted));
    return *buffer_;
}

PopulationRunner::PopulationRunner(Backend& backend)
    : backend_(backend), cache_(most_programs, share_of_memory(backend)) {}

const std::vector<PopulationOutput>& PopulationRunner::run(std::span<const Genome* const> genomes,
                                                           const PopulationRequest& request) {
    outputs_.clear();
    if (genomes.empty()) return outputs_;
    read_structures(genomes);
    find_groups();
    const std::size_t first = order_[0];
    prepare_outputs(program_for(*genomes[first], structures_[first], request), genomes.size());
    for (std::size_t begin = 0; begin < genomes.size();) {
        const std::size_t end = wave_end(genomes, begin);
        upload_operands(genomes, begin, end);
        run_wave(genomes, begin, end, request);
        collect(begin, end);
        begin = end;
    }
    return outputs_;
}

void PopulationRunner::read_structures(std::span<const Genome* const> genomes) {
    reader_.clear();
    structures_.clear();
    read_.clear();
    for (const Genome* genome : genomes) {
        read_.push_back({.weights = 0,
                         .activations = static_cast<std::int64_t>(reader_.activations().size()),
                         .enabled = static_cast<std::int64_t>(reader_.enabled().size())});
        structures_.push_back(reader_.read(genome->blueprint));
    }
    read_.push_back({.weights = 0,
                     .activations = static_cast<std::int64_t>(reader_.activations().size()),
                     .enabled = static_cast<std::int64_t>(reader_.enabled().size())});
}

void PopulationRunner::find_groups() {
    constexpr std::uint32_t vacant = UINT32_MAX;
    const std::size_t slots = std::bit_ceil(structures_.size() * 2);
    buckets_.assign(slots, vacant);
    groups_.clear();
    group_of_.clear();
    for (const Hash128& structure : structures_) {
        std::size_t bucket = structure.low & (slots - 1);
        while (buckets_[bucket] != vacant && groups_[buckets_[bucket]].structure != structure)
            bucket = (bucket + 1) & (slots - 1);
        if (buckets_[bucket] == vacant) {
            buckets_[bucket] = static_cast<std::uint32_t>(groups_.size());
            groups_.push_back({.structure = structure});
        }
        ++groups_[buckets_[bucket]].count;
        group_of_.push_back(buckets_[bucket]);
    }
    std::size_t position = 0;
    for (Group& group : groups_) {
        group.begin = group.end = position;
        position += group.count;
    }
    order_.resize(structures_.size());
    for (std::size_t i = 0; i < group_of_.size(); ++i)
        order_[groups_[group_of_[i]].end++] = static_cast<std::uint32_t>(i);
}

StructureProgram& PopulationRunner::program_for(const Genome& genome, Hash128 structure,
                                                const PopulationRequest& request) {
    const ProgramKey key{.structure = structure, .variant = request.variant};
    if (StructureProgram* found = cache_.find(key)) {
        ++reused_;
        return *found;
    }
    ++compiled_;
    return cache_.insert(key, compile(genome, request));
}

StructureProgram PopulationRunner::compile(const Genome& genome, const PopulationRequest& request) {
    const Network network(genome.blueprint);
    StructureProgram result;
    result.weights = network.weight_count();
    result.activations = network.activation_count();
    result.slots = network.slot_count();
    StructureReader reader;
    (void)reader.read(genome.blueprint);
    CAMBRIAN_ASSERT(
        (result.activations == 0 || reader.activations() == network.activation_codes()) &&
        reader.enabled() == network.enabled_flags());

    Graph graph;
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, Shape{result.weights}),
        .activations =
            graph.input("activations", ValueType::integer, Shape{at_least_one(result.activations)}),
        .enabled = graph.input("enabled", ValueType::boolean, Shape{at_least_one(result.slots)})};
    for (const Var output : request.build(graph, network, operands)) graph.output(output);

    constexpr std::array<std::size_t, 3> per_individual{0, 1, 2};
    const Graph population = eliminate_dead_code(over_population(graph, per_individual));
    for (const ValueId id : population.outputs()) {
        const ValueInfo& info = population.value(id);
        result.per_individual = result.per_individual && info.per_individual;
        result.outputs.push_back({.type = info.type, .elements = info.shape.elements()});
    }
    result.program = backend_.compile(population);
    return result;
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

std::size_t PopulationRunner::wave_end(std::span<const Genome* const> genomes,
                                       std::size_t begin) const {
    const std::int64_t room = share_of_memory(backend_);
    std::int64_t output_elements = 0;
    for (const PopulationOutput& output : outputs_) output_elements += output.elements;
    std::int64_t bytes = 0;
    std::size_t end = begin;
    for (; end < order_.size(); ++end) {
        const Genome& genome = *genomes[order_[end]];
        const auto operands = genome.weights.size() + 2 * genome.blueprint.slots.size() + 8;
        bytes += (static_cast<std::int64_t>(operands) + output_elements) * word_bytes;
        if (bytes > room && end > begin) break;
    }
    return end;
}

void PopulationRunner::upload_operands(std::span<const Genome* const> genomes, std::size_t begin,
                                       std::size_t end) {
    places_.clear();
    activations_.clear();
    enabled_.clear();
    std::int64_t weights = 0;
    for (std::size_t position = begin; position < end; ++position) {
        const std::size_t genome = order_[position];
        places_.push_back({.weights = weights,
                           .activations = static_cast<std::int64_t>(activations_.size()),
                           .enabled = static_cast<std::int64_t>(enabled_.size())});
        weights += static_cast<std::int64_t>(genomes[genome]->weights.size());
        const Place& from = read_[genome];
        const Place& to = read_[genome + 1];
        activations_.insert(activations_.end(), reader_.activations().begin() + from.activations,
                            reader_.activations().begin() + to.activations);
        if (from.activations == to.activations) activations_.push_back(0);
        enabled_.insert(enabled_.end(), reader_.enabled().begin() + from.enabled,
                        reader_.enabled().begin() + to.enabled);
        if (from.enabled == to.enabled) enabled_.push_back(0);
    }

    Buffer& weight_buffer = weight_buffer_.hold(backend_, weights);
    for (std::size_t position = begin; position < end; ++position)
        backend_.upload(weight_buffer, places_[position - begin].weights,
                        std::span<const float>(genomes[order_[position]]->weights));
    const auto upload_words = [&](GrowingBuffer& buffer, const std::vector<std::int32_t>& words) {
        backend_.upload(buffer.hold(backend_, static_cast<std::int64_t>(words.size())), 0,
                        std::span<const std::int32_t>(words));
    };
    upload_words(activation_buffer_, activations_);
    upload_words(enabled_buffer_, enabled_);
}

void PopulationRunner::run_wave(std::span<const Genome* const> genomes, std::size_t begin,
                                std::size_t end, const PopulationRequest& request) {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        output_buffers_[i].hold(backend_,
                                static_cast<std::int64_t>(end - begin) * outputs_[i].elements);
    for (std::size_t position = begin; position < end;) {
        const Group& group = groups_[group_of_[order_[position]]];
        const std::size_t last = std::min(end, group.end);
        StructureProgram& program =
            program_for(*genomes[order_[position]], group.structure, request);
        run_group(program, genomes, begin, position, last, request.shared);
        position = last;
    }
}

void PopulationRunner::run_group(StructureProgram& program, std::span<const Genome* const> genomes,
                                 std::size_t wave, std::size_t begin, std::size_t end,
                                 std::span<const Binding> shared) {
    CAMBRIAN_ASSERT(program.outputs.size() == outputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        CAMBRIAN_ASSERT(program.outputs[i].elements == outputs_[i].elements &&
                        program.outputs[i].type == outputs_[i].type);
    for (std::size_t position = begin; position < end; ++position)
        CAMBRIAN_ASSERT(static_cast<std::int64_t>(genomes[order_[position]]->weights.size()) ==
                        program.weights);

    std::size_t piece = program.per_individual ? end - begin : 1;
    const auto [used, limit] = backend_.memory();
    if (limit > 0)
        while (piece > 1 && program.program->peak_bytes(static_cast<std::int64_t>(piece)) >
                                limit - used + program.bytes)
            piece = (piece + 1) / 2;
    for (std::size_t position = begin; position < end; position += piece) {
        const std::size_t count = std::min(piece, end - position);
        const Place& place = places_[position - wave];
        inputs_.assign({{weight_buffer_.get(), place.weights},
                        {activation_buffer_.get(), place.activations},
                        {enabled_buffer_.get(), place.enabled}});
        inputs_.insert(inputs_.end(), shared.begin(), shared.end());
        bound_outputs_.clear();
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            bound_outputs_.push_back(
                {output_buffers_[i].get(),
                 static_cast<std::int64_t>(position - wave) * outputs_[i].elements});
        program.program->run(static_cast<std::int64_t>(count), inputs_, bound_outputs_);
    }
    cache_.set_bytes(program.program->peak_bytes(static_cast<std::int64_t>(piece)));
}

void PopulationRunner::collect(std::size_t begin, std::size_t end) {
    const auto scatter = [&](auto& staged, auto& target, std::int64_t elements, Buffer& buffer) {
        const auto width = static_cast<std::size_t>(elements);
        staged.resize((end - begin) * width);
        backend_.download(buffer, 0, std::span(staged));
        for (std::size_t position = begin; position < end; ++position)
            std::copy_n(staged.begin() + static_cast<std::ptrdiff_t>((position - begin) * width),
                        width,
                        target.begin() + static_cast<std::ptrdiff_t>(order_[position] * width));
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
