#include "cambrian/tests/distributed/support/run_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::distributed {

namespace {

Experiment experiment_of(const std::filesystem::path& directory, const std::string& name,
                         std::shared_ptr<const evolve::Task> task, std::uint64_t population) {
    const evolve::TaskSignature signature = task->signature();
    const auto network = nlohmann::json::parse(R"({
        "layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}],
        "grid": {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 4}})");
    Experiment experiment;
    experiment.name = name;
    experiment.directory = directory;
    experiment.seed = 7;
    experiment.population.size = population;
    experiment.task = std::move(task);
    experiment.variation.founder =
        blueprint_from_json(network, signature.observations, signature.outputs);
    experiment.variation.limits.time = signature.time;
    experiment.variation.mutation.layer_insert_rate = 0.1F;
    experiment.variation.mutation.link_add_rate = 0.1F;
    experiment.checkpoint.every = 4;
    experiment.checkpoint.keep = 3;
    experiment.log.individuals = LoggedIndividuals::all;
    experiment.distribution.lease_seconds = 20.0;
    experiment.identity_json = nlohmann::json{
        {"population", {{"size", population}}},
        {"run", {{"seed", 7}}},
        {"task", {{"type", name}}}}.dump();
    experiment.resolved_json = experiment.identity_json;
    return experiment;
}

std::shared_ptr<const evolve::Task> standard_task(const std::string& settings) {
    return evolve::standard_tasks().make(nlohmann::json::parse(settings), {});
}

class WatchedTask : public evolve::Task {
  public:
    WatchedTask(std::shared_ptr<const evolve::Task> task, std::function<void(std::uint64_t)> hook,
                evolve::Phase phase)
        : task_(std::move(task)), hook_(std::move(hook)), phase_(phase) {}

    std::string_view type() const override { return task_->type(); }
    evolve::TaskSignature signature() const override { return task_->signature(); }
    std::vector<Tensor> data(evolve::Phase phase) const override { return task_->data(phase); }
    std::vector<Tensor> draws(evolve::Phase phase, std::uint64_t seed,
                              std::uint64_t round) const override {
        if (phase == phase_) {
            hook_(round);
        }
        return task_->draws(phase, seed, round);
    }
    std::optional<evolve::SolvedTest> solved() const override { return task_->solved(); }
    const evolve::Learning* learning() const override { return task_->learning(); }
    evolve::Objective build(const evolve::ObjectiveContext& context,
                            evolve::Phase phase) const override {
        return task_->build(context, phase);
    }
    std::vector<double> evaluate(evolve::Population& population, evolve::Phase phase,
                                 std::uint64_t seed, std::uint64_t round) const override {
        hook_(round);
        return task_->evaluate(population, phase, seed, round);
    }

  private:
    std::shared_ptr<const evolve::Task> task_;
    std::function<void(std::uint64_t)> hook_;
    evolve::Phase phase_;
};

class SolvableTask final : public WatchedTask {
  public:
    SolvableTask(std::shared_ptr<const evolve::Task> task, const evolve::SolvedTest& test)
        : WatchedTask(
              std::move(task), [](std::uint64_t) {}, evolve::Phase::train),
          test_(test) {}

    std::optional<evolve::SolvedTest> solved() const override { return test_; }

  private:
    evolve::SolvedTest test_;
};

}  // namespace

evolve::Scores valid_scores(std::uint64_t births,
                            const std::function<double(std::uint64_t)>& fitness) {
    evolve::Scores scores(births);
    for (std::uint64_t i = 0; i < births; ++i) {
        scores.fitness[i] = fitness(i);
        scores.status[i] = evolve::Status::ok;
    }
    return scores;
}

Blueprint wide_founder() {
    return blueprint_from_json(
        nlohmann::json::parse(
            R"({"layers": [{"type": "dense", "out": 100000, "activation": "tanh"},
                           {"type": "dense"}]})"),
        2, 1);
}

Experiment xor_experiment(const std::filesystem::path& directory) {
    Experiment experiment =
        experiment_of(directory, "xor", standard_task(R"({"type": "xor"})"), 30);
    experiment.stop.generations = 8;
    return experiment;
}

Experiment cart_pole_experiment(const std::filesystem::path& directory) {
    const auto task = standard_task(R"({"type": "cart_pole", "episodes": 2, "steps": 30,
                                        "validation": {"episodes": 3}})");
    Experiment experiment = experiment_of(directory, "cart_pole", task, 16);
    experiment.stop.generations = 4;
    experiment.validation.every = 2;
    return experiment;
}

Experiment neat_experiment(const std::filesystem::path& directory) {
    Experiment experiment = cart_pole_experiment(directory);
    const evolve::TaskSignature signature = experiment.task->signature();
    evolve::VariationSettings& variation = experiment.variation;
    variation.founder =
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "neurons"}]})"),
                            signature.observations, signature.outputs);
    experiment.genome = "neat";
    variation.kind = evolve::standard_genomes().make(
        nlohmann::json::parse(R"({"type": "neat", "feed_forward": false, "delay_rate": 0.3,
            "node_add_rate": 0.3, "connection_add_rate": 0.3, "node_delete_rate": 0.05,
            "connection_delete_rate": 0.1, "connection_toggle_rate": 0.1, "average_rate": 0.2,
            "activation_rate": 0.1, "activations": ["tanh", "gauss"],
            "initial_connection_rate": 0.7})"),
        {.mutation = {}, .splice = {}, .limits = variation.limits});
    variation.splice.rate = 0.6F;
    return experiment;
}

