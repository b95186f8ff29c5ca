#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"

namespace cambrian::evolve::neat_kind_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::head_genes;
using testing::head_of;
using testing::neat_blueprint;
using testing::neat_kind;
using ::testing::ThrowsMessage;

Variation neat_variation(const Blueprint& founder, std::string_view settings = "{}",
                         bool time = false) {
    VariationSettings result{
        .founder = founder, .limits = {.time = time}, .mutation = {}, .splice = {}};
    result.kind = neat_kind(settings, {.mutation = {}, .splice = {}, .limits = {.time = time}});
    return {3, result};
}

Genome founder_number(const Variation& variation, BirthId id) {
    return variation.materialise({id, Recipe::sample, {}}, {}).genome;
}

TEST(NeatKind, FoundersShareAStructureAndDrawTheirWeights) {
    const Variation variation = neat_variation(
        neat_blueprint(20, 10),
        R"({"weight": {"mean": 1, "deviation": 0.25}, "bias": {"noise": "uniform"}})");
    EXPECT_EQ(variation.founder_structure(0), variation.founder_structure(7));
    const Genome first = founder_number(variation, 0);
    const Genome second = founder_number(variation, 1);
    check(first);
    EXPECT_EQ(first.neuron_genes, second.neuron_genes);
    EXPECT_EQ(head_genes(second).connections[3].born, 0U);
    EXPECT_NE(first.weights, second.weights);
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < 200; ++i) {
        sum += static_cast<double>(first.weights[i]);
        squares += std::pow(static_cast<double>(first.weights[i]) - 1.0, 2.0);
    }
    EXPECT_NEAR(sum / 200.0, 1.0, 0.06);
    EXPECT_NEAR(std::sqrt(squares / 200.0), 0.25, 0.05);
    for (std::size_t i = 200; i < 210; ++i) {
        EXPECT_LE(std::abs(first.weights[i]), 1.0F);
        EXPECT_NE(first.weights[i], 0.0F);
    }
}

TEST(NeatKind, FoundersOfAnIslandAreOfItsSettings) {
    VariationSettings settings{
        .founder = neat_blueprint(3, 2), .limits = {}, .mutation = {}, .splice = {}};
    settings.kind = neat_kind("{}", {.mutation = {}, .splice = {}, .limits = {}});
    settings.islands.push_back({{}, {}, settings.kind});
    settings.islands.push_back(
        {{},
         {},
         neat_kind(R"({"initial_connection_rate": 0, "bias": {"mean": 20, "deviation": 0}})",
                   {.mutation = {}, .splice = {}, .limits = {}})});
    const Variation variation(3, settings);
    const auto founder = [&](std::uint32_t island) {
        return variation.materialise({5, Recipe::sample, {}, island}, {}).genome;
    };
    EXPECT_EQ(head_genes(founder(0)).connections.size(), 6U);
    EXPECT_TRUE(head_genes(founder(1)).connections.empty());
    EXPECT_THAT(founder(1).weights, ::testing::Each(20.0F));
}

Blueprint plastic_blueprint(std::int64_t in, std::int64_t out) {
    Neurons layer{.in = in, .out = out, .neurons = {}, .connections = {}};
    layer.plastic = true;
    return testing::neuron_blueprint(layer);
}

TEST(NeatKind, FoundersOfAPlasticNetworkDrawConnectionsAndRules) {
    const Variation variation =
        neat_variation(plastic_blueprint(20, 10),
                       R"({"plastic_rate": 0.3, "learning_rate": {"mean": 0.5, "deviation": 0.1},
            "rule": {"mean": -2, "deviation": 0.1}})",
                       true);
    const Genome founder = founder_number(variation, 3);
    check(founder);
    const auto& connections = head_of(founder).connections;
    EXPECT_NEAR(
        static_cast<double>(std::ranges::count(connections, true, &Neurons::Connection::plastic)),
        60.0, 25.0);
    ASSERT_EQ(founder.weights.size(), 200U + 10U + 50U);
    for (std::size_t i = 210; i < 260; ++i) {
        EXPECT_NEAR(founder.weights[i], i < 220 ? 0.5F : -2.0F, 0.5F);
    }
    const Genome all =
        founder_number(neat_variation(plastic_blueprint(3, 2), R"({"plastic_rate": 1})", true), 0);
    EXPECT_EQ(std::ranges::count(head_of(all).connections, true, &Neurons::Connection::plastic), 6);
}

TEST(NeatKind, RefusesAPlasticNetworkWithoutTime) {
    EXPECT_THAT([] { static_cast<void>(neat_variation(plastic_blueprint(3, 2))); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr("plastic"), HasSubstr("no time"))));
}

