#include "cambrian/evolve/genome/alignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/activation_similarity.hpp"
#include "cambrian/evolve/genome/assignment.hpp"
#include "cambrian/evolve/genome/dna.hpp"
#include "cambrian/evolve/genome/gram.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/genome/tensor_axes.hpp"
#include "cambrian/evolve/genome/unit_groups.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::evolve {
namespace {

using test::blueprint_of;
using testing::founder;
using testing::run;

TEST(Assignment, IsTheBestOfAllOrders) {
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng(random_key(3, "test.assignment"), id);
        const std::size_t count = 1 + rng.index(6);
        std::vector<double> gains(count * count);
        for (double& gain : gains) {
            // Whole numbers in half of the cases: ties.
            gain = id % 2 == 0 ? double{rng.normal()} : double{static_cast<float>(rng.index(3))};
        }
        const auto total = [&](const std::vector<std::int32_t>& columns) {
            double sum = 0.0;
            for (std::size_t row = 0; row < count; ++row) {
                sum += gains[row * count + static_cast<std::size_t>(columns[row])];
            }
            return sum;
        };
        std::vector<std::int32_t> order(count);
        std::iota(order.begin(), order.end(), 0);
        double best = total(order);
        do {
            best = std::max(best, total(order));
        } while (std::next_permutation(order.begin(), order.end()));
        std::vector<std::int32_t> found = best_assignment(gains, count);
        EXPECT_NEAR(total(found), best, 1e-9);
        std::ranges::sort(found);
        std::iota(order.begin(), order.end(), 0);
        EXPECT_EQ(found, order);
    }
}

Genome unit_genome(const std::string& layers, std::int64_t inputs, const std::string& rest = "") {
    Genome genome = founder(blueprint_of(R"({"layers": )" + layers + rest + "}", inputs, 2));
    const Network network(genome.blueprint);
    genome.weights = test::some_weights(network);
    for (const WeightRange& range : network.weights()) {
        if (range.parameter.buffer) {  // a variance is positive
            const auto first = genome.weights.begin() + range.offset;
            std::transform(first, first + range.count, first,
                           [](float value) { return 0.5F + std::abs(value); });
        }
    }
    return genome;
}

const std::array<std::string, 5> layer_lists{
    R"([{"type": "dense", "out": 5, "activation": "tanh"}, {"type": "rms_norm"},
        {"type": "dense", "out": 4, "activation": "relu"}, {"type": "dense"}])",
    R"([{"type": "lstm", "hidden": 3}, {"type": "gru", "hidden": 4}, {"type": "mgu", "hidden": 3},
        {"type": "ugrnn", "hidden": 3}, {"type": "delta", "hidden": 4}, {"type": "dense"}])",
    R"([{"type": "conv2d", "out_channels": 3}, {"type": "batch_norm"},
        {"type": "max_pool2d", "kernel": 2, "stride": 1}, {"type": "conv_transpose2d",
        "out_channels": 4}, {"type": "dense", "out": 3}, {"type": "dense"}])",
    R"([{"type": "conv1d", "out_channels": 3}, {"type": "conv1d", "out_channels": 2},
        {"type": "rnn", "hidden": 3}, {"type": "layer_norm"}, {"type": "dense"}])",
    R"([{"type": "dense", "out": 4}, {"type": "dense", "out": 3}, {"type": "dense"}])"};

Genome listed(std::size_t index) {
    const std::array<std::int64_t, 5> inputs{3, 3, 32, 12, 3};
    const std::array<std::string, 5> rest{
        "", "", R"(, "input": [2, 4, 4])", R"(, "input": [2, 6])",
        R"(, "links": [{"source": "input", "target": 1}, {"source": 0, "target": "head"}])"};
    return unit_genome(layer_lists.at(index), inputs.at(index), rest.at(index));
}

