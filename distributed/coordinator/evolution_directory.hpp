#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"

namespace cambrian::distributed {

/// The directory of an evolution, with its checkpoints.
class EvolutionDirectory : public RunDirectory {
  public:
    /// @param keep checkpoints that are kept, at least one. Throws as RunDirectory does.
    EvolutionDirectory(std::filesystem::path path, std::uint64_t keep);

    /// Makes the folder of the ranks' logs. Throws OutputError where the system refuses.
    void make_logs() const;

    /// Tries the checkpoints, newest first, each with the generations that were committed after it,
    /// until `accept` throws no InputError; says of each that was refused through `warn`, and puts
    /// it aside. Nothing when there is no checkpoint at all; throws InputError when there are some
    /// but none is sound, and when the lines that one counts were changed or cannot be read.
    using Accept =
        std::function<void(Checkpoint&& checkpoint, std::span<const JournalEntry> committed)>;
    [[nodiscard]] bool load_newest(const Accept& accept,
                                   const std::function<void(const std::string&)>& warn);
    /// What load_newest() has read of the logs.
    [[nodiscard]] GenerationLog::Prefixes take_logs_read() { return std::exchange(logs_read_, {}); }
    /// The newest checkpoint becomes checkpoint-<generation>.cmb; the oldest beyond `keep` go.
    void save(const Checkpoint& checkpoint);

  private:
    [[nodiscard]] std::vector<JournalEntry> committed_after(const Checkpoint& checkpoint);

    std::uint64_t keep_;
    std::optional<std::uint64_t> newest_;  ///< Generation of checkpoint.cmb.
    GenerationLog::Prefixes logs_read_;
};

}  // namespace cambrian::distributed
