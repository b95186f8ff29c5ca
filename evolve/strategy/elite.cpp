#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t elite_format = 4;

class EliteStrategy final : public Strategy {
  public:
    explicit EliteStrategy(const StrategyContext& context)
        : seed_(context.seed),
          size_(context.population.size),
          elites_(elite_count(context.population)),
          parents_(parent_count(context.selection, context.population)),
          pool_size_(std::max(elites_, parents_)),
          splice_rate_(context.splice_rate),
          selection_(context.selection),
          task_changes_(context.task_changes),
          island_(context.island),
          ids_{context.ids.offset, context.ids.stride == 0 ? size_ : context.ids.stride},
          select_key_(random_key(context.seed, "select", context.island)) {
        CAMBRIAN_ASSERT(size_ > 0 && size_ <= std::numeric_limits<std::uint32_t>::max());
    }

    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] std::uint64_t births() const override { return size_; }
    [[nodiscard]] BirthId first_birth() const override {
        return generation_ * ids_.stride + ids_.offset;
    }
    [[nodiscard]] std::span<const Member> parent_pool() const override { return *parent_pool_; }
    [[nodiscard]] bool keeps_best() const override { return selection_.restart_after == 0; }

    [[nodiscard]] Birth birth(std::uint64_t position) const override {
        CAMBRIAN_EXPECT(position < size_);
        const BirthId id = first_birth() + position;
        if (parent_pool_->empty()) {
            return {.id = id, .recipe = Recipe::sample, .parents = {}, .island = island_};
        }
        if (carries(position)) {
            return {.id = id,
                    .recipe = Recipe::carry,
                    .parents = {parent_at(*parent_pool_, position)},
                    .island = island_};
        }
        return {.id = id,
                .recipe = Recipe::vary,
                .parents = select_parents(parents(), select_key_, id, splice_rate_, selection_),
                .island = island_};
    }

    [[nodiscard]] std::optional<std::uint32_t> first_parent(std::uint64_t generation,
                                                            std::uint64_t position,
                                                            std::size_t members) const override {
        if (members == 0) {
            return std::nullopt;
        }
        if (position < std::min<std::uint64_t>(elites_, members)) {
            return static_cast<std::uint32_t>(position);
        }
        const BirthId id = generation * ids_.stride + ids_.offset + position;
        return select_places(std::min<std::size_t>(parents_, members), select_key_, id,
                             splice_rate_, selection_)
            .first;
    }

    [[nodiscard]] std::size_t max_members() const override { return pool_size_; }

    [[nodiscard]] bool carries(std::uint64_t position) const override {
        return position < std::min<std::uint64_t>(elites_, parent_pool_->size());
    }

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override;
    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override;
    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override;
    [[nodiscard]] std::vector<std::byte> save() const override;
    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override;
    [[nodiscard]] Hash128 digest() const override;

  private:
    /// The member that a position becomes.
    [[nodiscard]] Member survivor(std::uint32_t position, double fitness) const {
        const BirthId id = first_birth() + position;
        return {id, carries(position) ? (*parent_pool_)[position].origin : id, fitness};
    }
    [[nodiscard]] std::span<const Member> parents() const {
        return std::span(*parent_pool_)
            .first(std::min<std::size_t>(parents_, parent_pool_->size()));
    }
    void check_pool() const;
    void write(ArchiveWriter& writer) const;
    void set_pool(std::vector<Member> pool) {
        parent_pool_ = std::make_shared<const std::vector<Member>>(std::move(pool));
    }

    std::uint64_t seed_;
    std::uint64_t size_;
    std::uint64_t elites_;     // carried over
    std::uint64_t parents_;    // may be parents, the fittest
    std::uint64_t pool_size_;  // the more of both
    float splice_rate_;
    SelectionSettings selection_;
    std::vector<std::uint64_t> task_changes_;
    std::uint32_t island_;
    IdSpace ids_;
    RandomKey select_key_;
    std::uint64_t generation_ = 0;
    // Best first; empty before the first valid score. States of one generation share it.
    std::shared_ptr<const std::vector<Member>> parent_pool_ =
        std::make_shared<const std::vector<Member>>();
    Restarts restarts_;
};

Decision EliteStrategy::decide(const Scores& scores, ThreadPool&) const {
    CAMBRIAN_ASSERT(scores.size() == size_);
    return decide_best(scores, pool_size_);
}

std::unique_ptr<Strategy> EliteStrategy::apply(std::span<const std::byte> decision) const {
    auto next = std::make_unique<EliteStrategy>(*this);
    Survivors survivors(decision, pool_size_, size_, generation_);
    std::vector<Member> pool;
    pool.reserve(survivors.size());
    while (!survivors.empty()) {
        const Survivor one = survivors.next();
        pool.push_back(survivor(one.position, one.fitness));
    }
    if (begins_task(task_changes_, generation_)) {
        next->restarts_ = {worst_fitness, generation_};
    }
    ++next->generation_;
    if (pool.empty()) {
        // Founders follow, whom no record of those before them judges.
        next->restarts_ = {worst_fitness, next->generation_};
    } else if (next->restarts_.due(pool.front().fitness, generation_, selection_.restart_after)) {
        // Even one of the old would outdo all founders, and its children be the population again.
        pool.clear();
    }
    next->set_pool(std::move(pool));
    next->check_pool();
    return next;
}

