#include "cambrian/evolve/strategy/selection.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/evolve/strategy/fittest.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::size_t member_bytes = 24;
/// Position and fitness.
constexpr std::size_t survivor_bytes = 12;

}  // namespace

bool begins_task(std::span<const std::uint64_t> task_changes, std::uint64_t generation) {
    return std::ranges::binary_search(task_changes, generation);
}

bool Restarts::due(double best, std::uint64_t generation, std::uint64_t after) {
    if (best > record) {
        *this = {best, generation};
        return false;
    }
    if (after == 0 || generation - improved < after) {
        return false;
    }
    *this = {worst_fitness, generation};
    return true;
}

bool Restarts::just_now(std::uint64_t told, std::uint64_t after,
                        std::span<const std::uint64_t> task_changes) const {
    return after > 0 && told > 0 && record == worst_fitness && improved == told &&
           !begins_task(task_changes, told);
}

Decision decide_best(const Scores& scores, std::size_t count) {
    const std::vector<std::uint32_t> positions = fittest_positions(scores, count);
    Decision bytes(positions.size() * survivor_bytes);
    std::byte* at = bytes.data();
    for (const std::uint32_t position : positions) {
        little_endian::put(at, position);
        little_endian::put(at, scores.fitness[position]);
    }
    return bytes;
}

Decision encode_survivors(std::span<const Survivor> survivors) {
    Decision bytes(survivors.size() * survivor_bytes);
    std::byte* at = bytes.data();
    for (const Survivor& survivor : survivors) {
        little_endian::put(at, survivor.position);
        little_endian::put(at, survivor.fitness);
    }
    return bytes;
}

Survivors::Survivors(std::span<const std::byte> decision, std::size_t count, std::uint64_t births,
                     std::uint64_t generation)
    : decision_(decision), births_(births), generation_(generation) {
    if (decision.size() % survivor_bytes != 0 || size() > count) {
        refuse_state(generation, fmt::format("the decision has {} bytes", decision.size()));
    }
}

std::size_t Survivors::size() const {
    return decision_.size() / survivor_bytes;
}

Survivor Survivors::next() {
    const std::byte* at = decision_.data();
    Survivor survivor;
    survivor.position = little_endian::get<std::uint32_t>(at);
    survivor.fitness = little_endian::get_double(at);
    if (survivor.position >= births_) {
        refuse_state(generation_, fmt::format("position {} is not in it", survivor.position));
    }
    decision_ = decision_.subspan(survivor_bytes);
    return survivor;
}

Parent parent_at(std::span<const Member> pool, std::size_t place) {
    const Member& member = pool[place];
    return {
        .birth = member.birth, .fitness = member.fitness, .place = static_cast<PoolPlace>(place)};
}

std::uint32_t select_place(RandomStream& rng, std::uint32_t count,
                           const SelectionSettings& selection) {
    switch (selection.type) {
        case Selection::tournament: {
            // After the fittest nobody wins: larger ones end with it. Others draw all, as what is
            // drawn after them depends on how many were.
            constexpr std::uint64_t all_drawn = 4096;
            const bool ends = selection.tournament_size > all_drawn;
            std::uint32_t best = rng.index(count);
            for (std::uint64_t i = 1; i < selection.tournament_size && !(ends && best == 0); ++i) {
                best = std::min(best, rng.index(count));
            }
            return best;
        }
        case Selection::roulette: {
            // Of all pairs of different numbers up to n, n - k have k as the lower one.
            const std::uint32_t a = rng.index(count + 1);
            std::uint32_t b = rng.index(count);
            b += b >= a ? 1U : 0U;
            return std::min(a, b);
        }
        case Selection::truncation:
            break;
    }
    return rng.index(count);
}

std::uint32_t select_other(RandomStream& rng, std::uint32_t count, std::uint32_t first,
                           const SelectionSettings& selection) {
    const std::uint32_t other = select_place(rng, count - 1, selection);
    return other + (other >= first ? 1U : 0U);
}