TEST(NeatKind, FoundersMayHaveSomeConnectionsOrNone) {
    const Variation some =
        neat_variation(neat_blueprint(20, 10), R"({"initial_connection_rate": 0.3})");
    std::set<std::size_t> sizes;
    for (BirthId id = 0; id < 8; ++id) {
        const Genome founder = founder_number(some, id);
        check(founder);
        EXPECT_EQ(some.founder_structure(id)->genome().blueprint, founder.blueprint);
        EXPECT_NEAR(static_cast<double>(head_of(founder).connections.size()), 60.0, 25.0);
        sizes.insert(head_of(founder).connections.size());
    }
    EXPECT_GT(sizes.size(), 3U);
    const Genome none = founder_number(
        neat_variation(neat_blueprint(3, 2), R"({"initial_connection_rate": 0})"), 4);
    check(none);
    EXPECT_TRUE(head_of(none).connections.empty());
    EXPECT_EQ(none.weights.size(), 2U);
}

TEST(NeatKind, ChildrenWithoutAStructureOfTheirOwnShareIt) {
    const Variation variation =
        neat_variation(neat_blueprint(2, 1), R"({"node_add_rate": 0, "connection_add_rate": 0})");
    const Individual first{founder_number(variation, 0)};
    const Individual second{founder_number(variation, 1)};
    const std::array<const Individual*, 2> parents{&first, &second};
    ChildPlan plan;
    Individual child;
    variation.materialise({9, Recipe::vary, {{0, 2.0, {}}, {1, 1.0, {}}}}, parents, plan, child);
    EXPECT_EQ(child.structure, first.structure);
    EXPECT_NE(child.weights, first.weights);
}

TEST(NeatKind, MutatesWeightsByTheirRules) {
    const Variation variation =
        neat_variation(neat_blueprint(30, 30),
                       R"({"weight_rate": 1, "node_add_rate": 0, "connection_add_rate": 0,
            "weight": {"perturb_rate": 0.5, "power": 0.01, "replace_rate": 0.25, "mean": 9,
                       "deviation": 0.01},
            "bias": {"perturb_rate": 1, "replace_rate": 0, "power": 9, "noise": "uniform",
                     "least": -2, "largest": 3}})");
    Genome parent = founder_number(variation, 0);
    std::ranges::fill(parent.weights, 1.0F);
    const std::array<const Genome*, 1> parents{&parent};
    const Genome child = variation.materialise({5, Recipe::vary, {{0, 1.0, {}}}}, parents).genome;
    int kept = 0;
    int fresh = 0;
    for (std::size_t i = 0; i < 900; ++i) {
        kept += child.weights[i] == 1.0F ? 1 : 0;
        fresh += child.weights[i] > 8.0F ? 1 : 0;
        EXPECT_TRUE(std::abs(child.weights[i] - 1.0F) < 0.1F || child.weights[i] > 8.9F);
    }
    EXPECT_NEAR(kept, 225, 45);
    EXPECT_NEAR(fresh, 225, 45);
    EXPECT_EQ(*std::min_element(child.weights.begin() + 900, child.weights.end()), -2.0F);
    EXPECT_EQ(*std::max_element(child.weights.begin() + 900, child.weights.end()), 3.0F);
}

TEST(NeatKind, LetsWeightsOfOtherLayersDiffer) {
    Blueprint blueprint = neat_blueprint(4, 2);
    blueprint.slots[0] = Slot{.layer = fitted_layer("batch_norm", {4}, {4}).value()};
    const Variation variation = neat_variation(blueprint, R"({"weight_rate": 1})");
    const Genome parent = founder_number(variation, 0);
    check(parent);
    const std::array<const Genome*, 1> parents{&parent};
    const Genome child = variation.materialise({5, Recipe::vary, {{0, 1.0, {}}}}, parents).genome;
    check(child);
    // Scale and shift of the norm differ, its running mean and variance do not.
    const std::vector<float> before(parent.weights.begin(), parent.weights.begin() + 16);
    const std::vector<float> after(child.weights.begin(), child.weights.begin() + 16);
    EXPECT_NE(before[0], after[0]);
    EXPECT_TRUE(std::equal(before.begin() + 8, before.end(), after.begin() + 8));
}

TEST(NeatKind, TimeConstantsInContainersStayAboveZero) {
    const Blueprint blueprint =
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "sequential", "layers": [
            {"type": "neurons", "out": 30, "continuous": true}]}, {"type": "neurons"}]})"),
                            1, 2, true);
    const Variation variation = neat_variation(
        blueprint, R"({"weight_rate": 1, "node_add_rate": 0, "connection_add_rate": 0,
            "weight": {"power": 9}, "time_constant": {"perturb_rate": 1, "power": 9}})",
        true);
    const Genome parent = founder_number(variation, 0);
    const std::array<const Genome*, 1> parents{&parent};
    const Genome child = variation.materialise({5, Recipe::vary, {{0, 1.0, {}}}}, parents).genome;
    // After 30 weights and 30 biases.
    std::set<float> constants;
    for (std::size_t i = 60; i < 90; ++i) {
        EXPECT_EQ(parent.weights[i], 1.0F);
        EXPECT_GE(child.weights[i], 0.1F);
        constants.insert(child.weights[i]);
    }
    EXPECT_GT(constants.size(), 5U);
    EXPECT_LT(std::ranges::min(child.weights), -1.0F) << "others have no such limit";
}

