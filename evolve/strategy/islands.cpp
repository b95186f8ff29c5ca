#include "cambrian/evolve/strategy/islands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t islands_format = 1;

using Island = std::shared_ptr<const Strategy>;

/// Parts one after another, each with its length.
std::vector<std::byte> in_one(const std::vector<std::vector<std::byte>>& parts) {
    ArchiveWriter writer;
    writer.write(islands_format);
    for (const std::vector<std::byte>& part : parts) {
        writer.write(std::span<const std::byte>(part));
    }
    return writer.take();
}

std::vector<std::vector<std::byte>> apart(std::span<const std::byte> bytes, std::size_t count,
                                          const std::string& source) {
    ArchiveReader reader(bytes, source);
    std::uint32_t found = 0;
    reader.read(found);
    if (found != islands_format) {
        reader.fail(fmt::format("it has format {}, this program reads {}", found, islands_format));
    }
    std::vector<std::vector<std::byte>> parts(count);
    for (std::vector<std::byte>& part : parts) {
        reader.read(part);
    }
    reader.finish();
    return parts;
}

class Islands final : public Strategy {
  public:
    Islands(std::uint64_t seed, IslandSettings settings, std::vector<Island> islands)
        : seed_(seed), settings_(std::move(settings)), islands_(std::move(islands)) {
        for (const Island& island : islands_) {
            first_position_.push_back(births_);
            first_place_.push_back(static_cast<std::uint32_t>(pool_.size()));
            births_ += island->births();
            max_members_ += island->max_members();
            pool_.insert(pool_.end(), island->parent_pool().begin(), island->parent_pool().end());
        }
    }

    [[nodiscard]] std::uint64_t generation() const override {
        return islands_.front()->generation();
    }
    [[nodiscard]] std::uint64_t open() const override { return islands_.front()->open(); }
    [[nodiscard]] std::unique_ptr<Strategy> former() const override {
        std::vector<Island> formers;
        for (const Island& island : islands_) {
            formers.emplace_back(island->former());
        }
        return formers.front() == nullptr
                   ? nullptr
                   : std::make_unique<Islands>(seed_, settings_, std::move(formers));
    }
    [[nodiscard]] bool members_stay() const override { return islands_.front()->members_stay(); }
    [[nodiscard]] std::uint64_t births() const override { return births_; }
    [[nodiscard]] BirthId first_birth() const override { return islands_.front()->first_birth(); }
    [[nodiscard]] std::span<const Member> parent_pool() const override { return pool_; }

    [[nodiscard]] Birth birth(std::uint64_t position) const override {
        CAMBRIAN_EXPECT(position < births_);
        const std::size_t island = island_of(position);
        Birth birth = islands_[island]->birth(position - first_position_[island]);
        birth.island = static_cast<std::uint32_t>(island);
        Parents parents;
        for (Parent parent : birth.parents) {
            parent.place = here(parent.place, island);
            parents.push_back(parent);
        }
        birth.parents = parents;
        return birth;
    }

    [[nodiscard]] bool carries(std::uint64_t position) const override {
        const std::size_t island = island_of(position);
        return islands_[island]->carries(position - first_position_[island]);
    }

    /// Of so many members as there may be each island has all that it may have, so that its places
    /// are known.
    [[nodiscard]] std::optional<std::uint32_t> first_parent(std::uint64_t generation,
                                                            std::uint64_t position,
                                                            std::size_t members) const override {
        if (members != max_members_ || pool_.size() != max_members_) {
            return std::nullopt;
        }
        const std::size_t island = island_of(position);
        const Strategy& own = *islands_[island];
        const std::optional<std::uint32_t> place = own.first_parent(
            generation, position - first_position_[island], own.parent_pool().size());
        return place ? std::optional(*place + first_place_[island]) : std::nullopt;
    }
    [[nodiscard]] std::size_t max_members() const override { return max_members_; }

