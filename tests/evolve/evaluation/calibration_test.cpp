#include "cambrian/evolve/evaluation/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::string_view parity = R"({"type": "parity", "bits": 5})";
constexpr std::string_view hidden =
    R"({"layers": [{"type": "dense", "out": 7, "activation": "tanh"},
                   {"type": "dense", "out": 6, "activation": "silu"}, {"type": "dense"}]})";

std::vector<LayerFormats> every_format_of_weights() {
    std::vector<LayerFormats> all;
    for (std::size_t i = 0; i < dtype_count; ++i) all.push_back({.weights = static_cast<Dtype>(i)});
    return all;
}

TEST(WeightFormats, AreEvaluatedAsTheNumbersThatCodesStandFor) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    for (const Family family : {Family::graph, Family::interpreted}) {
        Evaluator evaluator(*backend, *task, 1, family);
        std::vector<Genome> genomes;
        for (const LayerFormats& formats : every_format_of_weights()) {
            genomes.push_back(with_formats(testing::genome_for(*task, hidden, 3), formats));
            genomes.push_back(testing::decoded(genomes.back()));
        }
        const std::vector<const Genome*> pointers = testing::pointers_to(genomes);
        const std::vector<Evaluation> scores = evaluator.evaluate(pointers, {});
        for (std::size_t i = 0; i < scores.size(); i += 2) {
            const auto dtype = static_cast<Dtype>(i / 2);
            EXPECT_EQ(scores[i].status, Status::ok) << name(dtype);
            EXPECT_EQ(scores[i].fitness, scores[i + 1].fitness) << name(dtype);
            // Who else is in the batch changes nothing.
            EXPECT_EQ(evaluator.evaluate(std::span(pointers).subspan(i, 1), {})[0].fitness,
                      scores[i].fitness)
                << name(dtype);
        }
        EXPECT_NE(scores[2 * static_cast<std::size_t>(Dtype::int4)].fitness, scores[2].fitness);
    }
}

TEST(WeightFormats, AnswersAndAccuracyAreThoseOfTheFormat) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    const Genome genome =
        with_formats(testing::genome_for(*task, hidden, 4), {.weights = Dtype::ternary});
    const std::vector<float> rows(10, 0.5F);
    EXPECT_EQ(infer(*backend, genome, rows, 2, 0),
              infer(*backend, testing::decoded(genome), rows, 2, 0));
    EXPECT_NE(infer(*backend, genome, rows, 2, 0),
              infer(*backend, with_formats(genome, {}), rows, 2, 0));
}

TEST(WeightFormats, RowsInAFormatRunAsGraphsInEveryFamily) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    const Genome genome =
        with_formats(testing::genome_for(*task, hidden, 5),
                     {.weights = Dtype::int8, .activations = Dtype::float8_e4m3fn});
    const std::array<const Genome*, 1> genomes{&genome};
    Evaluator graphs(*backend, *task, 1, Family::graph);
    Evaluator data(*backend, *task, 1, Family::interpreted);
    const double fitness = graphs.evaluate(genomes, {})[0].fitness;
    EXPECT_EQ(data.evaluate(genomes, {})[0].fitness, fitness);
    const Genome rows_as_they_are = with_formats(genome, {.weights = Dtype::int8});
    const std::array<const Genome*, 1> others{&rows_as_they_are};
    EXPECT_NE(graphs.evaluate(others, {})[0].fitness, fitness);
}

TEST(Calibration, IsNeverWorseAndItsNumbersAreThoseOfTheirCodes) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    int better = 0;
    for (const Dtype dtype : {Dtype::int8, Dtype::int4, Dtype::uint4, Dtype::float4_e2m1fn,
                              Dtype::int2, Dtype::ternary, Dtype::q4_0, Dtype::bfloat16}) {
        const Genome genome =
            with_formats(testing::genome_for(*task, hidden, 6), {.weights = dtype});
        const std::array<const Genome*, 1> before{&genome};
        const double fitness = evaluator.evaluate(before, {})[0].fitness;
        const CalibratedNetwork result = calibrated(evaluator, genome, {});
        EXPECT_EQ(result.clips.size(), 3U);
        EXPECT_GE(result.clips.back().fitness, fitness) << name(dtype);
        const std::array<const Genome*, 1> after{&result.genome};
        EXPECT_EQ(evaluator.evaluate(after, {})[0].fitness, result.clips.back().fitness);
        better += result.clips.back().fitness > fitness ? 1 : 0;
    }
    EXPECT_GE(better, 3);
}