TEST(NeatKind, StartsFromANetworkWithItsGenes) {
    const Variation grown = neat_variation(neat_blueprint(2, 1), R"({"node_add_rate": 1})");
    const Genome parent = founder_number(grown, 0);
    const std::array<const Genome*, 1> parents{&parent};
    const Genome network = grown.materialise({77, Recipe::vary, {{0, 1.0, {}}}}, parents).genome;
    ASSERT_EQ(head_genes(network).neurons[1].born, 77U);
    VariationSettings settings{
        .founder = network.blueprint, .limits = {}, .mutation = {}, .splice = {}};
    settings.initial = std::make_shared<const InitialNetworks>(std::vector{network});
    settings.kind = neat_kind();
    const Variation variation(4, settings);
    const Genome first = founder_number(variation, 0);
    EXPECT_EQ(first.weights, network.weights);
    EXPECT_EQ(head_genes(first).neurons[1].id, head_genes(network).neurons[1].id);
    EXPECT_EQ(head_genes(first).neurons[1].born, 0U);
    EXPECT_NE(founder_number(variation, 1).weights, network.weights);
    // Layers are genes as wholes where the next run is volumetric.
    settings.kind = nullptr;
    const Genome volumetric = founder_number(Variation(4, settings), 0);
    check(volumetric);
    EXPECT_TRUE(volumetric.neuron_genes.empty());
}

TEST(NeatKind, MakesStructures) {
    VariationSettings settings{
        .founder = neat_blueprint(2, 1), .limits = {}, .mutation = {}, .splice = {}};
    settings.kind = neat_kind(R"({"node_add_rate": 0, "connection_add_rate": 0})");
    EXPECT_EQ(family_of(FamilyChoice::automatic, settings), Family::interpreted);
    EXPECT_EQ(family_of(FamilyChoice::graph, settings), Family::graph);
}

void expect_refused(std::string_view settings, const std::string& text,
                    const GenomeContext& context = {}) {
    EXPECT_THAT([&] { static_cast<void>(neat_kind(settings, context)); },
                ThrowsMessage<ConfigError>(HasSubstr(text)))
        << settings;
}

TEST(NeatKind, RefusesWrongSettings) {
    expect_refused(R"({"node_add_rat": 1})", "node_add_rat");
    expect_refused(R"({"node_add_rate": 1.5})", "genome.node_add_rate");
    expect_refused(R"({"weight": {"perturb_rate": 0.9, "replace_rate": 0.2}})",
                   "genome.weight.perturb_rate is 0.9 and genome.weight.replace_rate 0.2");
    expect_refused(R"({"bias": {"least": 3, "largest": 1}})", "genome.bias.least is 3");
    expect_refused(R"({"weight": {"mean": 31}})", "genome.weight.least is -30, its mean 31");
    expect_refused(R"({"time_constant": {"least": 0}})", "genome.time_constant.least is 0");
    expect_refused(R"({"activations": []})", "genome.activations is empty");
    expect_refused(R"({"activations": ["tan"]})", "genome.activations");
    expect_refused(R"({"feed_forward": false})",
                   "genome.feed_forward is false (the task has no time");
    GenomeContext context;
    context.mutation.weight_power = 0.25F;
    expect_refused(
        "{}", "mutation.weight_power is 0.25 (genome.type is \"neat\", which does not read it)",
        context);
    context = {};
    context.mutation.layers = {Dense{.out = 3}};
    expect_refused("{}", "mutation.layers is [{\"type\":\"dense\"", context);
    context = {};
    context.mutation.layer_insert_rate = 0.0F;
    EXPECT_NE(neat_kind("{}", context), nullptr) << "as in a mesh";
    context = {};
    context.splice.mode = SpliceMode::point;
    expect_refused("{}", "splice.mode is \"point\"", context);
    context = {};
    context.splice.rate = 1.0F;
    EXPECT_NE(neat_kind("{}", context), nullptr);
    EXPECT_THAT(
        [] {
            static_cast<void>(standard_genomes().make({{"type", "neet"}}, {}));
        },
        ThrowsMessage<ConfigError>(
            AllOf(HasSubstr("known: hyperneat, neat, volumetric"), HasSubstr("did you mean"))));
}

