#include "cambrian/distributed/coordinator/checkpoint.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

namespace cambrian::distributed {

namespace {

// What a report has besides the columns of all runs.
constexpr unsigned report_of_species = 1;
constexpr unsigned report_of_complexity = 2;
constexpr unsigned report_of_bytes = 4;
constexpr unsigned report_of_products = 8;
constexpr unsigned report_of_failures = 16;

/// What lives has any length.
constexpr std::array<WantedSection, 5> sections{
    {{"state", longest_about},
     {"strategy"},
     {"living"},
     {"champion"},
     {preparation_section, evolve::longest_preparation}}};

void write_optional(ArchiveWriter& archive, std::optional<double> value) {
    archive.write(value.has_value());
    archive.write(value.value_or(0.0));
}

std::optional<double> read_optional(ArchiveReader& archive) {
    bool present = false;
    double value = 0.0;
    archive.read(present);
    archive.read(value);
    return present ? std::optional<double>(value) : std::nullopt;
}

std::vector<std::byte> encode_state(const Checkpoint& checkpoint) {
    ArchiveWriter archive;
    archive.write(checkpoint_format);
    archive.write(checkpoint.identity_json);
    archive.write(checkpoint.arithmetic);
    archive.write(checkpoint.generation);
    archive.write(checkpoint.elapsed_seconds);
    for (std::uint64_t length : checkpoint.logs) {
        archive.write(length);
    }
    for (const Hash128& checksum : checkpoint.checksums) {
        archive.write(checksum);
    }
    archive.write(checkpoint.last.has_value());
    if (checkpoint.last) {
        write_report(archive, *checkpoint.last);
    }
    write_champion(archive, checkpoint.champion);
    if (checkpoint.last) {
        write_tests(archive, checkpoint.last->tests);
    }
    return archive.take();
}

void decode_state(ArchiveReader& archive, Checkpoint& checkpoint) {
    static_cast<void>(archive.read_format("checkpoint", checkpoint_format, checkpoint_format));
    archive.read(checkpoint.identity_json);
    archive.read(checkpoint.arithmetic);
    archive.read(checkpoint.generation);
    archive.read(checkpoint.elapsed_seconds);
    for (std::uint64_t& length : checkpoint.logs) {
        archive.read(length);
    }
    for (Hash128& checksum : checkpoint.checksums) {
        archive.read(checksum);
    }
    bool present = false;
    archive.read(present);
    if (present) {
        checkpoint.last = read_report(archive);
    }
    checkpoint.champion = read_champion(archive);
    if (checkpoint.last) {
        checkpoint.last->tests = read_tests(archive);
    }
    archive.finish();
}

std::vector<std::byte> encode_genomes(const Checkpoint& checkpoint) {
    ArchiveWriter archive;
    archive.write(static_cast<std::uint64_t>(checkpoint.genomes.size()));
    for (const auto& [origin, genome] : checkpoint.genomes) {
        archive.write(origin);
        archive.write(std::span<const std::byte>(evolve::encode(*genome)));
    }
    return archive.take();
}

SharedIndividual decode_shared(std::span<const std::byte> bytes, const std::string& source) {
    return std::make_shared<const evolve::Individual>(evolve::decode_genome(bytes, source));
}

void decode_genomes(ArchiveReader& archive, Checkpoint& checkpoint, const std::string& source) {
    const std::uint64_t count = archive.read_count(16);
    for (std::uint64_t i = 0; i < count; ++i) {
        evolve::BirthId origin = 0;
        std::vector<std::byte> bytes;
        archive.read(origin);
        archive.read(bytes);
        if (!checkpoint.genomes.emplace(origin, decode_shared(bytes, source)).second) {
            archive.fail(fmt::format("it has two genomes of birth {}", origin));
        }
    }
    archive.finish();
}

std::string value_text(const nlohmann::json& flat, const std::string& key) {
    const auto at = flat.find(key);
    return at == flat.end() ? "nothing" : json_text::shown(*at);
}

}  // namespace

void write_report(ArchiveWriter& archive, const GenerationReport& report) {
    archive.write(report.generation);
    archive.write(report.evaluations);
    archive.write(report.best);
    archive.write(report.mean);
    archive.write(report.worst);
    write_optional(archive, report.validated);
    archive.write(report.parameters);
    archive.write(report.env_steps);
    archive.write(report.retries);
    archive.write(report.invalid);
    archive.write(static_cast<std::uint8_t>(
        (report.species ? report_of_species : 0U) |
        (report.complexity ? report_of_complexity : 0U) | (report.bytes ? report_of_bytes : 0U) |
        (report.products ? report_of_products : 0U) |
        (report.failed_in_a_row > 0 ? report_of_failures : 0U)));
    if (report.species) {
        archive.write(report.species->count);
        archive.write(report.species->effective);
    }
    if (report.complexity) {
        archive.write(report.complexity->mean);
        archive.write(report.complexity->simplifying);
    }
    if (report.bytes) {
        archive.write(*report.bytes);
    }
    if (report.products) {
        archive.write(*report.products);
    }
    if (report.failed_in_a_row > 0) {
        archive.write(report.failed_in_a_row);
    }
}

GenerationReport read_report(ArchiveReader& archive) {
    GenerationReport report;
    archive.read(report.generation);
    archive.read(report.evaluations);
    archive.read(report.best);
    archive.read(report.mean);
    archive.read(report.worst);
    report.validated = read_optional(archive);
    archive.read(report.parameters);
    archive.read(report.env_steps);
    archive.read(report.retries);
    archive.read(report.invalid);
    std::uint8_t parts = 0;
    archive.read(parts);
    if (parts > (report_of_species | report_of_complexity | report_of_bytes | report_of_products |
                 report_of_failures)) {
        archive.fail("a report has unknown parts");
    }
    if ((parts & report_of_species) != 0) {
        report.species.emplace();
        archive.read(report.species->count);
        archive.read(report.species->effective);
    }
    if ((parts & report_of_complexity) != 0) {
        report.complexity.emplace();
        archive.read(report.complexity->mean);
        archive.read(report.complexity->simplifying);
    }
    if ((parts & report_of_bytes) != 0) {
        archive.read(report.bytes.emplace());
    }
    if ((parts & report_of_products) != 0) {
        archive.read(report.products.emplace());
    }
    if ((parts & report_of_failures) != 0) {
        archive.read(report.failed_in_a_row);
    }
    return report;
}

void write_tests(ArchiveWriter& archive, const ChampionTests& tests) {
    if (tests.count > 0 || tests.passed) {
        archive.write(tests.count);
        archive.write(tests.origin);
        archive.write(tests.passed);
    }
}

ChampionTests read_tests(ArchiveReader& archive) {
    ChampionTests tests;
    if (archive.remaining() > 0) {
        archive.read(tests.count);
        archive.read(tests.origin);
        archive.read(tests.passed);
    }
    return tests;
}

void write_champion(ArchiveWriter& archive, const std::optional<Champion>& champion) {
    archive.write(champion.has_value());
    if (champion) {
        archive.write(champion->generation);
        archive.write(champion->birth);
        archive.write(champion->origin);
        archive.write(champion->fitness);
        write_optional(archive, champion->validated);
    }
}

std::optional<Champion> read_champion(ArchiveReader& archive) {
    bool present = false;
    archive.read(present);
    if (!present) {
        return std::nullopt;
    }
    Champion champion;
    archive.read(champion.generation);
    archive.read(champion.birth);
    archive.read(champion.origin);
    archive.read(champion.fitness);
    champion.validated = read_optional(archive);
    return champion;
}

std::vector<std::byte> encode(const Checkpoint& checkpoint) {
    Container container{"checkpoint", {}};
    container.add("state", encode_state(checkpoint));
    container.add("strategy", checkpoint.strategy);
    container.add("living", encode_genomes(checkpoint));
    if (checkpoint.champion) {
        container.add("champion", evolve::encode(*checkpoint.champion->genome));
    }
    if (checkpoint.preparation) {
        container.add(preparation_section, evolve::encode(*checkpoint.preparation));
    }
    return cambrian::encode(container);
}

Checkpoint decode_checkpoint(std::span<const std::byte> bytes, std::string_view source) {
    const std::string name(source);
    const Container container = decode_container(bytes, source, sections);
    if (container.kind != "checkpoint") {
        throw InputError(
            fmt::format("{} is no checkpoint (it is a {} file) give a run directory "
                        "that holds one",
                        source, container.kind));
    }
    Checkpoint checkpoint;
    ArchiveReader state(container.section("state"), name);
    decode_state(state, checkpoint);
    const std::span<const std::byte> strategy = container.section("strategy");
    checkpoint.strategy.assign(strategy.begin(), strategy.end());
    ArchiveReader genomes(container.section("living"), name);
    decode_genomes(genomes, checkpoint, name);
    if (checkpoint.champion) {
        checkpoint.champion->genome = decode_shared(container.section("champion"), name);
    }
    checkpoint.preparation = preparation_in(container, name);
    return checkpoint;
}

void check_identity(const std::string& checkpoint_json, const std::string& experiment_json,
                    std::string_view source) {
    if (checkpoint_json == experiment_json) {
        return;
    }
    if (json_text::fault(checkpoint_json) || json_text::fault(experiment_json)) {
        throw ConfigError(
            fmt::format("{} belongs to another experiment (its identity cannot be "
                        "compared key by key) start in another directory",
                        source));
    }
    const nlohmann::json old_flat = json_text::parse(checkpoint_json).flatten();
    const nlohmann::json new_flat = json_text::parse(experiment_json).flatten();
    std::set<std::string> keys;
    for (const nlohmann::json* flat : {&old_flat, &new_flat}) {
        for (const auto& entry : flat->items()) {
            keys.insert(entry.key());
        }
    }
    for (const std::string& key : keys) {
        const std::string old_value = value_text(old_flat, key);
        const std::string new_value = value_text(new_flat, key);
        if (old_value == new_value) {
            continue;
        }
        std::string dotted = shortened(std::string_view(key).substr(key.empty() ? 0 : 1));
        for (char& letter : dotted) {
            letter = letter == '/' ? '.' : letter;
        }
        throw ConfigError(
            fmt::format("{} was written with another {} (it was {}, now it is {}) "
                        "restore the value or start in another directory",
                        source, dotted, old_value, new_value));
    }
}

}  // namespace cambrian::distributed
