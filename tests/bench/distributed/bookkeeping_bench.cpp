#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// What the coordinator does besides evaluation. Ranks are threads that take turns: while the
// coordinator works no worker does, so its time is its own. In nanoseconds of processor time of its
// thread for each child of the population, which do not depend on who else uses the machine:
// `close` from the last scores to the word to the workers about the next round, but for `decide`,
// what the strategy takes of it; `follow` from there to the line in the log (its parents and
// children, as every rank follows a decision); `first` from there to the first order, `orders` the
// further ones; `outcomes` the reading of scores, `parents` that of genomes which it asked for or
// is asked for. `own` is what it does as a rank: its job and the parents of that, the survivors
// that others made. `waited` is the sum of all but that, and `besides` what only a coordinator
// does, but for the strategy: `close`, `first`, `orders` and `outcomes`. `wall` is all of this by
// the clock; of one rank, which has nobody to talk to, a generation without the birth and the
// evaluation of its children.
namespace cambrian::distributed {
namespace {

constexpr std::uint64_t generations = 12;
/// What came before is still settling.
constexpr std::uint64_t first_measured = 4;

/// One pass on a row that differs from generation to generation: elites change as fast as where
/// episodes differ, and nearly nothing is computed.
class OnePassTask final : public evolve::Task {
  public:
    [[nodiscard]] std::string_view type() const override { return "one_pass"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 4, .outputs = 2, .stochastic = true};
    }
    [[nodiscard]] std::vector<Tensor> draws(evolve::Phase, std::uint64_t seed,
                                            std::uint64_t round) const override {
        RandomStream rng(random_key(seed, "row"), round);
        std::vector<double> row(4);
        for (double& value : row) value = 4.0 * double{rng.uniform()} - 2.0;
        return {Tensor(ValueType::real, Shape{1, 4}, row)};
    }
    [[nodiscard]] evolve::Objective build(const evolve::ObjectiveContext& context,
                                          evolve::Phase) const override {
        const Var outputs = context.network.apply(context.draws[0], context.operands);
        const Var fitness = sum_all(outputs);
        // As many as cart_pole has episodes.
        return {.fitness = fitness,
                .env_steps = {},
                .per_sample = broadcast(reshape(fitness, {1}), Shape{5})};
    }
};

enum class Part : std::uint8_t { close, follow, first, orders, outcomes, parents, own, decide };
constexpr std::array part_names{"close",    "follow",  "first", "orders",
                                "outcomes", "parents", "own",   "decide"};
constexpr std::size_t parts = part_names.size();

double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Times {
    double working = 0.0;
    std::array<double, parts> wall{};
    std::array<double, parts> cpu{};
};

/// Cuts the coordinator's time where it talks to somebody. Used by its thread.
class Ledger {
  public:
    /// What was done since the last cut belongs to a part.
    void cut(Part part) {
        if (!paused_) {
            const auto at = static_cast<std::size_t>(part);
            now_.wall[at] += seconds_since(wall_);
            now_.cpu[at] += thread_seconds() - cpu_;
        }
        go_on();
    }
    void pause() { paused_ = true; }
    void go_on() {
        paused_ = false;
        wall_ = Clock::now();
        cpu_ = thread_seconds();
    }
    /// @param working seconds of the ranks on their shards, each.
    /// @param decided seconds of the strategy, a part of `close`.
    void end_generation(double working, double decided) {
        for (auto* const times : {&now_.wall, &now_.cpu}) {
            (*times)[static_cast<std::size_t>(Part::close)] -= decided;
            (*times)[static_cast<std::size_t>(Part::decide)] += decided;
        }
        now_.working = working;
        done.push_back(std::exchange(now_, Times{}));
    }
    [[nodiscard]] bool begins_generation() const { return now_.wall == Times{}.wall; }

    std::vector<Times> done;

  private:
    using Clock = std::chrono::steady_clock;
    Times now_;
    Clock::time_point wall_;
    double cpu_ = 0.0;
    bool paused_ = true;
};

/// A network whose coordinator and workers take turns: what the coordinator sends arrives when it
/// listens, and it hears nothing before every worker has answered or one has a question.
class TurnNetwork {
  public:
    explicit TurnNetwork(int ranks, Ledger& ledger)
        : ledger_(ledger), boxes_(static_cast<std::size_t>(ranks)), owed_(boxes_.size(), 0) {}

