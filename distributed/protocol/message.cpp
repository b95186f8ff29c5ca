#include "cambrian/distributed/protocol/message.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "cambrian/distributed/protocol/number_lists.hpp"
#include "cambrian/distributed/protocol/score_columns.hpp"

namespace cambrian::distributed {

namespace detail {

namespace {

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

/// Whoever reads a reply counts on both: that it costs no more than its genomes, and that each is
/// there or gone once.
void check(ArchiveReader& archive, const GenomeReply& message) {
    if (message.structures.size() > message.genomes.size()) {
        archive.fail("it has more structures than genomes");
    }
    std::vector<evolve::BirthId> origins = message.gone;
    for (const NamedGenome& genome : message.genomes) {
        origins.push_back(genome.origin);
    }
    std::ranges::sort(origins);
    if (std::ranges::adjacent_find(origins) != origins.end()) {
        archive.fail("it names a genome twice");
    }
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
    write_numbers<std::uint32_t>(archive, state.holders);
    archive.write(static_cast<std::uint64_t>(state.passed.size()));
    for (const Hash128& digest : state.passed) {
        archive.write(digest);
    }
}

void read(ArchiveReader& archive, RoundState& state) {
    archive.read(state.strategy);
    read_numbers(archive, state.holders);
    state.passed.resize(archive.read_count(sizeof(Hash128)));
    for (Hash128& digest : state.passed) {
        archive.read(digest);
    }
}

void write(ArchiveWriter& archive, const Record& record) {
    archive.write(record.generation);
    archive.write(std::span<const std::byte>(record.decision));
    std::vector<std::uint32_t> numbers;
    for (const HolderRange& range : record.holders) {
        numbers.insert(numbers.end(), {range.end, range.rank});
    }
    write_numbers<std::uint32_t>(archive, numbers);
}

void read(ArchiveReader& archive, Record& record) {
    archive.read(record.generation);
    archive.read(record.decision);
    std::vector<std::uint32_t> numbers;
    read_numbers(archive, numbers);
    if (numbers.size() % 2 != 0) {
        archive.fail("a list of ranks ends within one");
    }
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
        record.holders.push_back({numbers[i], numbers[i + 1]});
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
    archive.write(static_cast<std::uint64_t>(message.records.size()));
    for (const Record& record : message.records) {
        write(archive, record);
    }
    write_optional(archive, message.state);
    archive.write(message.digest);
    archive.write(message.generation);
    archive.write(message.epoch);
    archive.write(message.shard);
    archive.write(message.begin);
    archive.write(message.end);
    write_numbers<std::uint32_t>(archive, message.absent);
    archive.write(static_cast<std::uint64_t>(message.children.size()));
    for (const ShippedGenome& child : message.children) {
        archive.write(std::span<const std::byte>(child.bytes));
        archive.write(child.retries);
    }
}

void read(ArchiveReader& archive, ShardOrder& message) {
    message.records.resize(archive.read_count(24));
    for (Record& record : message.records) {
        read(archive, record);
    }
    read_optional(archive, message.state);
    archive.read(message.digest);
    archive.read(message.generation);
    archive.read(message.epoch);
    archive.read(message.shard);
    archive.read(message.begin);
    archive.read(message.end);
    if (message.begin > message.end) {
        archive.fail("a shard ends before it begins");
    }
    read_numbers(archive, message.absent);
    message.children.resize(archive.read_count(12));
    for (ShippedGenome& child : message.children) {
        archive.read(child.bytes);
        archive.read(child.retries);
    }
    if (!message.children.empty() && message.children.size() != message.end - message.begin) {
        archive.fail("a shard has another number of children than births");
    }
}

void write(ArchiveWriter& archive, const RoundEnd& message) {
    archive.write(message.epoch);
    write(archive, message.record);
    write_numbers<std::uint32_t>(archive, message.ranks);
    std::vector<std::uint32_t> shares;
    for (const FirstShare& share : message.shares) {
        shares.push_back(share.births);
        shares.push_back(share.smallest_rest);
    }
    write_numbers<std::uint32_t>(archive, shares);
    archive.write(message.own_births);
    write_numbers<std::uint32_t>(archive, message.absent);
}

void read(ArchiveReader& archive, RoundEnd& message) {
    archive.read(message.epoch);
    read(archive, message.record);
    read_numbers(archive, message.ranks);
    // A rank that is there twice would pass it on for ever.
    if (std::ranges::adjacent_find(message.ranks, std::greater_equal<>()) != message.ranks.end()) {
        archive.fail("its ranks are out of order");
    }
    std::vector<std::uint32_t> shares;
    read_numbers(archive, shares);
    archive.read(message.own_births);
    read_numbers(archive, message.absent);
    if (!shares.empty() && shares.size() != 2 * message.ranks.size()) {
        archive.fail("its shares are those of other ranks");
    }
    for (std::size_t i = 0; i < shares.size(); i += 2) {
        message.shares.push_back({shares[i], shares[i + 1]});
    }
}

void write(ArchiveWriter&, const RoundRequest&) {}

void read(ArchiveReader&, RoundRequest&) {}

void write(ArchiveWriter& archive, const GenomeRequest& message) {
    write_numbers<std::uint64_t>(archive, message.origins);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_numbers(archive, message.origins);
}

void write(ArchiveWriter& archive, const GenomeReply& message) {
    archive.write(static_cast<std::uint64_t>(message.structures.size()));
    for (const std::vector<std::byte>& structure : message.structures) {
        archive.write(std::span<const std::byte>(structure));
    }
    archive.write(static_cast<std::uint64_t>(message.genomes.size()));
    for (const NamedGenome& genome : message.genomes) {
        archive.write(genome.origin);
        archive.write(genome.structure);
        archive.write(std::span<const float>(genome.weights));
    }
    write_numbers<std::uint64_t>(archive, message.gone);
}

void read(ArchiveReader& archive, GenomeReply& message) {
    message.structures.resize(archive.read_count(8));
    for (std::vector<std::byte>& structure : message.structures) {
        archive.read(structure);
    }
    message.genomes.resize(archive.read_count(20));
    for (NamedGenome& genome : message.genomes) {
        archive.read(genome.origin);
        archive.read(genome.structure);
        archive.read(genome.weights);
    }
    read_numbers(archive, message.gone);
    check(archive, message);
}

void write(ArchiveWriter& archive, const Heartbeat& message) {
    write_numbers<std::uint64_t>(archive, message.shards);
    archive.write(message.epoch);
}

void read(ArchiveReader& archive, Heartbeat& message) {
    read_numbers(archive, message.shards);
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
    archive.write(static_cast<std::uint64_t>(message.genomes.size()));
    for (const std::vector<std::byte>& genome : message.genomes) {
        archive.write(std::span<const std::byte>(genome));
    }
}

void read(ArchiveReader& archive, InitialReply& message) {
    message.genomes.resize(archive.read_count(8));
    for (std::vector<std::byte>& genome : message.genomes) {
        archive.read(genome);
    }
}

}  // namespace detail

namespace {

/// What a rank sends to many takes its link so long that a few more steps on the way cost less:
/// three for a thousand ranks.
constexpr std::size_t told_at_once = 10;

}  // namespace

std::span<const std::uint32_t> RoundEnd::after(std::uint32_t rank) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    if (place == ranks.size()) {
        return {};
    }
    const std::size_t begin = std::min((place + 1) * told_at_once, ranks.size());
    return std::span(ranks).subspan(begin, std::min(told_at_once, ranks.size() - begin));
}

std::span<const std::uint32_t> RoundEnd::first() const {
    return std::span(ranks).first(std::min(told_at_once, ranks.size()));
}

}  // namespace cambrian::distributed
