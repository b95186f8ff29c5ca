#include <benchmark/benchmark.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/variation/variation.hpp"

// Whole generations with the default mutation rates: vary, evaluate, decide, apply.
namespace cambrian::evolve {
namespace {

using Members = std::unordered_map<BirthId, Individual>;

/// A run without ranks and files.
class Loop {
  public:
    /// @param genome a section "genome"; null: volumetric.
    Loop(const Task& task, const nlohmann::json& network, std::uint64_t size, Family family,
         int threads, const nlohmann::json& genome = nullptr)
        : backend_(make_cpu_backend({.threads = threads})),
          variation_(1, settings(task, network, genome)),
          evaluator_(*backend_, task, 1, family),
          strategy_(make_elite_strategy({1, {.size = size}, variation_.settings().splice.rate})) {}

    void generation() {
        const std::uint64_t births = strategy_->births();
        const std::span<const Member> pool = strategy_->parent_pool();
        std::vector<Individual> individuals = std::move(retired_);
        individuals.resize(births);
        std::vector<const Individual*> pointers;
        for (std::uint64_t position = 0; position < births; ++position) {
            const Birth birth = strategy_->birth(position);
            std::vector<const Individual*> parents;
            for (const Parent& parent : birth.parents)
                parents.push_back(&members_.at(pool[index_of(parent.place)].origin));
            variation_.materialise(birth, parents, plan_, individuals[position]);
            pointers.push_back(&individuals[position]);
        }
        const auto start = std::chrono::steady_clock::now();
        const auto evaluations = evaluator_.evaluate(pointers, {.round = round_++});
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        Scores scores(births);
        for (std::uint64_t i = 0; i < births; ++i) {
            scores.fitness[i] = evaluations[i].fitness;
            scores.status[i] = evaluations[i].status;
            steps_ += evaluations[i].env_steps;
        }
        const BirthId first = strategy_->first_birth();
        strategy_ = strategy_->apply(strategy_->decide(scores, backend_->threads()));
        Members next;
        for (const Member& member : strategy_->parent_pool())
            if (member.origin >= first)
                next.emplace(member.origin, std::move(individuals[member.origin - first]));
            else
                next.insert(members_.extract(member.origin));
        retire(members_);
        members_ = std::move(next);
        retired_.insert(retired_.end(), std::make_move_iterator(individuals.begin()),
                        std::make_move_iterator(individuals.end()));
        // Those that live on have left nothing.
        std::erase_if(retired_, [](const Individual& individual) { return !individual.structure; });
    }

    /// Spent in evaluation.
    [[nodiscard]] double seconds() const { return seconds_; }
    /// Of all episodes.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] std::uint64_t programs() const { return evaluator_.counters().programs_compiled; }

  private:
    static VariationSettings settings(const Task& task, const nlohmann::json& network,
                                      const nlohmann::json& genome) {
        const TaskSignature signature = task.signature();
        VariationSettings result;
        result.founder = blueprint_from_json(network, signature.observations, signature.outputs);
        result.limits.time = signature.time;
        if (!genome.is_null())
            result.kind = standard_genomes().make(
                genome, {.mutation = {}, .splice = {}, .limits = result.limits});
        return result;
    }

    /// Children are made over the memory of the retired, as a run does it.
    void retire(Members& members) {
        for (auto& [origin, individual] : members) retired_.push_back(std::move(individual));
    }