/// The same network with the units of all groups in another order.
Genome shuffled(const Genome& genome, std::uint64_t id) {
    Genome result = genome;
    RandomStream rng(random_key(4, "test.shuffle"), id);
    for (const UnitGroup& group : unit_groups(genome.blueprint)) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(group.units));
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i) {
            std::swap(order[i - 1], order[rng.index(static_cast<std::uint32_t>(i))]);
        }
        for (const TensorAxis& axis : group.axes) {
            const std::vector<float> before = result.weights;
            const std::int64_t inner = elements_from(axis.extents, axis.axis + 1);
            const std::int64_t all = elements_from(axis.extents, 0);
            for (std::int64_t i = 0; i < all; ++i) {
                const std::int64_t unit = i / inner % group.units;
                const std::int64_t from =
                    i + (order[static_cast<std::size_t>(unit)] - unit) * inner;
                result.weights[static_cast<std::size_t>(axis.offset + i)] =
                    before[static_cast<std::size_t>(axis.offset + from)];
            }
        }
    }
    return result;
}

TEST(UnitGroups, AnyOrderComputesTheSame) {
    const auto backend = make_reference_backend(Precision::f64);
    constexpr std::array<std::size_t, 5> groups{2, 5, 3, 3, 2};
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        const Genome genome = listed(list);
        EXPECT_EQ(unit_groups(genome.blueprint).size(), groups.at(list)) << list;
        const Tensor before = run(*backend, genome);
        for (std::uint64_t id = 0; id < 4; ++id) {
            const Genome other = shuffled(genome, id);
            const Tensor after = run(*backend, other);
            ASSERT_TRUE(testing::all_finite(after)) << list;
            EXPECT_LE(testing::largest_difference(after, before), 1e-9) << list;
        }
        EXPECT_NE(shuffled(genome, 0).weights, genome.weights);
    }
}

TEST(UnitGroups, LeaveSharedWeightsInTheirOrder) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome genome = unit_genome(R"([{"type": "dense", "out": 3, "activation": "tanh"},
        {"type": "dense", "out": 3, "activation": "tanh"},
        {"type": "dense", "out": 3, "tied": "slot.1.weight"},
        {"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}])",
                                      3);
    // Only the units of slot 3: all others are read or made by the shared weight.
    ASSERT_EQ(unit_groups(genome.blueprint).size(), 1U);
    EXPECT_EQ(unit_groups(genome.blueprint).front().slot, 3);
    const Genome other = shuffled(genome, 1);
    EXPECT_NE(other.weights, genome.weights);
    EXPECT_LE(testing::largest_difference(run(*backend, other), run(*backend, genome)), 1e-9);
}

TEST(UnitGroups, AreNotThoseThatSomethingAddsToElementByElement) {
    const auto count = [](const std::string& layers, const std::string& rest = "") {
        return unit_groups(unit_genome(layers, 3, rest).blueprint).size();
    };
    const std::string two = R"([{"type": "dense", "out": 4}, {"type": "dense", "out": 4},
        {"type": "dense"}])";
    EXPECT_EQ(count(two), 2U);
    // A gain ties unit i of slot 0 to unit i of slot 1.
    EXPECT_EQ(count(two, R"(, "links": [{"source": 0, "target": "head"}])"), 0U);
    EXPECT_EQ(count(R"([{"type": "dense", "out": 4}, {"type": "dense", "out": 4},
        {"type": "residual"}, {"type": "dense"}])"),
              0U);
    EXPECT_EQ(count(R"([{"type": "dense", "out": 4}, {"type": "softmax"}, {"type": "dense"}])"),
              0U);
    EXPECT_EQ(count(R"([{"type": "dense", "out": 3}, {"type": "dense", "out": 3,
        "enabled": false}, {"type": "dense"}])"),
              0U);
}

TEST(Alignment, FindsTheOrderAgain) {
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        const Genome genome = listed(list);
        for (std::uint64_t id = 0; id < 5; ++id) {
            const Genome other = shuffled(genome, id);
            EXPECT_EQ(aligned(genome, other).weights, genome.weights) << list << ", " << id;
            EXPECT_NEAR(compare(genome, other, DnaMode::permutation).overall, 1.0, 1e-6);
        }
        EXPECT_LT(compare(genome, shuffled(genome, 1)).overall, 0.95);
        EXPECT_EQ(aligned(genome, genome).weights, genome.weights);
    }
}

