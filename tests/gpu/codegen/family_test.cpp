#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/support/neuron_networks.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Generations of mutants in the interpreted family: the evaluations of the CPU backend.
namespace cambrian::evolve {
namespace {

std::unique_ptr<Task> task_of(std::string_view settings) {
    return standard_tasks().make(nlohmann::json::parse(settings), {});
}

/// Networks of many structures, with state where the task has time.
std::vector<Genome> mutants(const Task& task, std::uint64_t count) {
    const TaskSignature signature = task.signature();
    const Blueprint founder = blueprint_from_json(
        nlohmann::json::parse(R"({"layers": [{"type": "dense", "out": 6, "activation": "tanh"},
            {"type": "dense"}], "grid": {"layers_per_cell": 5}})"),
        signature.observations, signature.outputs);
    MutationSettings often;
    often.layer_type_rate = 0.2F;
    often.layer_insert_rate = 0.5F;
    often.layer_toggle_rate = 0.2F;
    often.link_add_rate = 0.6F;
    often.activation_rate = 0.2F;
    often.layer_types = {"dense", "rms_norm", "layer_norm", "softmax", "residual", "rnn"};
    std::vector<Genome> result;
    for (std::uint64_t i = 0; i < count; ++i) {
        RandomStream rng(random_key(4, "test.family"), i);
        Genome genome = sample_genome(founder, rng, i);
        for (std::uint64_t birth = 1; birth <= i % 8; ++birth)
            genome = mutate(rng, often, {.time = signature.time}, std::move(genome), birth).genome;
        result.push_back(std::move(genome));
    }
    return result;
}

std::vector<const Genome*> pointers(const std::vector<Genome>& genomes) {
    std::vector<const Genome*> result;
    for (const Genome& genome : genomes) result.push_back(&genome);
    return result;
}

/// Evaluates populations on the CPU and on Vulkan.
class Both {
  public:
    /// @param lanes_of_a_row see VulkanOptions::row_team.
    explicit Both(const Task& task, int lanes_of_a_row = 0)
        : cpu_(make_cpu_backend({.threads = 2, .math = Math::strict})),
          vulkan_(make_vulkan_backend(options(lanes_of_a_row))),
          expected_(*cpu_, task, 3, Family::interpreted),
          found_(*vulkan_, task, 3, Family::interpreted) {}

    void expect_equal(const std::vector<Genome>& genomes) {
        for (const std::uint64_t round : {0U, 1U}) {
            const auto a = expected_.evaluate(pointers(genomes), {.round = round});
            const auto b = found_.evaluate(pointers(genomes), {.round = round});
            for (std::size_t i = 0; i < genomes.size(); ++i) {
                EXPECT_EQ(a[i].status, b[i].status) << i;
                invalid_ += a[i].status == Status::ok ? 0U : 1U;
                EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i].fitness),
                          std::bit_cast<std::uint64_t>(b[i].fitness))
                    << i;
                EXPECT_EQ(a[i].per_sample, b[i].per_sample) << i;
                EXPECT_EQ(a[i].env_steps, b[i].env_steps) << i;
            }
        }
    }
    [[nodiscard]] std::uint64_t programs() const { return found_.counters().programs_compiled; }
    /// Evaluations so far without a valid fitness.
    [[nodiscard]] std::size_t invalid() const { return invalid_; }
    [[nodiscard]] std::vector<KernelTime> take_profile() { return vulkan_->take_profile(); }

  private:
    static VulkanOptions options(int lanes_of_a_row) {
        VulkanOptions result = test::test_vulkan_options(Math::strict);
        if (lanes_of_a_row != 0) result.row_team = lanes_of_a_row;
        result.profile = lanes_of_a_row != 0;
        return result;
    }

    std::unique_ptr<Backend> cpu_;
    std::unique_ptr<Backend> vulkan_;
    Evaluator expected_;
    Evaluator found_;
    std::size_t invalid_ = 0;
};

/// @param lanes_of_a_row see VulkanOptions::row_team.
void expect_the_evaluations_of_the_cpu(const Task& task, const std::vector<Genome>& genomes,
                                       int lanes_of_a_row = 0) {
    Both both(task, lanes_of_a_row);
    both.expect_equal(genomes);
    EXPECT_EQ(both.programs(), 1U);
    if (lanes_of_a_row == 0) return;
    const std::string_view end = lanes_of_a_row == 2 ? ", 2)" : ", 4)";
    EXPECT_TRUE(std::ranges::any_of(both.take_profile(), [end](const KernelTime& time) {
        return time.kernel.starts_with("scan_rows") && time.kernel.find(end) != std::string::npos;
    })) << "no kernel with teams";
}

/// The same, however many lanes walk a row together.
void expect_the_evaluations_of_the_cpu_by_teams(const Task& task,
                                                const std::vector<Genome>& genomes) {
    for (const int lanes : {0, 4, -1}) {
        SCOPED_TRACE(lanes);
        expect_the_evaluations_of_the_cpu(task, genomes, lanes);
    }
}

