#include "cambrian/evolve/variation/variation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/network_passes.hpp"

namespace cambrian::evolve {
namespace {

using testing::all_finite;
using testing::founder;
using testing::mixed_blueprint;
using testing::run;

/// Images through convolutions to a vector, with free slots between.
Blueprint image_blueprint() {
    return blueprint_from_json(nlohmann::json::parse(R"({"input": [2, 4, 4],
        "grid": {"layers_per_cell": 10}, "layers": [
            {"type": "conv2d", "out_channels": 3, "padding": 1, "at": [0, 0, 0, 0]},
            {"type": "batch_norm", "at": [0, 0, 0, 2]},
            {"type": "max_pool2d", "at": [0, 0, 0, 4]},
            {"type": "dense", "out": 5, "activation": "tanh", "at": [0, 0, 0, 7]},
            {"type": "dense"}]})"),
                               32, 2);
}

/// Two convolutions that keep the shape of a row, with room between them.
Blueprint convolutions(const std::string& type, const std::vector<std::int64_t>& row) {
    const auto layer = [&](int slot) {
        return nlohmann::json{
            {"type", type}, {"out_channels", row[0]}, {"padding", 1}, {"at", {0, 0, 0, slot}}};
    };
    return blueprint_from_json({{"input", row},
                                {"grid", {{"layers_per_cell", 8}}},
                                {"layers", {layer(0), layer(3), {{"type", "dense"}}}}},
                               Shape(row).elements(), 2);
}

VariationSettings lively(bool time, Blueprint start = mixed_blueprint()) {
    VariationSettings settings;
    settings.founder = std::move(start);
    settings.limits.time = time;
    settings.mutation.activation_rate = 0.1F;
    settings.mutation.layer_type_rate = 0.1F;
    settings.mutation.layer_insert_rate = 0.2F;
    settings.mutation.layer_toggle_rate = 0.1F;
    settings.mutation.link_add_rate = 0.2F;
    settings.mutation.link_drop_rate = 0.15F;
    settings.mutation.weight_replace_rate = 0.01F;
    settings.mutation.layer_remove_rate = 0.1F;
    settings.mutation.layer_widen_rate = 0.1F;
    settings.mutation.layer_deepen_rate = 0.1F;
    settings.mutation.layer_field_rate = 0.1F;
    settings.mutation.grid_limit = 16;
    settings.mutation.layer_types.clear();
    for (const std::string_view type : layer_types()) {
        settings.mutation.layer_types.emplace_back(type);
    }
    return settings;
}

Birth vary(BirthId id, std::vector<double> fitness) {
    Birth birth{.id = id, .recipe = Recipe::vary, .parents = {}};
    for (const double value : fitness) {
        birth.parents.push_back({.birth = 0, .fitness = value});
    }
    return birth;
}

TEST(Variation, IsAPureFunctionOfSeedAndBirth) {
    const Variation first(4, lively(true));
    const Variation second(4, lively(true));
    const Variation other(5, lively(true));
    const Birth sample{.id = 3, .recipe = Recipe::sample, .parents = {}};
    const Genome parent = first.materialise(sample, {}).genome;
    EXPECT_EQ(second.materialise(sample, {}).genome, parent);
    EXPECT_NE(other.materialise(sample, {}).genome, parent);
    const Genome mate = first.materialise({.id = 4, .recipe = {}, .parents = {}}, {}).genome;
    const std::vector<const Genome*> both{&parent, &mate};
    for (BirthId id = 10; id < 40; ++id) {
        const Birth birth = vary(id, {2.0, 1.0});
        const Offspring child = first.materialise(birth, both);
        (void)second.materialise(vary(id + 1, {2.0, 1.0}), both);  // no state to disturb
        EXPECT_EQ(second.materialise(birth, both).genome, child.genome);
        EXPECT_NE(other.materialise(birth, both).genome, child.genome);
    }
}

TEST(Variation, AlignsTheOtherParentWhereAsked) {
    VariationSettings settings;
    settings.founder = testing::blueprint(3, {{"dense", 5, Activation::tanh}}, 2);
    settings.mutation.weight_rate = 0.0F;
    settings.mutation.activation_rate = settings.mutation.layer_type_rate = 0.0F;
    settings.mutation.layer_insert_rate = settings.mutation.layer_toggle_rate = 0.0F;
    settings.mutation.link_add_rate = settings.mutation.link_drop_rate = 0.0F;
    const Genome a = founder(settings.founder, 1);
    const Genome b = founder(settings.founder, 2);
    const Variation plain(4, settings);
    EXPECT_FALSE(plain.reads_weights());
    settings.splice.align = SpliceAlign::permutation;
    const Variation aligning(4, settings);
    EXPECT_TRUE(aligning.reads_weights());
    const Birth birth = vary(9, {2.0, 1.0});
    const Genome ordered = aligned(a, b);
    EXPECT_EQ(aligning.materialise(birth, std::array{&a, &b}).genome,
              plain.materialise(birth, std::array{&a, &ordered}).genome);
    EXPECT_NE(aligning.materialise(birth, std::array{&a, &b}).genome,
              plain.materialise(birth, std::array{&a, &b}).genome);
}

/// Settings of a run that starts from a network which an earlier one evolved.
VariationSettings from_network(const Genome& network, bool keeps) {
    VariationSettings settings = lively(true, network.blueprint);
    settings.initial = std::make_shared<const InitialNetworks>(std::vector{network}, keeps);
    settings.mutation.weight_rate = 0.1F;
    settings.mutation.weight_replace_rate = 0.5F;
    settings.mutation.weight_power = 0.25F;
    return settings;
}

/// The network that the founders below come from: with a batch_norm, born late in its run.
Genome ancestor() {
    RandomStream rng(random_key(5, "ancestor"), 0);
    return sample_genome(image_blueprint(), rng, 77);
}

Genome founder_of(const VariationSettings& settings, BirthId id) {
    return Variation(3, settings).materialise({id, Recipe::sample, {}}, {}).genome;
}

TEST(InitialNetworks, TheFirstFounderIsTheNetworkItself) {
    const Genome network = ancestor();
    const Genome first = founder_of(from_network(network, true), 0);
    EXPECT_EQ(first.blueprint, network.blueprint);
    EXPECT_EQ(first.weights, network.weights);
    for (std::size_t slot = 0; slot < network.slot_genes.size(); ++slot) {
        EXPECT_EQ(first.slot_genes[slot].id, network.slot_genes[slot].id);
        // Birth 77 of that run is no birth of this one.
        EXPECT_EQ(first.slot_genes[slot].born, 0U);
    }
    EXPECT_EQ(first.head_gene, (Gene{network.head_gene.id, 0}));
    check(first);
}

TEST(InitialNetworks, OtherFoundersAreCopiesWithNoiseOnAllWeightsButBuffers) {
    const Genome network = ancestor();
    const VariationSettings settings = from_network(network, true);
    const Genome second = founder_of(settings, 1);
    EXPECT_EQ(second, founder_of(settings, 1));
    EXPECT_NE(second.weights, founder_of(settings, 2).weights);
    EXPECT_EQ(second.slot_genes, founder_of(settings, 0).slot_genes);
    double squares = 0.0;
    std::int64_t moved = 0;
    const Network built(network.blueprint);
    for (const WeightRange& range : built.weights())
        for (std::int64_t i = range.offset; i < range.offset + range.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double change = second.weights[at] - network.weights[at];
            if (range.parameter.buffer) {
                EXPECT_EQ(change, 0.0) << i;
                continue;
            }
            EXPECT_NE(change, 0.0) << i;
            squares += change * change;
            ++moved;
        }
    // The power is the deviation of the noise, whatever the rates of mutation are.
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(moved)), 0.25, 0.05);
}

