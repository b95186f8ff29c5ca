#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t elite_format = 2;
constexpr std::size_t member_bytes = 24;
/// A decision is the survivors, best first: position and fitness of each.
constexpr std::size_t survivor_bytes = 12;

[[noreturn]] void refuse(std::uint64_t generation, const std::string& why) {
    throw InputError(fmt::format(
        "the elites after generation {} cannot be read ({}) use an older checkpoint, and one "
        "version of the program on every rank",
        generation, why));
}

class EliteStrategy final : public Strategy {
  public:
    explicit EliteStrategy(const StrategyContext& context)
        : seed_(context.seed),
          size_(context.population.size),
          elites_(elite_count(context.population)),
          splice_rate_(context.splice_rate),
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
    [[nodiscard]] std::span<const Member> parent_pool() const override { return parent_pool_; }

    [[nodiscard]] Birth birth(std::uint64_t position) const override {
        CAMBRIAN_EXPECT(position < size_);
        const BirthId id = first_birth() + position;
        if (parent_pool_.empty()) {
            return {.id = id, .recipe = Recipe::sample, .parents = {}, .island = island_};
        }
        if (position < parent_pool_.size()) {
            return {.id = id,
                    .recipe = Recipe::carry,
                    .parents = {parent(position)},
                    .island = island_};
        }
        return {.id = id, .recipe = Recipe::vary, .parents = select(id), .island = island_};
    }

    [[nodiscard]] bool carries(std::uint64_t position) const override {
        return position < parent_pool_.size();
    }

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override;
    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override;
    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override;
    [[nodiscard]] std::vector<std::byte> save() const override;
    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override;

  private:
    [[nodiscard]] Parent parent(std::size_t place) const {
        const Member& member = parent_pool_[place];
        return {.birth = member.birth,
                .fitness = member.fitness,
                .place = static_cast<PoolPlace>(place)};
    }

    [[nodiscard]] Parents select(BirthId id) const {
        RandomStream rng(select_key_, id);
        const auto count = static_cast<std::uint32_t>(parent_pool_.size());
        const bool two = rng.chance(splice_rate_) && count > 1;
        const std::uint32_t first = rng.index(count);
        if (!two) {
            return {parent(first)};
        }
        std::uint32_t second = rng.index(count - 1);
        second += second >= first ? 1U : 0U;
        return {parent(std::min(first, second)), parent(std::max(first, second))};
    }

    /// The member that a position becomes.
    [[nodiscard]] Member survivor(std::uint32_t position, double fitness) const {
        const BirthId id = first_birth() + position;
        const bool carried = position < parent_pool_.size();
        return {id, carried ? parent_pool_[position].origin : id, fitness};
    }
    void check_pool() const;

    std::uint64_t seed_;
    std::uint64_t size_;
    std::uint64_t elites_;
    float splice_rate_;
    std::uint32_t island_;
    IdSpace ids_;
    RandomKey select_key_;
    std::uint64_t generation_ = 0;
    std::vector<Member> parent_pool_;  // best first; empty before the first valid score
};

Decision EliteStrategy::decide(const Scores& scores, ThreadPool&) const {
    CAMBRIAN_ASSERT(scores.size() == size_);
    std::vector<Member> members;
    members.reserve(size_);
    for (std::uint64_t position = 0; position < size_; ++position) {
        const double fitness = scores.fitness[position];
        if (scores.valid(position) && !std::isnan(fitness)) {
            members.push_back({position, 0, fitness});
        }
    }
    const std::size_t kept = std::min<std::size_t>(members.size(), elites_);
    const auto end = members.begin() + static_cast<std::ptrdiff_t>(kept);
    std::nth_element(members.begin(), end, members.end(), fitter);
    std::sort(members.begin(), end, fitter);
    Decision decision(kept * survivor_bytes);
    std::byte* at = decision.data();
    for (std::size_t place = 0; place < kept; ++place) {
        little_endian::put(at, static_cast<std::uint32_t>(members[place].birth));
        little_endian::put(at, members[place].fitness);
    }
    return decision;
}

