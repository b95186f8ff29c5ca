#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/variation/birth.hpp"

// Internal to messages: parents and births as blocks of words, and what a shard gave and took.
// Readers throw InputError.
namespace cambrian::distributed::detail {

/// Each parent's place in the list is not written: it is the order.
void write_parents(ArchiveWriter& archive, std::span<const evolve::Parent> parents);
void read_parents(ArchiveReader& archive, std::vector<evolve::Parent>& parents);

/// Births whose parents are places in a list that both sides have, or births with their parents.
enum class ParentsAs : std::uint8_t { places, themselves };
void write_births(ArchiveWriter& archive, std::span<const evolve::Birth> births, ParentsAs form);

/// What places refer to; nothing where parents are there themselves.
using ParentList = std::optional<std::span<const evolve::Parent>>;
void read_births(ArchiveReader& archive, std::vector<evolve::Birth>& births,
                 const ParentList& list);

/// In blocks, which the threads of the reader share.
void write_outcomes(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes);
void read_outcomes(ArchiveReader& archive, std::vector<evolve::Outcome>& outcomes,
                   ThreadPool& threads);

void write_cost(ArchiveWriter& archive, const ShardCost& cost);
void read_cost(ArchiveReader& archive, ShardCost& cost);

}  // namespace cambrian::distributed::detail
