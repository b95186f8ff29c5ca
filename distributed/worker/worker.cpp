#include "cambrian/distributed/worker/worker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cambrian/distributed/protocol/blocks.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int coordinator_rank = 0;
constexpr std::uint32_t shards_in_flight = 2;
/// How long a worker that was told to end by a signal waits for the coordinator's stop.
constexpr double farewell_seconds = 5.0;
/// The rank's thread looks for finished shards this often while some are computed.
constexpr microseconds busy_patience{200};
constexpr microseconds idle_patience{50'000};

/// A worker asks this often whether the coordinator lives.
constexpr double heartbeats_in_a_lease = 4.0;

double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

class Worker {
  public:
    Worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
           const std::atomic<int>& interrupt, const WorkerLimits& limits)
        : communicator_(communicator),
          experiment_(experiment),
          interrupt_(interrupt),
          limits_(limits),
          handshake_(introduce(experiment, backend)),
          log_(experiment.directory, communicator.rank()),
          shard_evaluator_(backend, experiment),
          threads_(backend.threads()),
          variation_(experiment.seed, experiment.variation),
          cache_(limits.cache_bytes),
          compute_(shard_evaluator_) {}

    /// Into this rank's log: whoever starts a job only sees what the coordinator says.
    void note(std::string_view text) { log_.line(text); }

    std::uint64_t run() {
        send(communicator_, coordinator_rank, handshake_);
        ask(shards_in_flight, {});
        while (!stopped_) {
            report_results();
            const bool busy = compute_.in_flight() > 0;
            if (auto message = communicator_.receive(busy ? busy_patience : idle_patience)) {
                const Clock::time_point start = Clock::now();
                silence_ = 0.0;
                heard_ = true;
                handle(*message);
                communicate_ += seconds(Clock::now() - start);
            }
            keep_time();
        }
        return evaluated_;
    }

  private:
    /// How to make the parent at a place.
    struct Recipe {
        std::size_t place = 0;
        evolve::Birth birth;  ///< Parent::member is a place among the ingredients.
        std::array<SharedGenome, evolve::Parents::most> ingredients;
    };

    void ask(std::uint32_t room, std::vector<ShardResult> results) {
        send(communicator_, coordinator_rank, Request{room, std::move(results)});
    }

    void report_results() {
        std::vector<ShardResult> ready;
        std::uint32_t room = 0;
        while (auto result = compute_.take(microseconds{0})) {
            held_.erase(result->shard);
            ++room;
            if (result->failure) {
                report_failure(*result);
                continue;
            }
            for (std::size_t i = 0; i < result->genomes.size(); ++i) {
                made_.add(result->outcomes[i].genome, std::move(result->genomes[i]));
            }
            evaluated_ += result->outcomes.size();
            result->cost.communicate = std::exchange(communicate_, 0.0);
            ready.push_back({result->shard, std::move(result->outcomes), result->cost});
        }
        if (room > 0) {
            const Clock::time_point start = Clock::now();
            ask(room, std::move(ready));
            communicate_ += seconds(Clock::now() - start);
        }
    }

    void report_failure(const JobResult& result) {
        const std::string text = describe(result.failure);
        const bool leaving = rank_lost(result.failure);
        log_.line(fmt::format("shard {} failed: {}", result.shard, text));
        send(communicator_, coordinator_rank, ShardFailure{result.shard, text, leaving});
        if (leaving) {
            std::rethrow_exception(result.failure);
        }
    }

    void handle(const Message& message) {
        if (message.source != coordinator_rank) {
            log_.line(fmt::format("ignored a message from rank {}", message.source));
            return;
        }
        try {
            dispatch(message);
        } catch (const InputError& error) {
            log_.line(error.what());
            if (message.kind == MessageKind::shard) {
                ask(1, {});
            }
            // What it answers is unknown, so nobody who waits can count on an answer.
            if (message.kind == MessageKind::genomes) {
                give_back(pending_.give_up_all(), error.what());
            }
        }
    }

    void dispatch(const Message& message) {
        constexpr std::string_view source = "the coordinator";
        switch (message.kind) {
            case MessageKind::shard:
                log_.begin();
                take_shard(decode_message<ShardOrder>(message.payload, source));
                return;
            case MessageKind::genomes:
                take_genomes(decode_message<GenomeReply>(message.payload, source));
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
                return;
            case MessageKind::handshake:
            case MessageKind::request:
            case MessageKind::genome_request:
            case MessageKind::shard_failed:
            case MessageKind::initial_request:
            case MessageKind::initial:
                break;
        }
        log_.line(fmt::format("ignored a message of kind {}", static_cast<unsigned>(message.kind)));
    }

    /// Genomes of an order, for whichever shards wait for them and for later ones. Each is read,
    /// checked and named by its content on one of all threads.
    void learn(std::span<const std::vector<std::byte>> genomes) {
        std::vector<std::pair<Hash128, SharedGenome>> learnt(genomes.size());
        for_each_index(threads_, genomes.size(), 1, [&](std::size_t index) {
            auto genome = std::make_shared<const evolve::Genome>(
                evolve::decode_genome(genomes[index], "the coordinator"));
            learnt[index] = {evolve::content_hash(*genome), std::move(genome)};
        });
        for (auto& [hash, genome] : learnt) {
            keep(hash, std::move(genome));
        }
    }

    void keep(Hash128 hash, SharedGenome genome) {
        pending_.fill(hash, genome);
        cache_.add(hash, std::move(genome));
    }

    void take_shard(ShardOrder order) {
        GenomeStore retired;
        if (std::exchange(generation_, order.generation) != order.generation) {
            retired = begin_generation(order.survivors);
        }
        accept_shard(std::move(order));
        // Only now, when the compute thread has something to do, are retired genomes freed.
    }

    /// Keeps the survivors among this rank's children; the others are returned.
    GenomeStore begin_generation(std::span<const Hash128> survivors) {
        cache_.begin_generation();
        for (Hash128 hash : survivors) {
            if (SharedGenome genome = made_.find(hash)) {
                cache_.add(hash, std::move(genome));
            }
        }
        return std::exchange(made_, GenomeStore{});
    }

    /// Looks up the parents of a shard, once each, and makes what it can; the rest is missing.
    void find_parents(PendingShard& pending) {
        const std::vector<evolve::Parent>& wanted = pending.order.parents;
        std::vector<SharedGenome>& parents = *pending.parents;
        parents.resize(wanted.size());
        for (std::size_t place = 0; place < wanted.size(); ++place) {
            parents[place] = cache_.find(wanted[place].genome);
        }
        make_parents(pending.order, parents);
        // Those that no birth names are here to be parents' parents, and never asked for.
        for (const evolve::Birth& birth : pending.order.births) {
            for (const evolve::Parent& parent : birth.parents) {
                if (!parents[parent.member]) {
                    pending.missing[parent.genome].insert(parent.member);
                }
            }
        }
    }

    /// Makes parents once more, as they were made elsewhere, from what is still here.
    void make_parents(const ShardOrder& order, std::vector<SharedGenome>& parents) {
        std::vector<Recipe> recipes;
        recipes.reserve(order.recipes.size());
        std::size_t place = 0;
        for (const evolve::Birth& birth : order.recipes) {
            while (place < parents.size() && order.parents[place].birth != birth.id) {
                ++place;
            }
            if (place == parents.size()) {
                throw InputError(fmt::format(
                    "a shard from the coordinator is refused (its recipe {} is of none of its "
                    "parents) check that every rank runs the same program",
                    birth.id));
            }
            if (Recipe recipe{place, birth, {}}; !parents[place] && find_ingredients(recipe)) {
                recipes.push_back(std::move(recipe));
            }
            ++place;  // Two recipes of one parent would be made at the same time.
        }
        for_each_index(threads_, recipes.size(), block_of_genomes, [&](std::size_t i) {
            const Recipe& recipe = recipes[i];
            SharedGenome genome =
                make_child(variation_, recipe.birth, recipe.ingredients, shard_evaluator_.genomes())
                    .genome;
            // Where it is another one, the coordinator is asked, and finds out who is wrong.
            if (evolve::content_hash(*genome) == order.parents[recipe.place].genome) {
                parents[recipe.place] = std::move(genome);
            }
        });
        for (const Recipe& recipe : recipes) {
            if (parents[recipe.place]) {
                cache_.add(order.parents[recipe.place].genome, parents[recipe.place]);
            }
        }
    }

    bool find_ingredients(Recipe& recipe) {
        const evolve::Parents named = std::exchange(recipe.birth.parents, {});
        for (evolve::Parent parent : named) {
            SharedGenome genome = cache_.find(parent.genome);
            if (!genome) {
                return false;
            }
            parent.member = static_cast<std::uint32_t>(recipe.birth.parents.size());
            recipe.ingredients[parent.member] = std::move(genome);
            recipe.birth.parents.push_back(parent);
        }
        return true;
    }

    void accept_shard(ShardOrder order) {
        if (!order.children.empty()) {
            begin(std::move(order), nullptr);
            return;
        }
        PendingShard& pending = pending_.add(std::move(order));
        try {
            find_parents(pending);
            learn(std::exchange(pending.order.genomes, {}));
        } catch (...) {
            pending_.drop_last();
            throw;
        }
        held_.insert(pending.order.shard);
        if (!pending.missing.empty()) {
            send(communicator_, coordinator_rank, pending_.request_for(pending));
        }
        begin_complete();
    }

    void take_genomes(const GenomeReply& reply) {
        pending_.check_answer(reply);
        std::vector<GenomeAnswer> answers(reply.genomes.size());
        for_each_index(threads_, answers.size(), 1, [&](std::size_t index) {
            answers[index] = read_answer(reply.genomes[index]);
        });
        for (std::size_t i = 0; i < answers.size(); ++i) {
            const Hash128 hash = reply.genomes[i].hash;
            if (answers[i].genome) {
                keep(hash, std::move(answers[i].genome));
            } else {
                give_back(pending_.give_up(hash), answers[i].problem);
            }
        }
        begin_complete();
        for (Hash128 hash : reply.gone) {
            give_back(pending_.give_up(hash), {});
        }
    }

    /// Makes room where the wait of shards has ended.
    /// @param problem told to the coordinator; empty where their generation is over.
    void give_back(const std::vector<std::uint64_t>& shards, const std::string& problem) {
        for (std::uint64_t shard : shards) {
            held_.erase(shard);
            if (!problem.empty()) {
                log_.line(fmt::format("shard {} failed: {}", shard, problem));
                send(communicator_, coordinator_rank, ShardFailure{shard, problem, false});
            }
            ask(1, {});
        }
    }

    void begin_complete() {
        for (PendingShard& shard : pending_.take_complete()) {
            begin(std::move(shard.order), std::move(shard.parents));
        }
    }

    void begin(ShardOrder&& order, SharedGenomes parents) {
        Job job{order.shard, {evolve::Phase::train, order.generation}, {}, {}, {}};
        job.births = std::move(order.births);
        job.parents = std::move(parents);
        job.children.resize(order.children.size());
        for_each_index(threads_, order.children.size(), 1, [&](std::size_t i) {
            job.children[i] = {std::make_shared<const evolve::Genome>(evolve::decode_genome(
                                   order.children[i].bytes, "the coordinator")),
                               order.children[i].retries};
        });
        held_.insert(order.shard);
        compute_.submit(std::move(job));
    }

    void keep_time() {
        const Clock::time_point now = Clock::now();
        const double lease = experiment_.distribution.lease_seconds;
        // A process that was suspended has heard nothing either, so no gap counts for much.
        const double passed = std::min(seconds(now - std::exchange(last_time_, now)),
                                       std::clamp(lease / heartbeats_in_a_lease, 0.1, 1.0));
        silence_ += passed;
        since_heartbeat_ += passed;
        if (since_heartbeat_ >= lease / heartbeats_in_a_lease) {
            since_heartbeat_ = 0.0;
            send(communicator_, coordinator_rank, Heartbeat{{held_.begin(), held_.end()}});
        }
        check_silence();
        if (interrupt_.load() != 0) {
            farewell_ += passed;
            stopped_ = stopped_ || farewell_ > farewell_seconds;
        }
    }

    /// A coordinator that lives answers every heartbeat, whatever else it does.
    void check_silence() const {
        const double lease = experiment_.distribution.lease_seconds;
        if (heard_ && silence_ > std::max(limits_.silence_seconds, lease)) {
            throw CoordinatorLost(
                fmt::format("the coordinator has been silent for a lease, {:.3g} seconds (rank 0 "
                            "died or is stuck; distributed.lease_seconds is {:g}) resume the run "
                            "from its last checkpoint",
                            silence_, lease));
        }
        if (!heard_ && silence_ > limits_.first_contact_seconds) {
            throw CoordinatorLost(
                fmt::format("the coordinator has not spoken for {:.3g} seconds (rank 0 died or is "
                            "slow to begin) resume the run, or start it again",
                            silence_));
        }
    }

    Communicator& communicator_;
    const Experiment& experiment_;
    const std::atomic<int>& interrupt_;
    WorkerLimits limits_;
    Handshake handshake_;
    RankLog log_;
    ShardEvaluator shard_evaluator_;  ///< Before whatever holds genomes that it made.
    ThreadPool& threads_;
    evolve::Variation variation_;
    GenomeCache cache_;  ///< ParentPool genomes that this rank was sent or made.
    GenomeStore made_;   ///< Children of this generation; who of them lives is known at its end.
    PendingShards pending_;
    std::set<std::uint64_t> held_;  ///< Shards on this rank: waiting or with the compute thread.
    std::uint64_t generation_ = 0;  ///< Of the last shard.
    std::uint64_t evaluated_ = 0;
    double communicate_ = 0.0;
    double silence_ = 0.0;
    double since_heartbeat_ = 0.0;
    double farewell_ = 0.0;
    bool heard_ = false;
    bool stopped_ = false;
    Clock::time_point last_time_ = Clock::now();
    ComputeThread compute_;
};

}  // namespace

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt, const WorkerLimits& limits) {
    std::optional<Worker> worker;
    try {
        worker.emplace(communicator, backend, experiment, interrupt, limits);
    } catch (const Error& error) {
        decline(communicator, error.what());
        throw;
    }
    try {
        return worker->run();
    } catch (const std::exception& error) {
        worker->note(error.what());
        throw;
    }
}

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt) {
    return run_worker(communicator, backend, experiment, interrupt, WorkerLimits{});
}

}  // namespace cambrian::distributed
