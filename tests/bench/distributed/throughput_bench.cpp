#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

// A whole run on a task that costs nothing: what is left of a generation besides its evaluation.
// `ms_1`, `ms_20` and `ms_50` are generations of those ages, `vary_50` the birth of the children of
// a 50th generation, `cpu_50` the processor time of the process in it and `main_50` that of the
// coordinator's thread alone, which does not depend on who else uses the machine. `worker` is the
// mean of a generation on the thread of a worker that talks to the coordinator.
namespace cambrian::distributed {
namespace {

/// Fitness from a hash of birth order and round, so that selection works and nothing is computed.
class FreeTask final : public evolve::Task {
  public:
    [[nodiscard]] std::string_view type() const override { return "free"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 4, .outputs = 2, .stochastic = true, .host = true};
    }
    [[nodiscard]] std::vector<double> evaluate(evolve::Population& population, evolve::Phase,
                                               std::uint64_t, std::uint64_t) const override {
        std::vector<double> fitness(population.size());
        for (double& value : fitness) {
            const std::uint64_t mixed = (next_.fetch_add(1) + 1) * 0x9E3779B97F4A7C15U;
            value = static_cast<double>((mixed ^ (mixed >> 29U)) % 500);
        }
        return fitness;
    }

  private:
    mutable std::atomic<std::uint64_t> next_{0};
};

double processor_seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The fastest of the generations around one age, in milliseconds.
class Watch final : public Reporter {
  public:
    void started(const Experiment&, const std::vector<std::string>&, std::uint64_t) override {
        start();
    }
    void progressed(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void warning(const std::string& text) override { throw std::runtime_error(text); }
    void generation_done(const GenerationReport& report) override {
        const auto now = Clock::now();
        wall.push_back(1e3 * std::chrono::duration<double>(now - wall_).count());
        cpu.push_back(1e3 * (processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_));
        main.push_back(1e3 * (processor_seconds(CLOCK_THREAD_CPUTIME_ID) - main_));
        vary.push_back(1e3 * report.vary_seconds);
        start();
    }
    [[nodiscard]] static double around(const std::vector<double>& values, std::size_t age) {
        double least = values.at(age);
        for (std::size_t i = age; i < std::min(values.size(), age + (age > 1 ? 5 : 1)); ++i) {
            least = std::min(least, values[i]);
        }
        return least;
    }

    std::vector<double> wall;  ///< Between two reports, so checkpoints count too.
    std::vector<double> cpu;
    std::vector<double> main;
    std::vector<double> vary;

  private:
    using Clock = std::chrono::steady_clock;
    void start() {
        wall_ = Clock::now();
        cpu_ = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
        main_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
    }
    Clock::time_point wall_;
    double cpu_ = 0.0;
    double main_ = 0.0;
};

Experiment free_experiment(const std::filesystem::path& directory, std::uint64_t population) {
    Experiment experiment;
    experiment.name = "free";
    experiment.directory = directory;
    experiment.population.size = population;
    experiment.task = std::make_shared<FreeTask>();
    experiment.variation.founder = blueprint_from_json(
        nlohmann::json::parse(
            R"({"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}],
                "grid": {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 4}})"),
        4, 2);
    experiment.stop.generations = 55;
    experiment.identity_json = experiment.resolved_json = "{}";
    return experiment;
}

/// Children of a 20th generation: splice, mutation, and the pool their memory comes from.
void births_of_a_generation(benchmark::State& state) {
    const auto population = static_cast<std::uint64_t>(state.range(0));
    const auto threads = static_cast<int>(state.range(1));
    const Experiment experiment = free_experiment({}, population);
    const auto backend = make_cpu_backend({.threads = threads});
    ShardEvaluator shard_evaluator(*backend, experiment, true);
    Follower follower(make_strategy(experiment), {true, 1}, shard_evaluator.variation(),
                      shard_evaluator.genomes(), backend->threads());
    const auto next = [&] {
        const SharedRound round = follower.round();
        const OrderRange all{0, round->order.size()};
        Job job{round->generation(),
                {evolve::Phase::train, round->generation()},
                round,
                all,
                follower.parents(*round),
                {}};
        JobResult result = shard_evaluator.work(job);
        follower.keep(*round, all, std::move(result.genomes));
        evolve::Scores scores(population);
        for (std::size_t i = 0; i < all.end; ++i) {
            scores.fitness[round->order[i]] = result.scores.scores.fitness[i];
            scores.status[round->order[i]] = result.scores.scores.status[i];
        }
        follower.apply({round->generation(),
                        round->strategy->decide(scores, backend->threads()),
                        {{static_cast<std::uint32_t>(all.end), 0}}});
        return result.cost.vary;
    };
    while (follower.round()->generation() < 20) next();
    for (auto _ : state) state.SetIterationTime(next());
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(population));
}
BENCHMARK(births_of_a_generation)
    ->ArgNames({"population", "threads"})
    ->Args({10'000, 1})
    ->Args({10'000, 2})
    ->Args({10'000, 8})
    ->Args({10'000, 16})
    ->Iterations(20)  // Networks grow: the same generations, however long they take.
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

/// Ranks are threads that talk through a recorded network.
void generations_of_a_free_task(benchmark::State& state) {
    const auto population = static_cast<std::uint64_t>(state.range(0));
    const auto threads = static_cast<int>(state.range(1));
    const auto ranks = static_cast<int>(state.range(2));
    for (auto _ : state) {
        std::string place = (std::filesystem::temp_directory_path() / "cambrian-XXXXXX").string();
        if (mkdtemp(place.data()) == nullptr) throw std::runtime_error("no temporary directory");
        const Experiment experiment = free_experiment(place, population);
        RecordedNetwork network(ranks);
        const std::atomic<int> interrupt{0};
        std::vector<std::jthread> workers;
        std::atomic<double> worker{0.0};
        for (int rank = 1; rank < ranks; ++rank) {
            workers.emplace_back([&, rank] {
                const auto backend = make_cpu_backend({.threads = threads});
                Communicator communicator = network.communicator(rank);
                run_worker(communicator, *backend, experiment, interrupt);
                worker = 1e3 * processor_seconds(CLOCK_THREAD_CPUTIME_ID);
            });
        }
        const auto backend = make_cpu_backend({.threads = threads});
        Communicator communicator =
            ranks == 1 ? make_local_communicator() : network.communicator(0);
        Watch watch;
        static_cast<void>(
            run_coordinator(communicator, *backend, experiment, Start::fresh, watch, interrupt));
        workers.clear();
        state.counters["ms_1"] = Watch::around(watch.wall, 1);
        state.counters["ms_20"] = Watch::around(watch.wall, 20);
        state.counters["ms_50"] = Watch::around(watch.wall, 50);
        state.counters["main_50"] = Watch::around(watch.main, 50);
        state.counters["cpu_50"] = Watch::around(watch.cpu, 50);
        state.counters["worker"] = worker / static_cast<double>(watch.wall.size());
        state.counters["vary_50"] = Watch::around(watch.vary, 50);
        state.counters["worst_ms"] = *std::max_element(watch.wall.begin() + 20, watch.wall.end());
        std::filesystem::remove_all(place);
    }
}
BENCHMARK(generations_of_a_free_task)
    ->ArgNames({"population", "threads", "ranks"})
    ->Args({10'000, 1, 1})
    ->Args({10'000, 2, 1})
    ->Args({10'000, 16, 1})
    ->Args({10'000, 1, 2})
    ->Args({10'000, 8, 2})
    ->Args({40'000, 1, 1})
    ->Args({40'000, 1, 2})
    ->Args({40'000, 1, 4})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace cambrian::distributed
