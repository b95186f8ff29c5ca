#pragma once

#include <span>
#include <vector>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

// Internal to messages: what a shard gave and took. Readers throw InputError.
namespace cambrian::distributed::detail {

/// In blocks, which the threads of the reader share.
void write_outcomes(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes);
void read_outcomes(ArchiveReader& archive, std::vector<evolve::Outcome>& outcomes,
                   ThreadPool& threads);

void write_cost(ArchiveWriter& archive, const ShardCost& cost);
void read_cost(ArchiveReader& archive, ShardCost& cost);

}  // namespace cambrian::distributed::detail