    [[nodiscard]] std::vector<Kinship> kinship() const override {
        std::vector<Kinship> all;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            for (Kinship& own : islands_[i]->kinship()) {
                own.begin += first_position_[i];
                own.end += first_position_[i];
                for (PoolPlace& place : own.representatives) {
                    place = here(place, i);
                }
                all.push_back(std::move(own));
            }
        }
        return all;
    }

    [[nodiscard]] std::vector<std::uint64_t> species_of(const Scores& scores) const override {
        std::vector<std::uint64_t> all;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            const auto own = islands_[i]->species_of(scores_of(scores, i));
            all.insert(all.end(), own.begin(), own.end());
        }
        return all;
    }

    [[nodiscard]] std::vector<SpeciesSummary> species() const override {
        std::vector<SpeciesSummary> all;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            for (SpeciesSummary& one : islands_[i]->species()) {
                if (one.champion) {
                    one.champion = here(*one.champion, i);
                }
                all.push_back(std::move(one));
            }
        }
        return all;
    }

    [[nodiscard]] bool extinct() const override {
        return std::ranges::any_of(islands_,
                                   [](const Island& island) { return island->extinct(); });
    }
    [[nodiscard]] bool keeps_best() const override {
        return islands_.front()->keeps_best() && !due(settings_.extinction_every);
    }
    [[nodiscard]] bool regulates() const override { return islands_.front()->regulates(); }
    [[nodiscard]] std::uint64_t simplifying() const override {
        std::uint64_t count = 0;
        for (const Island& island : islands_) {
            count += island->simplifying();
        }
        return count;
    }

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override {
        CAMBRIAN_ASSERT(scores.size() == births_);
        std::vector<Decision> decisions;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            decisions.push_back(islands_[i]->decide(scores_of(scores, i), threads));
        }
        return in_one(decisions);
    }

    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override {
        const auto decisions = apart(decision, islands_.size(), "the decision of the islands");
        std::vector<Island> next;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            next.push_back(state_after(*islands_[i], decisions[i]));
        }
        std::optional<std::size_t> dying;
        if (due(settings_.extinction_every)) {
            dying = worst_of(next);  // Before copies of the best of others live there.
        }
        if (due(settings_.every)) {
            next = migrated(next);
        }
        if (dying) {
            next = repopulated(std::move(next), *dying);
        }
        return std::make_unique<Islands>(seed_, settings_, std::move(next));
    }

    [[nodiscard]] std::vector<std::byte> save() const override {
        std::vector<std::vector<std::byte>> states;
        for (const Island& island : islands_) {
            states.push_back(island->save());
        }
        return in_one(states);
    }

    [[nodiscard]] Hash128 digest() const override {
        Hasher hasher;
        for (const Island& island : islands_) {
            hasher.add(island->digest());
        }
        return hasher.hash128();
    }

    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override {
        const auto states = apart(bytes, islands_.size(), "islands of the checkpoint");
        std::vector<Island> loaded;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            loaded.push_back(state_of(*islands_[i], states[i]));
            if (loaded[i]->generation() != loaded[0]->generation()) {
                throw InputError(
                    "the islands of the checkpoint are in different generations (it is damaged) "
                    "use an older one");
            }
        }
        return std::make_unique<Islands>(seed_, settings_, std::move(loaded));
    }

  private:
    [[nodiscard]] std::size_t island_of(std::uint64_t position) const {
        const auto after = std::ranges::upper_bound(first_position_, position);
        return static_cast<std::size_t>(after - first_position_.begin()) - 1;
    }
    /// A place of an island's pool among those of all.
    [[nodiscard]] PoolPlace here(PoolPlace place, std::size_t island) const {
        return static_cast<PoolPlace>(static_cast<std::uint32_t>(place) + first_place_[island]);
    }
    [[nodiscard]] Scores scores_of(const Scores& all, std::size_t island) const {
        const auto begin = static_cast<std::ptrdiff_t>(first_position_[island]);
        const auto end = begin + static_cast<std::ptrdiff_t>(islands_[island]->births());
        const auto part = [&](const auto& column, auto& own) {
            if (!column.empty()) {
                own.assign(column.begin() + begin, column.begin() + end);
            }
        };
        Scores own;
        part(all.fitness, own.fitness);
        part(all.status, own.status);
        part(all.species, own.species);
        part(all.complexity, own.complexity);
        return own;
    }
    /// Whether something that happens so often follows the generation that is told.
    [[nodiscard]] bool due(std::uint64_t every) const {
        return every > 0 && islands_.size() > 1 && (told() + 1) % every == 0;
    }

    /// Who leaves for other islands, as copies.
    [[nodiscard]] std::vector<Member> emigrants(const Strategy& island, std::size_t number) const {
        const std::span<const Member> pool = island.parent_pool();
        std::vector<Member> chosen(pool.begin(), pool.end());
        const std::size_t count = std::min<std::size_t>(settings_.migrants, chosen.size());
        if (settings_.choice == Migrants::best) {
            std::ranges::sort(chosen, fitter);
        } else {
            RandomStream rng(random_key(seed_, "emigrate", number), told());
            for (std::size_t i = 0; i < count; ++i) {
                const auto left = static_cast<std::uint32_t>(chosen.size() - i);
                std::swap(chosen[i], chosen[i + rng.index(left)]);
            }
        }
        chosen.resize(count);
        return chosen;
    }

    [[nodiscard]] std::vector<Island> migrated(const std::vector<Island>& from) const {
        std::vector<std::vector<Member>> leaving;
        for (std::size_t i = 0; i < from.size(); ++i) {
            leaving.push_back(emigrants(*from[i], i));
        }
        std::vector<Island> next;
        for (std::size_t i = 0; i < from.size(); ++i) {
            std::vector<Member> arriving;
            for (const std::uint64_t other : neighbours(settings_, i, told(), seed_)) {
                arriving.insert(arriving.end(), leaving[other].begin(), leaving[other].end());
            }
            next.push_back(arriving.empty() ? from[i]
                                            : Island(state_with(*from[i], arriving, false)));
        }
        return next;
    }

    /// The island whose best is worst.
    [[nodiscard]] static std::size_t worst_of(const std::vector<Island>& islands) {
        const auto best = [](const Island& island) {
            double fitness = worst_fitness;
            for (const Member& member : island->parent_pool()) {
                fitness = std::max(fitness, member.fitness);
            }
            return fitness;
        };
        return static_cast<std::size_t>(std::ranges::min_element(islands, {}, best) -
                                        islands.begin());
    }

    /// An island dies out; the best of the others take its place.
    [[nodiscard]] static std::vector<Island> repopulated(std::vector<Island> islands,
                                                         std::size_t dying) {
        std::vector<Member> others;
        for (std::size_t i = 0; i < islands.size(); ++i) {
            if (i != dying) {
                const std::span<const Member> pool = islands[i]->parent_pool();
                others.insert(others.end(), pool.begin(), pool.end());
            }
        }
        std::ranges::sort(others, fitter);
        islands[dying] = state_with(*islands[dying], others, true);
        return islands;
    }

    std::uint64_t seed_;
    IslandSettings settings_;
    std::vector<Island> islands_;
    std::vector<std::uint64_t> first_position_;
    std::vector<std::uint32_t> first_place_;
    std::uint64_t births_ = 0;
    std::size_t max_members_ = 0;
    std::vector<Member> pool_;
};

}  // namespace

