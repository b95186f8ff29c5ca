#include "cambrian/distributed/genome_store.hpp"

#include <utility>

namespace cambrian::distributed {

std::uint64_t footprint(const evolve::Genome& genome) {
    constexpr std::uint64_t slot_bytes = sizeof(std::optional<Slot>) + sizeof(evolve::Gene);
    constexpr std::uint64_t link_bytes = sizeof(Link) + sizeof(evolve::Gene);
    return sizeof(evolve::Genome) + genome.weights.size() * sizeof(float) +
           genome.blueprint.slots.size() * slot_bytes + genome.blueprint.links.size() * link_bytes;
}

void GenomeStore::add(Hash128 hash, SharedGenome genome) {
    genomes_.insert_or_assign(hash, std::move(genome));
}

SharedGenome GenomeStore::find(Hash128 hash) const {
    const auto at = genomes_.find(hash);
    return at == genomes_.end() ? nullptr : at->second;
}

void GenomeStore::keep_only(std::span<const Hash128> hashes) {
    std::unordered_map<Hash128, SharedGenome, Hash128Hasher> kept;
    for (Hash128 hash : hashes) {
        if (const auto at = genomes_.find(hash); at != genomes_.end()) {
            kept.insert(*at);
        }
    }
    genomes_ = std::move(kept);
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
