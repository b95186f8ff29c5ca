#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/weights/inherited_weights.hpp"
#include "cambrian/evolve/evaluation/backend_children.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/support/mutation_support.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Children whose weights lie on the device: bit for bit those that the host makes.
namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;
using ::testing::SizeIs;

/// Every fifth is subnormal or a zero, of either sign.
std::vector<float> values(std::size_t count, std::uint32_t lane) {
    std::vector<float> result(count);
    RandomField{{5}, 1, lane}.fill_normal(0, result);
    for (std::size_t i = 0; i < count; i += 5) result[i] *= i % 2 == 0 ? 1e-39F : 0.0F;
    return result;
}

/// Pieces of all kinds and lengths, which follow on each other in a child.
struct Plan {
    std::vector<WeightPiece> pieces;
    WeightDraws draws;
    std::int64_t count = 0;
};

constexpr std::int64_t parent_size = 40'000;

Plan random_plan(std::uint64_t id) {
    RandomStream rng(random_key(8, "test.plan"), id);
    Plan plan;
    plan.draws = {.choose = rng.field(),
                  .noise = rng.field(),
                  .replace = rng.field(),
                  .fresh = rng.field(),
                  .share = rng.uniform(),
                  .noise_power = rng.uniform(),
                  .replace_rate = 0.5F * rng.uniform()};
    for (int i = 0; i < 12; ++i) {
        WeightPiece piece;
        piece.count = 1 + rng.index(rng.chance(0.2F) ? 20'000 : 70);
        piece.to = plan.count;
        piece.from = rng.index(static_cast<std::uint32_t>(parent_size - piece.count));
        piece.other = rng.index(static_cast<std::uint32_t>(parent_size - piece.count));
        piece.source =
            static_cast<WeightSource>(rng.index(static_cast<std::uint32_t>(WeightSource::count_)));
        piece.noise = rng.chance(0.5F);
        piece.replace = rng.chance(0.3F);
        piece.index = rng.index(100);
        piece.initial = {
            .initial = static_cast<Initial>(rng.index(static_cast<std::uint32_t>(Initial::count_))),
            .bound = rng.uniform(),
            .period = 1 + rng.index(40)};
        if (piece.source == WeightSource::blend && piece.count > 1) {
            WeightPiece rest = piece;
            piece.whole = rest.whole = piece.count;
            piece.count /= 2;
            rest.before = piece.count;
            rest.count -= piece.count;
            rest.to += piece.count;
            rest.from += piece.count;
            rest.other += piece.count;
            plan.pieces.push_back(piece);
            piece = rest;
        }
        plan.count = piece.to + piece.count;
        plan.pieces.push_back(piece);
    }
    return plan;
}

void expect_the_weights_of_the_host(Math math) {
    const auto backend = make_vulkan_backend(test::test_vulkan_options(math));
    ASSERT_TRUE(backend->inherits());
    const std::vector<float> first = values(parent_size, 1);
    const std::vector<float> second = values(parent_size, 2);
    const std::vector<float> literals = values(parent_size, 3);
    const auto put = [&](const std::vector<float>& weights) {
        auto buffer = backend->allocate(ValueType::real, parent_size);
        backend->upload(*buffer, 0, std::span<const float>(weights));
        return buffer;
    };
    const auto first_buffer = put(first);
    const auto second_buffer = put(second);
    const auto literal_buffer = put(literals);
    std::vector<Plan> plans;
    std::vector<WeightDraws> draws;
    std::int64_t total = 3;  // children begin where no vector does
    for (std::uint64_t id = 0; id < 20; ++id) {
        plans.push_back(random_plan(id));
        draws.push_back(plans.back().draws);
        total += plans.back().count;
    }
    const auto children = backend->allocate(ValueType::real, total);
    std::vector<WeightTask> tasks;
    std::int64_t at = 3;
    for (std::size_t child = 0; child < plans.size(); ++child) {
        for (const WeightPiece& piece : plans[child].pieces) {
            Buffer* from =
                piece.source == WeightSource::literal ? literal_buffer.get() : first_buffer.get();
            tasks.push_back({.piece = piece,
                             .child = static_cast<std::uint32_t>(child),
                             .to = {children.get(), at + piece.to},
                             .first = {from, piece.from},
                             .second = {second_buffer.get(), piece.other}});
        }
        at += plans[child].count;
    }
    for (int again = 0; again < 2; ++again) backend->inherit(draws, tasks);
    at = 3;
    for (const Plan& plan : plans) {
        std::vector<float> expected(static_cast<std::size_t>(plan.count));
        write_weights(plan.draws, plan.pieces, {first, second, literals}, expected);
        std::vector<float> found(expected.size());
        backend->download(*children, at, std::span<float>(found));
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]),
                      std::bit_cast<std::uint32_t>(expected[i]))
                << i << ": " << found[i] << " for " << expected[i];
        at += plan.count;
    }
}