std::unique_ptr<Strategy> EliteStrategy::receive(std::span<const Member> immigrants,
                                                 bool extinct) const {
    auto next = std::make_unique<EliteStrategy>(*this);
    if (restarts_.just_now(generation_ - 1, selection_.restart_after, task_changes_)) {
        return next;
    }
    next->set_pool(with_immigrants(*parent_pool_, immigrants, pool_size_, extinct));
    return next;
}

std::vector<std::byte> EliteStrategy::save() const {
    ArchiveWriter writer;
    write(writer);
    return writer.take();
}

Hash128 EliteStrategy::digest() const {
    RunningHash hash;
    ArchiveWriter writer(hash);
    write(writer);
    writer.finish();
    return hash.hash();
}

void EliteStrategy::write(ArchiveWriter& writer) const {
    writer.write(elite_format);
    writer.write(seed_);
    writer.write(size_);
    writer.write(elites_);
    writer.write(parents_);
    writer.write(splice_rate_);
    writer.write(static_cast<std::uint8_t>(selection_.type));
    writer.write(selection_.tournament_size);
    writer.write(selection_.restart_after);
    writer.write(ids_.offset);
    writer.write(ids_.stride);
    writer.write(generation_);
    writer.write(restarts_.record);
    writer.write(restarts_.improved);
    write_members(writer, *parent_pool_);
}

/// Members come from the last generation, best first.
void EliteStrategy::check_pool() const {
    check_members(*parent_pool_, generation_ - 1);
    const BirthId first = (generation_ - 1) * ids_.stride;
    const auto last = [this, first](const Member& member) {
        return member.birth - first < ids_.stride;
    };
    const bool numbered =
        generation_ > 0 && generation_ - 1 <= std::numeric_limits<BirthId>::max() / ids_.stride - 1;
    if (!parent_pool_->empty() && !(numbered && std::ranges::all_of(*parent_pool_, last))) {
        refuse_state(generation_ - 1, "a member is of another one");
    }
}

std::unique_ptr<Strategy> EliteStrategy::load(std::span<const std::byte> bytes) const {
    ArchiveReader reader(bytes, "strategy of the checkpoint");
    std::uint32_t found = 0;
    reader.read(found);
    if (found != elite_format) {
        reader.fail(fmt::format("it has format {}, this program reads {}", found, elite_format));
    }
    auto other = std::make_unique<EliteStrategy>(*this);
    reader.read(other->seed_);
    reader.read(other->size_);
    std::uint8_t type = 0;
    reader.read(other->elites_);
    reader.read(other->parents_);
    reader.read(other->splice_rate_);
    reader.read(type);
    reader.read(other->selection_.tournament_size);
    reader.read(other->selection_.restart_after);
    reader.read(other->ids_.offset);
    reader.read(other->ids_.stride);
    if (other->seed_ != seed_ || other->size_ != size_ || other->elites_ != elites_ ||
        other->splice_rate_ != splice_rate_ || other->ids_ != ids_ || other->parents_ != parents_ ||
        type != static_cast<std::uint8_t>(selection_.type) ||
        other->selection_.tournament_size != selection_.tournament_size ||
        other->selection_.restart_after != selection_.restart_after) {
        reader.fail("it was saved with another seed, population, selection or splice rate");
    }
    reader.read(other->generation_);
    reader.read(other->restarts_.record);
    reader.read(other->restarts_.improved);
    other->set_pool(read_members(reader, pool_size_));
    reader.finish();
    other->check_pool();
    return other;
}

}  // namespace

namespace {

/// Of so many, rounded up and at least one.
std::uint64_t part_of(double fraction, std::uint64_t size) {
    constexpr double slack = 1e-9;  // keeps 0.07 · 100 at 7
    const double wanted = std::ceil(fraction * static_cast<double>(size) - slack);
    return static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(size)));
}

}  // namespace

std::uint64_t elite_count(const PopulationSettings& settings) {
    return part_of(settings.elite_fraction, settings.size);
}

std::uint64_t parent_count(const SelectionSettings& selection,
                           const PopulationSettings& population) {
    if (selection.parent_fraction > 0.0) {
        return part_of(selection.parent_fraction, population.size);
    }
    return selection.type == Selection::truncation ? elite_count(population) : population.size;
}

std::unique_ptr<Strategy> make_elite_strategy(const StrategyContext& context) {
    if (context.steady_state.on()) {
        return make_steady_strategy(context);
    }
    return std::make_unique<EliteStrategy>(context);
}

}  // namespace cambrian::evolve