TEST(Alignment, KeepsTheFunctionOfStrangers) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome a = founder(blueprint_of(R"({"layers": )" + layer_lists[0] + "}", 3, 2), 1);
    const Genome b = founder(blueprint_of(R"({"layers": )" + layer_lists[0] + "}", 3, 2), 2);
    const Genome moved = aligned(a, b);
    EXPECT_NE(moved.weights, b.weights);
    EXPECT_LE(testing::largest_difference(run(*backend, moved), run(*backend, b)), 1e-6);
    EXPECT_GT(compare(a, b, DnaMode::permutation).overall, compare(a, b).overall);
    // Of another structure: what both have is aligned, nothing breaks.
    const Genome c = listed(4);
    EXPECT_LE(testing::largest_difference(run(*backend, aligned(a, c)), run(*backend, c)), 1e-6);
}

/// Multiplies all weights of one gene.
void scale_gene(Genome& genome, std::size_t gene, float factor) {
    const GeneWeights range = gene_weights(genome.blueprint)[gene];
    for (std::int64_t i = 0; i < range.count; ++i) {
        genome.weights[static_cast<std::size_t>(range.offset + i)] *= factor;
    }
}

Genome stranger(std::size_t list, std::uint64_t id) {
    Genome genome = listed(list);
    RandomStream rng(random_key(6, "test.stranger"), id);
    for (float& weight : genome.weights) {
        weight = rng.normal();
    }
    return genome;
}

TEST(Alignment, LargeLayersHaveNoMoreSay) {
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        Genome a = stranger(list, 1);
        Genome b = stranger(list, 2);
        Genome expected = aligned(a, b);
        for (std::size_t gene = 0; gene < gene_weights(a.blueprint).size(); gene += 2) {
            for (Genome* genome : {&a, &b, &expected}) {
                scale_gene(*genome, gene, 1024.0F);
            }
        }
        EXPECT_EQ(aligned(a, b).weights, expected.weights) << list;
    }
}

TEST(Alignment, NeverMakesNetworksLessAlike) {
    double gained = 0.0;
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        for (std::uint64_t id = 0; id < 20; ++id) {
            const Genome a = stranger(list, 2 * id);
            Genome b = a;  // a relative whose last gene, a head or link, is large and foreign
            const Genome other = stranger(list, 2 * id + 1);
            for (std::size_t i = 0; i < b.weights.size(); ++i) {
                b.weights[i] += 0.3F * other.weights[i];
            }
            const std::vector<GeneWeights> genes = gene_weights(b.blueprint);
            const auto foreign = weights_of(other, genes.back());
            std::ranges::copy(foreign, b.weights.begin() + genes.back().offset);
            scale_gene(b, genes.size() - 1, 50.0F);
            const double strict = compare(a, b).overall;
            const double permuted = compare(a, b, DnaMode::permutation).overall;
            EXPECT_GE(permuted, strict) << list << ", " << id;
            gained += compare(a, other, DnaMode::permutation).overall - compare(a, other).overall;
        }
    }
    EXPECT_GT(gained, 1.0);
}

TEST(Alignment, LeavesUnitsThatItDoesNotFollow) {
    const auto backend = make_reference_backend(Precision::f64);
    for (const auto& [layers, inputs, rest] :
         {std::tuple{R"([{"type": "mamba", "expand": 1, "state": 2}, {"type": "dense"}])", 3, ""},
          std::tuple{R"([{"type": "conv_transpose1d", "out_channels": 4, "kernel": 2, "groups": 2},
                         {"type": "conv1d", "out_channels": 2}, {"type": "dense"}])",
                     16, R"(, "input": [4, 4])"}}) {
        const Genome a = unit_genome(layers, inputs, rest);
        Genome b = a;
        std::ranges::reverse(b.weights);
        EXPECT_LE(testing::largest_difference(run(*backend, aligned(a, b)), run(*backend, b)),
                  1e-6);
        EXPECT_GE(compare(a, b, DnaMode::permutation).overall, compare(a, b).overall);
    }
}

