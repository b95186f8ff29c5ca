#include "cambrian/distributed/protocol/message.hpp"

#include <optional>

#include "cambrian/distributed/protocol/message_blocks.hpp"

namespace cambrian::distributed {

namespace detail {

namespace {

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

void write(ArchiveWriter& archive, const Handshake& message) {
    archive.write(message.version);
    archive.write(message.identity);
    archive.write(message.arithmetic);
    archive.write(message.fingerprint);
    archive.write(message.host);
    archive.write(message.device);
    archive.write(message.processors);
}

void read(ArchiveReader& archive, Handshake& message) {
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
        write_outcomes(archive, result.outcomes);
        write_cost(archive, result.cost);
    }
}

void read(ArchiveReader& archive, Request& message, ThreadPool& threads) {
    archive.read(message.room);
    message.results.resize(archive.read_count(48));
    for (ShardResult& result : message.results) {
        archive.read(result.shard);
        read_outcomes(archive, result.outcomes, threads);
        read_cost(archive, result.cost);
    }
}

void read(ArchiveReader& archive, Request& message) {
    ThreadPool alone(1);
    read(archive, message, alone);
}

void write(ArchiveWriter& archive, const ShardOrder& message) {
    archive.write(message.shard);
    archive.write(message.generation);
    write_parents(archive, message.parents);
    write_births(archive, message.births, ParentsAs::places);
    write_births(archive, message.recipes, ParentsAs::themselves);
    archive.write(static_cast<std::uint64_t>(message.children.size()));
    for (const ShippedGenome& child : message.children) {
        archive.write(std::span<const std::byte>(child.bytes));
        archive.write(child.retries);
    }
    write_all(archive, message.genomes);
    write_all(archive, message.survivors);
}

void read(ArchiveReader& archive, ShardOrder& message) {
    archive.read(message.shard);
    archive.read(message.generation);
    read_parents(archive, message.parents);
    read_births(archive, message.births, message.parents);
    read_births(archive, message.recipes, std::nullopt);
    message.children.resize(archive.read_count(12));
    for (ShippedGenome& child : message.children) {
        archive.read(child.bytes);
        archive.read(child.retries);
    }
    if (!message.children.empty() && message.children.size() != message.births.size()) {
        archive.fail("a shard has another number of children than births");
    }
    read_all(archive, message.genomes);
    read_all(archive, message.survivors);
}

void write(ArchiveWriter& archive, const GenomeRequest& message) {
    write_all(archive, message.hashes);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_all(archive, message.hashes);
}

void write(ArchiveWriter& archive, const GenomeReply& message) {
    archive.write(static_cast<std::uint64_t>(message.genomes.size()));
    for (const NamedGenome& genome : message.genomes) {
        archive.write(genome.hash);
        archive.write(std::span<const std::byte>(genome.bytes));
    }
    write_all(archive, message.gone);
}

void read(ArchiveReader& archive, GenomeReply& message) {
    message.genomes.resize(archive.read_count(24));
    for (NamedGenome& genome : message.genomes) {
        archive.read(genome.hash);
        archive.read(genome.bytes);
    }
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

void write(ArchiveWriter&, const InitialRequest&) {}

void read(ArchiveReader&, InitialRequest&) {}

void write(ArchiveWriter& archive, const InitialReply& message) {
    archive.write(std::span<const std::byte>(message.genome));
}

void read(ArchiveReader& archive, InitialReply& message) {
    archive.read(message.genome);
}

}  // namespace detail

Request decode_request(std::span<const std::byte> payload, std::string_view source,
                       ThreadPool& threads) {
    ArchiveReader archive(detail::unseal(Request::kind, payload, source), std::string(source));
    Request request;
    detail::read(archive, request, threads);
    archive.finish();
    return request;
}

}  // namespace cambrian::distributed