Experiment long_cart_pole_experiment(const std::filesystem::path& directory) {
    Experiment experiment = cart_pole_experiment(directory);
    experiment.task = standard_task(R"({"type": "cart_pole", "episodes": 2, "steps": 500,
                                        "validation": {"episodes": 5}})");
    experiment.validation.every = 1;
    experiment.stop.generations = 15;
    return experiment;
}

Experiment solvable_cart_pole(const std::filesystem::path& directory, double candidate,
                              double passes) {
    Experiment experiment = long_cart_pole_experiment(directory);
    experiment.task = solvable_task(
        experiment.task,
        {.candidate = candidate, .phase = evolve::Phase::validation, .passes = passes});
    experiment.validation.every = 4;
    experiment.stop.solved = true;
    return experiment;
}

Experiment callback_experiment(const std::filesystem::path& directory,
                               std::shared_ptr<const evolve::Task> task) {
    Experiment experiment = experiment_of(directory, "callback", std::move(task), 12);
    experiment.stop.generations = 5;
    return experiment;
}

std::shared_ptr<const evolve::Task> sum_task(double sign) {
    return evolve::make_callback_task(2, 1, [sign](evolve::Population& population) {
        const std::vector<float> row{0.5F, -1.0F};
        std::vector<double> fitness;
        for (const float output : population.outputs(row, 1)) {
            fitness.push_back(sign * static_cast<double>(output));
        }
        return fitness;
    });
}

std::shared_ptr<const evolve::Task> failing_task() {
    return evolve::make_callback_task(2, 1, [](evolve::Population& population) {
        const std::vector<float> row{0.5F, -1.0F};
        const std::vector<float> outputs = population.outputs(row, 1);
        std::vector<double> fitness;
        for (float output : outputs) {
            if (output > 0.0F) {
                throw std::runtime_error("positive answers break the simulator");
            }
            fitness.push_back(static_cast<double>(output));
        }
        return fitness;
    });
}

Experiment changing_experiment(const std::filesystem::path& directory) {
    Experiment experiment = callback_experiment(directory, sum_task());
    experiment.changes = {{3, sum_task(-1.0), "down"}, {5, sum_task(), "up"}};
    experiment.stop.generations = 8;
    return experiment;
}

Experiment restarting_experiment(const std::filesystem::path& directory) {
    const evolve::TaskSignature signature{.observations = 2, .outputs = 1, .validates = true};
    Experiment experiment = callback_experiment(
        directory,
        evolve::make_simulator_task(
            "near", signature, [](evolve::Population& population, const evolve::HostRound&) {
                const std::vector<float> row{0.5F, -1.0F};
                std::vector<double> fitness;
                for (const float output : population.outputs(row, 1)) {
                    fitness.push_back(-std::abs(static_cast<double>(output) - 0.3));
                }
                return fitness;
            }));
    experiment.selection.restart_after = 1;
    experiment.validation.every = 0;
    experiment.stop.generations = 12;
    return experiment;
}

Experiment learning_experiment(evolve::LearningMode mode, bool stochastic) {
    nlohmann::json task = nlohmann::json::parse(
        R"({"type": "dataset", "source": {"type": "blobs", "features": 2, "classes": 3, "rows": 60},
            "loss": {"type": "cross_entropy"}, "split": {"validation": 0.2}})");
    if (stochastic) task["rows_per_evaluation"] = 16;
    Experiment experiment = callback_experiment({}, evolve::standard_tasks().make(task, {}));
    experiment.population.size = 24;
    experiment.stop = {};
    experiment.stop.generations = 8;
    experiment.validation.every = 3;
    experiment.checkpoint.every = 4;
    experiment.learning.mode = mode;
    experiment.learning.steps = 3;
    experiment.learning.batch = 8;
    experiment.learning.learning_rate = 0.02;
    return experiment;
}

Experiment changing_cart_pole(const std::filesystem::path& directory) {
    Experiment experiment = cart_pole_experiment(directory);
    const auto task = [](const std::string& more) {
        return standard_task(R"({"type": "cart_pole", "episodes": 2, "steps": 60,
                                 "episode_seeds": "fixed", "validation": {"episodes": 3})" +
                             more + "}");
    };
    experiment.task = task("");
    experiment.changes = {{2, task(R"(, "force": -10)"), R"({"force": -10})"},
                          {5, task(R"(, "half_length": 0.1)"), R"({"half_length": 0.1})"}};
    experiment.stop.generations = 8;
    return experiment;
}

