#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/distributed/generation/shard_scores.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/runs/event_log.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::distributed {

/// Seconds of one rank in one generation.
struct RankSeconds {
    int rank = 0;
    ShardCost cost;
};

/// The individuals of a generation, by position.
struct GenerationColumns {
    SharedRound round;
    SharedRound next;  ///< The newest after it is told: its parents are who survives.
    evolve::Scores scores;
    BirthDetails details;
    std::vector<std::uint32_t> evaluators;  ///< Rank, or nobody.
    /// Of the champion, which may have been born here without becoming a parent.
    std::optional<evolve::BirthId> champion;
};

/// What a log holds besides the line of each generation.
struct LoggedParts {
    LoggedIndividuals individuals = LoggedIndividuals::all;
    bool islands = false;     ///< Whether there are several.
    bool species = false;     ///< Whether the strategy has species.
    bool complexity = false;  ///< Whether it is regulated.
    bool bytes = false;       ///< Whether number formats are in use.
    bool task = false;        ///< Whether the task changes.
    bool products = false;    ///< Whether multiplications have a price.
    bool events = false;      ///< Whether TensorBoard is told of the lines.
};
/// Whether networks of a run may have weights in number formats, or bytes of them count.
[[nodiscard]] bool uses_formats(const Experiment& experiment);
[[nodiscard]] LoggedParts logged_parts(const Experiment& experiment);

/// generations.csv, individuals.cmb, islands.csv, species.csv and timings.csv of a run directory,
/// and generations.csv as events of TensorBoard, see EventLog. All but the last two depend on the
/// identity of the run and on LoggedParts only: numbers of tables are in their shortest form that
/// reads back the same. The last line of generations.csv is not final: the end of a run may add a
/// validation to it, which a run that goes on from there must take back.
class GenerationLog {
  public:
    static constexpr std::size_t files = 5;
    using Lengths = std::array<std::uint64_t, files>;
    static constexpr std::size_t individuals_at = 1;  ///< Place of their file among the lengths.
    /// Of the files of results, which must be there whole: all but the timings.
    static constexpr std::size_t result_files = 4;
    using Checksums = std::array<Hash128, result_files>;
    using Prefixes = std::array<FilePrefix, result_files>;

    /// Continues files of these lengths (what is longer is cut) with the line of the `last`
    /// generation; zero lengths begin new ones. Timings may have been lost. Without
    /// individuals their file gets no more blocks; where there is none, it stays so.
    /// @param known what changed() has read of them.
    GenerationLog(const std::filesystem::path& directory, const Lengths& lengths,
                  const std::optional<GenerationReport>& last, LoggedParts parts = {},
                  Prefixes known = {});

    /// Appends one generation and hands it to the system.
    void append(const GenerationReport& report, const GenerationColumns& columns,
                std::span<const RankSeconds> seconds);
    /// Writes the line of the last generation again.
    void amend(const GenerationReport& report);
    /// Makes everything appended survive a power cut.
    void sync();
    /// What a checkpoint notes: of generations.csv all but the line of the last generation.
    [[nodiscard]] Lengths lengths() const;
    /// Of as many bytes.
    [[nodiscard]] Checksums checksums() const;
    /// Name of a file of results that does not hold these lengths.
    [[nodiscard]] static std::optional<std::string> shorter(const std::filesystem::path& directory,
                                                            const Lengths& lengths);
    /// Name of a file of results that does not begin with the lines of the checkpoint, see
    /// unchanged().
    /// @param known of looks before this one.
    [[nodiscard]] static std::optional<std::string> changed(const std::filesystem::path& directory,
                                                            const Lengths& lengths,
                                                            const Checksums& checksums,
                                                            Prefixes& known);

  private:
    void append_individuals(const GenerationColumns& columns);
    void append_islands(const GenerationColumns& columns);
    void append_species(const GenerationColumns& columns);

    LoggedParts parts_;
    AppendFile generations_;
    std::optional<AppendFile> individuals_;  ///< None where there are no blocks, nor will be.
    std::optional<AppendFile> islands_;      ///< None where there is one island.
    std::optional<AppendFile> species_;      ///< None where there are no species.
    AppendFile timings_;
    std::optional<EventLog> events_;  ///< None where nobody asks for them.
    std::uint64_t last_line_ = 0;     ///< Where the last generation's line begins.
    Hash128 before_last_line_;        ///< Checksum of what is before it.
};

}  // namespace cambrian::distributed
