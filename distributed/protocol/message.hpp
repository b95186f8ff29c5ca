#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/variation/birth.hpp"

// What ranks say to each other. A payload is a frame: magic, frame version, kind, length and
// XXH3-64 checksum in front of a cereal body, read within bounds.
namespace cambrian::distributed {

/// What one shard took of a rank.
struct ShardCost {
    double evaluate = 0.0;     ///< Seconds.
    double vary = 0.0;         ///< Seconds of building children: splice, mutation, hashing.
    double wait = 0.0;         ///< Seconds idle before the shard.
    double communicate = 0.0;  ///< Seconds of encoding, decoding and handing over messages.
    std::uint64_t programs_compiled = 0;
    std::uint64_t memory_splits = 0;  ///< Parts beyond the first, where memory did not hold all.
    std::uint64_t fallbacks = 0;  ///< Shards that another backend evaluated, for want of memory.

    ShardCost& operator+=(const ShardCost& other);
    bool operator==(const ShardCost&) const = default;
};

/// The first words of a worker: the coordinator checks that both run the same thing.
struct Handshake {
    static constexpr MessageKind kind = MessageKind::handshake;
    std::string version;
    Hash128 identity;         ///< Hash of run_identity().
    std::string arithmetic;   ///< What equal results need, see arithmetic_of().
    std::string fingerprint;  ///< Of the backend, to show.
    std::string host;
    std::string device;  ///< The GPU, to show and to see who shares it; empty: none.
    std::uint32_t processors = 1;
    bool operator==(const Handshake&) const = default;
};

/// Outcomes of one shard.
struct ShardResult {
    std::uint64_t shard = 0;
    std::vector<evolve::Outcome> outcomes;
    ShardCost cost;
    bool operator==(const ShardResult&) const = default;
};

/// Room for shards, with the results that are ready.
struct Request {
    static constexpr MessageKind kind = MessageKind::request;
    std::uint32_t room = 0;  ///< Further shards the worker can hold.
    std::vector<ShardResult> results;
    bool operator==(const Request&) const = default;
};

/// A child that travels whole.
struct ShippedGenome {
    std::vector<std::byte> bytes;
    std::uint32_t retries = 0;
    bool operator==(const ShippedGenome&) const = default;
};

/// Births to evaluate. What a worker has travels as a name, what it can make itself as a recipe,
/// and only the rest as bytes.
struct ShardOrder {
    static constexpr MessageKind kind = MessageKind::shard;
    std::uint64_t shard = 0;
    std::uint64_t generation = 0;
    /// Each once: all that the births name, and where that is most of the parent pool, all of it.
    std::vector<evolve::Parent> parents;
    std::vector<evolve::Birth> births;  ///< Parent::member is a place in `parents`.
    /// How some of `parents` were born, in their order: this worker has what they were made of.
    std::vector<evolve::Birth> recipes;
    std::vector<std::vector<std::byte>> genomes;  ///< Of the parents that it can get nowhere else.
    std::vector<ShippedGenome> children;  ///< One for each birth, or none: the worker makes them.
    std::vector<Hash128> survivors;  ///< Children of this worker that live, where not told before.
    bool operator==(const ShardOrder&) const = default;
};

/// Parents that a worker lacks against expectation, as when they fell out of its cache.
struct GenomeRequest {
    static constexpr MessageKind kind = MessageKind::genome_request;
    std::vector<Hash128> hashes;
    bool operator==(const GenomeRequest&) const = default;
};

/// A genome with the hash it was asked for by: whoever asked can tell when it is another one.
struct NamedGenome {
    Hash128 hash;
    std::vector<std::byte> bytes;
    bool operator==(const NamedGenome&) const = default;
};

/// The answer to a GenomeRequest, or to a part of it: every hash is in one of the two.
struct GenomeReply {
    static constexpr MessageKind kind = MessageKind::genomes;
    std::vector<NamedGenome> genomes;
    std::vector<Hash128> gone;  ///< No longer in the pool: whatever needs them is out of date.
    bool operator==(const GenomeReply&) const = default;
};

/// A worker's sign of life, renewing the leases of the shards it holds; the coordinator echoes it.
struct Heartbeat {
    static constexpr MessageKind kind = MessageKind::heartbeat;
    std::vector<std::uint64_t> shards;
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

/// A worker cannot build its part of a run before it knows network.initial.
struct InitialRequest {
    static constexpr MessageKind kind = MessageKind::initial_request;
    bool operator==(const InitialRequest&) const = default;
};

/// The answer to an InitialRequest.
struct InitialReply {
    static constexpr MessageKind kind = MessageKind::initial;
    std::vector<std::byte> genome;  ///< Empty: the coordinator starts from none.
    bool operator==(const InitialReply&) const = default;
};

namespace detail {
[[nodiscard]] std::vector<std::byte> seal(MessageKind kind, std::span<const std::byte> body);
/// Body of a frame; throws InputError.
[[nodiscard]] std::span<const std::byte> unseal(MessageKind kind,
                                                std::span<const std::byte> payload,
                                                std::string_view source);
void write(ArchiveWriter& archive, const Handshake& message);
void write(ArchiveWriter& archive, const Request& message);
void write(ArchiveWriter& archive, const ShardOrder& message);
void write(ArchiveWriter& archive, const GenomeRequest& message);
void write(ArchiveWriter& archive, const GenomeReply& message);
void write(ArchiveWriter& archive, const Heartbeat& message);
void write(ArchiveWriter& archive, const ShardFailure& message);
void write(ArchiveWriter& archive, const Stop& message);
void write(ArchiveWriter& archive, const InitialRequest& message);
void write(ArchiveWriter& archive, const InitialReply& message);
void read(ArchiveReader& archive, Handshake& message);
void read(ArchiveReader& archive, Request& message);
void read(ArchiveReader& archive, Request& message, ThreadPool& threads);
void read(ArchiveReader& archive, ShardOrder& message);
void read(ArchiveReader& archive, GenomeRequest& message);
void read(ArchiveReader& archive, GenomeReply& message);
void read(ArchiveReader& archive, Heartbeat& message);
void read(ArchiveReader& archive, ShardFailure& message);
void read(ArchiveReader& archive, Stop& message);
void read(ArchiveReader& archive, InitialRequest& message);
void read(ArchiveReader& archive, InitialReply& message);
}  // namespace detail

/// Outcomes in archives, also for checkpoints. read_outcome throws InputError.
void write_outcome(ArchiveWriter& archive, const evolve::Outcome& outcome);
[[nodiscard]] evolve::Outcome read_outcome(ArchiveReader& archive);
/// The least bytes an outcome takes in an archive.
inline constexpr std::uint64_t smallest_outcome = 80;

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

/// decode_message<Request> on several threads, for one with many outcomes.
[[nodiscard]] Request decode_request(std::span<const std::byte> payload, std::string_view source,
                                     ThreadPool& threads);

template <typename T>
void send(Communicator& communicator, int to, const T& message) {
    communicator.send(to, T::kind, encode_message(message));
}

}  // namespace cambrian::distributed
