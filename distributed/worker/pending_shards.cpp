#include "cambrian/distributed/worker/pending_shards.hpp"

#include <fmt/core.h>

#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

std::vector<std::uint64_t> numbers_of(const std::vector<PendingShard>& shards) {
    std::vector<std::uint64_t> numbers;
    for (const PendingShard& shard : shards) {
        numbers.push_back(shard.order.shard);
    }
    return numbers;
}

}  // namespace

void PendingShard::fill(Hash128 hash, const SharedGenome& genome) {
    if (const auto at = missing.find(hash); at != missing.end()) {
        for (std::uint32_t place : at->second) {
            (*parents)[place] = genome;
        }
        missing.erase(at);
    }
}

PendingShard& PendingShards::add(ShardOrder order) {
    PendingShard& shard = shards_.emplace_back();
    shard.order = std::move(order);
    return shard;
}

void PendingShards::fill(Hash128 hash, const SharedGenome& genome) {
    for (PendingShard& shard : shards_) {
        shard.fill(hash, genome);
    }
}

GenomeRequest PendingShards::request_for(const PendingShard& shard) {
    GenomeRequest request;
    for (const auto& [hash, places] : shard.missing) {
        request.hashes.push_back(hash);
        asked_.insert(hash);
    }
    return request;
}

void PendingShards::check_answer(const GenomeReply& reply) {
    std::vector<Hash128> hashes = reply.gone;
    for (const NamedGenome& genome : reply.genomes) {
        hashes.push_back(genome.hash);
    }
    // A refused answer answers nothing.
    auto left = asked_;
    for (Hash128 hash : hashes) {
        const auto at = left.find(hash);
        if (at == left.end()) {
            throw InputError(fmt::format(
                "genomes from the coordinator are refused (nobody asked for {}) check that every "
                "rank runs the same program",
                hash.hex()));
        }
        left.erase(at);
    }
    asked_ = std::move(left);
}

std::vector<PendingShard> PendingShards::take(
    const std::function<bool(const PendingShard&)>& wanted) {
    std::vector<PendingShard> taken;
    for (auto at = shards_.begin(); at != shards_.end();) {
        if (wanted(*at)) {
            taken.push_back(std::move(*at));
            at = shards_.erase(at);
        } else {
            ++at;
        }
    }
    return taken;
}

std::vector<PendingShard> PendingShards::take_complete() {
    return take([](const PendingShard& shard) { return shard.missing.empty(); });
}

std::vector<std::uint64_t> PendingShards::give_up(Hash128 missing) {
    return numbers_of(
        take([&](const PendingShard& shard) { return shard.missing.contains(missing); }));
}

std::vector<std::uint64_t> PendingShards::give_up_all() {
    return numbers_of(take([](const PendingShard&) { return true; }));
}

GenomeAnswer read_answer(const NamedGenome& named) {
    try {
        auto genome = std::make_shared<const evolve::Genome>(
            evolve::decode_genome(named.bytes, "the coordinator"));
        const Hash128 content = evolve::content_hash(*genome);
        if (content == named.hash) {
            return {std::move(genome), {}};
        }
        return {nullptr, fmt::format("a genome from the coordinator is refused (its content is {}, "
                                     "it was asked for as {}) check that every rank runs the same "
                                     "program",
                                     content.hex(), named.hash.hex())};
    } catch (const InputError& error) {
        return {nullptr, error.what()};
    }
}

}  // namespace cambrian::distributed
