#include "cambrian/evolve/strategy/species.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/species_groups.hpp"
#include "cambrian/evolve/strategy/species_state.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

class SpeciesStrategy final : public Strategy {
  public:
    explicit SpeciesStrategy(const StrategyContext& context)
        : seed_(context.seed),
          size_(context.population.size),
          splice_rate_(context.splice_rate),
          settings_(context.species),
          selection_(context.selection),
          task_changes_(context.task_changes),
          island_(context.island),
          ids_{context.ids.offset, context.ids.stride == 0 ? size_ : context.ids.stride},
          select_key_(random_key(context.seed, "select", context.island)),
          representative_key_(random_key(context.seed, "representative", context.island)) {
        CAMBRIAN_ASSERT(size_ > 0 && size_ <= std::numeric_limits<std::uint32_t>::max());
        if (settings_.min_size > size_) {
            throw ConfigError(fmt::format(
                "species.min_size is {} (the population{} has {} individuals) use {} or less",
                settings_.min_size, context.islands.count > 1 ? " of an island" : "", size_,
                size_));
        }
        if (selection_.parent_fraction > 0.0) {
            throw ConfigError(
                "selection.parent_fraction is set (strategy.type \"species\" has species.survival "
                "in its place) leave it out");
        }
        state_.threshold = settings_.threshold;
    }

    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] std::uint64_t births() const override { return size_; }
    [[nodiscard]] BirthId first_birth() const override {
        return generation_ * ids_.stride + ids_.offset;
    }
    [[nodiscard]] std::span<const Member> parent_pool() const override { return state_.pool; }

    [[nodiscard]] Birth birth(std::uint64_t position) const override;
    [[nodiscard]] bool carries(std::uint64_t position) const override {
        const SpeciesState* species = state_.species_at(position);
        return species != nullptr && position - species->first_position < species->carried;
    }
    [[nodiscard]] std::vector<Kinship> kinship() const override;
    [[nodiscard]] std::vector<std::uint64_t> species_of(const Scores& scores) const override;
    [[nodiscard]] std::vector<SpeciesSummary> species() const override;
    [[nodiscard]] bool extinct() const override;

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override;
    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override;
    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override;
    [[nodiscard]] std::vector<std::byte> save() const override;
    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override;

  private:
    /// Index of the species of a birth, from that of the oldest living one on; `unmatched`: none.
    [[nodiscard]] std::uint32_t number_of(const Scores& scores, std::uint64_t position) const;
    [[nodiscard]] std::vector<SpeciesGroup> groups_of(const Scores& scores) const;
    [[nodiscard]] double next_threshold(std::size_t species) const;
    [[nodiscard]] Parents parents_in(const SpeciesState& species, BirthId id) const;
    [[nodiscard]] std::string settings_text() const;

    std::uint64_t seed_;
    std::uint64_t size_;
    float splice_rate_;
    SpeciesSettings settings_;
    SelectionSettings selection_;
    std::vector<std::uint64_t> task_changes_;
    std::uint32_t island_;
    IdSpace ids_;
    RandomKey select_key_;
    RandomKey representative_key_;
    std::uint64_t generation_ = 0;
    SpeciesPopulation state_;
    Restarts restarts_;
};

Birth SpeciesStrategy::birth(std::uint64_t position) const {
    CAMBRIAN_EXPECT(position < size_);
    const BirthId id = first_birth() + position;
    const SpeciesState* species = state_.species_at(position);
    if (species == nullptr) {
        return {.id = id, .recipe = Recipe::sample, .parents = {}, .island = island_};
    }
    if (const std::uint64_t nth = position - species->first_position; nth < species->carried) {
        return {.id = id,
                .recipe = Recipe::carry,
                .parents = {parent_at(state_.pool, species->first_place + nth)},
                .island = island_};
    }
    return {
        .id = id, .recipe = Recipe::vary, .parents = parents_in(*species, id), .island = island_};
}

Parents SpeciesStrategy::parents_in(const SpeciesState& species, BirthId id) const {
    const std::span<const Member> pool = state_.pool;
    const auto own = static_cast<std::uint32_t>(species.parents);
    const auto others = static_cast<std::uint32_t>(state_.parents()) - own;
    RandomStream rng(select_key_, id);
    const bool two = rng.chance(splice_rate_);
    const bool abroad = two && rng.chance(settings_.interspecies_rate) && others > 0;
    const std::uint32_t nth = select_place(rng, own, selection_);
    const std::size_t first = species.first_place + nth;
    if (!two || (!abroad && own == 1)) {
        return {parent_at(pool, first)};
    }
    const std::size_t second = abroad
                                   ? state_.parent_elsewhere(species, rng.index(others))
                                   : species.first_place + select_other(rng, own, nth, selection_);
    return fitter(pool[second], pool[first])
               ? Parents{parent_at(pool, second), parent_at(pool, first)}
               : Parents{parent_at(pool, first), parent_at(pool, second)};
}