SelectedPlaces select_places(std::size_t count, const RandomKey& key, BirthId id, float splice_rate,
                             const SelectionSettings& selection) {
    RandomStream rng(key, id);
    const auto places = static_cast<std::uint32_t>(count);
    const bool two = rng.chance(splice_rate) && places > 1;
    const std::uint32_t first = select_place(rng, places, selection);
    if (!two) {
        return {first, std::nullopt};
    }
    const std::uint32_t second = select_other(rng, places, first, selection);
    return {std::min(first, second), std::max(first, second)};
}

Parents select_parents(std::span<const Member> pool, const RandomKey& key, BirthId id,
                       float splice_rate, const SelectionSettings& selection) {
    const SelectedPlaces places = select_places(pool.size(), key, id, splice_rate, selection);
    Parents parents{parent_at(pool, places.first)};
    if (places.second) {
        parents.push_back(parent_at(pool, *places.second));
    }
    return parents;
}

std::vector<Member> newcomers(std::span<const Member> pool, std::span<const Member> immigrants,
                              std::size_t most) {
    std::vector<Member> sorted(immigrants.begin(), immigrants.end());
    std::sort(sorted.begin(), sorted.end(), fitter);
    std::unordered_set<BirthId> origins;  // of those who have still to arrive
    for (const Member& member : immigrants) {
        origins.insert(member.origin);
    }
    for (const Member& member : pool) {
        origins.erase(member.origin);
    }
    std::vector<Member> arrived;
    for (const Member& member : sorted) {
        if (arrived.size() < most && origins.erase(member.origin) > 0) {
            arrived.push_back(member);
        }
    }
    return arrived;
}

std::vector<Member> with_immigrants(std::vector<Member> pool, std::span<const Member> immigrants,
                                    std::size_t most, bool extinct) {
    pool.resize(extinct ? 0 : pool.size());
    const std::vector<Member> arrived = newcomers(pool, immigrants, most);
    pool.insert(pool.end(), arrived.begin(), arrived.end());
    std::sort(pool.begin(), pool.end(), fitter);
    pool.resize(std::min(pool.size(), most));
    return pool;
}

void write_members(ArchiveWriter& writer, std::span<const Member> pool) {
    constexpr std::size_t at_once = 64;
    writer.write(std::uint64_t{pool.size() * member_bytes});
    for (std::size_t first = 0; first < pool.size(); first += at_once) {
        std::array<std::byte, at_once * member_bytes> bytes;
        std::byte* at = bytes.data();
        for (const Member& member : pool.subspan(first, std::min(at_once, pool.size() - first))) {
            little_endian::put(at, member.birth);
            little_endian::put(at, member.origin);
            little_endian::put(at, member.fitness);
        }
        writer.append(std::span(bytes.data(), at));
    }
}

std::vector<Member> read_members(ArchiveReader& reader, std::size_t most) {
    std::vector<std::byte> bytes;
    reader.read(bytes);
    const std::size_t count = bytes.size() / member_bytes;
    if (bytes.size() % member_bytes != 0 || count > most) {
        reader.fail(fmt::format("its members take {} bytes", bytes.size()));
    }
    std::vector<Member> pool(count);
    const std::byte* at = bytes.data();
    for (Member& member : pool) {
        member.birth = little_endian::get<std::uint64_t>(at);
        member.origin = little_endian::get<std::uint64_t>(at);
        member.fitness = little_endian::get_double(at);
    }
    return pool;
}

void refuse_state(std::uint64_t generation, const std::string& why) {
    throw InputError(fmt::format(
        "the elites after generation {} cannot be read ({}) use an older checkpoint, and one "
        "version of the program on every rank",
        generation, why));
}

void check_members(std::span<const Member> pool, std::uint64_t generation) {
    for (std::size_t place = 0; place < pool.size(); ++place) {
        if (pool[place].origin > pool[place].birth || std::isnan(pool[place].fitness)) {
            refuse_state(generation, fmt::format("member {} is of another one", place));
        }
        if (place > 0 && !fitter(pool[place - 1], pool[place])) {
            refuse_state(generation, fmt::format("member {} is out of order", place));
        }
    }
}

}  // namespace cambrian::evolve
