#include "cambrian/distributed/generation/round.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

[[noreturn]] void refuse(const Record& record, const std::string& why) {
    throw InputError(fmt::format(
        "the record of generation {} is refused ({}) check that every rank runs the same program",
        record.generation, why));
}

/// By position: the rank that has the first parent (0 for founders), or nobody where the birth is
/// not evaluated.
UnsetVector<std::uint32_t> ranks_of_parents(const Round& round, bool reevaluate,
                                            ThreadPool& threads, const Foresight& foresight) {
    const evolve::Strategy& strategy = *round.strategy;
    const std::size_t members = round.holders.size();
    const bool right =
        foresight.generation == strategy.generation() && foresight.members == members;
    const std::size_t foreseen = right ? foresight.places.size() : 0;
    const auto rank_of = [&](std::size_t position) {
        if (position < foreseen) {
            return round.holders[foresight.places[position]];
        }
        if (const auto place = strategy.first_parent(strategy.generation(), position, members)) {
            return round.holders.at(*place);
        }
        const evolve::Parents parents = strategy.birth(position).parents;
        return parents.empty() ? 0 : round.holders.at(index_of(parents.front().place));
    };
    UnsetVector<std::uint32_t> ranks(strategy.births());
    // Where one rank has all there is no need to draw who the parents are.
    const bool several = std::ranges::adjacent_find(round.holders, std::ranges::not_equal_to()) !=
                         round.holders.end();
    const std::uint32_t only = round.holders.empty() ? 0 : round.holders.front();
    for_each_index(threads, ranks.size(), block_of_births, [&](std::size_t position) {
        if (!reevaluate && strategy.carries(position)) {
            ranks[position] = nobody;
        } else {
            ranks[position] = several ? rank_of(position) : only;
        }
    });
    return ranks;
}

/// Positions sorted by rank, those of one rank as they were, and the ranges of all ranks. Every
/// block of positions counts its ranks, then knows where its own go.
void sort_positions(std::span<const std::uint32_t> ranks, ThreadPool& threads,
                    UnsetVector<std::uint32_t>& order, std::vector<OrderRange>& zones) {
    std::size_t count = 1;  // Of ranks.
    for (const std::uint32_t rank : ranks) {
        count = rank == nobody ? count : std::max(count, std::size_t{rank} + 1);
    }
    // One thread adds the counters of all blocks up: far fewer than positions.
    const std::size_t block_size = std::max(block_of_births, 16 * count);
    const std::size_t blocks = blocks_of(ranks.size(), block_size);
    std::vector<std::size_t> next(blocks * count, 0);
    // Calls visit(position, next of its block and rank) for all who are evaluated.
    const auto each = [&](const auto& visit) {
        for_each_block(threads, ranks.size(), block_size, [&](const Block& block, int) {
            for (std::size_t i = block.begin; i < block.end; ++i) {
                if (ranks[i] != nobody) {
                    visit(i, next[block.number * count + ranks[i]]);
                }
            }
        });
    };
    each([](std::size_t, std::size_t& counted) { ++counted; });
    zones.resize(count);
    std::size_t end = 0;
    for (std::size_t rank = 0; rank < count; ++rank) {
        zones[rank].begin = end;
        for (std::size_t block = 0; block < blocks; ++block) {
            end += std::exchange(next[block * count + rank], end);
        }
        zones[rank].end = end;
    }
    order.resize(end);
    each([&](std::size_t position, std::size_t& place) {
        order[place++] = static_cast<std::uint32_t>(position);
    });
}

/// Where the genomes of members were. Throws InputError for a member that was in neither round.
std::vector<MemberSource> sources_of(std::span<const evolve::Member> members, const Round& told,
                                     const Round& newest, ThreadPool& threads) {
    std::unordered_map<evolve::BirthId, std::size_t> staying;
    if (newest.strategy->members_stay()) {
        const std::span<const evolve::Member> pool = newest.strategy->parent_pool();
        for (std::size_t place = 0; place < pool.size(); ++place) {
            staying.emplace(pool[place].birth, place);
        }
    }
    const std::uint64_t births = told.strategy->births();
    const auto position_of = [first = told.strategy->first_birth()](const evolve::Member& member) {
        return member.birth - first;
    };
    for (const evolve::Member& member : members) {
        if (position_of(member) >= births && !staying.contains(member.birth)) {
            throw InputError(fmt::format(
                "the members after generation {} are refused (birth {} is of another generation) "
                "check that every rank runs the same program",
                told.generation(), member.birth));
        }
    }
    std::vector<MemberSource> sources(members.size());
    for_each_index(threads, members.size(), block_of_births, [&](std::size_t place) {
        const evolve::Member& member = members[place];
        if (const auto at = staying.find(member.birth); at != staying.end()) {
            sources[place] = {MemberSource::Place::member, at->second};
        } else if (member.origin == member.birth) {
            sources[place] = {MemberSource::Place::child, position_of(member)};
        } else {
            const evolve::Birth carried = told.strategy->birth(position_of(member));
            sources[place] = {MemberSource::Place::parent, index_of(carried.parents.front().place)};
        }
    });
    return sources;
}

}  // namespace

