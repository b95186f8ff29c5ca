#include "cambrian/distributed/message.hpp"

#include <fmt/core.h>

#include <cstring>
#include <limits>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::uint32_t frame_magic = 0x474D4243;  // "CBMG"
constexpr std::uint32_t frame_version = 2;
constexpr std::size_t header_bytes = 32;

template <typename T>
void put(std::byte*& at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        *at++ = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
    }
}

template <typename T>
T get(const std::byte*& at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<T>(std::to_integer<T>(*at++) << (8 * i));
    }
    return value;
}

[[noreturn]] void refuse(std::string_view source, std::string_view why) {
    throw InputError(fmt::format(
        "a message from {} cannot be read ({}) check that every rank runs the same program", source,
        why));
}

void write_birth(ArchiveWriter& archive, const evolve::Birth& birth) {
    archive.write(birth.id);
    archive.write(static_cast<std::uint8_t>(birth.recipe));
    archive.write(static_cast<std::uint64_t>(birth.parents.size()));
    for (const evolve::Parent& parent : birth.parents) {
        archive.write(parent.birth);
        archive.write(parent.genome);
        archive.write(parent.fitness);
    }
}

evolve::Birth read_birth(ArchiveReader& archive) {
    evolve::Birth birth;
    archive.read(birth.id);
    std::uint8_t recipe = 0;
    archive.read(recipe);
    if (recipe > static_cast<std::uint8_t>(evolve::Recipe::vary)) {
        archive.fail("a birth has an unknown recipe");
    }
    birth.recipe = static_cast<evolve::Recipe>(recipe);
    const std::uint64_t parents = archive.read_count(32);
    const bool orphan = birth.recipe != evolve::Recipe::sample && parents == 0;
    if (orphan || parents > evolve::Parents::most) {
        archive.fail("a birth has an impossible number of parents");
    }
    for (std::uint64_t i = 0; i < parents; ++i) {
        evolve::Parent parent;
        archive.read(parent.birth);
        archive.read(parent.genome);
        archive.read(parent.fitness);
        birth.parents.push_back(parent);
    }
    return birth;
}

void write_seconds(ArchiveWriter& archive, const WorkSeconds& seconds) {
    archive.write(seconds.evaluate);
    archive.write(seconds.vary);
    archive.write(seconds.wait);
    archive.write(seconds.communicate);
}

void read_seconds(ArchiveReader& archive, WorkSeconds& seconds) {
    archive.read(seconds.evaluate);
    archive.read(seconds.vary);
    archive.read(seconds.wait);
    archive.read(seconds.communicate);
}

void write_all(ArchiveWriter& archive, const std::vector<std::vector<std::byte>>& blocks) {
    archive.write(static_cast<std::uint64_t>(blocks.size()));
    for (const std::vector<std::byte>& block : blocks) {
        archive.write(std::span<const std::byte>(block));
    }
}

void read_all(ArchiveReader& archive, std::vector<std::vector<std::byte>>& blocks) {
    blocks.resize(archive.read_count(8));
    for (std::vector<std::byte>& block : blocks) {
        archive.read(block);
    }
}

void write_all(ArchiveWriter& archive, const std::vector<Hash128>& hashes) {
    archive.write(static_cast<std::uint64_t>(hashes.size()));
    for (Hash128 hash : hashes) {
        archive.write(hash);
    }
}

void read_all(ArchiveReader& archive, std::vector<Hash128>& hashes) {
    hashes.resize(archive.read_count(16));
    for (Hash128& hash : hashes) {
        archive.read(hash);
    }
}

}  // namespace

WorkSeconds& WorkSeconds::operator+=(const WorkSeconds& other) {
    evaluate += other.evaluate;
    vary += other.vary;
    wait += other.wait;
    communicate += other.communicate;
    return *this;
}

void write_outcome(ArchiveWriter& archive, const evolve::Outcome& outcome) {
    archive.write(outcome.id);
    archive.write(static_cast<std::uint8_t>(outcome.status));
    archive.write(outcome.fitness);
    archive.write(std::span<const double>(outcome.objectives));
    archive.write(std::span<const double>(outcome.behaviour));
    archive.write(std::span<const double>(outcome.per_sample));
    archive.write(outcome.evaluations);
    archive.write(outcome.env_steps);
    archive.write(outcome.parameters);
    archive.write(outcome.redrawn);
    archive.write(outcome.genome);
}

evolve::Outcome read_outcome(ArchiveReader& archive) {
    evolve::Outcome outcome;
    archive.read(outcome.id);
    std::uint8_t status = 0;
    archive.read(status);
    if (status > static_cast<std::uint8_t>(evolve::Status::failed)) {
        archive.fail("an outcome has an unknown status");
    }
    outcome.status = static_cast<evolve::Status>(status);
    archive.read(outcome.fitness);
    archive.read(outcome.objectives);
    archive.read(outcome.behaviour);
    archive.read(outcome.per_sample);
    archive.read(outcome.evaluations);
    archive.read(outcome.env_steps);
    archive.read(outcome.parameters);
    archive.read(outcome.redrawn);
    archive.read(outcome.genome);
    return outcome;
}

