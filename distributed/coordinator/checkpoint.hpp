#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/genome_store.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::distributed {

/// 2: checksums of the logs, whose columns are others than before: format 1 is not gone on with.
inline constexpr std::uint32_t checkpoint_format = 2;

/// The best network of a run so far.
struct Champion {
    SharedGenome genome;
    std::uint64_t generation = 0;
    evolve::BirthId birth = 0;
    double fitness = evolve::worst_fitness;
    std::optional<double> validated;
};

/// A member of the parent pool: its outcome names its genome.
struct ParentPoolMember {
    evolve::Outcome outcome;
    SharedGenome genome;
};

/// Everything a run needs to go on after its last completed generation.
struct Checkpoint {
    std::string identity_json;     ///< run_identity() of the experiment.
    std::string arithmetic;        ///< See arithmetic_of().
    std::uint64_t generation = 0;  ///< The next one.
    std::vector<std::byte> strategy;
    std::vector<ParentPoolMember> parent_pool;
    std::optional<Champion> champion;
    std::optional<GenerationReport> last;
    double elapsed_seconds = 0.0;
    GenerationLog::Lengths logs{};
    GenerationLog::Checksums checksums{};
};

[[nodiscard]] std::vector<std::byte> encode(const Checkpoint& checkpoint);
/// Throws InputError naming `source`; every genome is checked against its hash.
[[nodiscard]] Checkpoint decode_checkpoint(std::span<const std::byte> bytes,
                                           std::string_view source);

/// Throws ConfigError naming the first identity key that differs, with both values.
void check_identity(const std::string& checkpoint_json, const std::string& experiment_json,
                    std::string_view source);

}  // namespace cambrian::distributed