bool foresee(const Round& newest, Foresight& foresight) {
    const evolve::Strategy& strategy = *newest.strategy;
    const std::uint64_t generation = strategy.generation() + 1;
    if (foresight.generation != generation) {
        foresight.generation = generation;
        foresight.members = strategy.parent_pool().size();
        foresight.places.clear();
        foresight.places.reserve(strategy.births());
    }
    const std::size_t begin = foresight.places.size();
    const std::size_t end = std::min<std::size_t>(begin + block_of_births, strategy.births());
    for (std::size_t position = begin; position < end; ++position) {
        const auto place = strategy.first_parent(generation, position, foresight.members);
        if (!place) {
            return false;
        }
        foresight.places.push_back(*place);
    }
    return end > begin;
}

SharedRound make_round(SharedStrategy strategy, std::vector<std::uint32_t> holders, bool reevaluate,
                       ThreadPool& threads, const Foresight& foresight) {
    CAMBRIAN_EXPECT(holders.size() == strategy->parent_pool().size());
    const auto round = std::make_shared<Round>();
    round->digest = strategy->digest();
    round->kinship = strategy->kinship();
    round->regulated = strategy->regulates();
    round->strategy = std::move(strategy);
    round->holders = std::move(holders);
    sort_positions(ranks_of_parents(*round, reevaluate, threads, foresight), threads, round->order,
                   round->zones);
    if (round->holders.empty()) {
        round->zones.clear();  // Founders are for whoever asks.
    }
    return round;
}

std::size_t kinship_at(const Round& round, std::uint64_t position) {
    const auto range = std::ranges::upper_bound(round.kinship, position, {}, &evolve::Kinship::end);
    CAMBRIAN_EXPECT(range != round.kinship.end());
    return static_cast<std::size_t>(range - round.kinship.begin());
}

std::vector<std::uint32_t> evaluators(const Round& round, std::span<const HolderRange> holders) {
    std::vector<std::uint32_t> ranks(round.strategy->births(), nobody);
    std::size_t index = 0;
    for (const HolderRange& range : holders) {
        for (; index < range.end; ++index) {
            ranks[round.order.at(index)] = range.rank;
        }
    }
    return ranks;
}

std::vector<SharedStrategy> open_states(SharedStrategy newest) {
    std::vector<SharedStrategy> states;
    for (SharedStrategy state = std::move(newest); state; state = states.back()->former()) {
        states.push_back(std::move(state));
    }
    std::ranges::reverse(states);
    return states;
}

NextRound next_round(const Round& told, const Round& newest, const Record& record, bool reevaluate,
                     ThreadPool& threads, const Foresight& foresight, SharedStrategy next) {
    if (record.generation != told.generation()) {
        refuse(record, fmt::format("generation {} is under way", told.generation()));
    }
    const std::size_t end = record.holders.empty() ? 0 : record.holders.back().end;
    if (end != told.order.size() ||
        !std::ranges::is_sorted(record.holders, {}, &HolderRange::end)) {
        refuse(record, "its ranks are those of other births");
    }
    const std::vector<std::uint32_t> ranks = evaluators(told, record.holders);
    if (!next) {
        next = evolve::state_after(*newest.strategy, record.decision);
    }
    const std::span<const evolve::Member> members = next->parent_pool();
    std::vector<MemberSource> sources = sources_of(members, told, newest, threads);
    const evolve::BirthId first = told.strategy->first_birth();
    std::vector<std::uint32_t> holders(members.size());
    for (std::size_t place = 0; place < members.size(); ++place) {
        const MemberSource& source = sources[place];
        if (source.place == MemberSource::Place::member) {
            holders[place] = newest.holders.at(source.index);
            continue;
        }
        // Who was carried over without an evaluation lies where its parent did.
        const std::uint32_t rank = ranks[members[place].birth - first];
        holders[place] = rank == nobody ? told.holders.at(source.index) : rank;
    }
    return {make_round(std::move(next), std::move(holders), reevaluate, threads, foresight),
            std::move(sources)};
}

}  // namespace cambrian::distributed
