#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/worker/genome_answers.hpp"
#include "cambrian/engine/core/error.hpp"

// The coordinator's ears: what workers say. scheduler_orders.cpp holds what they are told.
namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::uint32_t largest_room = 8;
constexpr std::uint64_t damage_warnings = 3;
/// Whoever has asked is not to wait until all others have.
constexpr int messages_at_once = 32;
/// Between looks at all leases.
constexpr std::chrono::milliseconds watch_pause{10};

}  // namespace

void Scheduler::serve(microseconds patience) {
    allow_for_gap();
    if (compute_) {
        compute_->hand_over();
        answers_.send_more();
        const bool busy = compute_->changes() || answers_.waiting();
        patience = busy ? std::min(patience, ComputeThread::look_every) : patience;
    }
    for (int heard = 0; heard < messages_at_once; ++heard) {
        const auto message = communicator_.receive(patience);
        if (!message) {
            return;
        }
        const Clock::time_point start = Clock::now();
        handle(*message);
        const double seconds = seconds_since(start);
        seconds_[static_cast<std::size_t>(own_rank_)].communicate += seconds;
        talk_.seconds += seconds;
        patience = microseconds{0};
    }
}

void Scheduler::handle(const Message& message) {
    if (message.source < 0 || message.source == own_rank_ ||
        message.source >= communicator_.size()) {
        return;
    }
    Peer& worker = peer(message.source);
    worker.heard = Clock::now();
    consider(message.source);
    if (crew_) {
        ++crew_->age;
    }
    if (std::exchange(worker.silent, false)) {
        crew_.reset();
        reporter_.warning(fmt::format("{} speaks again", title(message.source)));
    }
    try {
        dispatch(message);
    } catch (const InputError& error) {
        if (++worker.damaged <= damage_warnings) {
            reporter_.warning(error.what());
        }
    }
}

void Scheduler::dispatch(const Message& message) {
    const int rank = message.source;
    const std::string& source = title(rank);
    switch (message.kind) {
        case MessageKind::handshake:
            welcome(rank, decode_message<Handshake>(message.payload, source));
            return;
        case MessageKind::request:
            take_request(rank, decode_message<Request>(message.payload, source));
            return;
        case MessageKind::heartbeat:
            renew_leases(rank, decode_message<Heartbeat>(message.payload, source).shards);
            send(communicator_, rank, Heartbeat{{}, reign_.epoch});
            return;
        case MessageKind::shard_failed:
            take_failure(rank, decode_message<ShardFailure>(message.payload, source));
            return;
        case MessageKind::genome_request:
            answer(rank, decode_message<GenomeRequest>(message.payload, source));
            return;
        case MessageKind::initial_request: {
            static_cast<void>(decode_message<InitialRequest>(message.payload, source));
            InitialReply reply;
            if (const auto& initial = experiment_.variation.initial) {
                for (const evolve::Genome& genome : initial->genomes) {
                    reply.genomes.push_back(evolve::encode(genome));
                }
            }
            send(communicator_, rank, reply);
            return;
        }
        case MessageKind::round_request:
            static_cast<void>(decode_message<RoundRequest>(message.payload, source));
            tell_round(rank);
            return;
        case MessageKind::genomes:
            take_genomes(rank, decode_message<GenomeReply>(message.payload, source));
            return;
        case MessageKind::shard:
        case MessageKind::stop:
        case MessageKind::initial:
        case MessageKind::round_end:
            break;
    }
    throw InputError(
        fmt::format("a message from {} is refused (workers do not send kind {}) check "
                    "that every rank runs the same program",
                    source, static_cast<unsigned>(message.kind)));
}

void Scheduler::renew_leases(int rank, std::span<const std::uint64_t> held) {
    for (const std::uint64_t shard : held) {
        if (Progress* progress = progress_of(shard)) {
            progress->leases.renew(rank, shard, lease_end());
        }
    }
    repeat_first_share(rank, held);
}

void Scheduler::welcome(int rank, Handshake handshake) {
    check_same(handshake_, handshake, rank, experiment_.distribution.mixed);
    if (peer(rank).known) {
        // Whoever introduces itself again has begun anew, and will not answer what it had.
        withdraw(rank);
        peer(rank).room = 0;
        peer(rank).asked = false;
    }
    peer(rank).handshake = std::move(handshake);
    peer(rank).known = true;
    peer(rank).title.clear();
    crew_.reset();
    // A word to live by: from now on it follows where this rank dies, if that has its epoch; else
    // it waits for that.
    send(communicator_, rank, Heartbeat{{}, reign_.epoch});
}

void Scheduler::take_request(int rank, Request request) {
    Peer& worker = peer(rank);
    if (!std::exchange(worker.asked, true)) {
        crew_.reset();
    }
    worker.room = std::min(worker.room + std::min(request.room, largest_room), largest_room);
    worker.digest = request.digest;
    // What a rank begins unasked it compares with nobody: orders carry the digest, a record cannot.
    const auto known = state_at(request.generation);
    const bool diverged = known && request.digest != *known;
    if (diverged) {
        refuse_diverged(rank);
    }
    for (const ShardResult& result : request.results) {
        if (!diverged) {
            static_cast<void>(deliver(rank, result.shard, result.scores));
        }
        seconds_[static_cast<std::size_t>(rank)] += result.cost;
        note_speed(rank, result.cost, result.scores.scores.size());
        talk_.shards += 1.0;
    }
}

