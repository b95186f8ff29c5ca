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
/// Of graphs of neurons, which are many small structures: compiling each is slower than anything.
constexpr std::int64_t max_neuron_memory = 8192;
constexpr std::size_t part_size = 256;

bool fits_a_class(const Structure::BytecodeForm& form) {
    const bool neurons = std::ranges::any_of(form.packings, [](const BytecodePacking& packing) {
        return packing.op == BytecodeOp::neurons;
    });
    return form.capacity.weights <= max_weights.back() &&
           form.capacity.memory <= (neurons ? max_neuron_memory : max_memory);
}

}  // namespace

bool BytecodeBatch::takes(const Structure& structure) {
    const Structure::BytecodeForm* form = structure.bytecode();
    return form != nullptr && fits_a_class(*form);
}

std::span<const std::optional<BytecodeBatch::Entry>> BytecodeBatch::read(
    std::span<const Individual* const> individuals, ThreadPool& threads) {
    const std::size_t parts = (individuals.size() + part_size - 1) / part_size;
    parts_.assign(parts, Capacities{});
    forms_.resize(individuals.size());
    entries_.resize(individuals.size());
    threads.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t item, int) {
        const auto part = static_cast<std::size_t>(item);
        const std::size_t end = std::min((part + 1) * part_size, individuals.size());
        for (std::size_t i = part * part_size; i < end; ++i) {
            if (i + 2 * turns_ahead < end)
                prefetch(individuals[i + 2 * turns_ahead], sizeof(Individual));
            if (i + turns_ahead < end) individuals[i + turns_ahead]->structure->prefetch_bytecode();
            forms_[i] = individuals[i]->structure->bytecode();
            entries_[i] = forms_[i] != nullptr ? entry_of(*forms_[i], parts_[part]) : std::nullopt;
        }
    });
    for (std::size_t i = 0; i < class_count; ++i) {
        BytecodeCapacity needed;
        for (const Capacities& part : parts_) needed = needed.joined(part[i]);
        if (needed.words == 0) continue;
        capacities_[i] = capacities_[i].joined(needed);
        capacities_[i].memory = needed.memory;
        capacities_[i] = capacities_[i].rounded();
    }
    return entries_;
}

std::optional<BytecodeBatch::Entry> BytecodeBatch::entry_of(const Structure::BytecodeForm& form,
                                                            Capacities& capacities) const {
    if (!fits_a_class(form)) return std::nullopt;
    const BytecodeCapacity& needed = form.capacity;
    const auto* const most = std::ranges::lower_bound(max_weights, needed.weights);
    const bool apart = state_apart_ && needed.state > 0;
    const auto size_class =
        static_cast<std::size_t>(most - max_weights.begin()) + (apart ? max_weights.size() : 0);
    capacities[size_class] = capacities[size_class].joined(needed);
    return Entry{
        .size_class = size_class, .path = form.path, .cost = needed.weights, .hash = form.hash};
}

void BytecodeBatch::write_bytecode(std::size_t index, std::int64_t first_weight,
                                   std::span<std::int32_t> bytecode) const {
    constexpr std::size_t weights_word =
        offsetof(BytecodeInstruction, weights) / sizeof(std::int32_t);
    CAMBRIAN_EXPECT(first_weight >= 0 && first_weight % 4 == 0 && first_weight <= INT32_MAX);
    CAMBRIAN_EXPECT(index < entries_.size() && entries_[index]);
    const std::vector<std::int32_t>& words = forms_[index]->words;
    CAMBRIAN_ASSERT(words.size() <= bytecode.size());
    std::ranges::copy(words, bytecode.begin());
    for (std::size_t i = 0; i < words.size();) {
        bytecode[i + weights_word] =
            words[i + weights_word] + static_cast<std::int32_t>(first_weight);
        const auto* instruction = reinterpret_cast<const BytecodeInstruction*>(&words[i]);
        i += static_cast<std::size_t>(bytecode_length(*instruction));
    }
}

void BytecodeBatch::prefetch_form(std::size_t index) const {
    prefetch(forms_[index], sizeof(Structure::BytecodeForm));
}

void BytecodeBatch::prefetch_words(std::size_t index) const {
    const Structure::BytecodeForm& form = *forms_[index];
    prefetch(form.words.data(), form.words.size() * sizeof(std::int32_t));
    prefetch(form.packings.data(), form.packings.size() * sizeof(BytecodePacking));
}

void BytecodeBatch::pack_weights(std::size_t index, std::span<const float> weights,
                                 std::span<float> packed) const {
    CAMBRIAN_EXPECT(index < entries_.size() && entries_[index]);
    pack(forms_[index]->packings, weights, packed);
}

}  // namespace cambrian::evolve