Launched launch(const Experiment& experiment, const Launch& settings) {
    Launched launched;
    RecordedNetwork network(settings.ranks);
    std::atomic<int> quiet{0};
    const std::atomic<int>& interrupt = settings.interrupt ? *settings.interrupt : quiet;
    const CpuOptions options{.threads = settings.threads, .math = Math::fast};
    WorkerLimits limits;
    limits.remaking_share = settings.remaking_share;
    limits.silence_seconds = 1.0;
    std::mutex mutex;
    std::vector<std::thread> workers;
    for (int rank = 1; rank < settings.ranks; ++rank) {
        workers.emplace_back([&, rank] {
            try {
                const auto backend = make_cpu_backend(options);
                Communicator communicator = network.communicator(rank);
                const std::uint64_t evaluated =
                    run_worker(communicator, *backend, experiment, interrupt, limits);
                const std::lock_guard lock(mutex);
                launched.evaluated_by_workers += evaluated;
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                launched.worker_errors.emplace_back(error.what());
            }
        });
    }
    if (settings.on_generation) {
        launched.reporter.on_generation = [&](const GenerationReport& report) {
            settings.on_generation(network, report);
        };
    }
    std::exception_ptr failure;
    try {
        const auto backend = make_cpu_backend(options);
        Communicator communicator =
            settings.ranks == 1 ? make_local_communicator() : network.communicator(0);
        launched.result = run_coordinator(communicator, *backend, experiment, settings.start,
                                          launched.reporter, interrupt);
    } catch (...) {
        failure = std::current_exception();
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    launched.reporter.on_generation = nullptr;
    launched.records = network.records();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return launched;
}

Pieces run_in_pieces(Experiment experiment, std::uint32_t seed, InterruptedAt at) {
    std::minstd_rand choose(seed);
    std::atomic<int> interrupt{0};
    std::atomic<std::uint64_t> next{0};
    const auto stop = [&](std::uint64_t round) {
        if (round == next.load()) {
            interrupt = 1;
        }
    };
    Launch settings{.start = Start::proceed, .interrupt = &interrupt};
    if (at == InterruptedAt::end) {
        settings.on_generation = [&](RecordedNetwork&, const GenerationReport&) { interrupt = 1; };
    } else {
        experiment.task = watched_task(experiment.task, stop);
        for (evolve::TaskChange& change : experiment.changes) {
            change.task = watched_task(change.task, stop);
        }
    }
    constexpr int most = 300;
    for (Pieces pieces; pieces.interrupts < most; ++pieces.interrupts) {
        interrupt = 0;
        settings.ranks = 1 + static_cast<int>(choose() % 4);
        const Launched launched = launch(experiment, settings);
        EXPECT_TRUE(launched.worker_errors.empty()) << launched.worker_errors.front();
        pieces.last = launched.result;
        if (pieces.last.reason != StopReason::interrupted) {
            return pieces;
        }
        next = launched.reporter.first_generation + launched.reporter.reports.size() + 1 +
               choose() % 2;
    }
    throw std::runtime_error("a run in pieces comes to no end");
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("cannot read " + path.string());
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string uninterrupted(Experiment experiment, const std::filesystem::path& directory) {
    experiment.directory = directory;
    static_cast<void>(launch(experiment, {}));
    return results_of(directory);
}

std::string results_of(const std::filesystem::path& directory) {
    std::string results =
        text_of(directory / "generations.csv") + text_of(directory / individuals_name);
    for (const char* some_have : {"islands.csv", "species.csv"}) {
        if (std::filesystem::exists(directory / some_have)) {
            results += text_of(directory / some_have);
        }
    }
    return results + text_of(directory / "best.cmb");
}

std::vector<TableRow> table_of(const std::filesystem::path& path) {
    const auto cells_of = [](const std::string& line) {
        std::vector<std::string> cells;
        std::istringstream stream(line + ',');
        for (std::string cell; std::getline(stream, cell, ',');) {
            cells.push_back(cell);
        }
        return cells;
    };
    std::istringstream lines(text_of(path));
    std::string line;
    std::getline(lines, line);
    const std::vector<std::string> names = cells_of(line);
    std::vector<TableRow> rows;
    while (std::getline(lines, line)) {
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() != names.size()) {
            throw std::runtime_error(path.string() + " has a line with other columns: " + line);
        }
        TableRow& row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            row[names[i]] = cells[i];
        }
    }
    return rows;
}

std::vector<IndividualBlock> individuals_of(const std::filesystem::path& directory) {
    std::vector<IndividualBlock> blocks;
    IndividualReader reader(directory / individuals_name);
    while (auto block = reader.next()) {
        blocks.push_back(*std::move(block));
    }
    if (reader.cut_short()) {
        throw std::runtime_error("individuals.cmb is cut short");
    }
    return blocks;
}

std::shared_ptr<const evolve::Task> watched_task(std::shared_ptr<const evolve::Task> task,
                                                 std::function<void(std::uint64_t)> hook,
                                                 evolve::Phase phase) {
    return std::make_shared<WatchedTask>(std::move(task), std::move(hook), phase);
}

std::shared_ptr<const evolve::Task> solvable_task(std::shared_ptr<const evolve::Task> task,
                                                  const evolve::SolvedTest& test) {
    return std::make_shared<SolvableTask>(std::move(task), test);
}

}  // namespace cambrian::distributed