std::optional<Hash128> Scheduler::state_at(std::uint64_t generation) const {
    const Round& newest = *follower_.newest();
    if (generation == newest.generation()) {
        return newest.digest;
    }
    const std::uint64_t back = newest.generation() - generation;
    const bool known = generation < newest.generation() && back <= passed_.size();
    return known ? std::optional(passed_[passed_.size() - back]) : std::nullopt;
}

void Scheduler::refuse_diverged(int rank) {
    peer(rank).diverged = true;
    withdraw(rank);
    reporter_.warning(fmt::format(
        "the scores of {} do not count (it came to another state of the run: its build or its "
        "memory differs) run without its host if it goes on",
        title(rank)));
}

void Scheduler::withdraw(int rank) {
    for (Progress& round : progress_) {
        round.leases.withdraw(rank);
        round.unasked.erase(rank);
    }
    consider_all();
}

void Scheduler::take_failure(int rank, const ShardFailure& failure) {
    if (!failure.leaving) {
        fail_shard(rank, failure.shard, failure.text);
        return;
    }
    peer(rank).left = true;
    crew_.reset();
    withdraw(rank);
    if (interrupted()) {
        return;  // Like all others.
    }
    reporter_.warning(
        fmt::format("{} leaves the run ({}) its shards go to others", title(rank), failure.text));
}

void Scheduler::answer(int rank, const GenomeRequest& request) {
    // What no rank has is made once more, all of it at once.
    std::vector<evolve::BirthId> lost;
    for (const evolve::BirthId origin : request.origins) {
        if (!follower_.find(origin) && ancestry_.knows(origin)) {
            lost.push_back(origin);
        }
    }
    if (lost.empty() || !inherits_learning(experiment_)) {
        send_wanted(rank, request, make_again(ancestry_, lost));
        return;
    }
    waiting_.emplace_back(rank, request);
    if (waiting_.size() == 1) {
        learn_again(std::move(lost));
    }
}

void Scheduler::learn_again(std::vector<evolve::BirthId> lost) {
    const auto made = std::make_shared<Ancestry::Genomes>();
    compute_->change(
        {},
        // This thread's goes on meanwhile.
        [this, made, ancestry = ancestry_, lost = std::move(lost)](std::vector<SharedIndividual>&) {
            *made = ancestry.make(
                lost, variation(), genome_memory(), threads_,
                [this](std::vector<SharedIndividual>& children, std::uint64_t generation) {
                    shard_evaluator_.teach(children, generation);
                });
        },
        [this, made](const std::vector<SharedIndividual>&) {
            for (const auto& [origin, genome] : *made) {
                follower_.fill(origin, genome);
            }
            const auto waiting = std::exchange(waiting_, {});
            for (const auto& [rank, request] : waiting) {
                if (peer(rank).left) {
                    continue;  // A silent one may only have been suspended.
                }
                if (&request == &waiting.front().second) {
                    send_wanted(rank, request, *made);
                } else {
                    answer(rank, request);
                }
            }
        });
}

void Scheduler::send_wanted(int rank, const GenomeRequest& request, const Ancestry::Genomes& made) {
    std::vector<NamedIndividual> wanted;
    for (const evolve::BirthId origin : request.origins) {
        const auto at = made.find(origin);
        wanted.emplace_back(origin, at != made.end() ? at->second : follower_.find(origin));
    }
    answers_.add(rank, *compute_, wanted);
}

void Scheduler::take_genomes(int rank, const GenomeReply& reply) {
    const std::vector<GenomeAnswer> answers = received_.read(reply, title(rank), threads_);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto at = fetched_.find(reply.genomes[i].origin);
        if (at == fetched_.end() || at->second) {
            continue;
        }
        if (!answers[i].genome) {
            throw InputError(answers[i].problem);
        }
        at->second = answers[i].genome;
        ++seconds_[static_cast<std::size_t>(own_rank_)].fetched;
    }
    for (const evolve::BirthId origin : reply.gone) {
        fetched_.erase(origin);
    }
}

void Scheduler::allow_for_gap() {
    const double seconds = looks_.look(experiment_.distribution.lease_seconds).unheard;
    if (seconds <= 0.0) {
        return;
    }
    const Clock::time_point now = Clock::now();
    const Clock::duration unheard = duration_of(seconds);
    for (Progress& round : progress_) {
        round.leases.extend(unheard, lease_end());
    }
    for (Peer& worker : peers_) {
        worker.heard = std::min(worker.heard + unheard, now);
    }
}

void Scheduler::watch_leases() {
    allow_for_gap();
    const Clock::time_point now = Clock::now();
    if (now - last_watch_ < watch_pause) {
        return;
    }
    last_watch_ = now;
    const auto fall_silent = [&](int rank) {
        consider_all();
        if (!std::exchange(peer(rank).silent, true)) {
            crew_.reset();
            reporter_.warning(
                fmt::format("{} has been silent for a lease of {:g} seconds (it is "
                            "dead or stuck) its shards go to others",
                            title(rank), experiment_.distribution.lease_seconds));
        }
    };
    for (Progress& round : progress_) {
        for (const LeaseTable::Lapse& lapse : round.leases.expire(now)) {
            fall_silent(lapse.rank);
        }
    }
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        const double silence = seconds_of(now - peer(rank).heard);
        if (serving(peer(rank)) && silence > experiment_.distribution.lease_seconds) {
            fall_silent(rank);
        }
    }
}

}  // namespace cambrian::distributed