std::vector<Kinship> SpeciesStrategy::kinship() const {
    Kinship own{.begin = 0,
                .end = size_,
                .representatives = {},
                .threshold = state_.threshold,
                .matching = settings_.matching,
                .distance = settings_.distance};
    for (const SpeciesState& species : state_.living()) {
        own.representatives.push_back(static_cast<PoolPlace>(
            static_cast<std::uint32_t>(species.first_place + species.representative)));
    }
    return {own};
}

std::uint32_t SpeciesStrategy::number_of(const Scores& scores, std::uint64_t position) const {
    if (!scores.valid(position) || std::isnan(scores.fitness[position])) {
        return unmatched;
    }
    if (carries(position)) {
        return static_cast<std::uint32_t>(state_.species_at(position) - state_.living().data());
    }
    CAMBRIAN_ASSERT(scores.species[position] != unmatched);
    return scores.species[position];
}

std::vector<std::uint64_t> SpeciesStrategy::species_of(const Scores& scores) const {
    CAMBRIAN_ASSERT(scores.size() == size_ && scores.species.size() == size_);
    const std::span<const SpeciesState> living = state_.living();
    std::vector<std::uint64_t> ids(size_, 0);
    for (std::uint64_t position = 0; position < size_; ++position) {
        const std::uint32_t number = number_of(scores, position);
        if (number != unmatched) {
            ids[position] = number < living.size() ? living[number].id
                                                   : state_.next_id + (number - living.size());
        }
    }
    return ids;
}

bool SpeciesStrategy::extinct() const {
    return settings_.extinction == Extinction::error && generation_ > 0 &&
           state_.living().empty() &&
           !restarts_.just_now(generation_ - 1, selection_.restart_after, task_changes_);
}

std::vector<SpeciesSummary> SpeciesStrategy::species() const {
    std::vector<SpeciesSummary> all;
    for (const SpeciesState& one : state_.species) {
        SpeciesSummary& summary = all.emplace_back();
        summary = {.id = one.id,
                   .island = island_,
                   .size = one.size,
                   .best = one.best,
                   .mean = one.mean,
                   .born = one.born,
                   .improved = one.improved,
                   .offspring = one.offspring,
                   .threshold = state_.last_threshold,
                   .representative = std::nullopt,
                   .champion = std::nullopt};
        if (one.offspring > 0) {
            summary.representative = state_.pool[one.first_place + one.representative].birth;
            summary.champion = static_cast<PoolPlace>(static_cast<std::uint32_t>(one.first_place));
        }
    }
    return all;
}

std::vector<SpeciesGroup> SpeciesStrategy::groups_of(const Scores& scores) const {
    const std::span<const SpeciesState> living = state_.living();
    std::vector<SpeciesGroup> groups;
    for (const SpeciesState& species : living) {
        groups.push_back({species, {}});
    }
    for (std::uint64_t position = 0; position < size_; ++position) {
        const std::uint32_t number = number_of(scores, position);
        if (number == unmatched) {
            continue;
        }
        while (number >= groups.size()) {
            SpeciesState& founded = groups.emplace_back().state;
            founded.id = state_.next_id + (groups.size() - 1 - living.size());
            founded.born = founded.improved = generation_;
        }
        groups[number].members.push_back(
            {static_cast<std::uint32_t>(position), scores.fitness[position]});
    }
    for (SpeciesGroup& group : groups) {
        rank_members(group, generation_, begins_task(task_changes_, generation_));
    }
    return groups;
}

double SpeciesStrategy::next_threshold(std::size_t species) const {
    const double factor = 1.0 + settings_.threshold_change;
    if (settings_.target == 0 || species == 0 || species == settings_.target) {
        return state_.threshold;
    }
    return species > settings_.target ? std::min(state_.threshold * factor, largest_setting)
                                      : std::max(state_.threshold / factor, 1.0 / largest_setting);
}

Decision SpeciesStrategy::decide(const Scores& scores, ThreadPool&) const {
    CAMBRIAN_ASSERT(scores.size() == size_ && scores.species.size() == size_);
    std::vector<SpeciesGroup> groups = groups_of(scores);
    SpeciesDecision decision;
    decision.next_id = state_.next_id + groups.size() - state_.living().size();
    std::vector<SpeciesGroup*> living;
    for (SpeciesGroup& group : groups) {
        if (!group.members.empty()) {
            living.push_back(&group);
        }
    }
    const std::vector<SpeciesGroup*> all = living;
    decision.threshold = next_threshold(all.size());
    drop_species(living, settings_, size_, generation_);
    if (!living.empty()) {
        divide_births(living, settings_, size_, generation_);
        choose_representatives(living, settings_.representative,
                               RandomStream(representative_key_, generation_));
    }
    for (const SpeciesGroup* group : all) {
        decision.species.push_back(group->state);
        const auto kept = static_cast<std::ptrdiff_t>(group->state.kept);
        decision.survivors.insert(decision.survivors.end(), group->members.begin(),
                                  group->members.begin() + kept);
    }
    return encode(decision);
}