    [[nodiscard]] Communicator communicator(int rank) {
        return Communicator(std::make_unique<End>(*this, rank));
    }

  private:
    class End final : public Communicator::Implementation {
      public:
        End(TurnNetwork& network, int rank) : network_(network), rank_(rank) {}
        int rank() const override { return rank_; }
        int size() const override { return static_cast<int>(network_.boxes_.size()); }
        void send(int to, MessageKind kind, Payload payload) override {
            if (rank_ == 0) {
                network_.send_order(to, kind, std::move(payload));
            } else {
                network_.answer(rank_, to, kind, std::move(payload));
            }
        }
        std::optional<Message> receive(std::chrono::microseconds patience) override {
            return rank_ == 0 ? network_.listen(patience) : network_.take(rank_, patience);
        }

      private:
        TurnNetwork& network_;
        int rank_;
    };

    void send_order(int to, MessageKind kind, Payload payload) {
        if (kind == MessageKind::shard) {
            ledger_.cut(ledger_.begins_generation() ? Part::first : Part::orders);
            after_ = Part::own;
            ++owed_[static_cast<std::size_t>(to)];
        }
        if (kind == MessageKind::round_end) {
            ledger_.cut(Part::close);
            after_ = Part::own;
        }
        held_back_.push_back({to, {0, kind, std::move(payload)}});
        if (kind == MessageKind::stop) {
            const std::lock_guard lock(mutex_);
            deliver();
        }
    }

    std::optional<Message> listen(std::chrono::microseconds patience) {
        ledger_.cut(after_);
        ledger_.pause();
        std::unique_lock lock(mutex_);
        deliver();
        std::deque<Message>& box = boxes_[0];
        const auto answered = [&] {
            return questions_ > 0 ||
                   std::all_of(owed_.begin(), owed_.end(), [](int owed) { return owed == 0; });
        };
        if (!answered()) {
            arrived_.wait(lock, answered);
        } else {
            arrived_.wait_for(lock, patience, [&] { return !box.empty(); });
        }
        std::optional<Message> message;
        if (!box.empty()) {
            message = std::move(box.front());
            box.pop_front();
            questions_ -= message->kind == MessageKind::genome_request ? 1 : 0;
        }
        lock.unlock();
        // Without a message the loop looks after its own thread: for results, and parents of its
        // job.
        after_ = !message ? Part::own : of_parents(message->kind) ? Part::parents : Part::outcomes;
        ledger_.go_on();
        return message;
    }

    [[nodiscard]] static bool of_parents(MessageKind kind) {
        return kind == MessageKind::genome_request || kind == MessageKind::genomes;
    }

    /// With the lock held.
    void deliver() {
        for (auto& [to, message] : held_back_) {
            boxes_[static_cast<std::size_t>(to)].push_back(std::move(message));
        }
        held_back_.clear();
        arrived_.notify_all();
    }

    void answer(int rank, int to, MessageKind kind, Payload payload) {
        const std::lock_guard lock(mutex_);
        if (to != 0) {
            boxes_[static_cast<std::size_t>(to)].push_back({rank, kind, std::move(payload)});
            arrived_.notify_all();
            return;
        }
        int& owed = owed_[static_cast<std::size_t>(rank)];
        owed -= kind == MessageKind::request && owed > 0 ? 1 : 0;
        questions_ += kind == MessageKind::genome_request ? 1 : 0;
        boxes_[0].push_back({rank, kind, std::move(payload)});
        arrived_.notify_all();
    }

    std::optional<Message> take(int rank, std::chrono::microseconds patience) {
        std::unique_lock lock(mutex_);
        std::deque<Message>& box = boxes_[static_cast<std::size_t>(rank)];
        arrived_.wait_for(lock, patience, [&] { return !box.empty(); });
        if (box.empty()) return std::nullopt;
        Message message = std::move(box.front());
        box.pop_front();
        return message;
    }

