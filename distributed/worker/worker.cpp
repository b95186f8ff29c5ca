#include "cambrian/distributed/worker/worker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/initial_networks.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/worker_loop.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::uint32_t shards_in_flight = 2;
constexpr microseconds idle_patience{50'000};

}  // namespace

LookTimer::Passed LookTimer::look(double lease) {
    const Clock::time_point now = Clock::now();
    const double passed = seconds_of(now - std::exchange(last_, now));
    const double counted = std::min(passed, std::clamp(lease / heartbeats_in_a_lease, 0.1, 1.0));
    return {counted, passed - counted};
}

Worker::Worker(const Workplace& place, LocalCompute& compute, const Reign& reign,
               bool lock_excludes)
    : communicator_(place.communicator),
      experiment_(place.experiment),
      interrupt_(place.interrupt),
      limits_(place.limits),
      reign_(reign),
      log_(experiment_.directory, communicator_.rank()),
      compute_(*compute.thread),
      threads_(place.backend.threads()),
      follower_(make_strategy(experiment_),
                {experiment_.reevaluates(), static_cast<std::uint32_t>(communicator_.size()),
                 !inherits_learning(experiment_), first_generations(experiment_.changes),
                 compute.shard_evaluator.makes_on_backend()},
                compute.shard_evaluator.variation(), compute.shard_evaluator.genomes(), threads_),
      answers_(communicator_, experiment_.distribution.lease_seconds),
      watch_(experiment_, limits_, log_, reign.epoch > 0 && lock_excludes, lock_excludes),
      remaking_(limits_) {}

std::uint64_t Worker::run() {
    try {
        while (!stopped_) {
            begin_to_ask();
            work();
            keep_time();
        }
    } catch (const std::exception& error) {
        log_.line(error.what());
        throw;
    }
    return evaluated_;
}

void Worker::begin_to_ask() {
    // A shard would wait for a birth that nobody wants any more, and others may be idle.
    if (!told_room_ && !compute_.occupied()) {
        told_room_ = true;
        ask(shards_in_flight, {});
    }
}

void Worker::work() {
    report_results();
    compute_.hand_over();
    answers_.send_more();
    const bool busy = compute_.in_flight() > 0 || compute_.changes();
    const microseconds patience =
        busy || answers_.waiting() ? ComputeThread::look_every : idle_patience;
    const bool thinks = busy && follower_.foresee();
    if (auto message = communicator_.receive(thinks ? microseconds{0} : patience)) {
        const Clock::time_point start = Clock::now();
        handle(*message);
        between_.communicate += seconds_since(start);
    }
}

void Worker::attend(const Message* message) {
    try {
        compute_.hand_over();
        answers_.send_more();
        if (message != nullptr) {
            handle(*message);
        }
    } catch (const std::exception& error) {
        log_.line(error.what());
        throw;
    }
}

void Worker::go_on() {
    watch_.hear();
    looks_ = {};
}

void Worker::ask(std::uint32_t room, std::vector<ShardResult> results) {
    const SharedRound& round = follower_.newest();
    send(communicator_, reign_.rank,
         Request{room, round->generation(), round->digest, std::move(results)});
}

void Worker::report_results() {
    std::vector<ShardResult> ready;
    std::vector<JobResult> done;
    std::uint32_t room = 0;
    while (auto result = compute_.take()) {
        held_.erase(result->shard);
        ++room;
        if (result->failure) {
            report_failure(*result);
            continue;
        }
        if (follower_.contradicts(*result->round)) {
            continue;  // Of other births than the coordinator means.
        }
        remaking_.note(*result);
        result->cost.vary += result->remaking;
        result->cost += std::exchange(between_, {});
        ready.push_back({result->shard, std::move(result->scores), result->cost});
        done.push_back(std::move(*result));
    }
    if (room > 0) {
        const Clock::time_point start = Clock::now();
        ask(room, std::move(ready));
        between_.communicate += seconds_since(start);
    }
    // The coordinator waits for scores, and nobody yet for genomes.
    for (JobResult& result : done) {
        evaluated_ += result.genomes.size();
        follower_.keep(*result.round, result.births, std::move(result.genomes));
    }
}

