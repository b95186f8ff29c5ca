#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// A committed generation: with the checkpoint before it, all that a run needs to go on after it.
struct JournalEntry {
    std::uint64_t generation = 0;
    Hash128 digest;  ///< Of the newest open round, whose strategy decided.
    evolve::Decision decision;
    GenerationReport report;
    std::optional<Champion> champion;  ///< Without its genome.
    double elapsed_seconds = 0.0;
    GenerationLog::Lengths logs{};
    GenerationLog::Checksums checksums{};
};

/// The generations after a checkpoint, in a file of their own: journal-<generation>.cmb. Entries
/// are packed containers with checksums; one that a crash cut short is not there.
class Journal {
  public:
    /// Begins the journal after a checkpoint of a generation.
    Journal(const std::filesystem::path& directory, std::uint64_t generation);
    /// Goes on after so many entries that read() gave; what is there beyond them is dropped.
    [[nodiscard]] static Journal go_on(const std::filesystem::path& directory,
                                       std::uint64_t generation, std::size_t entries);
    /// Hands an entry to the system. Returns its bytes.
    std::uint64_t append(const JournalEntry& entry);

    /// All sound entries from a generation on, one after another, also of later journals.
    [[nodiscard]] static std::vector<JournalEntry> read(const std::filesystem::path& directory,
                                                        std::uint64_t generation);
    /// Removes journals that begin before a generation.
    static void remove_before(const std::filesystem::path& directory, std::uint64_t generation);

  private:
    explicit Journal(std::unique_ptr<AppendFile> file) : file_(std::move(file)) {}

    std::unique_ptr<AppendFile> file_;
};

}  // namespace cambrian::distributed
