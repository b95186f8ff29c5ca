#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

// Networks of equal structure run side by side in the lanes of a scan; each has the bits it has
// alone, where nobody shares its instructions.
namespace cambrian::evolve::testing::side_by_side_test {
namespace {

constexpr std::int64_t time_steps = 3;
constexpr std::int64_t max_equal = 20;

MutationSettings wild() {
    MutationSettings settings;
    settings.activation_rate = 0.3F;
    settings.layer_type_rate = 0.2F;
    settings.layer_insert_rate = 0.5F;
    settings.layer_toggle_rate = 0.15F;
    settings.link_add_rate = 0.7F;
    settings.weight_power = 0.5F;
    settings.layer_types = {"dense", "rms_norm", "layer_norm", "softmax", "residual", "rnn"};
    return settings;
}

/// 1, 2, .. networks of a structure, then those of the next one: 210 of 20 structures. Equal ones
/// differ in their weights.
std::vector<Genome> crowds(const Blueprint& start, std::uint64_t mutations) {
    std::vector<Genome> result;
    for (std::uint64_t structure = 0; structure < max_equal; ++structure) {
        Genome genome = founder(start, structure);
        RandomStream rng(random_key(21, "test.crowds"), structure);
        for (std::uint64_t birth = 1; birth <= mutations; ++birth)
            genome = mutate(rng, wild(), {.time = true}, std::move(genome), birth).genome;
        for (std::uint64_t twin = 0; twin <= structure; ++twin) {
            result.push_back(genome);
            for (float& weight : result.back().weights) weight += rng.normal() * 0.3F;
        }
    }
    return result;
}

/// What a program over all networks reads.
struct Operands {
    BytecodeCapacity capacity;
    std::set<BytecodeOp> ops;
    std::vector<double> pool;   ///< Weights of all.
    std::vector<double> words;  ///< [networks, capacity.words]
};

Operands operands_of(const std::vector<Genome>& genomes) {
    Operands result;
    std::vector<std::vector<std::int32_t>> bytecodes;
    for (const Genome& genome : genomes) {
        std::vector<BytecodePacking> packings;
        auto& words = bytecodes.emplace_back();
        const BytecodeCapacity needed = BytecodeWriter().write(genome.blueprint, words, packings);
        result.capacity = result.capacity.joined(needed);
        std::vector<float> packed(static_cast<std::size_t>(needed.weights));
        pack(packings, genome.weights, packed);
        for (std::size_t i = 0; i < words.size(); i += bytecode_instruction_words) {
            result.ops.insert(static_cast<BytecodeOp>(words[i]));
            words[i + 6] += static_cast<std::int32_t>(result.pool.size());
        }
        result.pool.insert(result.pool.end(), packed.begin(), packed.end());
    }
    result.capacity = result.capacity.rounded();
    for (auto& words : bytecodes) {
        words.resize(static_cast<std::size_t>(result.capacity.words));
        result.words.insert(result.words.end(), words.begin(), words.end());
    }
    return result;
}

/// Outputs [networks, rows, time_steps, outputs] of sequences that each network has for itself.
std::vector<double> outputs_of(Backend& backend, const Blueprint& blueprint,
                               const Operands& operands, std::int64_t rows, std::int64_t first,
                               std::int64_t count) {
    const BytecodeNetwork form(blueprint.input_features, blueprint.output_features,
                               operands.capacity);
    const Shape x_shape{rows, time_steps, blueprint.input_features};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, x_shape);
    const Var weights = graph.input("weights", ValueType::real,
                                    Shape{static_cast<std::int64_t>(operands.pool.size())});
    const Var words = graph.input("words", ValueType::integer, Shape{operands.capacity.words});
    graph.output(form.sequence(x, {.weights = weights, .activations = words, .enabled = words}));
    Tensor all(ValueType::real, Shape{count, rows, time_steps, blueprint.input_features});
    for (std::int64_t network = 0; network < count; ++network) {
        RandomStream rng(random_key(5, "test.rows"), static_cast<std::uint64_t>(first + network));
        for (std::int64_t i = 0; i < x_shape.elements(); ++i)
            all.elements[static_cast<std::size_t>(network * x_shape.elements() + i)] =
                static_cast<double>(rng.normal());
    }
    const auto from = operands.words.begin() + first * operands.capacity.words;
    const std::vector<Tensor> inputs{
        all,
        {ValueType::real, Shape{static_cast<std::int64_t>(operands.pool.size())}, operands.pool},
        {ValueType::integer,
         Shape{count, operands.capacity.words},
         {from, from + count * operands.capacity.words}}};
    return evaluate(backend, vmap(graph, std::vector<std::size_t>{0, 2}), count, inputs)[0]
        .elements;
}

/// Numbers whose bits differ; any NaN equals any NaN.
std::size_t different(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return SIZE_MAX;
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::isnan(a[i]) && std::isnan(b[i])) &&
            std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i]))
            ++count;
    return count;
}

