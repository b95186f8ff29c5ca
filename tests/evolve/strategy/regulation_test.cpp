#include "cambrian/evolve/strategy/regulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian::evolve::regulation_tests {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Shared = std::shared_ptr<const Strategy>;

/// Whether births lose genes after each of the generations with these means.
std::vector<bool> phases(const ComplexitySettings& settings, const std::vector<double>& means) {
    SearchPhase phase;
    std::vector<bool> result;
    for (std::size_t generation = 0; generation < means.size(); ++generation) {
        phase = next_phase(phase, settings, means[generation], generation);
        result.push_back(phase.simplifies);
    }
    return result;
}

TEST(Regulation, PhasesByHand) {
    // Floor 10, so genes are lost from more than 15 on; 12, 12, 13 is two generations without a
    // new least; the floor is then 13, and 18 not above it by more than 5.
    EXPECT_THAT(phases({.ceiling = 5.0, .patience = 2},
                       {10, 12, 15, 15.5, 14, 12, 12, 13, 17, 18, 18.5, 30, 31}),
                ElementsAreArray({false, false, false, true, true, true, true, false, false, false,
                                  true, true, false}));
    // Half as many again: 15, then 18.
    EXPECT_THAT(
        phases({.ceiling = 0.5, .relative = true, .patience = 1}, {10, 15, 16, 12, 12, 18, 19}),
        ElementsAreArray({false, false, true, true, false, false, true}));
}

StrategyContext context_of(const ComplexitySettings& complexity) {
    return {.seed = 3,
            .population = {.size = 8, .elite_fraction = 0.25},
            .splice_rate = 1.0F,
            .complexity = complexity};
}

/// Every birth has so many genes, but those that are carried over or not valid.
Scores scores_of(const Strategy& strategy, std::uint32_t genes) {
    Scores scores(strategy.births());
    for (std::uint64_t position = 0; position < strategy.births(); ++position) {
        scores.fitness[position] = static_cast<double>((position * 5 + 1) % 8);
        scores.status[position] = position == 7 ? Status::failed : Status::ok;
        scores.complexity.push_back(strategy.carries(position) || position == 7 ? 1000000 : genes);
    }
    return scores;
}

Shared after(const Shared& strategy, std::uint32_t genes) {
    ThreadPool threads(1);
    return strategy->apply(strategy->decide(scores_of(*strategy, genes), threads));
}

TEST(Regulation, BirthsKnowThePhase) {
    for (const bool splice : {true, false}) {
        Shared strategy = standard_strategies().make(
            "elite", context_of({.ceiling = 5.0, .patience = 1, .splice = splice}));
        EXPECT_TRUE(strategy->regulates());
        for (const std::uint32_t genes : {10U, 16U}) {
            EXPECT_EQ(strategy->simplifying(), 0U);
            strategy = after(strategy, genes);
        }
        EXPECT_EQ(strategy->simplifying(), 1U);
        for (std::uint64_t position = 0; position < strategy->births(); ++position) {
            const Birth birth = strategy->birth(position);
            EXPECT_EQ(birth.simplifies, birth.recipe == Recipe::vary);
            EXPECT_EQ(birth.parents.size(), birth.recipe == Recipe::vary && splice ? 2U : 1U);
        }
        EXPECT_EQ(after(strategy, 16)->simplifying(), 0U);
    }
}