std::unique_ptr<Strategy> EliteStrategy::apply(std::span<const std::byte> decision) const {
    const std::size_t count = decision.size() / survivor_bytes;
    if (decision.size() % survivor_bytes != 0 || count > elites_) {
        refuse(generation_, fmt::format("the decision has {} bytes", decision.size()));
    }
    auto next = std::make_unique<EliteStrategy>(*this);
    next->parent_pool_.clear();
    next->parent_pool_.reserve(count);
    const std::byte* at = decision.data();
    for (std::size_t place = 0; place < count; ++place) {
        const auto position = little_endian::get<std::uint32_t>(at);
        const double fitness = little_endian::get_double(at);
        if (position >= size_) {
            refuse(generation_, fmt::format("position {} is not in it", position));
        }
        next->parent_pool_.push_back(survivor(position, fitness));
    }
    ++next->generation_;
    next->check_pool();
    return next;
}

std::unique_ptr<Strategy> EliteStrategy::receive(std::span<const Member> immigrants,
                                                 bool extinct) const {
    auto next = std::make_unique<EliteStrategy>(*this);
    std::vector<Member>& pool = next->parent_pool_;
    pool.resize(extinct ? 0 : pool.size());
    std::vector<Member> sorted(immigrants.begin(), immigrants.end());
    std::sort(sorted.begin(), sorted.end(), fitter);
    std::vector<Member> arrived;  // Each genome once: a champion that migrates often fills no pool.
    for (const Member& member : sorted) {
        const auto same = [&](const Member& other) { return other.origin == member.origin; };
        if (arrived.size() < elites_ && std::ranges::none_of(pool, same) &&
            std::ranges::none_of(arrived, same)) {
            arrived.push_back(member);
        }
    }
    pool.resize(std::min<std::size_t>(pool.size(), elites_ - arrived.size()));
    pool.insert(pool.end(), arrived.begin(), arrived.end());
    std::sort(pool.begin(), pool.end(), fitter);
    return next;
}

std::vector<std::byte> EliteStrategy::save() const {
    ArchiveWriter writer;
    writer.write(elite_format);
    writer.write(seed_);
    writer.write(size_);
    writer.write(elites_);
    writer.write(splice_rate_);
    writer.write(ids_.offset);
    writer.write(ids_.stride);
    writer.write(generation_);
    std::vector<std::byte> members(parent_pool_.size() * member_bytes);
    std::byte* at = members.data();
    for (const Member& member : parent_pool_) {
        little_endian::put(at, member.birth);
        little_endian::put(at, member.origin);
        little_endian::put(at, member.fitness);
    }
    writer.write(std::span<const std::byte>(members));
    return writer.take();
}

/// Members come from the last generation, best first.
void EliteStrategy::check_pool() const {
    for (std::size_t place = 0; place < parent_pool_.size(); ++place) {
        const Member& member = parent_pool_[place];
        const bool last = generation_ > 0 && member.birth / ids_.stride == generation_ - 1;
        if (!last || member.origin > member.birth || std::isnan(member.fitness)) {
            refuse(generation_ - 1, fmt::format("member {} is of another one", place));
        }
        if (place > 0 && !fitter(parent_pool_[place - 1], member)) {
            refuse(generation_ - 1, fmt::format("member {} is out of order", place));
        }
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
    reader.read(other->elites_);
    reader.read(other->splice_rate_);
    reader.read(other->ids_.offset);
    reader.read(other->ids_.stride);
    if (other->seed_ != seed_ || other->size_ != size_ || other->elites_ != elites_ ||
        other->splice_rate_ != splice_rate_ || other->ids_ != ids_) {
        reader.fail("it was saved with another seed, population or splice rate");
    }
    reader.read(other->generation_);
    std::vector<std::byte> members;
    reader.read(members);
    reader.finish();
    const std::size_t count = members.size() / member_bytes;
    if (members.size() % member_bytes != 0 || count > elites_) {
        reader.fail(fmt::format("its members take {} bytes", members.size()));
    }
    other->parent_pool_.resize(count);
    const std::byte* at = members.data();
    for (Member& member : other->parent_pool_) {
        member.birth = little_endian::get<std::uint64_t>(at);
        member.origin = little_endian::get<std::uint64_t>(at);
        member.fitness = little_endian::get_double(at);
    }
    other->check_pool();
    return other;
}

}  // namespace

std::uint64_t elite_count(const PopulationSettings& settings) {
    constexpr double slack = 1e-9;  // keeps 0.07 · 100 at 7
    const double wanted =
        std::ceil(settings.elite_fraction * static_cast<double>(settings.size) - slack);
    const double limited = std::clamp(wanted, 1.0, static_cast<double>(settings.size));
    return static_cast<std::uint64_t>(limited);
}

std::unique_ptr<Strategy> make_elite_strategy(const StrategyContext& context) {
    return std::make_unique<EliteStrategy>(context);
}

}  // namespace cambrian::evolve
