#include "cambrian/distributed/worker/worker_loop.hpp"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/engine/core/error.hpp"

// Shards of a worker, the genomes that they lack, and their way to the compute thread.
namespace cambrian::distributed {
namespace {

/// The children that travel with an order. Throws InputError for a damaged one.
std::vector<ReadyChild> children_of(const ShardOrder& order, ThreadPool& threads) {
    std::vector<ReadyChild> children(order.children.size());
    for_each_index(threads, children.size(), 1, [&](std::size_t i) {
        children[i] = {std::make_shared<const evolve::Individual>(
                           evolve::decode_genome(order.children[i].bytes, "the coordinator")),
                       order.children[i].retries};
    });
    return children;
}

}  // namespace

void Worker::take_shard(ShardOrder order) {
    reign_.epoch = order.epoch;
    if (order.generation < follower_.newest()->generation()) {
        take_overtaken(std::move(order));
        return;
    }
    if (order.digest != follower_.newest()->digest) {
        if (auto retired = follow(order)) {
            retired_ = std::move(retired);
        }
    }
    // Its records may begin where this rank has not come to yet.
    if (!order.state && order.generation > follower_.newest()->generation()) {
        if (order.shard != 0) {
            held_.insert(order.shard);
        }
        if (early_orders_.empty()) {
            round_deadline_ = deadline();
        }
        early_orders_.push_back(std::move(order));
        return;
    }
    if (order.digest != follower_.newest()->digest) {
        if (order.state) {
            const std::string text =
                "this rank comes to another state of the run than the coordinator (its build "
                "or its memory differs) run without this host";
            send(communicator_, reign_.rank, ShardFailure{order.shard, text, true});
            throw Error(text);
        }
        ask(order.shard == 0 ? 0 : 1, {});  // It will be told the whole state.
        return;
    }
    if (order.shard != 0) {
        accept_shard(std::move(order));
    } else {
        take_early_orders();
    }
}

void Worker::take_overtaken(ShardOrder order) {
    if (order.shard == 0) {
        return;  // Rounds only follow each other in an epoch: it leads back.
    }
    // After a jump the digests of open rounds before the newest are others: none is compared.
    if (follower_.is_open(generation_of(order.shard))) {
        accept_shard(std::move(order));
    } else {
        ask(1, {});
    }
}

void Worker::accept_shard(ShardOrder order) {
    if (held_.contains(order.shard) || begun_.contains(order.shard)) {
        return;  // It was told twice.
    }
    const OrderRange births{order.begin, order.end};
    const SharedRound round = round_of(order);
    if (!round || births.end > round->order.size() || births.size() == 0) {
        throw InputError(
            "a shard from the coordinator is refused (it names births that are not in the "
            "generation) check that every rank runs the same program");
    }
    held_.insert(order.shard);
    MissingParents missing = follower_.missing_parents(
        *round, births, remaking_.remakes(births.size()), !order.children.empty());
    between_.remade += missing.remade + missing.remakes.recipes.size();
    if (!missing.remakes.recipes.empty()) {
        compute_.remake(follower_, round, std::move(missing.remakes));
    }
    if (missing.places.empty()) {
        begin({std::move(order), round});
        return;
    }
    const std::set<std::uint32_t> absent(order.absent.begin(), order.absent.end());
    const auto whom = [&](std::uint32_t place) {
        const std::uint32_t holder = round->holders[place];
        const bool silent =
            absent.contains(holder) || static_cast<int>(holder) == communicator_.rank();
        return silent ? reign_.rank : static_cast<int>(holder);
    };
    pending_.add({std::move(order), round}, missing.places, whom, deadline());
    send_requests();
}

SharedRound Worker::round_of(const ShardOrder& order) const {
    const std::uint64_t generation = generation_of(order.shard);
    return follower_.is_open(generation) ? follower_.round(generation) : nullptr;
}

void Worker::send_requests() {
    for (const auto& [rank, request] : pending_.take_requests()) {
        send(communicator_, rank, request);
    }
}

Clock::time_point Worker::deadline() const {
    return Clock::now() +
           duration_of(experiment_.distribution.lease_seconds / heartbeats_in_a_lease);
}

void Worker::take_genomes(int rank, const GenomeReply& reply) {
    std::size_t unasked = 0;
    const std::vector<GenomeAnswer> answers =
        received_.read(reply, fmt::format("rank {}", rank), threads_);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const evolve::BirthId origin = reply.genomes[i].origin;
        const std::set<PendingShards::Place>* places = pending_.places_of(origin);
        if (places == nullptr) {
            ++unasked;  // Another rank was faster; the rest of the answer counts.
        } else if (answers[i].genome) {
            for (const PendingShards::Place& wanted : *places) {
                follower_.fill(*follower_.round(wanted.generation), wanted.place,
                               answers[i].genome);
            }
            pending_.fill(origin);
            ++between_.fetched;
        } else {
            lack(origin, rank, answers[i].problem);
        }
    }
    for (const evolve::BirthId origin : reply.gone) {
        if (pending_.places_of(origin) == nullptr) {
            ++unasked;
        } else {
            lack(origin, rank, {});
        }
    }
    if (unasked > 0) {
        log_.line(
            fmt::format("rank {} answers about {} genomes that nobody asks for", rank, unasked));
    }
    begin_complete();
    send_requests();
}

void Worker::lack(evolve::BirthId origin, int rank, const std::string& problem) {
    if (rank != reign_.rank) {
        pending_.ask_instead(origin, reign_.rank, Clock::time_point::max());
    } else {
        give_back(pending_.give_up(origin), problem);
    }
}

void Worker::give_back(const std::vector<std::uint64_t>& shards, const std::string& problem) {
    for (std::uint64_t shard : shards) {
        held_.erase(shard);
        if (!problem.empty()) {
            log_.line(fmt::format("shard {} failed: {}", shard, problem));
            send(communicator_, reign_.rank, ShardFailure{shard, problem, false});
        }
        ask(1, {});
    }
}

void Worker::begin_complete() {
    for (RoundOrder& order : pending_.take_complete()) {
        begin(std::move(order));
    }
}

void Worker::begin(RoundOrder&& given) {
    const ShardOrder& order = given.order;
    Job job{order.shard,
            {evolve::Phase::train, given.round->generation()},
            given.round,
            {order.begin, order.end},
            follower_.lend_parents(*given.round),
            {}};
    try {
        job.children = children_of(order, threads_);
    } catch (const InputError& error) {
        give_back({order.shard}, error.what());
        return;
    }
    begun_.erase(begun_.begin(),
                 begun_.lower_bound(first_shard_of(follower_.round()->generation())));
    begun_.insert(order.shard);
    job.retired = std::exchange(retired_, nullptr);  // Others wait for what this thread says.
    compute_.submit(std::move(job));
}

void Worker::watch_requests() {
    if (round_deadline_ < Clock::now()) {
        round_deadline_ = Clock::time_point::max();
        send(communicator_, reign_.rank, RoundRequest{});
    }
    for (const evolve::BirthId origin : pending_.overdue(Clock::now())) {
        pending_.ask_instead(origin, reign_.rank, Clock::time_point::max());
    }
    send_requests();
}

}  // namespace cambrian::distributed