/// Ages are told again from the parents that births name, and with them the layers.
TEST(Regulation, AgesAreThoseOfTheParentThatIsLeft) {
    StrategyContext context = context_of({.ceiling = 5.0, .patience = 100, .splice = false});
    context.population.size = 24;
    context.age_layers = {.count = 3, .gap = 2, .scheme = AgeScheme::linear};
    const Shared fresh = standard_strategies().make("age_layers", context);
    const std::vector<std::uint64_t> limits = age_limits(context.age_layers);
    Shared strategy = fresh;
    std::map<BirthId, std::uint64_t> founded;  // the oldest founder among the ancestors
    std::map<BirthId, std::size_t> layer;
    ThreadPool threads(1);
    for (std::uint64_t generation = 0; generation < 30; ++generation) {
        Scores scores = scores_of(*strategy, generation == 0 ? 10 : 16);
        for (std::uint64_t position = 0; position < 24; ++position) {
            const Birth birth = strategy->birth(position);
            std::uint64_t first = generation;
            for (const Parent& parent : birth.parents) {
                first = std::min(first, founded.at(parent.birth));
            }
            const std::size_t own = position / 8;
            if (birth.recipe == Recipe::carry) {
                std::size_t expected = layer.at(birth.parents.front().birth);
                while (generation - first >= limits[expected]) {
                    ++expected;
                }
                EXPECT_EQ(own, expected) << generation << ' ' << position;
            }
            founded[birth.id] = first;
            layer[birth.id] = own;
            scores.fitness[position] = static_cast<double>(birth.id * 7919 % 101);
        }
        EXPECT_EQ(strategy->simplifying(), generation > 1 ? 1U : 0U);
        const Shared loaded = fresh->load(strategy->save());
        strategy = strategy->apply(strategy->decide(scores, threads));
        EXPECT_EQ(loaded->apply(loaded->decide(scores, threads))->digest(), strategy->digest());
    }
}

TEST(Regulation, IslandsHavePhasesOfTheirOwn) {
    StrategyContext context = context_of({.ceiling = 5.0});
    context.population.size = 16;
    context.islands = {.count = 2, .every = 1};
    Shared strategy = standard_strategies().make("elite", context);
    ThreadPool threads(1);
    for (const std::uint32_t genes : {10U, 16U}) {
        Scores scores(strategy->births());
        scores.status.assign(16, Status::ok);
        for (std::size_t position = 0; position < 16; ++position) {
            scores.fitness[position] = static_cast<double>(position);
            scores.complexity.push_back(position < 8 ? genes : 10U);
        }
        strategy = strategy->apply(strategy->decide(scores, threads));
    }
    EXPECT_EQ(strategy->simplifying(), 1U);
    EXPECT_TRUE(strategy->birth(7).simplifies);
    EXPECT_FALSE(strategy->birth(15).simplifies);
}

TEST(Regulation, StatesComeBack) {
    const Shared fresh =
        standard_strategies().make("elite", context_of({.ceiling = 5.0, .patience = 2}));
    Shared strategy = fresh;
    for (const std::uint32_t genes : {10U, 16U, 14U, 14U, 15U, 15U, 30U}) {
        const Shared loaded = fresh->load(strategy->save());
        EXPECT_EQ(loaded->digest(), strategy->digest());
        strategy = after(strategy, genes);
        EXPECT_EQ(after(loaded, genes)->digest(), strategy->digest());
    }
    const Shared other = standard_strategies().make("elite", context_of({.ceiling = 6.0}));
    EXPECT_THAT([&] { static_cast<void>(other->load(strategy->save())); },
                ThrowsMessage<InputError>(HasSubstr("section complexity")));
}

TEST(Regulation, TheSteadyStateIsRefused) {
    StrategyContext context = context_of({.ceiling = 5.0});
    context.steady_state = {.window = 8, .block = 2};
    EXPECT_THAT([&] { static_cast<void>(standard_strategies().make("elite", context)); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr("complexity.ceiling is 5"),
                                                 HasSubstr("steady_state.window to 0"))));
}

TEST(Regulation, GenesAreCounted) {
    Blueprint blueprint;
    blueprint.input_features = 3;
    blueprint.output_features = 2;
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.head = Dense{.in = 3, .out = 2};
    Genome genome = founder_genome(Network(blueprint).blueprint(), 0);
    EXPECT_EQ(complexity(genome), 0U);
    genome.blueprint.slots[0] = Slot{.layer = Dense{.in = 3, .out = 3}};
    genome.blueprint.links.resize(2);
    EXPECT_EQ(complexity(genome), 3U);
    genome.neuron_genes = {{.slot = 0, .neurons = {{}, {}}, .connections = {{}, {}, {}}}};
    EXPECT_EQ(complexity(genome), 5U);
}

}  // namespace
}  // namespace cambrian::evolve::regulation_tests