TEST(Inherit, GivesTheWeightsOfTheHost) {
    expect_the_weights_of_the_host(Math::fast);
    expect_the_weights_of_the_host(Math::strict);
}

using evolve::BackendChildren;
using evolve::Birth;
using evolve::Individual;
using evolve::Recipe;
using Generation = std::vector<Individual>;

/// @param structures whether they mutate: each is a program of its own where it is evaluated.
evolve::VariationSettings settings_of(const evolve::Task& task, evolve::SpliceMode mode,
                                      bool structures) {
    evolve::VariationSettings settings;
    settings.founder = blueprint_from_json(
        nlohmann::json::parse(
            R"({"layers": [{"type": "dense", "out": 48, "activation": "tanh"}, {"type": "dense", "out": 48},
                {"type": "dense"}], "grid": {"layers_per_cell": 6}})"),
        task.signature().observations, task.signature().outputs);
    settings.mutation.weight_replace_rate = 0.01F;
    settings.mutation.layer_types = {"dense", "residual"};  // nothing small
    settings.mutation.layer_type_rate = structures ? 0.2F : 0.0F;
    settings.mutation.layer_insert_rate = structures ? 0.3F : 0.0F;
    settings.mutation.link_add_rate = structures ? 0.4F : 0.0F;
    settings.mutation.link_drop_rate = structures ? 0.1F : 0.0F;
    settings.mutation.layer_toggle_rate = structures ? 0.1F : 0.0F;
    settings.mutation.activation_rate = 0.0F;
    settings.splice.mode = mode;
    return settings;
}

/// Births of a generation from the one before: two parents for every other child.
std::vector<Birth> births_of(std::uint64_t generation, std::size_t count) {
    std::vector<Birth> births;
    for (std::uint64_t i = 0; i < count; ++i) {
        Birth birth{.id = generation * count + i, .recipe = Recipe::sample, .parents = {}};
        if (generation > 0) {
            birth.recipe = Recipe::vary;
            birth.parents.push_back({.birth = i, .fitness = 2.0});
            if (i % 2 == 0) birth.parents.push_back({.birth = (i + 3) % count, .fitness = 1.5});
        }
        births.push_back(birth);
    }
    return births;
}

void expect_the_children_of_the_host(evolve::SpliceMode mode, bool structures) {
    constexpr std::size_t count = 24;
    const auto task = evolve::standard_tasks().make({{"type", "cart_pole"}, {"steps", 30}}, {});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const auto cpu = make_cpu_backend({.threads = 1, .math = Math::strict});
    const evolve::Variation variation(3, settings_of(*task, mode, structures));
    BackendChildren backend_children(*vulkan, variation, evolve::Family::graph);
    evolve::Evaluator on_vulkan(*vulkan, *task, 1, evolve::Family::graph);
    evolve::Evaluator on_cpu(*cpu, *task, 1, evolve::Family::graph);
    Generation here(count);
    Generation there(count);
    for (std::uint64_t generation = 0; generation < 4; ++generation) {
        Generation next_here(count);
        Generation next_there(count);
        std::vector<BackendChildren::ResolvedBirth> resolved;
        std::vector<Individual*> children;
        std::vector<std::uint32_t> retries(count);
        std::vector<const Individual*> evaluated_here;
        std::vector<const Individual*> evaluated_there;
        for (const Birth& birth : births_of(generation, count)) {
            const std::size_t i = resolved.size();
            BackendChildren::ResolvedBirth& next = resolved.emplace_back();
            next.birth = birth;
            std::vector<const Individual*> parents;
            for (std::size_t p = 0; p < birth.parents.size(); ++p) {
                next.parents.at(p) = &there[birth.parents[p].birth];
                parents.push_back(&here[birth.parents[p].birth]);
            }
            evolve::ChildPlan plan;
            variation.materialise(birth, parents, plan, next_here[i]);
            children.push_back(&next_there[i]);
            evaluated_here.push_back(&next_here[i]);
            evaluated_there.push_back(&next_there[i]);
        }
        ASSERT_THAT(backend_children.make(resolved, children, retries).births, SizeIs(count));
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_EQ(evolve::copy_to_host(next_there[i], *vulkan), next_here[i])
                << generation << ": " << i;
        if (!structures) {
            const auto expected = on_cpu.evaluate(evaluated_here, {.round = generation});
            const auto found = on_vulkan.evaluate(evaluated_there, {.round = generation});
            for (std::size_t i = 0; i < count; ++i)
                EXPECT_EQ(found[i].fitness, expected[i].fitness) << i;
        }
        here = std::move(next_here);
        there = std::move(next_there);
        // A parent that comes from elsewhere has no row.
        there[5] = evolve::copy_to_host(there[5], *vulkan);
    }
}