std::unique_ptr<Strategy> make_islands(const StrategyRegistry::Factory& factory,
                                       const StrategyContext& context) {
    const std::vector<std::uint64_t> sizes = island_sizes(context.islands, context.population.size);
    std::vector<Island> islands;
    StrategyContext own = context;
    own.islands = {};
    const std::uint64_t all = context.population.size;
    const SteadyStateSettings& steady = context.steady_state;
    own.ids = {0, steady.on() ? steady.block : all};
    std::uint64_t before = 0;  // individuals of the islands before
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        own.island = static_cast<std::uint32_t>(i);
        own.population.size = sizes[i];
        if (steady.on()) {
            // As much of a block as of the population.
            own.steady_state.block =
                steady.block * (before + sizes[i]) / all - steady.block * before / all;
            if (own.steady_state.block == 0) {
                throw ConfigError(fmt::format(
                    "steady_state.block is {} (of {} islands, island {} has {} of {} individuals, "
                    "and no birth of a block) set steady_state.block to {} or more",
                    steady.block, sizes.size(), i, sizes[i], all,
                    (all - 1) / *std::ranges::min_element(sizes) + 1));
            }
            own.steady_state.window = steady.window / steady.block * own.steady_state.block;
        }
        before += sizes[i];
        if (!context.splice_rates.empty()) {
            own.splice_rate = context.splice_rates.at(i);
        }
        islands.push_back(factory(own));
        own.ids.offset += islands.back()->births();
    }
    return std::make_unique<Islands>(context.seed, context.islands, std::move(islands));
}

}  // namespace cambrian::evolve