class SideBySide : public ::testing::TestWithParam<Math> {};

TEST_P(SideBySide, EveryNetworkHasTheBitsItHasAlone) {
    const auto backend = make_cpu_backend({.threads = 2, .math = GetParam(), .poison = true});
    std::set<BytecodeOp> ops;
    for (const std::uint64_t mutations : {0U, 6U, 15U}) {
        const Blueprint start = mixed_blueprint();
        const std::vector<Genome> genomes = crowds(start, mutations);
        const Operands operands = operands_of(genomes);
        ops.insert(operands.ops.begin(), operands.ops.end());
        const auto count = static_cast<std::int64_t>(genomes.size());
        for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 9, 11}) {
            const std::vector<double> together =
                outputs_of(*backend, start, operands, rows, 0, count);
            std::vector<double> alone;
            for (std::int64_t network = 0; network < count; ++network) {
                const std::vector<double> own =
                    outputs_of(*backend, start, operands, rows, network, 1);
                alone.insert(alone.end(), own.begin(), own.end());
            }
            EXPECT_EQ(different(together, alone), 0U) << rows << " rows, " << mutations;
        }
    }
    EXPECT_EQ(ops.size(), bytecode_op_count - 1)
        << "an op never ran (but neurons, which have tests of "
           "their own)";
}

TEST_P(SideBySide, AFitnessDoesNotDependOnWhoElseIsAlive) {
    const Blueprint start =
        blueprint_from_json(nlohmann::json::parse(R"({"grid": {"layers_per_cell": 6}, "layers": [
            {"type": "dense", "out": 7, "activation": "tanh"}, {"type": "dense"}]})"),
                            4, 2);
    for (const std::uint64_t mutations : {0U, 5U}) {
        const std::vector<Genome> genomes = crowds(start, mutations);
        for (const int episodes : {1, 5}) {
            const auto task = standard_tasks().make(
                {{"type", "cart_pole"}, {"episodes", episodes}, {"steps", 150}}, {});
            const auto backend = make_cpu_backend({.threads = 2, .math = GetParam()});
            Evaluator together(*backend, *task, 5, Family::interpreted);
            Evaluator apart(*backend, *task, 5, Family::interpreted);
            const std::vector<const Genome*> all = pointers_to(genomes);
            const std::vector<Evaluation> evaluations = together.evaluate(all, {.round = 3});
            std::set<std::uint64_t> lengths;
            for (std::size_t i = 0; i < all.size(); ++i) {
                const Evaluation own = apart.evaluate(std::span(&all[i], 1), {.round = 3})[0];
                EXPECT_EQ(evaluations[i].fitness, own.fitness) << i;
                EXPECT_EQ(evaluations[i].per_sample, own.per_sample) << i;
                EXPECT_EQ(evaluations[i].env_steps, own.env_steps) << i;
                lengths.insert(own.env_steps);
            }
            EXPECT_GT(lengths.size(), 15U) << "episodes end at many different steps";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Maths, SideBySide, ::testing::Values(Math::strict, Math::fast),
                         [](const auto& math) {
                             return math.param == Math::strict ? "Strict" : "Fast";
                         });

TEST(SideBySide, RolloutsRunInLanesUnlessOneNetworkFillsThemAlone) {
    const std::vector<Genome> genomes =
        crowds(blueprint(4, {{"dense", 5, Activation::tanh}}, 2), 0);
    const std::vector<const Genome*> all = pointers_to(genomes);
    const auto copies = [&](std::size_t count, int episodes) {
        const auto task = standard_tasks().make(
            {{"type", "cart_pole"}, {"steps", 20}, {"episodes", episodes}}, {});
        const auto backend = make_cpu_backend({.profile = true});
        Evaluator evaluator(*backend, *task, 5, Family::interpreted);
        (void)evaluator.evaluate(std::span(all).first(count), {});
        std::int64_t dispatches = 0;
        for (const KernelTime& time : backend->take_profile())
            if (time.kernel.starts_with("concat")) dispatches += time.dispatches;
        return dispatches;
    };
    EXPECT_EQ(copies(all.size(), 5), 0) << "movement costs nothing";
    EXPECT_EQ(copies(1, 2), 0) << "small values fill no vector alone";
    EXPECT_GT(copies(1, 40), 0) << "a network alone runs as it lies";
}

}  // namespace
}  // namespace cambrian::evolve::testing::side_by_side_test