namespace detail {

std::vector<std::byte> seal(MessageKind kind, std::span<const std::byte> body) {
    std::vector<std::byte> frame(header_bytes + body.size());
    std::byte* at = frame.data();
    put(at, frame_magic);
    put(at, frame_version);
    put(at, static_cast<std::uint32_t>(kind));
    put(at, std::uint32_t{0});
    put(at, static_cast<std::uint64_t>(body.size()));
    put(at, hash64(body, static_cast<std::uint64_t>(kind)));
    if (!body.empty()) {
        std::memcpy(at, body.data(), body.size());
    }
    return frame;
}

std::span<const std::byte> unseal(MessageKind kind, std::span<const std::byte> payload,
                                  std::string_view source) {
    if (payload.size() < header_bytes) {
        refuse(source, "it is shorter than a frame");
    }
    const std::byte* at = payload.data();
    if (get<std::uint32_t>(at) != frame_magic) {
        refuse(source, "it is no frame");
    }
    if (get<std::uint32_t>(at) != frame_version) {
        refuse(source, "its frame has another version");
    }
    if (get<std::uint32_t>(at) != static_cast<std::uint32_t>(kind)) {
        refuse(source, "it is of another kind than announced");
    }
    if (get<std::uint32_t>(at) != 0) {
        refuse(source, "its frame has unknown flags");
    }
    const auto length = get<std::uint64_t>(at);
    const auto checksum = get<std::uint64_t>(at);
    const std::span<const std::byte> body = payload.subspan(header_bytes);
    if (length != body.size()) {
        refuse(source, fmt::format("it has {} bytes, its frame says {}", body.size(), length));
    }
    if (checksum != hash64(body, static_cast<std::uint64_t>(kind))) {
        refuse(source, "its checksum is wrong");
    }
    return body;
}

void write(ArchiveWriter& archive, const Hello& message) {
    archive.write(message.version);
    archive.write(message.identity);
    archive.write(message.arithmetic);
    archive.write(message.fingerprint);
    archive.write(message.host);
    archive.write(message.device);
    archive.write(message.processors);
}

void read(ArchiveReader& archive, Hello& message) {
    archive.read(message.version);
    archive.read(message.identity);
    archive.read(message.arithmetic);
    archive.read(message.fingerprint);
    archive.read(message.host);
    archive.read(message.device);
    archive.read(message.processors);
}

void write(ArchiveWriter& archive, const Request& message) {
    archive.write(message.room);
    archive.write(static_cast<std::uint64_t>(message.results.size()));
    for (const ShardResult& result : message.results) {
        archive.write(result.shard);
        archive.write(static_cast<std::uint64_t>(result.outcomes.size()));
        for (const evolve::Outcome& outcome : result.outcomes) {
            write_outcome(archive, outcome);
        }
        write_seconds(archive, result.seconds);
    }
}

void read(ArchiveReader& archive, Request& message) {
    archive.read(message.room);
    message.results.resize(archive.read_count(48));
    for (ShardResult& result : message.results) {
        archive.read(result.shard);
        const std::uint64_t outcomes = archive.read_count(smallest_outcome);
        result.outcomes.reserve(outcomes);
        for (std::uint64_t i = 0; i < outcomes; ++i) {
            result.outcomes.push_back(read_outcome(archive));
        }
        read_seconds(archive, result.seconds);
    }
}

void write(ArchiveWriter& archive, const ShardOrder& message) {
    archive.write(message.shard);
    archive.write(message.generation);
    archive.write(static_cast<std::uint64_t>(message.births.size()));
    for (const evolve::Birth& birth : message.births) {
        write_birth(archive, birth);
    }
    archive.write(static_cast<std::uint64_t>(message.children.size()));
    for (const ShippedGenome& child : message.children) {
        archive.write(std::span<const std::byte>(child.bytes));
        archive.write(child.redrawn);
    }
    write_all(archive, message.parents);
    write_all(archive, message.survivors);
}

void read(ArchiveReader& archive, ShardOrder& message) {
    archive.read(message.shard);
    archive.read(message.generation);
    const std::uint64_t births = archive.read_count(17);
    message.births.reserve(births);
    for (std::uint64_t i = 0; i < births; ++i) {
        message.births.push_back(read_birth(archive));
    }
    message.children.resize(archive.read_count(12));
    for (ShippedGenome& child : message.children) {
        archive.read(child.bytes);
        archive.read(child.redrawn);
    }
    if (!message.children.empty() && message.children.size() != message.births.size()) {
        archive.fail("a shard has another number of children than births");
    }
    read_all(archive, message.parents);
    read_all(archive, message.survivors);
}

void write(ArchiveWriter& archive, const GenomeRequest& message) {
    write_all(archive, message.hashes);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_all(archive, message.hashes);
}

void write(ArchiveWriter& archive, const GenomeReply& message) {
    write_all(archive, message.genomes);
    write_all(archive, message.gone);
}

void read(ArchiveReader& archive, GenomeReply& message) {
    read_all(archive, message.genomes);
    read_all(archive, message.gone);
}

void write(ArchiveWriter& archive, const Heartbeat& message) {
    archive.write(static_cast<std::uint64_t>(message.shards.size()));
    for (std::uint64_t shard : message.shards) {
        archive.write(shard);
    }
}

void read(ArchiveReader& archive, Heartbeat& message) {
    message.shards.resize(archive.read_count(8));
    for (std::uint64_t& shard : message.shards) {
        archive.read(shard);
    }
}

void write(ArchiveWriter& archive, const ShardFailure& message) {
    archive.write(message.shard);
    archive.write(message.text);
    archive.write(message.leaving);
}

void read(ArchiveReader& archive, ShardFailure& message) {
    archive.read(message.shard);
    archive.read(message.text);
    archive.read(message.leaving);
}

void write(ArchiveWriter& archive, const Stop& message) {
    archive.write(message.reason);
}

void read(ArchiveReader& archive, Stop& message) {
    archive.read(message.reason);
}

}  // namespace detail

}  // namespace cambrian::distributed
