#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::distributed {

/// 5: species have a log of their own, whose length is noted, too. Older formats are not gone on
/// with.
inline constexpr std::uint32_t checkpoint_format = 5;

/// The best network of a run so far.
struct Champion {
    SharedIndividual genome;
    std::uint64_t generation = 0;
    evolve::BirthId birth = 0;
    evolve::BirthId origin = 0;  ///< The birth that made its genome.
    double fitness = evolve::worst_fitness;
    std::optional<double> validated;
};

/// Everything a run needs to go on after its last completed generation.
struct Checkpoint {
    std::string identity_json;     ///< run_identity() of the experiment.
    std::string arithmetic;        ///< See arithmetic_of().
    std::uint64_t generation = 0;  ///< The next one.
    std::vector<std::byte> strategy;
    std::map<evolve::BirthId, SharedIndividual> genomes;  ///< Of all members, by origin.
    std::optional<Champion> champion;
    std::optional<GenerationReport> last;
    double elapsed_seconds = 0.0;
    /// Of the networks, where a task prepares rows for them.
    std::optional<evolve::Preparation> preparation;
    GenerationLog::Lengths logs{};
    GenerationLog::Checksums checksums{};
};

/// The line of a generation, in checkpoints and journals.
void write_report(ArchiveWriter& archive, const GenerationReport& report);
[[nodiscard]] GenerationReport read_report(ArchiveReader& archive);
/// The tests of a report, as the last thing of an archive. Runs that test nothing write nothing, so
/// that files from before there were tests are read as those of such runs.
void write_tests(ArchiveWriter& archive, const ChampionTests& tests);
[[nodiscard]] ChampionTests read_tests(ArchiveReader& archive);
/// A champion without its genome.
void write_champion(ArchiveWriter& archive, const std::optional<Champion>& champion);
[[nodiscard]] std::optional<Champion> read_champion(ArchiveReader& archive);

[[nodiscard]] std::vector<std::byte> encode(const Checkpoint& checkpoint);
/// Throws InputError naming `source`.
[[nodiscard]] Checkpoint decode_checkpoint(std::span<const std::byte> bytes,
                                           std::string_view source);

/// Throws ConfigError naming the first identity key that differs, with both values.
void check_identity(const std::string& checkpoint_json, const std::string& experiment_json,
                    std::string_view source);

}  // namespace cambrian::distributed