TEST(BackendChildren, AreThoseOfTheHost) {
    for (const auto mode :
         {evolve::SpliceMode::blend, evolve::SpliceMode::point, evolve::SpliceMode::uniform})
        expect_the_children_of_the_host(mode, true);
    expect_the_children_of_the_host(evolve::SpliceMode::blend, false);
}

TEST(BackendChildren, AreThoseThatPiecesMake) {
    constexpr std::size_t count = 24;
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    evolve::VariationSettings settings;
    // Where its second layer varies, time constants follow rules that devices do not know.
    settings.founder = blueprint_from_json(
        nlohmann::json::parse(
            R"({"layers": [{"type": "dense", "out": 1024}, {"type": "neurons", "out": 2, "continuous": true}]})"),
        4, 2);
    settings.mutation = test::mutation_of_weights(0.3F);
    const evolve::Variation variation(3, settings);
    BackendChildren backend_children(*vulkan, variation, evolve::Family::graph);
    Generation parents(count);
    for (std::uint64_t generation = 0; generation < 2; ++generation) {
        Generation expected(count);
        Generation found(count);
        std::vector<BackendChildren::ResolvedBirth> resolved;
        std::vector<Individual*> children;
        std::vector<std::uint32_t> retries(count);
        std::vector<bool> of_host;
        for (const Birth& birth : births_of(generation, count)) {
            const std::size_t i = resolved.size();
            resolved.push_back({.birth = birth, .parents = {}});
            std::vector<const Individual*> own;
            for (std::size_t p = 0; p < birth.parents.size(); ++p)
                own.push_back(resolved[i].parents.at(p) = &parents[birth.parents[p].birth]);
            evolve::ChildPlan plan;
            variation.materialise(birth, own, plan, expected[i]);
            of_host.push_back(plan.needs_host());
            children.push_back(&found[i]);
        }
        const std::vector<std::size_t> made =
            backend_children.make(resolved, children, retries).births;
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_EQ(std::ranges::binary_search(made, i), !of_host[i]) << i;
        if (generation == 1) {
            EXPECT_THAT(made, SizeIs(AllOf(Gt(0U), Lt(count))));
        }
        for (const std::size_t i : made)
            EXPECT_EQ(evolve::copy_to_host(found[i], *vulkan), expected[i]) << i;
        parents = std::move(expected);
    }
}

TEST(BackendChildren, GiveTheirMemoryBack) {
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::fast));
    evolve::WeightRows rows(*vulkan);
    std::int64_t held = 0;
    for (int round = 0; round < 5; ++round) {
        const auto taken = rows.take({3000, 3010, 5000, 70'000});
        ASSERT_EQ(taken.size(), 4U);
        held = round == 0 ? rows.held() : held;
        EXPECT_EQ(rows.held(), held);
    }
}

TEST(BackendChildren, AreMadeOnTheHostWhereMemoryIsShort) {
    VulkanOptions options = test::test_vulkan_options(Math::fast);
    options.memory_limit = std::int64_t{16} << 20;
    const auto vulkan = make_vulkan_backend(options);
    evolve::WeightRows rows(*vulkan);
    EXPECT_TRUE(rows.take(std::vector<std::int64_t>(1000, 100'000)).empty());
    EXPECT_EQ(rows.take({1000, 1000}).size(), 2U);
    // Room for one size is no loss of the other: 8 MiB are for rows.
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(rows.take(std::vector<std::int64_t>(15, 100'000)).size(), 15U);
        EXPECT_EQ(rows.take({300'000, 500'000, 300'000}).size(), 3U);
        EXPECT_TRUE(rows.take({1'500'000, 1'000'000}).empty());
    }
}

}  // namespace
}  // namespace cambrian
