#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/distributed/generation/shard_scores.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/variation/birth.hpp"

// What ranks say to each other. A payload is a frame: magic, frame version, kind, length and
// XXH3-64 checksum in front of a cereal body, read within bounds.
namespace cambrian::distributed {

/// The first words of a worker: the coordinator checks that both run the same thing.
struct Handshake {
    static constexpr MessageKind kind = MessageKind::handshake;
    std::string version;
    Hash128 identity;         ///< Hash of run_identity().
    Hash128 variation;        ///< Of some children, made here: equal on all ranks.
    std::string arithmetic;   ///< What equal results need, see arithmetic_of().
    std::string fingerprint;  ///< Of the backend, to show, and the processors it is bound to.
    std::string host;
    std::string device;  ///< The GPU, to show and to see who shares it; empty: none.
    std::uint32_t processors = 1;
    bool operator==(const Handshake&) const = default;
};

/// What became of one shard.
struct ShardResult {
    std::uint64_t shard = 0;
    ShardScores scores;
    ShardCost cost;
    bool operator==(const ShardResult&) const = default;
};

/// Room for shards, with the results that are ready.
struct Request {
    static constexpr MessageKind kind = MessageKind::request;
    std::uint32_t room = 0;        ///< Further shards the worker can hold.
    std::uint64_t generation = 0;  ///< The newest round it follows,
    Hash128 digest;                ///< and that round's state.
    std::vector<ShardResult> results;
    bool operator==(const Request&) const = default;
};

/// The open rounds in full, for a rank that cannot follow by the last records.
struct RoundState {
    std::vector<std::byte> strategy;     ///< Of the newest.
    std::vector<std::uint32_t> holders;  ///< Of all, see Follower::load.
    std::vector<Hash128> passed{};       ///< Its digest and of some before, see Follower::load.
    bool operator==(const RoundState&) const = default;
};

/// A child that travels whole.
struct ShippedGenome {
    std::vector<std::byte> bytes;
    std::uint32_t retries = 0;
    bool operator==(const ShippedGenome&) const = default;
};

/// A range of births to evaluate, after what the worker lacks to know them.
struct ShardOrder {
    static constexpr MessageKind kind = MessageKind::shard;
    std::vector<Record> records;      ///< Since the state that the worker follows,
    std::optional<RoundState> state;  ///< or a whole state.
    Hash128 digest;                   ///< Of the newest open round,
    std::uint64_t generation = 0;     ///< and its number.
    std::uint64_t epoch = 0;          ///< Of the coordinator, see Reign.
    std::uint64_t shard = 0;          ///< 0: none. Tells the round of its births: generation_of().
    std::uint64_t begin = 0;          ///< In Round::order.
    std::uint64_t end = 0;
    std::vector<std::uint32_t> absent;    ///< Ranks that answer nobody.
    std::vector<ShippedGenome> children;  ///< One for each birth, or none: the worker makes them.
    bool operator==(const ShardOrder&) const = default;
};

/// A round is over: what leads to the next one. Ranks are the nodes of a tree: the first hear it
/// from the coordinator, and each passes it on as it is.
struct RoundEnd {
    static constexpr MessageKind kind = MessageKind::round_end;
    std::uint64_t epoch = 0;  ///< Of the coordinator, see Reign.
    Record record;
    std::vector<std::uint32_t> ranks{};  ///< That wait for it, in ascending order.
    /// How many births of the next round each of them begins with, see first_share(): the shard
    /// with that index of the generation. Empty: they wait for orders.
    std::vector<FirstShare> shares{};
    /// How many the coordinator begins with, where all births are divided among all, see Division;
    /// 0: each begins with births that belong to it.
    std::uint32_t own_births = 0;
    std::vector<std::uint32_t> absent{};  ///< Ranks that answer nobody.
    [[nodiscard]] Division division(std::uint32_t coordinator) const {
        return {ranks, shares, coordinator, own_births};
    }
    /// Those that hear it first.
    [[nodiscard]] std::span<const std::uint32_t> first() const;
    /// Those that a rank passes it on to.
    [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t rank) const;
    bool operator==(const RoundEnd&) const = default;
};

/// A worker has births of a round that it has not heard of. The answer is an order of no shard.
struct RoundRequest {
    static constexpr MessageKind kind = MessageKind::round_request;
    bool operator==(const RoundRequest&) const = default;
};

/// Genomes that a rank lacks, by the births that made them; to whoever has them.
struct GenomeRequest {
    static constexpr MessageKind kind = MessageKind::genome_request;
    std::vector<evolve::BirthId> origins;
    bool operator==(const GenomeRequest&) const = default;
};

struct NamedGenome {
    evolve::BirthId origin = 0;
    std::uint32_t structure = 0;  ///< Among those of the reply.
    std::vector<float> weights;
    bool operator==(const NamedGenome&) const = default;
};

/// The answer to a GenomeRequest, or to a part of it: every origin is in one of the two.
struct GenomeReply {
    static constexpr MessageKind kind = MessageKind::genomes;
    std::vector<std::vector<std::byte>> structures;  ///< Each once, see evolve::decode_structure.
    std::vector<NamedGenome> genomes;
    std::vector<evolve::BirthId> gone;  ///< Not here.
    bool operator==(const GenomeReply&) const = default;
};

/// A worker's sign of life, renewing the leases of the shards it holds; the coordinator echoes it.
struct Heartbeat {
    static constexpr MessageKind kind = MessageKind::heartbeat;
    std::vector<std::uint64_t> shards;
    std::uint64_t epoch = 0;  ///< Of the coordinator, in its echo.
    bool operator==(const Heartbeat&) const = default;
};

/// A shard threw.
struct ShardFailure {
    static constexpr MessageKind kind = MessageKind::shard_failed;
    std::uint64_t shard = 0;
    std::string text;
    bool leaving = false;  ///< The device is lost or too small: the worker ends.
    bool operator==(const ShardFailure&) const = default;
};

/// The run is over for the worker.
struct Stop {
    static constexpr MessageKind kind = MessageKind::stop;
    std::string reason;
    bool operator==(const Stop&) const = default;
};

/// A worker cannot build its part of a run before it knows what is in network.initial.
struct InitialRequest {
    static constexpr MessageKind kind = MessageKind::initial_request;
    bool operator==(const InitialRequest&) const = default;
};

/// The answer to an InitialRequest.
struct InitialReply {
    static constexpr MessageKind kind = MessageKind::initial;
    std::vector<std::vector<std::byte>> genomes;  ///< Empty: the coordinator starts from none.
    bool operator==(const InitialReply&) const = default;
};

namespace detail {
/// Defined for every kind of message.
template <typename T>
void write(ArchiveWriter& archive, const T& message);
template <typename T>
void read(ArchiveReader& archive, T& message);
[[nodiscard]] std::vector<std::byte> seal(MessageKind kind, std::span<const std::byte> body);
/// Body of a frame; throws InputError.
[[nodiscard]] std::span<const std::byte> unseal(MessageKind kind,
                                                std::span<const std::byte> payload,
                                                std::string_view source);
}  // namespace detail

template <typename T>
[[nodiscard]] std::vector<std::byte> encode_message(const T& message) {
    ArchiveWriter archive;
    detail::write(archive, message);
    return detail::seal(T::kind, archive.take());
}

/// Throws InputError naming `source` for a damaged frame or one of another kind.
template <typename T>
[[nodiscard]] T decode_message(std::span<const std::byte> payload, std::string_view source) {
    ArchiveReader archive(detail::unseal(T::kind, payload, source), std::string(source));
    T message;
    detail::read(archive, message);
    archive.finish();
    return message;
}

template <typename T>
void send(Communicator& communicator, int to, const T& message) {
    communicator.send(to, T::kind, encode_message(message));
}

}  // namespace cambrian::distributed