    Ledger& ledger_;
    // Of the coordinator's thread.
    std::vector<std::pair<int, Message>> held_back_;
    Part after_ = Part::own;
    // Of all, with the lock.
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<std::deque<Message>> boxes_;
    std::vector<int> owed_;  ///< Answers to orders.
    int questions_ = 0;
};

class Watch final : public Reporter {
  public:
    explicit Watch(Ledger& ledger) : ledger_(ledger) {}
    void started(const Experiment&, const std::vector<std::string>&, std::uint64_t) override {}
    void progressed(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void warning(const std::string& text) override { throw std::runtime_error(text); }
    void generation_done(const GenerationReport& report) override {
        ledger_.cut(Part::follow);
        ledger_.end_generation(report.evaluate_seconds + report.vary_seconds,
                               report.decide_seconds);
    }

  private:
    Ledger& ledger_;
};

Experiment one_pass_experiment(const std::filesystem::path& directory, std::uint64_t population,
                               int ranks, int rank) {
    Experiment experiment;
    experiment.name = "bookkeeping";
    experiment.directory = directory;
    experiment.population.size = population;
    experiment.task = std::make_shared<OnePassTask>();
    experiment.variation.founder = blueprint_from_json(
        nlohmann::json::parse(
            R"({"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}],
                "grid": {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 4}})"),
        4, 2);
    experiment.stop.generations = generations;
    experiment.checkpoint.every = 0;
    experiment.identity_json = experiment.resolved_json = "{}";
    // Every rank gets its share in one piece, as GPUs of one speed do.
    experiment.distribution.device = "GPU " + std::to_string(rank);
    experiment.distribution.shard_size = population / static_cast<std::uint64_t>(ranks);
    return experiment;
}

/// Mean over the measured generations of the quicker half, in nanoseconds for each child.
double typical(std::vector<double> seconds, std::uint64_t population) {
    std::sort(seconds.begin(), seconds.end());
    seconds.resize(seconds.size() / 2);
    double sum = 0.0;
    for (const double value : seconds) sum += value;
    return 1e9 * sum / static_cast<double>(seconds.size() * population);
}

void bookkeeping(benchmark::State& state) {
    const auto population = static_cast<std::uint64_t>(state.range(0));
    const auto threads = static_cast<int>(state.range(1));
    const auto ranks = static_cast<int>(state.range(2));
    for (auto _ : state) {
        std::string place = (std::filesystem::temp_directory_path() / "cambrian-XXXXXX").string();
        if (mkdtemp(place.data()) == nullptr) throw std::runtime_error("no temporary directory");
        Ledger ledger;
        TurnNetwork network(ranks, ledger);
        const std::atomic<int> interrupt{0};
        const auto run = [&](int rank) {
            const Experiment experiment = one_pass_experiment(place, population, ranks, rank);
            const auto backend = make_cpu_backend({.threads = threads});
            Communicator communicator =
                ranks == 1 ? make_local_communicator() : network.communicator(rank);
            if (rank > 0) {
                run_worker(communicator, *backend, experiment, interrupt);
                return;
            }
            Watch watch(ledger);
            static_cast<void>(run_coordinator(communicator, *backend, experiment, Start::fresh,
                                              watch, interrupt));
        };
        std::vector<std::jthread> workers;
        for (int rank = 1; rank < ranks; ++rank) workers.emplace_back(run, rank);
        run(0);
        workers.clear();
        ledger.done.erase(ledger.done.begin(), ledger.done.begin() + first_measured);
        const auto report = [&](const char* name, const auto& seconds) {
            std::vector<double> values;
            for (const Times& times : ledger.done) values.push_back(seconds(times));
            state.counters[name] = typical(values, population);
        };
        report("wall", [&](const Times& times) {
            const double all = std::accumulate(times.wall.begin(), times.wall.end(), 0.0);
            return ranks == 1 ? all - times.working : all;
        });
        for (std::size_t part = 0; part < parts && ranks > 1; ++part) {
            report(part_names[part], [part](const Times& times) { return times.cpu[part]; });
        }
        const auto sum_of = [](const Times& times, std::initializer_list<Part> some) {
            double sum = 0.0;
            for (const Part part : some) sum += times.cpu[static_cast<std::size_t>(part)];
            return sum;
        };
        if (ranks > 1) {
            report("waited", [&](const Times& times) {
                return std::accumulate(times.cpu.begin(), times.cpu.end(), 0.0) -
                       sum_of(times, {Part::own});
            });
            report("besides", [&](const Times& times) {
                return sum_of(times, {Part::close, Part::first, Part::orders, Part::outcomes});
            });
        }
        std::filesystem::remove_all(place);
    }
}
BENCHMARK(bookkeeping)
    ->ArgNames({"population", "threads", "ranks"})
    ->ArgsProduct({{40'000}, {1, 2}, {1, 2, 4}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace cambrian::distributed