TEST(NeatKind, RefusesNetworksThatItCannotHold) {
    const Blueprint dense = testing::blueprint(2, {{"dense", 2}}, 1);
    EXPECT_THAT([&] { static_cast<void>(neat_variation(dense)); },
                ThrowsMessage<ConfigError>(HasSubstr("no layer of single neurons")));
    EXPECT_THAT(
        [] {
            static_cast<void>(
                neat_variation(neat_blueprint(2, 3), R"({"output_activations": ["tanh", "sin"]})"));
        },
        ThrowsMessage<ConfigError>(HasSubstr("genome.output_activations has 2 entries")));
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}};
    layer.neurons.resize(2);
    layer.connections = {{.source = 1, .target = 1}, {.source = 2, .target = 0, .enabled = false}};
    EXPECT_THAT([&] { static_cast<void>(neat_variation(testing::neuron_blueprint(layer))); },
                ThrowsMessage<ConfigError>(HasSubstr("connections may be enabled at any time")));
}

/// Variations that use everything there is.
std::vector<Variation> lively_kinds() {
    constexpr std::string_view rates = R"("node_add_rate": 0.3, "connection_add_rate": 0.4,
        "node_delete_rate": 0.1, "connection_delete_rate": 0.15, "connection_toggle_rate": 0.2,
        "activation_rate": 0.1, "aggregation_rate": 0.1, "average_rate": 0.2,
        "activations": ["tanh", "sin", "gauss", "hat", "step"],
        "aggregations": ["sum", "max", "mean", "maxabs"],
        "time_constant": {"perturb_rate": 0.5})";
    const auto settings = [&](std::string_view more) {
        return std::string("{") + std::string(rates) + std::string(more) + "}";
    };
    Neurons continuous{.in = 3, .out = 2, .neurons = {}, .connections = {}, .continuous = true};
    Blueprint two = testing::neat_blueprint(3, 2);
    Neurons before{.in = 3, .out = 3, .neurons = {}, .connections = {}};
    before.resolve({3});
    two.slots[0] = Slot{.layer = before};
    std::vector<Variation> result;
    result.push_back(neat_variation(neat_blueprint(3, 2), settings("")));
    result.push_back(neat_variation(neat_blueprint(3, 2), settings(R"(, "feed_forward": false,
        "delay_rate": 0.2, "largest_delay": 3)"),
                                    true));
    result.push_back(neat_variation(testing::neuron_blueprint(continuous),
                                    settings(R"(, "feed_forward": false)"), true));
    result.push_back(neat_variation(two, settings(R"(, "initial_connection_rate": 0.5)")));
    return result;
}

TEST(NeatChains, EveryChildIsValidAndRuns) {
    const std::vector<Variation> variations = lively_kinds();
    const auto backend = make_cpu_backend({});
    std::size_t largest = 0;
    std::set<bool> stateful;
    // CAMBRIAN_CHAINS asks for more than the quick number, CAMBRIAN_FIRST_CHAIN for others.
    const std::uint64_t first_chain = test::asked("CAMBRIAN_FIRST_CHAIN", 0);
    const std::uint64_t end = first_chain + test::asked("CAMBRIAN_CHAINS", 60);
    for (std::uint64_t number = first_chain; number < end; ++number) {
        const Variation& variation = variations[number % variations.size()];
        std::array<Genome, 2> last{founder_number(variation, 1000 * number),
                                   founder_number(variation, 1000 * number + 1)};
        for (std::uint64_t step = 0; step < 50; ++step) {
            SCOPED_TRACE(::testing::Message() << "chain " << number << " step " << step);
            const BirthId id = 1000 * number + 2 + step;
            // Equal fitness now and then, so that either parent leads.
            const double second = step % 3 == 0 ? 2.0 : 1.0;
            Birth birth{id, Recipe::vary, {{0, 2.0, {}}}};
            std::vector<const Genome*> parents{&last[step % 2]};
            if (step % 5 != 0) {
                birth.parents.push_back({1, second, {}});
                parents.push_back(&last[1 - step % 2]);
            }
            last[step % 2] = variation.materialise(birth, parents).genome;
            ASSERT_NO_THROW(check(last[step % 2]));
            if (step % 10 == 0) {
                const Tensor output = testing::run(*backend, last[step % 2]);
                ASSERT_EQ(output.shape, (Shape{testing::run_rows, testing::run_steps, 2}));
                ASSERT_TRUE(testing::all_finite(output));
            }
            ASSERT_EQ(decode_genome(encode(last[step % 2]), "chain"), last[step % 2]);
        }
        largest = std::max(largest, head_of(last[0]).connections.size());
        stateful.insert(Network(last[0].blueprint).stateful());
    }
    EXPECT_GT(largest, 20U);
    EXPECT_EQ(stateful.size(), 2U);
}

}  // namespace
}  // namespace cambrian::evolve::neat_kind_test
