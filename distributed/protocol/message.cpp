#include "cambrian/distributed/protocol/message.hpp"

#include <optional>

#include "cambrian/engine/core/little_endian.hpp"

namespace cambrian::distributed {

namespace detail {

namespace {

/// Numbers as one block: an archive takes long over single values.
template <class Number>
void write_all(ArchiveWriter& archive, std::span<const Number> numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
    std::byte* at = bytes.data();
    for (const Number number : numbers) {
        little_endian::put(at, number);
    }
    archive.write(std::span<const std::byte>(bytes));
}

template <class Number>
void read_all(ArchiveReader& archive, std::vector<Number>& numbers) {
    std::vector<std::byte> bytes;
    archive.read(bytes);
    if (bytes.size() % sizeof(Number) != 0) {
        archive.fail("a list of numbers ends within one");
    }
    numbers.resize(bytes.size() / sizeof(Number));
    const std::byte* at = bytes.data();
    for (Number& number : numbers) {
        number = little_endian::get<Number>(at);
    }
}

template <class Part>
void write_optional(ArchiveWriter& archive, const std::optional<Part>& part) {
    archive.write(part.has_value());
    if (part) {
        write(archive, *part);
    }
}

template <class Part>
void read_optional(ArchiveReader& archive, std::optional<Part>& part) {
    bool present = false;
    archive.read(present);
    if (present) {
        read(archive, part.emplace());
    }
}

void write_reals(ArchiveWriter& archive, std::span<const double> values) {
    std::vector<std::byte> bytes(values.size() * sizeof(double));
    std::byte* at = bytes.data();
    for (const double value : values) {
        little_endian::put(at, value);
    }
    archive.write(std::span<const std::byte>(bytes));
}

void read_reals(ArchiveReader& archive, std::vector<double>& values) {
    std::vector<std::byte> bytes;
    archive.read(bytes);
    if (bytes.size() % sizeof(double) != 0) {
        archive.fail("a list of numbers ends within one");
    }
    values.resize(bytes.size() / sizeof(double));
    const std::byte* at = bytes.data();
    for (double& value : values) {
        value = little_endian::get_double(at);
    }
}

void write_scores(ArchiveWriter& archive, const ShardScores& shard) {
    write_reals(archive, shard.scores.fitness);
    archive.write(std::as_bytes(std::span(shard.scores.status)));
    archive.write(shard.env_steps);
    archive.write(shard.retries);
    archive.write(shard.parameters_of_best);
    write_all<std::uint64_t>(archive, shard.details.env_steps);
    write_all<std::uint64_t>(archive, shard.details.parameters);
    write_all<std::uint32_t>(archive, shard.details.retries);
}

void read_scores(ArchiveReader& archive, ShardScores& shard) {
    read_reals(archive, shard.scores.fitness);
    std::vector<std::byte> status;
    archive.read(status);
    shard.scores.status.resize(status.size());
    for (std::size_t i = 0; i < status.size(); ++i) {
        shard.scores.status[i] = static_cast<evolve::Status>(status[i]);
        if (shard.scores.status[i] > evolve::Status::failed) {
            archive.fail("a birth has an unknown status");
        }
    }
    archive.read(shard.env_steps);
    archive.read(shard.retries);
    archive.read(shard.parameters_of_best);
    read_all(archive, shard.details.env_steps);
    read_all(archive, shard.details.parameters);
    read_all(archive, shard.details.retries);
}

void write_cost(ArchiveWriter& archive, const ShardCost& cost) {
    archive.write(cost.evaluate);
    archive.write(cost.vary);
    archive.write(cost.wait);
    archive.write(cost.communicate);
    archive.write(cost.programs_compiled);
    archive.write(cost.memory_splits);
    archive.write(cost.fallbacks);
}

void read_cost(ArchiveReader& archive, ShardCost& cost) {
    archive.read(cost.evaluate);
    archive.read(cost.vary);
    archive.read(cost.wait);
    archive.read(cost.communicate);
    archive.read(cost.programs_compiled);
    archive.read(cost.memory_splits);
    archive.read(cost.fallbacks);
}

}  // namespace

void write(ArchiveWriter& archive, const Handshake& message) {
    archive.write(message.version);
    archive.write(message.identity);
    archive.write(message.variation);
    archive.write(message.arithmetic);
    archive.write(message.fingerprint);
    archive.write(message.host);
    archive.write(message.device);
    archive.write(message.processors);
}

void read(ArchiveReader& archive, Handshake& message) {
    archive.read(message.version);
    archive.read(message.identity);
    archive.read(message.variation);
    archive.read(message.arithmetic);
    archive.read(message.fingerprint);
    archive.read(message.host);
    archive.read(message.device);
    archive.read(message.processors);
}

void write(ArchiveWriter& archive, const RoundState& state) {
    archive.write(std::span<const std::byte>(state.strategy));
    write_all<std::uint32_t>(archive, state.holders);
}

void read(ArchiveReader& archive, RoundState& state) {
    archive.read(state.strategy);
    read_all(archive, state.holders);
}

void write(ArchiveWriter& archive, const Record& record) {
    archive.write(record.generation);
    archive.write(std::span<const std::byte>(record.decision));
    archive.write(static_cast<std::uint64_t>(record.holders.size()));
    for (const HolderRange& range : record.holders) {
        archive.write(range.end);
        archive.write(range.rank);
    }
}

void read(ArchiveReader& archive, Record& record) {
    archive.read(record.generation);
    archive.read(record.decision);
    record.holders.resize(archive.read_count(8));
    for (HolderRange& range : record.holders) {
        archive.read(range.end);
        archive.read(range.rank);
    }
}

void write(ArchiveWriter& archive, const Request& message) {
    archive.write(message.room);
    archive.write(message.generation);
    archive.write(message.digest);
    archive.write(static_cast<std::uint64_t>(message.results.size()));
    for (const ShardResult& result : message.results) {
        archive.write(result.shard);
        write_scores(archive, result.scores);
        write_cost(archive, result.cost);
    }
}

void read(ArchiveReader& archive, Request& message) {
    archive.read(message.room);
    archive.read(message.generation);
    archive.read(message.digest);
    message.results.resize(archive.read_count(48));
    for (ShardResult& result : message.results) {
        archive.read(result.shard);
        read_scores(archive, result.scores);
        read_cost(archive, result.cost);
    }
}

void write(ArchiveWriter& archive, const ShardOrder& message) {
    write_optional(archive, message.record);
    write_optional(archive, message.state);
    archive.write(message.digest);
    archive.write(message.epoch);
    archive.write(message.shard);
    archive.write(message.begin);
    archive.write(message.end);
    write_all<std::uint32_t>(archive, message.absent);
    archive.write(static_cast<std::uint64_t>(message.children.size()));
    for (const ShippedGenome& child : message.children) {
        archive.write(std::span<const std::byte>(child.bytes));
        archive.write(child.retries);
    }
}

void read(ArchiveReader& archive, ShardOrder& message) {
    read_optional(archive, message.record);
    read_optional(archive, message.state);
    archive.read(message.digest);
    archive.read(message.epoch);
    archive.read(message.shard);
    archive.read(message.begin);
    archive.read(message.end);
    if (message.begin > message.end) {
        archive.fail("a shard ends before it begins");
    }
    read_all(archive, message.absent);
    message.children.resize(archive.read_count(12));
    for (ShippedGenome& child : message.children) {
        archive.read(child.bytes);
        archive.read(child.retries);
    }
    if (!message.children.empty() && message.children.size() != message.end - message.begin) {
        archive.fail("a shard has another number of children than births");
    }
}

void write(ArchiveWriter& archive, const GenomeRequest& message) {
    write_all<std::uint64_t>(archive, message.origins);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_all(archive, message.origins);
}

void write(ArchiveWriter& archive, const GenomeReply& message) {
    archive.write(static_cast<std::uint64_t>(message.genomes.size()));
    for (const NamedGenome& genome : message.genomes) {
        archive.write(genome.origin);
        archive.write(std::span<const std::byte>(genome.bytes));
    }
    write_all<std::uint64_t>(archive, message.gone);
}

void read(ArchiveReader& archive, GenomeReply& message) {
    message.genomes.resize(archive.read_count(16));
    for (NamedGenome& genome : message.genomes) {
        archive.read(genome.origin);
        archive.read(genome.bytes);
    }
    read_all(archive, message.gone);
}

void write(ArchiveWriter& archive, const Heartbeat& message) {
    write_all<std::uint64_t>(archive, message.shards);
    archive.write(message.epoch);
}

void read(ArchiveReader& archive, Heartbeat& message) {
    read_all(archive, message.shards);
    archive.read(message.epoch);
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

}  // namespace cambrian::distributed
