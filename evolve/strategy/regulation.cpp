#include "cambrian/evolve/strategy/regulation.hpp"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t regulation_format = 1;

class Regulated final : public Strategy {
  public:
    Regulated(std::unique_ptr<Strategy> inner, const ComplexitySettings& settings,
              const SearchPhase& phase)
        : settings_(settings), phase_(phase) {
        inner->keep_second_parents(!phase_.simplifies || settings_.splice);
        inner_ = std::move(inner);
    }

    [[nodiscard]] std::uint64_t generation() const override { return inner_->generation(); }
    [[nodiscard]] std::uint64_t open() const override { return inner_->open(); }
    [[nodiscard]] bool members_stay() const override { return inner_->members_stay(); }
    [[nodiscard]] std::uint64_t births() const override { return inner_->births(); }
    [[nodiscard]] BirthId first_birth() const override { return inner_->first_birth(); }
    [[nodiscard]] bool carries(std::uint64_t position) const override {
        return inner_->carries(position);
    }
    /// A birth that loses genes may have one parent, who is the first then, too.
    [[nodiscard]] std::optional<std::uint32_t> first_parent(std::uint64_t generation,
                                                            std::uint64_t position,
                                                            std::size_t members) const override {
        return inner_->first_parent(generation, position, members);
    }
    [[nodiscard]] std::size_t max_members() const override { return inner_->max_members(); }
    [[nodiscard]] std::span<const Member> parent_pool() const override {
        return inner_->parent_pool();
    }
    [[nodiscard]] std::vector<Kinship> kinship() const override { return inner_->kinship(); }
    [[nodiscard]] std::vector<std::uint64_t> species_of(const Scores& scores) const override {
        return inner_->species_of(scores);
    }
    [[nodiscard]] std::vector<SpeciesSummary> species() const override { return inner_->species(); }
    [[nodiscard]] bool extinct() const override { return inner_->extinct(); }
    [[nodiscard]] bool keeps_best() const override { return inner_->keeps_best(); }
    [[nodiscard]] bool regulates() const override { return true; }
    [[nodiscard]] std::uint64_t simplifying() const override { return phase_.simplifies ? 1 : 0; }

    [[nodiscard]] Birth birth(std::uint64_t position) const override {
        Birth birth = inner_->birth(position);
        if (phase_.simplifies && birth.recipe == Recipe::vary) {
            birth.simplifies = true;
            if (!settings_.splice) {
                birth.parents = {birth.parents.front()};
            }
        }
        return birth;
    }

    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override {
        const MeanComplexity mean = mean_complexity(*inner_, scores);
        ArchiveWriter writer;
        writer.write(mean.genes);
        writer.write(mean.births);
        writer.write(std::span<const std::byte>(inner_->decide(scores, threads)));
        return writer.take();
    }

    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override {
        ArchiveReader reader(decision, fmt::format("the decision about generation {}", told()));
        MeanComplexity mean;
        reader.read(mean.genes);
        reader.read(mean.births);
        std::vector<std::byte> own;
        reader.read(own);
        reader.finish();
        const SearchPhase next =
            mean.births == 0 ? phase_ : next_phase(phase_, settings_, mean.mean(), told());
        return std::make_unique<Regulated>(state_after(*inner_, own), settings_, next);
    }

    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override {
        return std::make_unique<Regulated>(state_with(*inner_, immigrants, extinct), settings_,
                                           phase_);
    }

    [[nodiscard]] std::vector<std::byte> save() const override {
        ArchiveWriter writer;
        writer.write(regulation_format);
        write_settings(writer);
        write_phase(writer);
        writer.write(std::span<const std::byte>(inner_->save()));
        return writer.take();
    }

    [[nodiscard]] Hash128 digest() const override {
        ArchiveWriter writer;
        write_phase(writer);
        return Hasher().add(inner_->digest()).add(hash128(writer.take())).hash128();
    }

    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override {
        ArchiveReader reader(bytes, "strategy of the checkpoint");
        std::uint32_t found = 0;
        reader.read(found);
        if (found != regulation_format) {
            reader.fail(fmt::format("its phases have format {}, this program reads {}", found,
                                    regulation_format));
        }
        ComplexitySettings settings;
        reader.read(settings.ceiling);
        reader.read(settings.relative);
        reader.read(settings.patience);
        reader.read(settings.splice);
        if (settings.ceiling != settings_.ceiling || settings.relative != settings_.relative ||
            settings.patience != settings_.patience || settings.splice != settings_.splice) {
            reader.fail("it was saved with another section complexity");
        }
        SearchPhase phase;
        reader.read(phase.simplifies);
        reader.read(phase.floor);
        reader.read(phase.lowest);
        reader.read(phase.lowest_at);
        reader.read(phase.begun);
        std::vector<std::byte> inner;
        reader.read(inner);
        reader.finish();
        return std::make_unique<Regulated>(state_of(*inner_, inner), settings_, phase);
    }

  private:
    void write_settings(ArchiveWriter& writer) const {
        writer.write(settings_.ceiling);
        writer.write(settings_.relative);
        writer.write(settings_.patience);
        writer.write(settings_.splice);
    }
    void write_phase(ArchiveWriter& writer) const {
        writer.write(phase_.simplifies);
        writer.write(phase_.floor);
        writer.write(phase_.lowest);
        writer.write(phase_.lowest_at);
        writer.write(phase_.begun);
    }

    std::shared_ptr<const Strategy> inner_;
    ComplexitySettings settings_;
    SearchPhase phase_;
};

}  // namespace

SearchPhase next_phase(const SearchPhase& phase, const ComplexitySettings& settings, double mean,
                       std::uint64_t generation) {
    SearchPhase next = phase;
    if (!phase.begun) {
        next.begun = true;
        next.floor = mean;
        return next;
    }
    if (!phase.simplifies) {
        const double above = settings.relative ? settings.ceiling * phase.floor : settings.ceiling;
        if (mean > phase.floor + above) {
            next.simplifies = true;
            next.lowest = mean;
            next.lowest_at = generation;
        }
        return next;
    }
    if (mean < phase.lowest) {
        next.lowest = mean;
        next.lowest_at = generation;
    } else if (generation - phase.lowest_at >= settings.patience) {
        next.simplifies = false;
        next.floor = mean;
    }
    return next;
}

MeanComplexity mean_complexity(const Strategy& strategy, const Scores& scores) {
    CAMBRIAN_ASSERT(scores.complexity.size() == scores.size());
    MeanComplexity mean;
    for (std::size_t position = 0; position < scores.size(); ++position) {
        if (scores.valid(position) && !strategy.carries(position)) {
            mean.genes += scores.complexity[position];
            ++mean.births;
        }
    }
    return mean;
}

std::unique_ptr<Strategy> make_regulated(std::unique_ptr<Strategy> strategy,
                                         const ComplexitySettings& settings) {
    return std::make_unique<Regulated>(std::move(strategy), settings, SearchPhase{});
}

}  // namespace cambrian::evolve