TEST(VulkanFamily, MutantsBalanceAsOnTheCpu) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 3, "steps": 80, "validation": {"episodes": 3}})");
    expect_the_evaluations_of_the_cpu_by_teams(*task, mutants(*task, 60));
}

TEST(VulkanFamily, MutantsWalkedByTwoLanesBalanceAsOnTheCpu) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 3, "steps": 80, "validation": {"episodes": 3}})");
    expect_the_evaluations_of_the_cpu(*task, mutants(*task, 60), 2);
}

TEST(VulkanFamily, LanesThatShareLargeNetworksBalanceAsOnTheCpu) {
    const auto task = task_of(R"({"type": "cart_pole", "episodes": 2, "steps": 40})");
    const auto network = [&](std::string_view layers, std::uint64_t id) {
        const Blueprint blueprint =
            blueprint_from_json(nlohmann::json::parse(layers), task->signature().observations,
                                task->signature().outputs);
        RandomStream rng(random_key(6, "test.family"), id);
        return sample_genome(blueprint, rng, id);
    };
    // More than two workgroups have lanes: teams of four in the first, each lane alone in the last.
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 300; ++i)
        genomes.push_back(
            network(i % 6 == 0 ? R"({"layers": [{"type": "dense", "out": 16, "activation": "tanh"},
                {"type": "dense", "out": 14, "activation": "relu"}, {"type": "softmax"},
                {"type": "dense", "out": 15, "activation": "silu"}, {"type": "dense"}]})"
                               : R"({"layers": [{"type": "dense", "out": 3}, {"type": "dense"}]})",
                    i));
    expect_the_evaluations_of_the_cpu(*task, genomes, -1);
}

/// Networks of neurons of every kind, half of them in continuous time.
std::vector<Genome> neurons_of_every_kind(std::uint64_t count, int max_hidden, float plastic) {
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < count; ++i)
        genomes.push_back(test::random_neuron_genome({.in = 4,
                                                      .out = 2,
                                                      .max_hidden = max_hidden,
                                                      .max_inputs = 7,
                                                      .every_function = true,
                                                      .delayed = 0.2F,
                                                      .continuous = i % 2 == 1,
                                                      .plastic = i % 3 == 0 ? 0.0F : plastic},
                                                     i));
    return genomes;
}

/// Networks of neurons that sum few inputs to very many, a third with delays.
std::vector<Genome> sums(std::uint64_t count) {
    constexpr std::array activations{NeuronActivation::identity,     NeuronActivation::relu,
                                     NeuronActivation::silu,         NeuronActivation::gelu,
                                     NeuronActivation::tanh,         NeuronActivation::sigmoid,
                                     NeuronActivation::steep_sigmoid};
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < count; ++i) {
        genomes.push_back(test::random_neuron_genome({.in = 4,
                                                      .out = 2,
                                                      .max_hidden = 40,
                                                      .max_inputs = i % 4 == 0 ? 60 : 6,
                                                      .delayed = i % 3 == 0 ? 0.2F : 0.0F},
                                                     i));
        RandomStream rng(random_key(5, "test.sums"), i);
        Neurons& layer = std::get<Neurons>(genomes.back().blueprint.head.variant());
        for (Neurons::Neuron& neuron : layer.neurons)
            if (i % 2 == 0) neuron.activation = activations.at(rng.index(activations.size()));
    }
    return genomes;
}

BytecodeCapacity capacity_of(const Genome& genome) {
    return make_bytecode(Network(genome.blueprint)).capacity;
}

/// What 20 generations of NEAT, each of the better half of the one before, come to.
std::vector<Genome> evolved_by_neat(const Task& task, std::uint64_t size) {
    const TaskSignature signature = task.signature();
    VariationSettings settings;
    settings.founder =
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "neurons"}]})"),
                            signature.observations, signature.outputs);
    settings.kind = standard_genomes().make(
        nlohmann::json::parse(R"({"type": "neat", "feed_forward": false, "delay_rate": 0.2,
            "node_add_rate": 0.3, "connection_add_rate": 0.3, "activation_rate": 0.1,
            "activations": ["tanh", "gauss", "sin", "relu"]})"),
        {.mutation = {}, .splice = {}, .limits = {.time = true}});
    const Variation variation(5, settings);
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    Evaluator evaluator(*cpu, task, 3, Family::interpreted);
    std::vector<std::pair<double, Genome>> members;
    for (BirthId id = 0; id < size; ++id)
        members.emplace_back(0.0, variation.materialise({id, Recipe::sample, {}}, {}).genome);
    for (std::uint64_t generation = 0; generation < 20; ++generation) {
        std::vector<const Genome*> genomes;
        for (const auto& member : members) genomes.push_back(&member.second);
        const auto evaluations = evaluator.evaluate(genomes, {.round = generation});
        for (std::size_t i = 0; i < size; ++i) members[i].first = evaluations[i].fitness;
        std::ranges::stable_sort(members, std::greater<>(), &std::pair<double, Genome>::first);
        for (std::size_t i = size / 2; i < size; ++i) {
            const std::size_t first = (i * 7) % (size / 2);
            const std::size_t second = std::min(first + 1 + i % 3, size / 2 - 1);
            const Birth birth{(generation + 1) * size + i,
                              Recipe::vary,
                              {{0, members[first].first, {}}, {1, members[second].first, {}}}};
            const std::array<const Genome*, 2> parents{&members[first].second,
                                                       &members[second].second};
            members[i].second = variation.materialise(birth, parents).genome;
        }
    }
    std::vector<Genome> result;
    for (auto& member : members) result.push_back(std::move(member.second));
    return result;
}

