#include "cambrian/evolve/strategy/species_state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::array whole_columns{
    &SpeciesState::id,        &SpeciesState::born,    &SpeciesState::improved,
    &SpeciesState::size,      &SpeciesState::kept,    &SpeciesState::parents,
    &SpeciesState::offspring, &SpeciesState::carried, &SpeciesState::representative};
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

std::vector<SpeciesState> read_species(ArchiveReader& reader,
                                       std::uint32_t format = species_format) {
    const bool all_parents = format < 3;
    const std::size_t columns = whole_columns.size() + real_columns.size() - (all_parents ? 1 : 0);
    std::vector<SpeciesState> species(reader.read_count(8 * columns));
    for (SpeciesState& one : species) {
        for (const auto column : whole_columns) {
            if (!all_parents || column != &SpeciesState::kept) {
                reader.read(one.*column);
            }
        }
        for (const auto column : real_columns) {
            reader.read(one.*column);
        }
        if (all_parents) {
            one.kept = one.parents;
        }
    }
    return species;
}

/// The numbers are what decide() could have made of so many births.
void check_species(const ArchiveReader& reader, std::span<const SpeciesState> species,
                   std::size_t members, std::uint64_t births) {
    std::uint64_t offspring = 0;
    std::uint64_t kept = 0;
    for (const SpeciesState& one : species) {
        const bool lives = one.offspring > 0;
        if (one.offspring > births || one.kept > births || one.carried > one.offspring ||
            one.carried > one.kept || one.parents > one.kept || lives != (one.kept > 0) ||
            lives != (one.parents > 0) ||
            (lives ? one.representative >= one.parents : one.representative > 0)) {
            reader.fail(fmt::format("species {} contradicts itself", one.id));
        }
        offspring += one.offspring;
        kept += one.kept;
    }
    if (kept != members || offspring != (members > 0 ? births : 0)) {
        reader.fail("its species have other births or members than it has");
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

std::size_t SpeciesPopulation::parent_elsewhere(const SpeciesState& own, std::uint64_t nth) const {
    CAMBRIAN_EXPECT(nth < parents_ - own.parents);
    const SpeciesState* other = living().data();
    for (; other == &own || nth >= other->parents; ++other) {
        nth -= other == &own ? 0 : other->parents;
    }
    return other->first_place + nth;
}

void SpeciesPopulation::arrange(std::uint64_t births, std::uint64_t generation) {
    std::ranges::stable_partition(species,
                                  [](const SpeciesState& one) { return one.offspring > 0; });
    living_ = static_cast<std::size_t>(
        std::ranges::count_if(species, [](const SpeciesState& one) { return one.offspring > 0; }));
    std::uint64_t position = 0;
    std::uint64_t place = 0;
    parents_ = 0;
    for (SpeciesState& one : std::span(species).first(living_)) {
        one.first_position = position;
        one.first_place = place;
        position += one.offspring;
        place += one.kept;
        parents_ += one.parents;
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
        one.get_no_births();
    }
    pool.clear();
    living_ = 0;
    parents_ = 0;
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

void SpeciesPopulation::read(ArchiveReader& reader, std::uint32_t format, std::uint64_t births) {
    reader.read(threshold);
    reader.read(last_threshold);
    reader.read(next_id);
    species = read_species(reader, format);
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
