#include "cambrian/distributed/worker/genome_store.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

ParentGenomes::ParentGenomes(const evolve::Birth& birth, std::span<const SharedGenome> list)
    : count_(birth.parents.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
        CAMBRIAN_ASSERT(birth.parents[i].member < list.size());
        genomes_[i] = list[birth.parents[i].member].get();
        CAMBRIAN_ASSERT(genomes_[i] != nullptr);
    }
}

std::uint64_t footprint(const evolve::Genome& genome) {
    constexpr std::uint64_t slot_bytes = sizeof(std::optional<Slot>) + sizeof(evolve::Gene);
    constexpr std::uint64_t link_bytes = sizeof(Link) + sizeof(evolve::Gene);
    return sizeof(evolve::Genome) + genome.weights.capacity() * sizeof(float) +
           genome.blueprint.slots.capacity() * slot_bytes +
           genome.blueprint.links.capacity() * link_bytes;
}

std::size_t GenomeStore::place(Hash128 hash) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash.low) & mask;
    while (table_[at] != 0 && entries_[table_[at] - 1].hash != hash) {
        at = (at + 1) & mask;
    }
    return at;
}

void GenomeStore::rebuild(std::size_t places) {
    table_.assign(std::bit_ceil(places), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        table_[place(entries_[i].hash)] = static_cast<std::uint32_t>(i + 1);
    }
}

void GenomeStore::add(Hash128 hash, SharedGenome genome) {
    // At most half full, so that a search ends soon.
    if (2 * (entries_.size() + 1) > table_.size()) {
        rebuild(std::max<std::size_t>(16, 4 * (entries_.size() + 1)));
    }
    std::uint32_t& entry = table_[place(hash)];
    if (entry != 0) {
        entries_[entry - 1].genome = std::move(genome);
        return;
    }
    entries_.push_back({hash, std::move(genome)});
    entry = static_cast<std::uint32_t>(entries_.size());
}

SharedGenome GenomeStore::find(Hash128 hash) const {
    const std::uint32_t entry = table_.empty() ? 0 : table_[place(hash)];
    return entry == 0 ? nullptr : entries_[entry - 1].genome;
}

bool GenomeStore::contains(Hash128 hash) const {
    return !table_.empty() && table_[place(hash)] != 0;
}

void GenomeCache::add(Hash128 hash, SharedGenome genome) {
    const std::uint64_t bytes = footprint(*genome);
    if (bytes > limit_ || find(hash) != nullptr) {
        return;
    }
    entries_.push_front({hash, std::move(genome), bytes, generation_});
    index_.emplace(hash, entries_.begin());
    bytes_ += bytes;
    while (bytes_ > limit_) {
        drop_oldest();
    }
}

void GenomeCache::drop_oldest() {
    bytes_ -= entries_.back().bytes;
    index_.erase(entries_.back().hash);
    entries_.pop_back();
}

void GenomeCache::begin_generation() {
    ++generation_;
    while (!entries_.empty() && entries_.back().used + kept_generations < generation_) {
        drop_oldest();
    }
}

SharedGenome GenomeCache::find(Hash128 hash) {
    const auto at = index_.find(hash);
    if (at == index_.end()) {
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, at->second);
    at->second->used = generation_;
    return at->second->genome;
}

}  // namespace cambrian::distributed
