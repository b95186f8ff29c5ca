#pragma once

#include "cambrian/distributed/protocol/message.hpp"

// The scores of a shard and what they cost, as a Request carries them: columns of all births, a few
// bytes each.
namespace cambrian::distributed::detail {

void write_scores(ArchiveWriter& archive, const ShardScores& shard);
/// Fails the archive where columns are not those of its births.
void read_scores(ArchiveReader& archive, ShardScores& shard);

void write_cost(ArchiveWriter& archive, const ShardCost& cost);
void read_cost(ArchiveReader& archive, ShardCost& cost);

}  // namespace cambrian::distributed::detail