TEST(Compare, TellsLinksAndDisabledSlots) {
    const std::string layers = R"([{"type": "dense", "out": 3}, {"type": "dense", "out": 3},
        {"type": "dense"}])";
    const Genome a = unit_genome(layers, 3, R"(, "links": [{"source": 0, "target": "head"},
        {"source": "input", "target": 1}])");
    Genome b = unit_genome(layers, 3, R"(, "links": [{"source": "input", "target": "head"},
        {"source": "input", "target": 1}])");
    b.blueprint.slots[1]->enabled = false;
    const GeneWeights shared = gene_weights(b.blueprint)[3];
    ASSERT_EQ(shared.link, 0);
    const auto from = weights_of(a, gene_weights(a.blueprint)[3]);
    std::ranges::copy(from, b.weights.begin() + shared.offset);
    const Comparison result = compare(a, b);
    ASSERT_EQ(result.links.size(), 3U);
    EXPECT_EQ(std::ranges::count(result.links, true, &LinkOverlap::matched), 1);
    EXPECT_NEAR(result.linked, 1.0 / 3.0, 1e-6);
    EXPECT_EQ(result.toggled, std::vector<int>{1});
    EXPECT_NEAR(result.enabled, 2.0 / 3.0, 1e-12);
    EXPECT_NEAR(compare(a, a).linked, 1.0, 1e-6);
    EXPECT_EQ(compare(a, a).enabled, 1.0);
}

TEST(Gram, IsOneExactlyForEqualNetworks) {
    const auto backend = make_reference_backend(Precision::f64);
    ThreadPool threads(1);
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        for (std::uint64_t id = 0; id < 4; ++id) {
            const Genome genome = stranger(list, id);
            const std::array<const Genome*, 2> twins{&genome, &genome};
            const Gram all(4, 1.0);
            EXPECT_EQ(gram_matrix(twins, DnaMode::strict, threads), all) << list << ", " << id;
            EXPECT_EQ(gram_matrix(twins, DnaMode::permutation, threads), all);
            EXPECT_EQ(compare(genome, genome).linked, 1.0);
            const Probe probe = random_probe(genome.blueprint.input_features, 2, 8, id);
            const Genome fed = listed(list);  // no variance below 0
            const std::array<const Genome*, 2> fed_twins{&fed, &fed};
            EXPECT_EQ(activation_gram(*backend, fed_twins, probe), all);
        }
    }
}

TEST(Gram, HoldsEveryPairOnceForAnyNumberOfThreads) {
    std::vector<Genome> genomes;
    for (std::uint64_t id = 0; id < 5; ++id) {
        genomes.push_back(founder(blueprint_of(R"({"layers": )" + layer_lists[0] + "}", 3, 2), id));
    }
    genomes.push_back(shuffled(genomes[0], 3));
    std::vector<const Genome*> pointers;
    for (const Genome& genome : genomes) {
        pointers.push_back(&genome);
    }
    ThreadPool one(1);
    ThreadPool three(3);
    for (const DnaMode mode : {DnaMode::strict, DnaMode::permutation}) {
        const Gram gram = gram_matrix(pointers, mode, one);
        EXPECT_EQ(gram_matrix(pointers, mode, three), gram);
        for (std::size_t i = 0; i < 6; ++i) {
            EXPECT_EQ(gram[i * 6 + i], 1.0);
            for (std::size_t j = i + 1; j < 6; ++j) {
                EXPECT_EQ(gram[i * 6 + j], compare(genomes[i], genomes[j], mode).overall);
                EXPECT_EQ(gram[j * 6 + i], gram[i * 6 + j]);
            }
        }
        EXPECT_EQ(gram[5] > 0.999, mode == DnaMode::permutation);
    }
}