    std::unique_ptr<Backend> backend_;
    Variation variation_;
    Evaluator evaluator_;
    std::unique_ptr<Strategy> strategy_;
    Members members_;
    std::vector<Individual> retired_;
    ChildPlan plan_;
    std::uint64_t round_ = 0;
    std::uint64_t steps_ = 0;
    double seconds_ = 0.0;
};

nlohmann::json dense(std::int64_t hidden, int layers) {
    nlohmann::json list(static_cast<std::size_t>(layers),
                        {{"type", "dense"}, {"out", hidden}, {"activation", "tanh"}});
    list.push_back({{"type", "dense"}});
    return {{"layers", list}};
}

void measure(benchmark::State& state, const Task& task, const nlohmann::json& network,
             std::uint64_t size, int warm_up, const nlohmann::json& genome = nullptr) {
    Loop loop(task, network, size, static_cast<Family>(state.range(0)),
              static_cast<int>(state.range(1)), genome);
    for (int i = 0; i < warm_up; ++i) loop.generation();
    const std::uint64_t before = loop.programs();
    const double seconds = loop.seconds();
    for (auto _ : state) loop.generation();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
    state.counters["evaluate_ms"] =
        benchmark::Counter(1000.0 * (loop.seconds() - seconds), benchmark::Counter::kAvgIterations);
    state.counters["programs/generation"] = benchmark::Counter(
        static_cast<double>(loop.programs() - before), benchmark::Counter::kAvgIterations);
}

/// Both families, on one and on two threads.
void families(benchmark::internal::Benchmark* benchmark) {
    benchmark->Unit(benchmark::kMillisecond)->ArgNames({"interpreted", "threads"});
    for (const int family : {0, 1})
        for (const int threads : {1, 2}) benchmark->Args({family, threads});
}

/// The reference engine needs 94.8 ms (population 1,000, three layers of 32 × 32, one forward
/// each).
void generation_of_volumetric_networks(benchmark::State& state) {
    const auto task = make_callback_task(32, 32, [](Population& population) {
        const std::vector<float> row(32, 0.5F);
        const std::vector<float> outputs = population.outputs(row, 1);
        std::vector<double> fitness(population.size());
        for (std::size_t i = 0; i < fitness.size(); ++i) fitness[i] = double{outputs[32 * i]};
        return fitness;
    });
    measure(state, *task, dense(32, 2), 1000, 5);
}
BENCHMARK(generation_of_volumetric_networks)->Apply(families);

/// The reference engine needs 7.1 ms at population 150 (three layers of 32 × 32).
void generation_of_xor(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "xor"}}, {});
    measure(state, *task, dense(4, 1), 150, 20);
}
BENCHMARK(generation_of_xor)->Apply(families);

/// The same task with single neurons as genes: neat-python needs 7.6 ms.
void generation_of_neat_xor(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "xor"}}, {});
    measure(state, *task, {{"layers", {{{"type", "neurons"}}}}}, 150, 20,
            {{"type", "neat"}, {"output_activations", {"steep_sigmoid"}}});
}
BENCHMARK(generation_of_neat_xor)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"interpreted", "threads"})
    ->Args({1, 1})
    ->Args({1, 2});

/// CartPole-v1, 5 episodes of up to 500 steps each, most individuals balancing.
void generation_of_cart_pole(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "cart_pole"}}, {});
    measure(state, *task, dense(16, 1), 1000, 50);
}
BENCHMARK(generation_of_cart_pole)->Apply(families)->Iterations(5);

/// What `evolve configs/cart_pole.json` does with 10,000 networks on one core, after so many
/// generations: steps of a second, variation included.
void default_cart_pole(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "cart_pole"}}, {});
    nlohmann::json network = dense(16, 1);
    network["grid"] = {{"layers_per_cell", 4}};
    Loop loop(*task, network, 10'000, Family::interpreted, 1);
    for (std::int64_t i = 0; i < state.range(0); ++i) loop.generation();
    const std::uint64_t before = loop.steps();
    const double seconds = loop.seconds();
    for (auto _ : state) loop.generation();
    const auto steps = static_cast<double>(loop.steps() - before);
    state.counters["steps"] = benchmark::Counter(steps, benchmark::Counter::kIsRate);
    state.counters["evaluate_steps"] = steps / (loop.seconds() - seconds);
}
BENCHMARK(default_cart_pole)
    ->ArgName("generations")
    ->Arg(0)
    ->Arg(40)
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cambrian::evolve