std::unique_ptr<Strategy> SpeciesStrategy::apply(std::span<const std::byte> bytes) const {
    const SpeciesDecision decision = read_species_decision(bytes, size_, generation_);
    auto next = std::make_unique<SpeciesStrategy>(*this);
    SpeciesPopulation& state = next->state_;
    state.last_threshold = state_.threshold;
    state.threshold = decision.threshold;
    state.next_id = decision.next_id;
    state.species = decision.species;
    state.pool.clear();
    for (const Survivor& one : decision.survivors) {
        const BirthId id = first_birth() + one.position;
        BirthId origin = id;
        if (carries(one.position)) {
            origin = state_.pool[index_of(birth(one.position).parents.front().place)].origin;
        }
        state.pool.push_back({id, origin, one.fitness});
    }
    ++next->generation_;
    state.arrange(size_, generation_);
    if (begins_task(task_changes_, generation_)) {
        next->restarts_ = {worst_fitness, generation_};
    }
    if (state.pool.empty()) {
        // Founders follow, whom no record of those before them judges.
        next->restarts_ = {worst_fitness, next->generation_};
    } else if (next->restarts_.due(
                   std::ranges::max_element(state.pool, {}, &Member::fitness)->fitness, generation_,
                   selection_.restart_after)) {
        state.die_out();
        state.threshold = settings_.threshold;
    }
    return next;
}

/// Migrants are a species of their own until their children show which they are like.
std::unique_ptr<Strategy> SpeciesStrategy::receive(std::span<const Member> immigrants,
                                                   bool extinct) const {
    auto next = std::make_unique<SpeciesStrategy>(*this);
    if (restarts_.just_now(generation_ - 1, selection_.restart_after, task_changes_) ||
        this->extinct()) {
        return next;
    }
    SpeciesPopulation& state = next->state_;
    if (extinct) {
        state.die_out();
    }
    // Every species that lives here keeps a birth.
    const std::size_t room = size_ - state.living().size();
    const std::vector<Member> arrived = newcomers(state.pool, immigrants, room);
    if (arrived.empty()) {
        return next;
    }
    SpeciesState visitors;
    visitors.id = state.next_id++;
    visitors.born = visitors.improved = generation_;
    visitors.size = visitors.kept = visitors.parents = arrived.size();
    visitors.best = visitors.record = arrived.front().fitness;
    double sum = 0.0;
    for (const Member& member : arrived) {
        sum += member.fitness;
    }
    visitors.mean = sum / static_cast<double>(arrived.size());
    state.make_room(visitors, size_);
    state.species.insert(state.species.begin() + static_cast<std::ptrdiff_t>(state.living().size()),
                         visitors);
    state.pool.insert(state.pool.end(), arrived.begin(), arrived.end());
    state.arrange(size_, generation_ - 1);
    return next;
}

std::string SpeciesStrategy::settings_text() const {
    nlohmann::ordered_json json;
    field_json::write(json["species"], settings_);
    field_json::write(json["selection"], selection_);
    return json.dump();
}

std::vector<std::byte> SpeciesStrategy::save() const {
    ArchiveWriter writer;
    writer.write(species_format);
    writer.write(seed_);
    writer.write(size_);
    writer.write(splice_rate_);
    writer.write(ids_.offset);
    writer.write(ids_.stride);
    writer.write(settings_text());
    writer.write(generation_);
    writer.write(restarts_.record);
    writer.write(restarts_.improved);
    state_.write(writer);
    return writer.take();
}

std::unique_ptr<Strategy> SpeciesStrategy::load(std::span<const std::byte> bytes) const {
    ArchiveReader reader(bytes, "strategy of the checkpoint");
    std::uint32_t found = 0;
    reader.read(found);
    if (found < oldest_species_format || found > species_format) {
        reader.fail(fmt::format("it has format {}, this program reads {} to {}", found,
                                oldest_species_format, species_format));
    }
    auto other = std::make_unique<SpeciesStrategy>(*this);
    std::string text;
    reader.read(other->seed_);
    reader.read(other->size_);
    reader.read(other->splice_rate_);
    reader.read(other->ids_.offset);
    reader.read(other->ids_.stride);
    reader.read(text);
    if (other->seed_ != seed_ || other->size_ != size_ || other->splice_rate_ != splice_rate_ ||
        other->ids_ != ids_ || text != settings_text()) {
        reader.fail("it was saved with another seed, population, splice rate or other species");
    }
    reader.read(other->generation_);
    reader.read(other->restarts_.record);
    reader.read(other->restarts_.improved);
    other->state_.read(reader, found, size_);
    reader.finish();
    other->state_.arrange(size_, other->generation_ - 1);
    return other;
}

}  // namespace

std::unique_ptr<Strategy> make_species_strategy(const StrategyContext& context) {
    return std::make_unique<SpeciesStrategy>(context);
}

}  // namespace cambrian::evolve
