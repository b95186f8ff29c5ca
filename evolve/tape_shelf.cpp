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
    weights_.clear();
    ends_.clear();
}

std::optional<TapeShelf::Entry> TapeShelf::add(const Genome& genome) {
    if (!has_tape(genome.blueprint)) return std::nullopt;
    const std::size_t first_word = words_.size();
    const TapeCapacity needed = writer_.write(genome.blueprint, words_);
    const auto* const most = std::ranges::lower_bound(most_weights, needed.weights);
    if (most == most_weights.end() || needed.memory > most_memory) {
        words_.resize(first_word);
        return std::nullopt;
    }
    const auto size_class = static_cast<std::size_t>(most - most_weights.begin());
    capacities_[size_class] = capacities_[size_class].joined(needed).rounded();

    const std::size_t first_weight = weights_.size();
    weights_.resize(first_weight + static_cast<std::size_t>(needed.weights));
    writer_.pack(genome.weights, std::span(weights_).subspan(first_weight));
    ends_.push_back({.words = words_.size(), .weights = weights_.size()});
    return Entry{.size_class = size_class,
                 .cost = needed.weights,
                 .hash = hash128(std::as_bytes(std::span(words_).subspan(first_word)))};
}

void TapeShelf::copy(std::size_t index, std::span<std::int32_t> words,
                     std::span<float> weights) const {
    CAMBRIAN_EXPECT(index < ends_.size());
    const Place from = index == 0 ? Place{} : ends_[index - 1];
    const auto part = [](const auto& all, std::size_t begin, std::size_t end) {
        return std::span(all).subspan(begin, end - begin);
    };
    const auto own_words = part(words_, from.words, ends_[index].words);
    const auto own_weights = part(weights_, from.weights, ends_[index].weights);
    CAMBRIAN_ASSERT(own_words.size() <= words.size() && own_weights.size() <= weights.size());
    std::ranges::copy(own_words, words.begin());
    std::ranges::copy(own_weights, weights.begin());
}

}  // namespace cambrian::evolve