TEST(InitialNetworks, FreshWeightsKeepStructureAndGenes) {
    const Genome network = ancestor();
    const VariationSettings settings = from_network(network, false);
    const Genome first = founder_of(settings, 0);
    EXPECT_EQ(first.blueprint, network.blueprint);
    EXPECT_EQ(first.slot_genes, founder_of(from_network(network, true), 0).slot_genes);
    VariationSettings afresh = settings;
    afresh.initial = nullptr;
    EXPECT_EQ(first.weights, founder_of(afresh, 0).weights);
    EXPECT_EQ(founder_of(settings, 9).weights, founder_of(afresh, 9).weights);
}

TEST(InitialNetworks, SeveralAreFoundersInTurn) {
    const Genome first = ancestor();
    RandomStream rng(random_key(6, "ancestor"), 0);
    const Genome second = sample_genome(mixed_blueprint(), rng, 5);
    VariationSettings settings = from_network(first, true);
    settings.initial = std::make_shared<const InitialNetworks>(std::vector{first, second});
    EXPECT_EQ(founder_of(settings, 0).weights, first.weights);
    EXPECT_EQ(founder_of(settings, 1).weights, second.weights);
    const Genome third = founder_of(settings, 2);
    const Genome fourth = founder_of(settings, 3);
    EXPECT_EQ(third.blueprint, first.blueprint);
    EXPECT_EQ(fourth.blueprint, second.blueprint);
    EXPECT_NE(third.weights, first.weights);
    EXPECT_NE(fourth.weights, second.weights);
    EXPECT_NE(content_hash(*settings.initial), content_hash(InitialNetworks({second, first})));
}

