#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t steady_format = 2;

/// A generation is a block. The births of block n are drawn from the members after block n −
/// window, counted in blocks; so as many blocks are open, each with the members it is drawn from.
class SteadyStrategy final : public Strategy {
    /// Members, and a name of them and of the block that is drawn from them.
    struct Pool {
        std::vector<Member> members;
        Hash128 digest;
    };
    using SharedPool = std::shared_ptr<const Pool>;

  public:
    explicit SteadyStrategy(const StrategyContext& context)
        : seed_(context.seed),
          size_(context.population.size),
          births_(context.steady_state.block),
          window_(context.steady_state.window / context.steady_state.block),
          members_(elite_count(context.population)),
          splice_rate_(context.splice_rate),
          selection_(context.selection),
          island_(context.island),
          ids_{context.ids.offset, context.ids.stride == 0 ? births_ : context.ids.stride},
          select_key_(random_key(context.seed, "select", context.island)),
          generation_(window_ - 1),
          settings_(settings()) {
        CAMBRIAN_ASSERT(births_ > 0 && births_ <= std::numeric_limits<std::uint32_t>::max());
        for (std::uint64_t block = 0; block < window_; ++block) {
            pools_.push_back(make_pool({}, block));
        }
    }

    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] std::uint64_t open() const override { return pools_.size(); }
    [[nodiscard]] bool members_stay() const override { return true; }
    [[nodiscard]] bool keeps_best() const override { return true; }
    [[nodiscard]] std::uint64_t births() const override { return births_; }
    [[nodiscard]] BirthId first_birth() const override { return first_of(generation_); }
    [[nodiscard]] std::span<const Member> parent_pool() const override {
        return pools_.back()->members;
    }

    [[nodiscard]] std::unique_ptr<Strategy> former() const override {
        if (pools_.size() == 1) {
            return nullptr;
        }
        auto before = std::make_unique<SteadyStrategy>(*this);
        before->pools_.pop_back();
        --before->generation_;
        return before;
    }

    [[nodiscard]] Birth birth(std::uint64_t position) const override {
        CAMBRIAN_EXPECT(position < births_);
        const BirthId id = first_birth() + position;
        if (parent_pool().empty() || generation_ * births_ + position < size_) {
            return {.id = id, .recipe = Recipe::sample, .parents = {}, .island = island_};
        }
        return {.id = id,
                .recipe = Recipe::vary,
                .parents = select_parents(parent_pool(), select_key_, id, splice_rate_, selection_),
                .island = island_};
    }
    [[nodiscard]] bool carries(std::uint64_t) const override { return false; }

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool&) const override {
        CAMBRIAN_ASSERT(scores.size() == births_ && pools_.size() == window_);
        return decide_best(scores, members_);
    }

    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override {
        CAMBRIAN_ASSERT(pools_.size() == window_);
        std::vector<Member> members = pools_.back()->members;
        for (Survivors survivors(decision, members_, births_, told()); !survivors.empty();) {
            const Survivor one = survivors.next();
            const BirthId id = first_of(told()) + one.position;
            members.push_back({id, id, one.fitness});
        }
        std::ranges::sort(members, fitter);
        members.resize(std::min<std::size_t>(members.size(), members_));
        auto next = std::make_unique<SteadyStrategy>(*this);
        next->pools_.erase(next->pools_.begin());
        ++next->generation_;
        next->pools_.push_back(make_pool(std::move(members), next->generation_));
        next->check_pool(next->pools_.size() - 1);
        return next;
    }

    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override {
        auto next = std::make_unique<SteadyStrategy>(*this);
        next->pools_.back() = make_pool(
            with_immigrants(pools_.back()->members, immigrants, members_, extinct), generation_);
        return next;
    }

    [[nodiscard]] std::vector<std::byte> save() const override {
        ArchiveWriter writer;
        writer.write(std::span<const std::byte>(settings_));
        writer.write(generation_);
        for (const SharedPool& pool : pools_) {
            write_members(writer, pool->members);
        }
        return writer.take();
    }

    [[nodiscard]] Hash128 digest() const override {
        Hasher hasher;
        hasher.add(hash128(settings_)).add(generation_);
        for (const SharedPool& pool : pools_) {
            hasher.add(pool->digest);
        }
        return hasher.hash128();
    }

    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override {
        ArchiveReader reader(bytes, "strategy of the checkpoint");
        std::vector<std::byte> saved;
        reader.read(saved);
        if (saved != settings_) {
            reader.fail("it was saved with another seed, population, window or splice rate");
        }
        auto other = std::make_unique<SteadyStrategy>(*this);
        reader.read(other->generation_);
        if (other->generation_ + 1 < window_) {
            reader.fail("it is from before the first block");
        }
        for (std::uint64_t i = 0; i < window_; ++i) {
            other->pools_[i] = make_pool(read_members(reader, members_), other->told() + i);
            other->check_pool(i);
        }
        reader.finish();
        return other;
    }

  private:
    [[nodiscard]] BirthId first_of(std::uint64_t generation) const {
        return generation * ids_.stride + ids_.offset;
    }

    /// What a state that is loaded must share.
    [[nodiscard]] std::vector<std::byte> settings() const {
        ArchiveWriter writer;
        writer.write(steady_format);
        writer.write(seed_);
        writer.write(size_);
        writer.write(births_);
        writer.write(window_);
        writer.write(members_);
        writer.write(splice_rate_);
        writer.write(static_cast<std::uint8_t>(selection_.type));
        writer.write(selection_.tournament_size);
        writer.write(ids_.offset);
        writer.write(ids_.stride);
        return writer.take();
    }

    [[nodiscard]] static SharedPool make_pool(std::vector<Member> members, std::uint64_t block) {
        ArchiveWriter writer;
        writer.write(block);
        write_members(writer, members);
        return std::make_shared<const Pool>(Pool{std::move(members), hash128(writer.take())});
    }

    /// Members were told before a block is drawn from them.
    void check_pool(std::size_t i) const {
        const std::uint64_t known = told() + i + 1 > window_ ? told() + i + 1 - window_ : 0;
        check_members(pools_[i]->members, known);
        for (const Member& member : pools_[i]->members) {
            if (member.birth / ids_.stride >= known) {
                refuse_state(known, "a member is born later");
            }
        }
    }

    std::uint64_t seed_;
    std::uint64_t size_;
    std::uint64_t births_;
    std::uint64_t window_;   // blocks
    std::uint64_t members_;  // that stay, at most
    float splice_rate_;
    SelectionSettings selection_;
    std::uint32_t island_;
    IdSpace ids_;
    RandomKey select_key_;
    std::uint64_t generation_;
    std::vector<std::byte> settings_;
    std::vector<SharedPool> pools_;  // of the open blocks, the oldest first; each best first
};

}  // namespace

std::unique_ptr<Strategy> make_steady_strategy(const StrategyContext& context) {
    const SelectionSettings& selection = context.selection;
    if (selection.parent_fraction > 0.0 || selection.restart_after > 0) {
        throw ConfigError(fmt::format(
            "selection.{} is set (in the steady state the members that stay are the parents, and "
            "there are no generations) set it to 0, or steady_state.window to 0",
            selection.parent_fraction > 0.0 ? "parent_fraction" : "restart_after"));
    }
    return std::make_unique<SteadyStrategy>(context);
}

}  // namespace cambrian::evolve
