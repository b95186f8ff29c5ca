#include "cambrian/evolve/strategy/strategy.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t format = 1;
constexpr std::uint64_t member_bytes = 32;
/// Births that a thread draws at once: a few tens of microseconds.
constexpr std::uint64_t births_at_once = 1024;

bool valid(const Outcome& outcome) {
    return outcome.status == Status::ok && !std::isnan(outcome.fitness);
}

/// Fitter first; ties go to the lower id.
bool before(const Member& a, const Member& b) {
    return a.fitness != b.fitness ? a.fitness > b.fitness : a.birth < b.birth;
}

class EliteStrategy final : public Strategy {
  public:
    EliteStrategy(std::uint64_t seed, const PopulationSettings& settings, float splice_rate)
        : seed_(seed),
          size_(settings.size),
          elites_(elite_count(settings)),
          splice_rate_(splice_rate),
          select_key_(random_key(seed, "select")) {}

    [[nodiscard]] std::vector<Birth> ask(ThreadPool& threads) const override {
        std::vector<Birth> births(size_);
        const BirthId first = generation_ * size_;
        const std::uint64_t blocks = (size_ + births_at_once - 1) / births_at_once;
        threads.for_each(static_cast<std::int64_t>(blocks), [&](std::int64_t block, int) {
            const std::uint64_t begin = static_cast<std::uint64_t>(block) * births_at_once;
            const std::uint64_t end = std::min(begin + births_at_once, size_);
            for (std::uint64_t i = begin; i < end; ++i) {
                births[i] = birth(first + i, i);
            }
        });
        return births;
    }

    using Strategy::ask;

    void tell(std::span<const Outcome> outcomes) override {
        CAMBRIAN_ASSERT(outcomes.size() == size_);
        std::vector<Member> members;
        members.reserve(size_);
        for (std::uint64_t i = 0; i < size_; ++i) {
            CAMBRIAN_ASSERT(outcomes[i].id == generation_ * size_ + i);
            if (valid(outcomes[i])) {
                members.push_back({outcomes[i].id, outcomes[i].fitness, outcomes[i].genome});
            }
        }
        const std::size_t kept = std::min<std::size_t>(members.size(), elites_);
        const auto end = members.begin() + static_cast<std::ptrdiff_t>(kept);
        std::nth_element(members.begin(), end, members.end(), before);
        std::sort(members.begin(), end, before);
        members.resize(kept);
        parent_pool_ = std::move(members);
        ++generation_;
    }

    [[nodiscard]] std::span<const Member> parent_pool() const override { return parent_pool_; }
    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] std::vector<std::byte> save() const override;
    void load(std::span<const std::byte> bytes) override;

  private:
    [[nodiscard]] Birth birth(BirthId id, std::uint64_t position) const {
        if (parent_pool_.empty()) {
            return {.id = id, .recipe = Recipe::sample, .parents = {}};
        }
        if (position < parent_pool_.size()) {
            return {.id = id, .recipe = Recipe::carry, .parents = {parent(position)}};
        }
        return {.id = id, .recipe = Recipe::vary, .parents = select(id)};
    }

    [[nodiscard]] Parent parent(std::size_t rank) const {
        const Member& member = parent_pool_[rank];
        return {.birth = member.birth,
                .genome = member.genome,
                .fitness = member.fitness,
                .member = static_cast<std::uint32_t>(rank)};
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

    void check_member(const ArchiveReader& reader, std::uint64_t index) const;

    std::uint64_t seed_;
    std::uint64_t size_;
    std::uint64_t elites_;
    float splice_rate_;
    RandomKey select_key_;
    std::uint64_t generation_ = 0;
    std::vector<Member> parent_pool_;  // best first; empty before the first valid outcome
};

std::vector<std::byte> EliteStrategy::save() const {
    ArchiveWriter writer;
    writer.write(format);
    writer.write(seed_);
    writer.write(size_);
    writer.write(elites_);
    writer.write(splice_rate_);
    writer.write(generation_);
    writer.write(static_cast<std::uint64_t>(parent_pool_.size()));
    for (const Member& member : parent_pool_) {
        writer.write(member.birth);
        writer.write(member.fitness);
        writer.write(member.genome);
    }
    return writer.take();
}

/// Members come from the last generation, best first.
void EliteStrategy::check_member(const ArchiveReader& reader, std::uint64_t index) const {
    const Member& member = parent_pool_[index];
    const bool last = generation_ > 0 && member.birth / size_ == generation_ - 1;
    if (!last || std::isnan(member.fitness)) {
        reader.fail("member " + std::to_string(index) + " is not of the last generation");
    }
    if (index > 0 && !before(parent_pool_[index - 1], member)) {
        reader.fail("member " + std::to_string(index) + " is out of order");
    }
}

void EliteStrategy::load(std::span<const std::byte> bytes) {
    ArchiveReader reader(bytes, "strategy of the checkpoint");
    std::uint32_t found = 0;
    reader.read(found);
    if (found != format) {
        reader.fail("it has format " + std::to_string(found) + ", this program reads " +
                    std::to_string(format));
    }
    EliteStrategy other = *this;
    reader.read(other.seed_);
    reader.read(other.size_);
    reader.read(other.elites_);
    reader.read(other.splice_rate_);
    if (other.seed_ != seed_ || other.size_ != size_ || other.elites_ != elites_ ||
        other.splice_rate_ != splice_rate_) {
        reader.fail("it was saved with another seed, population or splice rate");
    }
    reader.read(other.generation_);
    other.parent_pool_.resize(reader.read_count(member_bytes));
    if (other.parent_pool_.size() > elites_) {
        reader.fail("it has more members than elites");
    }
    for (std::uint64_t i = 0; i < other.parent_pool_.size(); ++i) {
        reader.read(other.parent_pool_[i].birth);
        reader.read(other.parent_pool_[i].fitness);
        reader.read(other.parent_pool_[i].genome);
        other.check_member(reader, i);
    }
    reader.finish();
    *this = std::move(other);
}

}  // namespace

std::vector<Birth> Strategy::ask() const {
    ThreadPool alone(1);
    return ask(alone);
}

std::uint64_t elite_count(const PopulationSettings& settings) {
    constexpr double slack = 1e-9;  // keeps 0.07 · 100 at 7
    const double wanted =
        std::ceil(settings.elite_fraction * static_cast<double>(settings.size) - slack);
    const double limited = std::clamp(wanted, 1.0, static_cast<double>(settings.size));
    return static_cast<std::uint64_t>(limited);
}

std::unique_ptr<Strategy> make_elite_strategy(std::uint64_t seed,
                                              const PopulationSettings& settings,
                                              float splice_rate) {
    CAMBRIAN_ASSERT(settings.size > 0);
    return std::make_unique<EliteStrategy>(seed, settings, splice_rate);
}

}  // namespace cambrian::evolve
