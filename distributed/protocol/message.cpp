#include "cambrian/distributed/protocol/message.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/engine/io/packed_column.hpp"

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

/// Columns of small numbers: mostly two to four bytes a birth.
void write_details(ArchiveWriter& archive, const BirthDetails& details) {
    std::vector<std::byte> bytes;
    if (!details.parameters.empty()) {
        const std::vector<std::uint64_t> retries(details.retries.begin(), details.retries.end());
        for (const auto* column : {&details.env_steps, &details.parameters, &retries}) {
            pack_column(bytes, *column);
        }
    }
    archive.write(std::span<const std::byte>(bytes));
}

void read_details(ArchiveReader& archive, std::size_t births, BirthDetails& details) {
    std::vector<std::byte> bytes;
    archive.read(bytes);
    if (bytes.empty()) {
        return;
    }
    std::span<const std::byte> rest(bytes);
    const auto next = [&] {
        auto column = unpack_column(rest, births);
        if (!column) {
            archive.fail("a column of details ends too early");
        }
        return *std::move(column);
    };
    details.env_steps = next();
    details.parameters = next();
    const std::vector<std::uint64_t> retries = next();
    details.retries.assign(retries.begin(), retries.end());
    const auto most = std::numeric_limits<std::uint32_t>::max();
    if (!rest.empty() || std::ranges::any_of(retries, [](auto count) { return count > most; })) {
        archive.fail("the details are no columns of its births");
    }
}

/// A byte a birth where there are at most 255 species; unmatched ones are 0.
void write_species(ArchiveWriter& archive, std::span<const std::uint32_t> species) {
    std::vector<std::byte> bytes;
    if (!species.empty()) {
        std::vector<std::uint64_t> column;
        for (const std::uint32_t number : species) {
            column.push_back(number == evolve::unmatched ? 0 : std::uint64_t{number} + 1);
        }
        pack_column(bytes, column);
    }
    archive.write(std::span<const std::byte>(bytes));
}

/// A column with a number for each birth, or nothing where none was written.
std::vector<std::uint64_t> read_births(ArchiveReader& archive, std::size_t births,
                                       std::string_view what) {
    std::vector<std::byte> bytes;
    archive.read(bytes);
    if (bytes.empty()) {
        return {};
    }
    std::span<const std::byte> rest(bytes);
    auto column = unpack_column(rest, births);
    if (!column || !rest.empty()) {
        archive.fail(fmt::format("the {} is no column of its births", what));
    }
    return *std::move(column);
}

void read_species(ArchiveReader& archive, std::size_t births, std::vector<std::uint32_t>& species) {
    for (const std::uint64_t number : read_births(archive, births, "species")) {
        if (number > evolve::unmatched) {
            archive.fail("a birth is of a species that cannot be");
        }
        species.push_back(number == 0 ? evolve::unmatched : static_cast<std::uint32_t>(number - 1));
    }
}

/// A byte a birth where all have at most 255 genes.
void write_complexity(ArchiveWriter& archive, const std::vector<std::uint32_t>& complexity) {
    std::vector<std::byte> bytes;
    if (!complexity.empty()) {
        pack_column(bytes, std::vector<std::uint64_t>(complexity.begin(), complexity.end()));
    }
    archive.write(std::span<const std::byte>(bytes));
}

void read_complexity(ArchiveReader& archive, std::size_t births,
                     std::vector<std::uint32_t>& complexity) {
    for (const std::uint64_t genes : read_births(archive, births, "complexity")) {
        if (genes > std::numeric_limits<std::uint32_t>::max()) {
            archive.fail("a birth has more genes than there can be");
        }
        complexity.push_back(static_cast<std::uint32_t>(genes));
    }
}

void write_scores(ArchiveWriter& archive, const ShardScores& shard) {
    write_reals(archive, shard.scores.fitness);
    archive.write(std::as_bytes(std::span(shard.scores.status)));
    archive.write(shard.env_steps);
    archive.write(shard.retries);
    archive.write(shard.parameters_of_best);
    archive.write(shard.bytes_of_best);
    archive.write(shard.products_of_best);
    write_species(archive, shard.scores.species);
    write_complexity(archive, shard.scores.complexity);
    write_details(archive, shard.details);
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
    archive.read(shard.bytes_of_best);
    archive.read(shard.products_of_best);
    read_species(archive, shard.scores.size(), shard.scores.species);
    read_complexity(archive, shard.scores.size(), shard.scores.complexity);
    read_details(archive, shard.scores.size(), shard.details);
}

void write_cost(ArchiveWriter& archive, const ShardCost& cost) {
    archive.write(cost.evaluate);
    archive.write(cost.vary);
    archive.write(cost.wait);
    archive.write(cost.communicate);
    archive.write(cost.programs_compiled);
    archive.write(cost.memory_splits);
    archive.write(cost.fallbacks);
    archive.write(cost.fetched);
    archive.write(cost.remade);
}

void read_cost(ArchiveReader& archive, ShardCost& cost) {
    archive.read(cost.evaluate);
    archive.read(cost.vary);
    archive.read(cost.wait);
    archive.read(cost.communicate);
    archive.read(cost.programs_compiled);
    archive.read(cost.memory_splits);
    archive.read(cost.fallbacks);
    archive.read(cost.fetched);
    archive.read(cost.remade);
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
    write_all<std::uint32_t>(archive, state.holders);
}

void read(ArchiveReader& archive, RoundState& state) {
    archive.read(state.strategy);
    read_all(archive, state.holders);
}

void write(ArchiveWriter& archive, const Record& record) {
    archive.write(record.generation);
    archive.write(std::span<const std::byte>(record.decision));
    std::vector<std::uint32_t> numbers;
    for (const HolderRange& range : record.holders) {
        numbers.insert(numbers.end(), {range.end, range.rank});
    }
    write_all<std::uint32_t>(archive, numbers);
}

void read(ArchiveReader& archive, Record& record) {
    archive.read(record.generation);
    archive.read(record.decision);
    std::vector<std::uint32_t> numbers;
    read_all(archive, numbers);
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
    archive.write(message.ahead);
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
    message.records.resize(archive.read_count(24));
    for (Record& record : message.records) {
        read(archive, record);
    }
    read_optional(archive, message.state);
    archive.read(message.digest);
    archive.read(message.generation);
    archive.read(message.ahead);
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

void write(ArchiveWriter& archive, const RoundEnd& message) {
    archive.write(message.epoch);
    write(archive, message.record);
    write_all<std::uint32_t>(archive, message.ranks);
    std::vector<std::uint32_t> shares;
    for (const FirstShare& share : message.shares) {
        shares.push_back(share.births);
        shares.push_back(share.smallest_rest);
    }
    write_all<std::uint32_t>(archive, shares);
    archive.write(message.own_births);
    write_all<std::uint32_t>(archive, message.absent);
}

void read(ArchiveReader& archive, RoundEnd& message) {
    archive.read(message.epoch);
    read(archive, message.record);
    read_all(archive, message.ranks);
    // A rank that is there twice would pass it on for ever.
    if (std::ranges::adjacent_find(message.ranks, std::greater_equal<>()) != message.ranks.end()) {
        archive.fail("its ranks are out of order");
    }
    std::vector<std::uint32_t> shares;
    read_all(archive, shares);
    archive.read(message.own_births);
    read_all(archive, message.absent);
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
    write_all<std::uint64_t>(archive, message.origins);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_all(archive, message.origins);
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
    write_all<std::uint64_t>(archive, message.gone);
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
    read_all(archive, message.gone);
    check(archive, message);
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
