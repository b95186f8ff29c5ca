#include "cambrian/evolve/strategy/species_state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::array whole_columns{&SpeciesState::id,       &SpeciesState::born,
                                   &SpeciesState::improved, &SpeciesState::size,
                                   &SpeciesState::parents,  &SpeciesState::offspring,
                                   &SpeciesState::carried,  &SpeciesState::representative};
constexpr std::array real_columns{&SpeciesState::record, &SpeciesState::best, &SpeciesState::mean};

void write_species(ArchiveWriter& writer, std::span<const SpeciesState> species) {
    writer.write(static_cast<std::uint64_t>(species.size()));
    for (const SpeciesState& one : species) {
        for (const auto column : whole_columns) {
            writer.write(one.*column);
        }
        for (const auto column : real_columns) {
            writer.write(one.*column);
        }
    }
}

std::vector<SpeciesState> read_species(ArchiveReader& reader) {
    constexpr std::size_t bytes = 8 * (whole_columns.size() + real_columns.size());
    std::vector<SpeciesState> species(reader.read_count(bytes));
    for (SpeciesState& one : species) {
        for (const auto column : whole_columns) {
            reader.read(one.*column);
        }
        for (const auto column : real_columns) {
            reader.read(one.*column);
        }
    }
    return species;
}

/// The numbers are what decide() could have made of so many births.
void check_species(const ArchiveReader& reader, std::span<const SpeciesState> species,
                   std::size_t members, std::uint64_t births) {
    std::uint64_t offspring = 0;
    std::uint64_t parents = 0;
    for (const SpeciesState& one : species) {
        const bool lives = one.offspring > 0;
        if (one.offspring > births || one.parents > births || one.carried > one.offspring ||
            one.carried > one.parents || lives != (one.parents > 0) ||
            (lives ? one.representative >= one.parents : one.representative > 0)) {
            reader.fail(fmt::format("species {} contradicts itself", one.id));
        }
        offspring += one.offspring;
        parents += one.parents;
    }
    if (parents != members || offspring != (members > 0 ? births : 0)) {
        reader.fail("its species have other births or parents than it has");
    }
}

}  // namespace

const SpeciesState* SpeciesPopulation::species_at(std::uint64_t position) const {
    if (living_ == 0) {
        return nullptr;
    }
    const auto after =
        std::ranges::upper_bound(living(), position, {}, &SpeciesState::first_position);
    return &living()[static_cast<std::size_t>(after - living().begin()) - 1];
}

void SpeciesPopulation::arrange(std::uint64_t births, std::uint64_t generation) {
    std::ranges::stable_partition(species,
                                  [](const SpeciesState& one) { return one.offspring > 0; });
    living_ = static_cast<std::size_t>(
        std::ranges::count_if(species, [](const SpeciesState& one) { return one.offspring > 0; }));
    std::uint64_t position = 0;
    std::uint64_t place = 0;
    for (SpeciesState& one : std::span(species).first(living_)) {
        one.first_position = position;
        one.first_place = place;
        position += one.offspring;
        place += one.parents;
    }
    CAMBRIAN_ASSERT(place == pool.size() && (living_ == 0 || position == births));
    for (const Member& member : pool) {
        if (member.origin > member.birth || std::isnan(member.fitness)) {
            refuse_state(generation, fmt::format("member {} is of another one", member.birth));
        }
    }
}

void SpeciesPopulation::die_out() {
    for (SpeciesState& one : species) {
        one.offspring = one.carried = one.parents = one.representative = 0;
    }
    pool.clear();
    living_ = 0;
}

void SpeciesPopulation::make_room(SpeciesState& visitors, std::uint64_t births) {
    if (living_ == 0) {
        visitors.offspring = births;
        visitors.carried = 1;
        return;
    }
    for (; visitors.offspring < visitors.parents; ++visitors.offspring) {
        SpeciesState& largest = *std::ranges::max_element(species, {}, &SpeciesState::offspring);
        CAMBRIAN_ASSERT(largest.offspring > 1);
        --largest.offspring;
        largest.carried = std::min(largest.carried, largest.offspring);
    }
    const auto residents = std::span(species).first(living_);
    if (std::ranges::any_of(residents,
                            [&](const SpeciesState& one) { return one.best >= visitors.best; })) {
        return;
    }
    visitors.carried = 1;
    std::uint64_t all_carried = visitors.carried;
    for (const SpeciesState& one : residents) {
        all_carried += one.carried;
    }
    // Where everybody lived on no child would be born.
    if (all_carried == births) {
        --std::ranges::max_element(residents, {}, &SpeciesState::carried)->carried;
    }
}

void SpeciesPopulation::write(ArchiveWriter& writer) const {
    writer.write(threshold);
    writer.write(last_threshold);
    writer.write(next_id);
    write_species(writer, species);
    write_members(writer, pool);
}

void SpeciesPopulation::read(ArchiveReader& reader, std::uint64_t births) {
    reader.read(threshold);
    reader.read(last_threshold);
    reader.read(next_id);
    species = read_species(reader);
    pool = read_members(reader, 2 * births);  // with migrants
    check_species(reader, species, pool.size(), births);
}

Decision encode(const SpeciesDecision& decision) {
    ArchiveWriter writer;
    writer.write(decision.threshold);
    writer.write(decision.next_id);
    write_species(writer, decision.species);
    writer.write(std::span<const std::byte>(encode_survivors(decision.survivors)));
    return writer.take();
}

SpeciesDecision read_species_decision(std::span<const std::byte> bytes, std::uint64_t births,
                                      std::uint64_t generation) {
    ArchiveReader reader(bytes, fmt::format("the decision about generation {}", generation));
    SpeciesDecision decision;
    std::vector<std::byte> survivors;
    reader.read(decision.threshold);
    reader.read(decision.next_id);
    decision.species = read_species(reader);
    reader.read(survivors);
    reader.finish();
    for (Survivors best(survivors, births, births, generation); !best.empty();) {
        decision.survivors.push_back(best.next());
    }
    check_species(reader, decision.species, decision.survivors.size(), births);
    return decision;
}

}  // namespace cambrian::evolve
