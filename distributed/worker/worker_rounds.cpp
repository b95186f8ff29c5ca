#include "cambrian/distributed/worker/worker_loop.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/engine/core/error.hpp"

// The rounds that a worker moves through.
namespace cambrian::distributed {

void Worker::take_round_end(const Payload& payload, std::string_view source) {
    const auto end = decode_message<RoundEnd>(payload, source);
    if (end.epoch != reign_.epoch) {
        return;
    }
    for (const std::uint32_t rank : end.after(static_cast<std::uint32_t>(communicator_.rank()))) {
        if (rank < static_cast<std::uint32_t>(communicator_.size())) {
            communicator_.send(static_cast<int>(rank), RoundEnd::kind, payload);
        }
    }
    communicator_.push(RoundEnd::kind);
    if (end.record.generation > follower_.round()->generation()) {
        // It has overtaken the one before, which came another way.
        early_ends_.emplace(end.record.generation, end);
    } else {
        follow(end);
    }
}

void Worker::follow(const RoundEnd& end) {
    if (end.record.generation == follower_.round()->generation()) {
        retired_ = follower_.apply(end.record);
        give_back(pending_.give_up_before(follower_.round()->generation()), {});
    }
    // An order may have led here before.
    if (end.record.generation + 1 == follower_.round()->generation()) {
        take_first_share(end);
    }
    take_early_orders();
    take_early_end();
}

void Worker::take_early_end() {
    if (!early_ends_.empty() && early_ends_.begin()->first <= follower_.round()->generation()) {
        follow(early_ends_.extract(early_ends_.begin()).mapped());
    }
}

void Worker::take_first_share(const RoundEnd& end) {
    const auto own = std::ranges::find(end.ranks, static_cast<std::uint32_t>(communicator_.rank()));
    if (end.shares.empty() || own == end.ranks.end()) {
        return;
    }
    const Round& round = *follower_.newest();
    const auto index = static_cast<std::size_t>(own - end.ranks.begin());
    const auto all = static_cast<std::size_t>(communicator_.size());
    const OrderRange births = end.own_births > 0
                                  ? end.division(static_cast<std::uint32_t>(reign_.rank))
                                        .zones(all, round.order.size())[*own]
                                  : first_share(round.zones, *own, end.shares[index]);
    if (births.size() == 0) {
        return;
    }
    begin_log();
    ShardOrder order;
    order.digest = round.digest;
    order.generation = round.generation();
    order.epoch = end.epoch;
    order.shard = first_shard_of(order.generation) + index;
    order.begin = births.begin;
    order.end = births.end;
    order.absent = end.absent;
    take_shard(std::move(order));
}

void Worker::take_early_orders() {
    round_deadline_ = Clock::time_point::max();
    for (ShardOrder& order : std::exchange(early_orders_, {})) {
        held_.erase(order.shard);
        try {
            take_shard(std::move(order));
        } catch (const InputError& error) {
            log_.line(error.what());  // The others are sound.
            ask(1, {});
        }
    }
}

std::shared_ptr<const void> Worker::follow(ShardOrder& order) {
    if (!order.state && order.records.empty()) {
        return nullptr;
    }
    std::vector<std::shared_ptr<const void>> retired;
    if (order.state) {
        const bool right = follower_.is_at(order.state->passed);
        const std::uint64_t all = follower_.newest()->generation() + 1;
        retired.push_back(follower_.load(order.state->strategy, std::move(order.state->holders),
                                         order.state->passed));
        // Shards of another state wait for genomes whose places are others in this one.
        give_back(pending_.give_up_before(right ? follower_.round()->generation() : all), {});
    }
    for (const Record& record : order.records) {
        if (record.generation == follower_.round()->generation()) {
            retired.push_back(follower_.apply(record));
            give_back(pending_.give_up_before(follower_.round()->generation()), {});
        }
    }
    return std::make_shared<decltype(retired)>(std::move(retired));
}

}  // namespace cambrian::distributed