TEST(InitialNetworks, IsNamedByAllThatFoundersTakeOfIt) {
    const Genome network = ancestor();
    Genome other = network;
    other.weights[0] += 1.0F;
    EXPECT_NE(content_hash(InitialNetworks({network})), content_hash(InitialNetworks({other})));
    EXPECT_EQ(content_hash(InitialNetworks({network}, false)),
              content_hash(InitialNetworks({other}, false)));
    EXPECT_NE(content_hash(InitialNetworks({network}, false)),
              content_hash(InitialNetworks({network})));
    other.head_gene.id.low ^= 1U;
    EXPECT_NE(content_hash(InitialNetworks({network}, false)),
              content_hash(InitialNetworks({other}, false)));
}

TEST(Variation, RefusesAnUnknownLayerTypeBeforeTheFirstBirth) {
    VariationSettings settings = lively(false);
    settings.mutation.layer_types = {"dense", "densee"};
    EXPECT_THROW(Variation(1, settings), ConfigError);
}

TEST(Variation, CarryReturnsTheParent) {
    const Variation variation(4, lively(false));
    const Genome parent = founder(mixed_blueprint());
    Birth birth = vary(7, {1.0});
    birth.recipe = Recipe::carry;
    const std::vector<const Genome*> parents{&parent};
    EXPECT_EQ(variation.materialise(birth, parents).genome, parent);
}

TEST(Variation, SplicesTwoParents) {
    VariationSettings settings = lively(false);
    settings.mutation = {.weight_rate = 0.0F,
                         .activation_rate = 0.0F,
                         .layer_type_rate = 0.0F,
                         .layer_insert_rate = 0.0F,
                         .layer_toggle_rate = 0.0F,
                         .link_add_rate = 0.0F,
                         .link_drop_rate = 0.0F};
    settings.splice.mode = SpliceMode::uniform;
    const Variation variation(4, settings);
    const Genome a = founder(mixed_blueprint(), 1);
    const Genome b = founder(mixed_blueprint(), 2);
    const std::vector<const Genome*> parents{&a, &b};
    const Genome child = variation.materialise(vary(7, {1.0, 1.0}), parents).genome;
    std::size_t from_b = 0;
    for (std::size_t i = 0; i < child.weights.size(); ++i) {
        EXPECT_TRUE(child.weights[i] == a.weights[i] || child.weights[i] == b.weights[i]);
        from_b += child.weights[i] == b.weights[i] && a.weights[i] != b.weights[i] ? 1U : 0U;
    }
    EXPECT_GT(from_b, child.weights.size() / 4);
    EXPECT_LT(from_b, child.weights.size() * 3 / 4);
}

/// Fifty births in a row, every third a splice with an earlier genome of the chain.
class Chain {
  public:
    Chain(const Variation& variation, std::uint64_t number)
        : variation_(variation), next_(number << 8U) {
        kept_.push_back(
            variation.materialise({.id = next_++, .recipe = Recipe::sample, .parents = {}}, {})
                .genome);
    }

    void advance() {
        RandomStream rng(random_key(1, "test.chain"), next_);
        const Genome& last = kept_.back();
        const Genome& mate = kept_[rng.index(static_cast<std::uint32_t>(kept_.size()))];
        const std::vector<const Genome*> parents{&last, &mate};
        const bool two = next_ % 3 == 0;
        const Birth birth = two ? vary(next_, {1.0, 0.5}) : vary(next_, {1.0});
        ++next_;
        kept_.push_back(
            variation_.materialise(birth, std::span(parents).first(two ? 2 : 1)).genome);
    }

    [[nodiscard]] const Genome& last() const { return kept_.back(); }

  private:
    const Variation& variation_;
    BirthId next_;
    std::vector<Genome> kept_;
};

/// CAMBRIAN_CHAINS asks for more than the quick number, CAMBRIAN_FIRST_CHAIN for others.
std::uint64_t chains() {
    return cambrian::test::asked("CAMBRIAN_CHAINS", 60);
}
std::uint64_t first_chain() {
    return cambrian::test::asked("CAMBRIAN_FIRST_CHAIN", 0);
}

/// What the last genomes of the chains have in them, to show that the chains went somewhere.
struct Variety {
    std::set<std::string> types;
    std::size_t max_links = 0;
    int backward = 0;
    int disabled = 0;

    void note_types(const nlohmann::ordered_json& json) {
        if (json.is_object() && json.contains("type")) types.insert(json.at("type"));
        for (const auto& part : json)
            if (part.is_structured()) note_types(part);
    }

    void note(const Blueprint& blueprint) {
        max_links = std::max(max_links, blueprint.links.size());
        for (const Link& link : blueprint.links) {
            backward += link.kind == LinkKind::backward ? 1 : 0;
        }
        for (const std::optional<Slot>& slot : blueprint.slots) {
            if (slot) {
                note_types(to_json(slot->layer));
                disabled += slot->enabled ? 0 : 1;
            }
        }
    }
};

