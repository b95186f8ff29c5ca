#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/container_sequence.hpp"
#include "cambrian/evolve/variation/birth.hpp"

// Individuals of a run: blocks of columns, each a container with checksums, in one file.
namespace cambrian::distributed {

inline constexpr const char* individuals_name = "individuals.cmb";
/// The log in a run directory. Throws InputError where there is none.
[[nodiscard]] std::filesystem::path individual_log_in(const std::filesystem::path& directory);
/// 2 has a column of species; runs without species write 1.
inline constexpr std::uint32_t individuals_format = 2;
/// In a block; a larger generation has several.
inline constexpr std::size_t max_block_individuals = std::size_t{1} << 16U;

/// What is written of an individual.
struct LoggedIndividual {
    evolve::BirthId id = 0;
    evolve::Recipe recipe = evolve::Recipe::sample;
    std::array<evolve::BirthId, evolve::Parents::max_count> parents{};
    std::uint8_t parent_count = 0;
    evolve::Status status = evolve::Status::ok;
    double fitness = 0.0;
    /// What is carried over is not evaluated again, and has none of the three that follow.
    bool evaluated = false;
    std::uint64_t env_steps = 0;
    std::uint64_t parameters = 0;
    std::uint32_t retries = 0;   ///< Structural draws without a valid outcome.
    evolve::BirthId origin = 0;  ///< The birth that made its genome.
    std::uint32_t island = 0;
    std::uint64_t species = 0;  ///< 0: none.
    bool operator==(const LoggedIndividual&) const = default;
};

/// Individuals of one generation.
struct IndividualBlock {
    std::uint64_t generation = 0;
    bool islands = false;                       ///< Whether the run has several.
    std::vector<LoggedIndividual> individuals;  ///< By rising id; none in the head of a file.
    bool species = false;                       ///< Whether the run has species.
    bool operator==(const IndividualBlock&) const = default;
};

/// One container. A block has at most max_block_individuals.
[[nodiscard]] std::vector<std::byte> encode(const IndividualBlock& block);
/// Throws InputError naming `source`.
[[nodiscard]] IndividualBlock decode_individuals(std::span<const std::byte> bytes,
                                                 std::string_view source);

/// Reads such a file: a head, a block without individuals, and one block at a time.
class IndividualReader {
  public:
    /// The file as long as it is now. Throws InputError where it is no regular file, or none of
    /// individuals.
    explicit IndividualReader(std::filesystem::path path);

    /// Whether the run has several islands, as the head says.
    [[nodiscard]] bool islands() const { return head_ && head_->islands; }
    /// Whether it has species.
    [[nodiscard]] bool species() const { return head_ && head_->species; }
    /// The next block, or nothing after the last whole one. Throws InputError where the file is
    /// damaged.
    [[nodiscard]] std::optional<IndividualBlock> next();
    /// Whether the file ends within a block: its run was killed, or is writing it.
    [[nodiscard]] bool cut_short() const { return sequence_.cut_short(); }

  private:
    [[nodiscard]] std::optional<IndividualBlock> read();

    std::filesystem::path path_;
    ContainerSequence sequence_;
    std::optional<IndividualBlock> head_;  ///< Nothing where the file ends before.
    std::uint64_t next_generation_ = 0;    ///< No block is of an earlier one,
    evolve::BirthId next_id_ = 0;          ///< nor has an earlier individual.
};

}  // namespace cambrian::distributed
