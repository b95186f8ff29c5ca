#include "cambrian/evolve/tape_shelf.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// The most packed weights of each class. Far apart: each class is a run of its own, and few
/// networks alone leave a wide device idle.
constexpr std::array<std::int64_t, TapeShelf::class_count> most_weights{1024, 8192, 65536};
/// Working memory lies in registers or the first cache; more of it is slower than a graph.
constexpr std::int64_t most_memory = 256;

}  // namespace

void TapeShelf::clear() {
    words_.clear();
    packings_.clear();
    ends_.clear();
}

std::optional<TapeShelf::Entry> TapeShelf::add(const Blueprint& blueprint) {
    if (!has_tape(blueprint)) return std::nullopt;
    const std::size_t first_word = words_.size();
    const std::size_t first_packing = packings_.size();
    const TapeCapacity needed = writer_.write(blueprint, words_, packings_);
    const auto* const most = std::ranges::lower_bound(most_weights, needed.weights);
    if (most == most_weights.end() || needed.memory > most_memory) {
        words_.resize(first_word);
        packings_.resize(first_packing);
        return std::nullopt;
    }
    const auto size_class = static_cast<std::size_t>(most - most_weights.begin());
    capacities_[size_class] = capacities_[size_class].joined(needed).rounded();

    ends_.push_back({.words = words_.size(), .packings = packings_.size()});
    return Entry{.size_class = size_class,
                 .cost = needed.weights,
                 .hash = hash128(std::as_bytes(std::span(words_).subspan(first_word)))};
}

void TapeShelf::write(std::size_t index, std::span<const float> weights,
                      std::span<std::int32_t> tape, std::span<float> packed) const {
    CAMBRIAN_EXPECT(index < ends_.size());
    const Place from = index == 0 ? Place{} : ends_[index - 1];
    const Place& to = ends_[index];
    const auto words = std::span(words_).subspan(from.words, to.words - from.words);
    CAMBRIAN_ASSERT(words.size() <= tape.size());
    std::ranges::copy(words, tape.begin());
    pack(std::span(packings_).subspan(from.packings, to.packings - from.packings), weights, packed);
}

}  // namespace cambrian::evolve