/// Whether doubles hold what floats do not. Gates that multiply what they are given grow without
/// bound in a loop, where even doubles hold the first step only.
bool is_too_large_for_floats(const Genome& genome) {
    const auto doubles = make_reference_backend(Precision::f64);
    return all_finite(run(*doubles, genome)) || all_finite(run(*doubles, genome, 1));
}

TEST(Variation, EveryChildOfLongChainsBuildsAndRuns) {
    const std::array variations{Variation(1, lively(false)),
                                Variation(2, lively(true)),
                                Variation(3, lively(false, image_blueprint())),
                                Variation(4, lively(true, image_blueprint())),
                                Variation(5, lively(false, convolutions("conv1d", {3, 6}))),
                                Variation(6, lively(true, convolutions("conv3d", {2, 2, 3, 2})))};
    const auto backend = make_cpu_backend({});
    const auto reference = make_reference_backend(Precision::f32);
    const Shape declared{testing::run_rows, testing::run_steps, 2};
    Variety variety;
    std::uint64_t overflows = 0;
    for (std::uint64_t number = first_chain(); number < first_chain() + chains(); ++number) {
        Chain chain(variations[number % variations.size()], number);
        const Blueprint first = chain.last().blueprint;
        for (int step = 0; step < 50; ++step) {
            chain.advance();
            ASSERT_NO_THROW(check(chain.last())) << "chain " << number << " step " << step;
            ASSERT_TRUE(number % 2 == 1 || !Network(chain.last().blueprint).stateful());
            const Tensor output = run(*backend, chain.last());
            ASSERT_EQ(output.shape, declared) << "chain " << number << " step " << step;
            const bool finite = all_finite(output);
            overflows += finite ? 0 : 1;
            ASSERT_TRUE(finite || is_too_large_for_floats(chain.last()))
                << "chain " << number << " step " << step << ": "
                << to_json(chain.last().blueprint);
        }
        const Genome& last = chain.last();
        EXPECT_EQ(last.blueprint.head.type(), first.head.type());
        EXPECT_EQ(last.blueprint.output_features, first.output_features);
        EXPECT_EQ(last.blueprint.input_features, first.input_features);
        EXPECT_EQ(decode_genome(encode(last), "chain"), last);
        ASSERT_TRUE(all_finite(run(*reference, last)) || is_too_large_for_floats(last))
            << "chain " << number;
        variety.note(last.blueprint);
    }
    EXPECT_LE(overflows, chains() / 20) << "of " << chains() * 50 << " runs";
    const std::set<std::string> all(layer_types().begin(), layer_types().end());
    EXPECT_EQ(variety.types, all);
    EXPECT_GT(variety.max_links, 5U);
    EXPECT_GT(variety.backward, 0);
    EXPECT_GT(variety.disabled, 0);
}

/// Ids below a vocabulary as inputs of `run`, or its normal numbers for 0.
Tensor run_ids(Backend& backend, const Genome& genome, std::int64_t vocabulary) {
    const Network network(genome.blueprint);
    return cambrian::test::infer(
        backend, network, genome.weights,
        cambrian::test::some_inputs(network, testing::run_rows, testing::run_steps, vocabulary));
}

TEST(Variation, EveryChildOfRandomNetworksRuns) {
    const auto backend = make_cpu_backend({});
    std::uint64_t overflows = 0;
    const std::uint64_t founders = chains() / 20;
    for (std::uint64_t number = 0; number < founders; ++number) {
        RandomStream rng(random_key(21, "test.founder"), number);
        const bool time = number % 2 == 1;
        const std::int64_t vocabulary = number % 4 < 2 ? 0 : 6;
        const RandomNetwork settings{
            .max_elements = 32, .max_weights = 2048, .vocabulary = vocabulary};
        const NetworkEnds ends{.input_features = 1 + static_cast<std::int64_t>(rng.index(24)),
                               .output_features = 2,
                               .time = time};
        const Variation variation(number, lively(time, draw_network(rng, settings, ends)));
        Chain chain(variation, number);
        for (int step = 0; step < 20; ++step) {
            chain.advance();
            SCOPED_TRACE("founder " + std::to_string(number) + " step " + std::to_string(step) +
                         ": " + to_json(chain.last().blueprint).dump());
            ASSERT_NO_THROW(check(chain.last()));
            Tensor output;
            ASSERT_NO_THROW(output = run_ids(*backend, chain.last(), vocabulary));
            ASSERT_EQ(output.shape, (Shape{testing::run_rows, testing::run_steps, 2}));
            overflows += all_finite(output) ? 0U : 1U;
        }
    }
    EXPECT_LE(overflows, founders) << "of " << founders * 20 << " runs";
}

}  // namespace
}  // namespace cambrian::evolve