/// What the definition says, of two layers' values [rows, features] as they are.
double cka_by_definition(const Tensor& x, const Tensor& y) {
    const auto centred = [](const Tensor& tensor) {
        const auto rows = static_cast<std::size_t>(tensor.shape[0]);
        const auto features = static_cast<std::size_t>(tensor.shape[1]);
        std::vector<double> values = tensor.elements;
        for (std::size_t k = 0; k < features; ++k) {
            double mean = 0.0;
            for (std::size_t i = 0; i < rows; ++i) mean += values[i * features + k];
            for (std::size_t i = 0; i < rows; ++i)
                values[i * features + k] -= mean / static_cast<double>(rows);
        }
        return values;
    };
    const auto square = [&](const std::vector<double>& a, std::size_t p,
                            const std::vector<double>& b, std::size_t q) {
        double sum = 0.0;
        for (std::size_t i = 0; i < p; ++i)
            for (std::size_t j = 0; j < q; ++j) {
                double product = 0.0;
                for (std::size_t row = 0; row * p < a.size(); ++row)
                    product += a[row * p + i] * b[row * q + j];
                sum += product * product;
            }
        return sum;
    };
    const std::vector<double> a = centred(x);
    const std::vector<double> b = centred(y);
    const auto p = static_cast<std::size_t>(x.shape[1]);
    const auto q = static_cast<std::size_t>(y.shape[1]);
    return square(a, p, b, q) / std::sqrt(square(a, p, a, p) * square(b, q, b, q));
}

TEST(Activations, AlignAsTheDefinitionSays) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome a = founder(blueprint_of(R"({"layers": [{"type": "dense"}]})", 3, 4), 1);
    const Genome b = founder(blueprint_of(R"({"layers": [{"type": "dense"}]})", 3, 2), 2);
    const Probe probe = random_probe(3, 1, 20, 5);
    const auto of_a = activation_profile(*backend, a, probe);
    const auto of_b = activation_profile(*backend, b, probe);
    const Tensor x(ValueType::real, {20, 3}, {probe.rows.begin(), probe.rows.end()});
    const double wanted = cka_by_definition(test::run(Network(a.blueprint), a.weights, x),
                                            test::run(Network(b.blueprint), b.weights, x));
    EXPECT_NEAR(linear_cka(of_a.places.back(), of_b.places.back()), wanted, 1e-9);
    EXPECT_GT(wanted, 0.05);
    EXPECT_LT(wanted, 0.99);
}

TEST(Activations, DoNotSeeTheOrderOfUnits) {
    const auto backend = make_reference_backend(Precision::f64);
    for (std::size_t list = 0; list < layer_lists.size(); ++list) {
        const Genome genome = listed(list);
        const Probe probe = random_probe(genome.blueprint.input_features, 3, 8, 1);
        const auto one = activation_profile(*backend, genome, probe);
        const auto two = activation_profile(*backend, shuffled(genome, 2), probe);
        EXPECT_NEAR(activation_similarity(one, two), 1.0, 1e-9) << list;
        EXPECT_EQ(one.places.size(), filled_slots(genome.blueprint).size() + 1);
    }
}

TEST(Activations, OfALayerThatGivesEveryRowTheSameAlignWithNone) {
    const auto backend = make_reference_backend(Precision::f64);
    Genome constant = founder(blueprint_of(R"({"layers": [{"type": "dense"}]})", 3, 2));
    const Genome other = constant;
    std::fill(constant.weights.begin(), constant.weights.begin() + 6, 0.0F);
    constant.weights[6] = 0.3F;
    const Probe probe = random_probe(3, 1, 10, 1);
    const auto still = activation_profile(*backend, constant, probe);
    EXPECT_TRUE(still.places.back().direction.empty());
    EXPECT_EQ(activation_similarity(still, activation_profile(*backend, other, probe)), 0.0);
    EXPECT_EQ(activation_similarity(still, still), 1.0);
    const std::array<const Genome*, 2> both{&constant, &other};
    EXPECT_EQ(activation_gram(*backend, both, probe), (Gram{1.0, 0.0, 0.0, 1.0}));
}

}  // namespace
}  // namespace cambrian::evolve
