#include "cambrian/distributed/protocol/score_columns.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cambrian/distributed/protocol/number_lists.hpp"
#include "cambrian/engine/io/packed_column.hpp"

namespace cambrian::distributed::detail {

namespace {

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

/// In the order of the archive.
auto fields_of(auto& cost) {
    return std::tie(cost.evaluate, cost.vary, cost.wait, cost.communicate, cost.programs_compiled,
                    cost.memory_splits, cost.fallbacks, cost.fetched, cost.remade);
}

}  // namespace

void write_scores(ArchiveWriter& archive, const ShardScores& shard) {
    write_numbers<double>(archive, shard.scores.fitness);
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
    read_numbers(archive, shard.scores.fitness);
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
    std::apply([&](const auto&... field) { (archive.write(field), ...); }, fields_of(cost));
}

void read_cost(ArchiveReader& archive, ShardCost& cost) {
    std::apply([&](auto&... field) { (archive.read(field), ...); }, fields_of(cost));
}

}  // namespace cambrian::distributed::detail
