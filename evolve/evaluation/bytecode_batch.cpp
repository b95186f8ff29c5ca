#include "cambrian/evolve/evaluation/bytecode_batch.hpp"

#include <algorithm>
#include <cstddef>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// The most packed weights of each class. Far apart: each class is a run of its own, and few
/// networks alone leave a wide device idle.
constexpr std::array<std::int64_t, 3> max_weights{1024, 8192, 65536};
static_assert(BytecodeBatch::class_count == 2 * max_weights.size());
/// Working memory lies in registers or the first cache; more of it is slower than a graph.
constexpr std::int64_t max_memory = 256;
constexpr std::size_t part_size = 256;

/// Networks with equal paths take the same ways through an interpreter.
std::uint64_t path_of(std::span<const std::int32_t> words) {
    constexpr std::size_t instructions = 9;
    constexpr unsigned bits = 7;
    const auto length = static_cast<std::size_t>(bytecode_instruction_words);
    std::uint64_t path = 0;
    for (std::size_t i = 0; i < instructions; ++i) {
        path <<= bits;
        if (words.size() < (i + 1) * length) continue;
        const std::int32_t op = words[i * length];
        const bool activates = op == static_cast<std::int32_t>(BytecodeOp::dense);
        const std::int32_t code = activates ? words[i * length + length - 1] : 0;
        path |= static_cast<std::uint64_t>(op) << 3U | (static_cast<std::uint64_t>(code) & 7U);
    }
    return path;
}

}  // namespace

std::span<const std::optional<BytecodeBatch::Entry>> BytecodeBatch::read(
    std::span<const Genome* const> genomes, ThreadPool& threads) {
    const std::size_t parts = (genomes.size() + part_size - 1) / part_size;
    if (parts_.size() < parts) parts_.resize(parts);
    entries_.resize(genomes.size());
    threads.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t item, int) {
        const auto part = static_cast<std::size_t>(item);
        const std::size_t first = part * part_size;
        const std::size_t count = std::min(part_size, genomes.size() - first);
        read_part(parts_[part], genomes.subspan(first, count),
                  std::span(entries_).subspan(first, count));
    });
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t i = 0; i < class_count; ++i) {
            const BytecodeCapacity& needed = parts_[part].capacities[i];
            if (needed.words > 0) capacities_[i] = capacities_[i].joined(needed).rounded();
        }
    return entries_;
}

void BytecodeBatch::read_part(Part& part, std::span<const Genome* const> genomes,
                              std::span<std::optional<Entry>> entries) const {
    part.words.clear();
    part.packings.clear();
    part.ends.clear();
    part.capacities.fill({});
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        entries[i] = read_genome(part, genomes[i]->blueprint);
        part.ends.push_back({.words = part.words.size(), .packings = part.packings.size()});
    }
}

std::optional<BytecodeBatch::Entry> BytecodeBatch::read_genome(Part& part,
                                                               const Blueprint& blueprint) const {
    if (!BytecodeWriter::can_write(blueprint)) return std::nullopt;
    const std::size_t first_word = part.words.size();
    const std::size_t first_packing = part.packings.size();
    const BytecodeCapacity needed = part.writer.write(blueprint, part.words, part.packings);
    const auto* const most = std::ranges::lower_bound(max_weights, needed.weights);
    if (most == max_weights.end() || needed.memory > max_memory) {
        part.words.resize(first_word);
        part.packings.resize(first_packing);
        return std::nullopt;
    }
    const bool apart = state_apart_ && needed.state > 0;
    const auto size_class =
        static_cast<std::size_t>(most - max_weights.begin()) + (apart ? max_weights.size() : 0);
    part.capacities[size_class] = part.capacities[size_class].joined(needed);
    return Entry{.size_class = size_class,
                 .path = path_of(std::span(part.words).subspan(first_word)),
                 .cost = needed.weights,
                 .hash = hash128(std::as_bytes(std::span(part.words).subspan(first_word)))};
}

std::pair<BytecodeBatch::Place, BytecodeBatch::Place> BytecodeBatch::places_of(
    std::size_t index) const {
    CAMBRIAN_EXPECT(index < entries_.size() && entries_[index]);
    const std::vector<Place>& ends = parts_[index / part_size].ends;
    const std::size_t inside = index % part_size;
    return {inside == 0 ? Place{} : ends[inside - 1], ends[inside]};
}

void BytecodeBatch::write_bytecode(std::size_t index, std::int64_t first_weight,
                                   std::span<std::int32_t> bytecode) const {
    constexpr std::size_t weights_word =
        offsetof(BytecodeInstruction, weights) / sizeof(std::int32_t);
    CAMBRIAN_EXPECT(first_weight >= 0 && first_weight % 4 == 0 && first_weight <= INT32_MAX);
    const auto [from, to] = places_of(index);
    const auto words =
        std::span(parts_[index / part_size].words).subspan(from.words, to.words - from.words);
    CAMBRIAN_ASSERT(words.size() <= bytecode.size());
    std::ranges::copy(words, bytecode.begin());
    for (std::size_t i = weights_word; i < words.size(); i += bytecode_instruction_words)
        bytecode[i] += static_cast<std::int32_t>(first_weight);
}

void BytecodeBatch::pack_weights(std::size_t index, std::span<const float> weights,
                                 std::span<float> packed) const {
    const auto [from, to] = places_of(index);
    const std::span packings(parts_[index / part_size].packings);
    pack(packings.subspan(from.packings, to.packings - from.packings), weights, packed);
}

}  // namespace cambrian::evolve
