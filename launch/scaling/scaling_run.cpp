#include "cambrian/launch/scaling/scaling_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::launch {
namespace {

struct Traffic {
    std::uint64_t sent = 0;  ///< Bytes.
    std::uint64_t received = 0;
};

/// Counts what goes through another communicator.
class CountingCommunicator final : public distributed::Communicator::Implementation {
  public:
    CountingCommunicator(distributed::Communicator& communicator, Traffic& traffic)
        : communicator_(communicator), traffic_(traffic) {}
    int rank() const override { return communicator_.rank(); }
    int size() const override { return communicator_.size(); }
    void send(int to, distributed::MessageKind kind, distributed::Payload payload) override {
        traffic_.sent += payload.size();
        communicator_.send(to, kind, std::move(payload));
    }
    std::optional<distributed::Message> receive(std::chrono::microseconds patience) override {
        auto message = communicator_.receive(patience);
        if (message) traffic_.received += message->payload.size();
        return message;
    }

  private:
    distributed::Communicator& communicator_;
    Traffic& traffic_;
};

/// How far a run has come at the end of a generation.
struct Mark {
    Clock::time_point time;
    Clock::duration busy{};
    Traffic traffic;
    distributed::GenerationReport report;
};

class MarkingReporter final : public distributed::Reporter {
  public:
    explicit MarkingReporter(const Traffic& traffic) : traffic_(traffic) {}
    void started(const distributed::Experiment&, const std::vector<std::string>&,
                 std::uint64_t) override {}
    void progressed(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void generation_done(const distributed::GenerationReport& report) override {
        marks.push_back({Clock::now(), Clock::worked(), traffic_, report});
    }
    /// What a run does not do as it should, its times do not tell.
    void warning(const std::string& text) override { throw Error(text); }

    std::vector<Mark> marks;

  private:
    const Traffic& traffic_;
};

ScalingResult result_of(const ScalingRun& run, int ranks, const std::vector<Mark>& marks) {
    const auto warm_up = static_cast<std::size_t>(run.warm_up());
    const Mark& first = marks.at(warm_up - 1);
    const Mark& last = marks.back();
    double decide = 0.0;
    for (std::size_t i = warm_up; i < marks.size(); ++i) decide += marks[i].report.decide_seconds;
    double capacity = 0.0;  // Of evaluations at once.
    for (int rank = 0; rank < ranks; ++rank) capacity += 1.0 / run.slowness(rank, ranks);
    const double seconds = seconds_of(last.time - first.time);
    const auto generations = static_cast<double>(last.report.generation - first.report.generation);
    const double births = generations * static_cast<double>(run.births());
    const auto evaluations =
        static_cast<double>(last.report.evaluations - first.report.evaluations);
    const double busy = seconds_of(last.busy - first.busy);
    ScalingResult result;
    result.ranks = ranks;
    result.generation_seconds = seconds / generations;
    result.efficiency = evaluations * run.price.seconds / (capacity * seconds);
    result.coordinator_share = busy / seconds;
    result.decide_seconds = decide / generations;
    result.coordinator_seconds = (busy - decide) / births;
    result.bytes_to_coordinator =
        static_cast<double>(last.traffic.received - first.traffic.received) / births;
    result.bytes_from_coordinator =
        static_cast<double>(last.traffic.sent - first.traffic.sent) / births;
    return result;
}

ScalingResult run_one_rank(const ScalingRun& run, distributed::Communicator& communicator,
                           const std::atomic<int>& interrupt) {
    const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
    distributed::Experiment experiment = run.experiment;
    Price price = run.price;
    price.slowness = run.slowness(communicator.rank(), communicator.size());
    experiment.task = make_priced_task(experiment.task->signature(), price);
    for (evolve::TaskChange& change : experiment.changes)
        change.task = make_priced_task(change.task->signature(), price);
    if (communicator.rank() != 0) {
        distributed::run_worker(communicator, *backend, experiment, interrupt);
        return {};
    }
    Traffic traffic;
    distributed::Communicator counting(
        std::make_unique<CountingCommunicator>(communicator, traffic));
    MarkingReporter reporter(traffic);
    const distributed::RunResult result = run_coordinator(
        counting, *backend, experiment, distributed::Start::fresh, reporter, interrupt);
    if (result.reason != distributed::StopReason::generations)
        throw Error(std::string("the run ended before its last generation (") +
                    std::string(distributed::name(result.reason)) +
                    ") let it go on to the end, and set no other goal in the config");
    return result_of(run, communicator.size(), reporter.marks);
}

/// Bytes that a rank comes to hold for each birth of a generation.
constexpr std::size_t bytes_of_birth = 72;

/// Has the heap hold as much memory that was used before, as that of a rank on a machine of its own
/// does after its first generations. Here one rank would be charged for pages that all use.
void use_memory(std::size_t bytes) {
    constexpr std::size_t block = std::size_t{256} << 10U;
    constexpr std::size_t page = 4096;
    const auto half = static_cast<std::size_t>(host_memory()) / 2;
    std::vector<std::unique_ptr<std::byte[]>> blocks(std::min(bytes, half) / block);
    for (auto& one : blocks) {
        one = std::make_unique_for_overwrite<std::byte[]>(block);
        for (std::size_t i = 0; i < block; i += page)
            static_cast<volatile std::byte&>(one[i]) = std::byte{0};
    }
}

}  // namespace

std::uint64_t ScalingRun::births() const {
    const evolve::SteadyStateSettings& steady = experiment.steady_state;
    return steady.on() ? steady.block : experiment.population.size;
}

std::uint64_t ScalingRun::warm_up() const {
    const evolve::SteadyStateSettings& steady = experiment.steady_state;
    return 2 + (steady.on() ? steady.window / steady.block : 0);
}

double ScalingRun::slowness(int rank, int ranks) const {
    // Spread over all ranks, so that no host has more of them than another.
    const auto slow = [&](int up_to) { return std::floor(slow_share * up_to + 1e-9); };
    return rank < ranks && slow(rank + 1) > slow(rank) ? slow_factor : 1.0;
}

ScalingResult simulate(const ScalingRun& run, int ranks, const distributed::NetworkCosts& costs,
                       const std::atomic<int>& interrupt) {
    use_memory(bytes_of_birth * static_cast<std::size_t>(ranks) * run.experiment.population.size);
    distributed::SimulatedNetwork network(ranks, costs);
    ScalingResult result;
    network.run([&](distributed::Communicator& communicator) {
        const ScalingResult own = run_one_rank(run, communicator, interrupt);
        if (communicator.rank() == 0) result = own;
    });
    return result;
}

ScalingResult run_for_real(const ScalingRun& run, distributed::Communicator& communicator,
                           const std::atomic<int>& interrupt) {
    return run_one_rank(run, communicator, interrupt);
}

distributed::NetworkCosts measure_network(distributed::Communicator& communicator) {
    using distributed::MessageKind;
    constexpr int round_trips = 2000;
    constexpr int small_messages = 10000;
    constexpr int large_messages = 64;
    constexpr std::size_t large_bytes = std::size_t{4} << 20U;
    distributed::NetworkCosts costs;
    if (communicator.rank() > 1) return costs;
    const bool first = communicator.rank() == 0;
    const int other = first ? 1 : 0;
    const auto say = [&](std::size_t bytes) {
        communicator.send(other, MessageKind::heartbeat, std::vector<std::byte>(bytes));
    };
    const auto hear = [&] {
        for (int tries = 0; tries < 100; ++tries)
            if (communicator.receive(std::chrono::milliseconds(100))) return;
        throw Error("no message came for 10 seconds (the other rank has died) start again");
    };
    const auto seconds_of = [](const auto& body) {
        const Clock::time_point start = Clock::now();
        body();
        return seconds_since(start);
    };
    /// One rank speaks, the other answers at the end.
    const auto stream = [&](int messages, std::size_t bytes) {
        for (int i = 0; i < messages; ++i) first ? say(bytes) : hear();
        first ? hear() : say(1);
    };
    const auto round_trip = [&](int trips) {
        for (int i = 0; i < trips; ++i) {
            if (first) say(64);
            hear();
            if (!first) say(64);
        }
    };
    round_trip(round_trips / 10);
    const double trip = seconds_of([&] { round_trip(round_trips); }) / round_trips;
    costs.per_message = seconds_of([&] { stream(small_messages, 64); }) / small_messages;
    costs.latency = std::max(0.0, trip / 2.0 - 2.0 * costs.per_message);
    const double bytes = static_cast<double>(large_bytes) * large_messages;
    stream(4, large_bytes);
    costs.bandwidth = bytes / seconds_of([&] { stream(large_messages, large_bytes); });
    return costs;
}

}  // namespace cambrian::launch