void Worker::report_failure(const JobResult& result) {
    const std::string text = describe(result.failure);
    const bool leaving = rank_lost(result.failure);
    log_.line(fmt::format("shard {} failed: {}", result.shard, text));
    send(communicator_, reign_.rank, ShardFailure{result.shard, text, leaving});
    if (leaving) {
        std::rethrow_exception(result.failure);
    }
}

void Worker::handle(const Message& message) {
    try {
        dispatch(message);
    } catch (const InputError& error) {
        log_.line(error.what());
        if (message.kind == MessageKind::shard) {
            ask(1, {});
        }
    }
}

void Worker::dispatch(const Message& message) {
    const std::string source = message.source == reign_.rank
                                   ? std::string("the coordinator")
                                   : fmt::format("rank {}", message.source);
    switch (message.kind) {
        case MessageKind::genome_request:
            answer(message.source, decode_message<GenomeRequest>(message.payload, source));
            return;
        case MessageKind::genomes:
            take_genomes(message.source, decode_message<GenomeReply>(message.payload, source));
            return;
        case MessageKind::round_end:
            take_round_end(message.payload, source);
            return;
        default:
            break;
    }
    if (message.source != reign_.rank) {
        log_.line(fmt::format("ignored a message from {}", source));
        return;
    }
    if (message.kind != MessageKind::heartbeat) {
        watch_.hear();
    }
    switch (message.kind) {
        case MessageKind::shard:
            begin_log();
            take_shard(decode_message<ShardOrder>(message.payload, source));
            take_early_end();
            return;
        case MessageKind::stop: {
            const Stop stop = decode_message<Stop>(message.payload, source);
            // A run that was refused has nothing to say in the directory of another.
            if (log_.begun()) {
                log_.line("stop: " + stop.reason);
            }
            stopped_ = true;
            return;
        }
        case MessageKind::heartbeat:
            reign_.epoch = decode_message<Heartbeat>(message.payload, source).epoch;
            if (reign_.epoch > 0) {
                watch_.hear();
                watch_.probe_lock();
            } else {
                watch_.wait_on();
            }
            return;
        default:
            log_.line(
                fmt::format("ignored a message of kind {}", static_cast<unsigned>(message.kind)));
    }
}

void Worker::begin_log() {
    log_.begin();
    watch_.probe_lock();
    watch_.say_whether_locks_exclude();
}

void Worker::answer(int rank, const GenomeRequest& request) {
    std::vector<NamedIndividual> wanted;
    for (const evolve::BirthId origin : request.origins) {
        wanted.emplace_back(origin, follower_.find(origin));
    }
    answers_.add(rank, compute_, wanted);
}

void Worker::keep_time() {
    const double lease = experiment_.distribution.lease_seconds;
    const double passed = looks_.look(lease).seconds;
    watch_.pass(passed);
    since_heartbeat_ += passed;
    if (since_heartbeat_ >= lease / heartbeats_in_a_lease) {
        since_heartbeat_ = 0.0;
        watch_.look_at_lock();
        send(communicator_, reign_.rank, Heartbeat{{held_.begin(), held_.end()}, 0});
    }
    watch_.check_silence(reign_);
    watch_requests();
    if (interrupt_.load() != 0) {
        farewell_ += passed;
        if (!stopped_ && farewell_ > farewell_seconds) {
            stopped_ = true;
            send(communicator_, reign_.rank, ShardFailure{0, "a signal has asked it to end", true});
        }
    }
}

std::unique_ptr<Worker> make_worker(const Workplace& place, std::shared_ptr<LocalCompute>& compute,
                                    const Reign& reign, bool lock_excludes) {
    try {
        if (!compute) {
            compute = std::make_shared<LocalCompute>(place.backend, place.experiment,
                                                     place.communicator.size());
        }
        auto worker = std::make_unique<Worker>(place, *compute, reign, lock_excludes);
        send(place.communicator, reign.rank, introduce(place.experiment, place.backend));
        return worker;
    } catch (const Error& error) {
        decline(place.communicator, error.what(), reign.rank);
        throw;
    }
}

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt, const WorkerLimits& limits,
                         const Reign& reign) {
    const Workplace place{communicator, backend, experiment, interrupt, limits};
    std::shared_ptr<LocalCompute> compute;
    return make_worker(place, compute, reign, false)->run();
}

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt) {
    return run_worker(communicator, backend, experiment, interrupt, WorkerLimits{});
}

}  // namespace cambrian::distributed