/// The most inputs that a neuron of the network has.
int widest(const Genome& genome) {
    const Neurons& layer = std::get<Neurons>(genome.blueprint.head.variant());
    std::vector<int> inputs(layer.neurons.size());
    for (const Neurons::Connection& each : layer.connections)
        inputs[static_cast<std::size_t>(each.target)] += each.enabled ? 1 : 0;
    return std::ranges::max(inputs);
}

// Sums have a program of their own, all others have one together.
TEST(VulkanFamily, NeuronsBalanceAsOnTheCpu) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 3, "steps": 40, "validation": {"episodes": 3}})");
    Both both(*task);

    const std::vector<Genome> of_sums = sums(60);
    EXPECT_TRUE(std::ranges::all_of(of_sums, [](const Genome& genome) {
        return capacity_of(genome).neurons == NeuronSet::sums;
    }));
    EXPECT_GE(widest(std::ranges::max(of_sums, {}, widest)), 24) << "three eights and more";
    both.expect_equal(of_sums);
    EXPECT_EQ(both.programs(), 1U);

    std::vector<Genome> others = neurons_of_every_kind(60, 20, 0.0F);
    for (Genome& genome : sums(8)) {
        std::get<Neurons>(genome.blueprint.head.variant()).neurons[0].aggregation =
            NeuronAggregation::mean;
        others.push_back(std::move(genome));
    }
    std::vector<Genome> evolved = evolved_by_neat(*task, 40);
    constexpr std::size_t of_a_founder = 10;
    EXPECT_TRUE(std::ranges::any_of(evolved, [](const Genome& genome) {
        return Network(genome.blueprint).stateful() && genome.weights.size() > of_a_founder;
    }));
    std::ranges::move(evolved, std::back_inserter(others));
    both.expect_equal(others);
    EXPECT_EQ(both.programs(), 2U);
}

TEST(VulkanFamily, AnswersThatAreNoNumbersEndEpisodesAsOnTheCpu) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 3, "steps": 40, "validation": {"episodes": 3}})");
    std::vector<Genome> genomes = sums(60);
    for (std::size_t i = 0; i < genomes.size(); i += 3)
        for (float& weight : genomes[i].weights) weight *= 1e30F;  // Of ∞ − ∞.
    Both both(*task);
    both.expect_equal(genomes);
    EXPECT_GT(both.invalid(), 0U);
}

TEST(VulkanFamily, PlasticNeuronsLearnAsOnTheCpu) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 3, "steps": 40, "validation": {"episodes": 3}})");
    expect_the_evaluations_of_the_cpu(*task, neurons_of_every_kind(60, 12, 0.5F));
}

TEST(VulkanFamily, MoreWeightsNeedNoNewPipeline) {
    const auto task = task_of(
        R"({"type": "cart_pole", "episodes": 2, "steps": 40, "validation": {"episodes": 2}})");
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    Evaluator evaluator(*vulkan, *task, 3, Family::interpreted);
    const auto evaluate = [&](std::string_view layers) {
        const Blueprint blueprint =
            blueprint_from_json(nlohmann::json::parse(layers), task->signature().observations,
                                task->signature().outputs);
        RandomStream rng(random_key(5, "test.family"), 0);
        const std::vector<Genome> genomes{sample_genome(blueprint, rng, 0)};
        (void)evaluator.evaluate(pointers(genomes), {});
    };
    evaluate(R"({"layers": [{"type": "dense", "out": 6}, {"type": "dense"}]})");
    const std::int64_t pipelines = vulkan_statistics(*vulkan).pipelines;
    evaluate(R"({"layers": [{"type": "dense", "out": 20}, {"type": "dense", "out": 20},
                            {"type": "dense", "out": 6}, {"type": "dense", "out": 6},
                            {"type": "dense", "out": 6}, {"type": "dense"}]})");
    EXPECT_EQ(evaluator.counters().programs_compiled, 2U);
    EXPECT_EQ(vulkan_statistics(*vulkan).pipelines, pipelines);
}

TEST(VulkanFamily, MutantsSolveXorAsOnTheCpu) {
    const auto task = task_of(R"({"type": "xor"})");
    expect_the_evaluations_of_the_cpu(*task, mutants(*task, 60));
}

}  // namespace
}  // namespace cambrian::evolve
