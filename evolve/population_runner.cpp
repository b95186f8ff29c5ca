#include "cambrian/evolve/population_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/tape_network.hpp"

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

/// Names the interpreter of a capacity among the structures.
Hash128 key_of(const TapeCapacity& capacity) {
    const std::array<std::int64_t, 5> words{-1, capacity.words, capacity.weights, capacity.state,
                                            capacity.memory};
    return hash128(std::as_bytes(std::span(words)));
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

PopulationRunner::PopulationRunner(Backend& backend, Family family)
    : backend_(backend), family_(family), cache_(most_programs, share_of_memory(backend)) {}

const std::vector<PopulationOutput>& PopulationRunner::run(std::span<const Genome* const> genomes,
                                                           const PopulationRequest& request) {
    outputs_.clear();
    if (genomes.empty()) return outputs_;
    read_structures(genomes);
    find_groups();
    order_groups();
    prepare_outputs(program_for(*genomes[order_[0]], group_at(0), request), genomes.size());
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
    shelf_.clear();
    structures_.clear();
    read_.assign(1, {});
    std::size_t interpreted = 0;
    for (const Genome* genome : genomes) {
        const auto entry =
            family_ == Family::interpreted ? shelf_.add(genome->blueprint) : std::nullopt;
        if (entry)
            structures_.push_back({.hash = entry->hash,
                                   .size_class = entry->size_class,
                                   .cost = entry->cost,
                                   .index = interpreted++});
        else
            read_graph(*genome);
    }
}

void PopulationRunner::read_graph(const Genome& genome) {
    structures_.push_back({.hash = reader_.read(genome.blueprint), .index = read_.size() - 1});
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
    for (const Structure& structure : structures_) {
        std::size_t bucket = structure.hash.low & (slots - 1);
        while (buckets_[bucket] != vacant && groups_[buckets_[bucket]].structure != structure.hash)
            bucket = (bucket + 1) & (slots - 1);
        if (buckets_[bucket] == vacant) {
            buckets_[bucket] = static_cast<std::uint32_t>(groups_.size());
            groups_.push_back({.structure = structure.hash,
                               .size_class = structure.size_class,
                               .cost = structure.cost});
        }
        ++groups_[buckets_[bucket]].count;
        group_of_.push_back(buckets_[bucket]);
    }
}

/// Classes of interpreted networks first, the small ones before the large ones, so that neighbours
/// take about as long; then the graphs.
void PopulationRunner::order_groups() {
    group_order_.resize(groups_.size());
    std::iota(group_order_.begin(), group_order_.end(), 0U);
    std::ranges::stable_sort(group_order_, {}, [this](std::uint32_t index) {
        return std::pair(groups_[index].size_class, groups_[index].cost);
    });
    class_ranges_.fill({});
    std::size_t position = 0;
    for (const std::uint32_t index : group_order_) {
        Group& group = groups_[index];
        group.begin = group.end = position;
        position += group.count;
        if (group.size_class == as_graphs) continue;
        Range& range = class_ranges_[group.size_class];
        if (range.end == 0) range.begin = group.begin;
        range.end = position;
    }
    order_.resize(structures_.size());
    for (std::size_t i = 0; i < group_of_.size(); ++i)
        order_[groups_[group_of_[i]].end++] = static_cast<std::uint32_t>(i);
}

PopulationRunner::Range PopulationRunner::range_at(std::size_t position) const {
    const Group& group = group_at(position);
    return group.size_class == as_graphs ? Range{group.begin, group.end}
                                         : class_ranges_[group.size_class];
}

StructureProgram& PopulationRunner::program_for(const Genome& genome, const Group& group,
                                                const PopulationRequest& request) {
    const bool as_graph = group.size_class == as_graphs;
    const TapeCapacity capacity = as_graph ? TapeCapacity{} : shelf_.capacity(group.size_class);
    const ProgramKey key{.structure = as_graph ? group.structure : key_of(capacity),
                         .variant = request.variant};
    if (StructureProgram* found = cache_.find(key)) {
        ++reused_;
        return *found;
    }
    ++compiled_;
    return cache_.insert(key, as_graph ? compile_graph(genome, request)
                                       : compile_interpreter(genome, capacity, request));
}

StructureProgram PopulationRunner::compile_graph(const Genome& genome,
                                                 const PopulationRequest& request) {
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
    finish_program(graph, per_individual, result);
    return result;
}

StructureProgram PopulationRunner::compile_interpreter(const Genome& genome,
                                                       const TapeCapacity& capacity,
                                                       const PopulationRequest& request) {
    const TapeNetwork network(genome.blueprint.input_features, genome.blueprint.output_features,
                              capacity);
    StructureProgram result;
    result.interpreted = true;
    result.weights = capacity.weights;
    result.activations = capacity.words;

    Graph graph;
    const Var weights = graph.input("weights", ValueType::real, Shape{capacity.weights});
    const Var tape = graph.input("tape", ValueType::integer, Shape{capacity.words});
    const NetworkOperands operands{.weights = weights, .activations = tape, .enabled = tape};
    for (const Var output : request.build(graph, network, operands)) graph.output(output);
    constexpr std::array<std::size_t, 2> per_individual{0, 1};
    finish_program(graph, per_individual, result);
    return result;
}

void PopulationRunner::finish_program(const Graph& graph,
                                      std::span<const std::size_t> per_individual,
                                      StructureProgram& result) {
    const Graph population = eliminate_dead_code(over_population(graph, per_individual));
    for (const ValueId id : population.outputs()) {
        const ValueInfo& info = population.value(id);
        result.per_individual = result.per_individual && info.per_individual;
        result.outputs.push_back({.type = info.type, .elements = info.shape.elements()});
    }
    result.program = backend_.compile(population);
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

/// Words of the operands of one network on the backend.
std::int64_t PopulationRunner::operand_words(const Genome& genome, const Group& group) const {
    if (group.size_class == as_graphs)
        return static_cast<std::int64_t>(genome.weights.size() + 2 * genome.blueprint.slots.size() +
                                         8);
    const TapeCapacity& capacity = shelf_.capacity(group.size_class);
    return capacity.weights + capacity.words;
}

std::size_t PopulationRunner::wave_end(std::span<const Genome* const> genomes,
                                       std::size_t begin) const {
    const std::int64_t room = share_of_memory(backend_);
    std::int64_t output_elements = 0;
    for (const PopulationOutput& output : outputs_) output_elements += output.elements;
    std::int64_t bytes = 0;
    std::size_t end = begin;
    for (; end < order_.size(); ++end) {
        bytes +=
            (operand_words(*genomes[order_[end]], group_at(end)) + output_elements) * word_bytes;
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
    std::size_t graphs = end;  // Position of the first one.
    std::size_t packed = 0;
    for (std::size_t position = begin; position < end; ++position) {
        const Genome& genome = *genomes[order_[position]];
        const Structure& structure = structures_[order_[position]];
        if (structure.size_class == as_graphs) {
            graphs = std::min(graphs, position);
            place_graph(structure.index, weights);
            weights += static_cast<std::int64_t>(genome.weights.size());
        } else {
            const TapeCapacity& capacity = shelf_.capacity(structure.size_class);
            place_tape(genome, structure.index, capacity, weights);
            weights += capacity.weights;
            packed = static_cast<std::size_t>(weights);
        }
    }

    Buffer& weight_buffer = weight_buffer_.hold(backend_, weights);
    if (packed > 0)
        backend_.upload(weight_buffer, 0, std::span<const float>(packed_).first(packed));
    for (std::size_t position = graphs; position < end; ++position)
        backend_.upload(weight_buffer, places_[position - begin].weights,
                        std::span<const float>(genomes[order_[position]]->weights));
    const auto upload_words = [&](GrowingBuffer& buffer, const std::vector<std::int32_t>& words) {
        if (words.empty()) return;
        backend_.upload(buffer.hold(backend_, static_cast<std::int64_t>(words.size())), 0,
                        std::span<const std::int32_t>(words));
    };
    upload_words(activation_buffer_, activations_);
    upload_words(enabled_buffer_, enabled_);
}

void PopulationRunner::place_graph(std::size_t index, std::int64_t weights) {
    places_.push_back({.weights = weights,
                       .activations = static_cast<std::int64_t>(activations_.size()),
                       .enabled = static_cast<std::int64_t>(enabled_.size())});
    const Place& from = read_[index];
    const Place& to = read_[index + 1];
    activations_.insert(activations_.end(), reader_.activations().begin() + from.activations,
                        reader_.activations().begin() + to.activations);
    if (from.activations == to.activations) activations_.push_back(0);
    enabled_.insert(enabled_.end(), reader_.enabled().begin() + from.enabled,
                    reader_.enabled().begin() + to.enabled);
    if (from.enabled == to.enabled) enabled_.push_back(0);
}

void PopulationRunner::place_tape(const Genome& genome, std::size_t index,
                                  const TapeCapacity& capacity, std::int64_t weights) {
    places_.push_back({.weights = weights,
                       .activations = static_cast<std::int64_t>(activations_.size()),
                       .enabled = 0});
    const std::size_t first_word = activations_.size();
    activations_.resize(first_word + static_cast<std::size_t>(capacity.words));
    // Of this or an earlier wave; what it held is written over or not read.
    const auto first_weight = static_cast<std::size_t>(weights);
    const auto width = static_cast<std::size_t>(capacity.weights);
    if (packed_.size() < first_weight + width) packed_.resize(first_weight + width);
    shelf_.write(index, genome.weights, std::span(activations_).subspan(first_word),
                 std::span(packed_).subspan(first_weight, width));
}

void PopulationRunner::run_wave(std::span<const Genome* const> genomes, std::size_t begin,
                                std::size_t end, const PopulationRequest& request) {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        output_buffers_[i].hold(backend_,
                                static_cast<std::int64_t>(end - begin) * outputs_[i].elements);
    for (std::size_t position = begin; position < end;) {
        const std::size_t last = std::min(end, range_at(position).end);
        StructureProgram& program =
            program_for(*genomes[order_[position]], group_at(position), request);
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
    for (std::size_t position = begin; !program.interpreted && position < end; ++position)
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
        inputs_.assign(
            {{weight_buffer_.get(), place.weights}, {activation_buffer_.get(), place.activations}});
        if (!program.interpreted) inputs_.push_back({enabled_buffer_.get(), place.enabled});
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