TEST(Calibration, EvaluatesTheCodesOfTheClipThatItNames) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    int clipped = 0;
    for (const LayerFormats& formats :
         {LayerFormats{.weights = Dtype::ternary},
          LayerFormats{.weights = Dtype::ternary, .scales = Scales::mx},
          LayerFormats{.weights = Dtype::uint4}}) {
        const Genome genome = with_formats(testing::genome_for(*task, hidden, 6), formats);
        const CalibratedNetwork result = calibrated(evaluator, genome, {});
        const Network network(genome.blueprint);
        const std::vector<float> evaluated = evaluated_weights(network, result.genome.weights);
        std::size_t chosen = 0;
        for (const WeightRange& range : network.weights()) {
            const auto encoded = encoded_range(genome.blueprint, range);
            if (!encoded) continue;
            QuantisationScheme scheme = encoded->scheme();
            scheme.rule.clip = result.clips[chosen++].clip;
            clipped += scheme.rule.clip < 1.0 ? 1 : 0;
            const auto first = genome.weights.begin() + range.offset;
            std::vector<float> expected(first, first + range.count);
            round_to_codes(scheme, encoded->extents, expected);
            for (std::size_t i = 0; i < expected.size(); ++i)
                EXPECT_NEAR(evaluated[static_cast<std::size_t>(range.offset) + i], expected[i],
                            1e-6)
                    << weights_text(formats) << ' ' << scheme.rule.clip;
        }
    }
    EXPECT_GE(clipped, 1);
}

TEST(WeightFormats, OfDisabledConnectionsAreNoMatterInEveryFamily) {
    const auto task = testing::standard_task(parity);
    const auto backend = make_cpu_backend({});
    constexpr std::string_view neurons = R"({"layers": [{"type": "neurons",
        "neurons": [{"activation": "tanh"}], "connections": [
            {"source": 0, "target": 0}, {"source": 1, "target": 0, "enabled": false},
            {"source": 2, "target": 0}, {"source": 3, "target": 0}]}]})";
    for (const LayerFormats& formats : every_format_of_weights()) {
        Genome genome = with_formats(testing::genome_for(*task, neurons, 3), formats);
        std::vector<double> fitness;
        for (const float disabled : {0.0F, 100.0F})
            for (const Family family : {Family::graph, Family::interpreted}) {
                genome.weights[1] = disabled;
                const std::array<const Genome*, 1> genomes{&genome};
                fitness.push_back(
                    Evaluator(*backend, *task, 1, family).evaluate(genomes, {})[0].fitness);
            }
        EXPECT_EQ(fitness[2], fitness[0]) << name(formats.weights);
        EXPECT_EQ(fitness[3], fitness[1]) << name(formats.weights);
    }
}

TEST(Calibration, ErrorsAreToldByTensor) {
    const auto task = testing::standard_task(parity);
    const Genome genome =
        with_formats(testing::genome_for(*task, hidden, 7), {.weights = Dtype::int8});
    const std::vector<TensorError> errors = tensor_errors(genome);
    ASSERT_EQ(errors.size(), 3U);
    EXPECT_EQ(errors[0].name, "slot.0.weight");
    EXPECT_EQ(errors[0].extents, (MatrixExtents{7, 5}));
    EXPECT_EQ(errors[0].bytes, 7 * 5 + 7 * 4);
    EXPECT_GT(errors[0].error.rms, 0.0);
    EXPECT_GT(errors[0].error.cosine, 0.9999);
    EXPECT_TRUE(tensor_errors(with_formats(genome, {})).empty());
}

}  // namespace
}  // namespace cambrian::evolve
