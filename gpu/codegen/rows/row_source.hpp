#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/graph.hpp"

// Scans of rows that never meet, as one kernel: an invocation walks one row of one individual
// through all steps with its values in registers.
namespace cambrian::gpu {

/// How the body of a scan falls apart into rows: in every value either axis 0 is the row axis, or
/// all rows share the value; no op mixes rows. With one row the whole individual is the row, and
/// any op that has a text will do.
struct RowAnalysis {
    std::int64_t rows = 1;        ///< Extent of the row axis; 1: no value has one.
    std::vector<bool> has_rows;   ///< Of every value of the body.
    std::int64_t row_words = 0;   ///< Words of all values of one row.
    std::int64_t operations = 0;  ///< About that many scalar operations for one row and step.
    /// At most that many of them or turns of loops, whatever a network that is data may be: what
    /// dispatches are cut by.
    std::int64_t max_operations = 0;
    std::string obstacle;  ///< Why there can be no row kernel; empty when there can.
};

/// Bodies above these go step by step: their texts would compile for too long, or one invocation
/// would be too slow for a whole individual.
struct RowLimits {
    std::int64_t words = 1024;
    std::int64_t nodes = 1500;
    std::int64_t operations = 1 << 15;
};

/// Contract: the body has no matmul_epilogue and no fusion group (lower_row_body).
[[nodiscard]] RowAnalysis analyse_rows(const ScanAttribute& scan, const RowLimits& limits);

/// The scan with every fused op that has no row form replaced by its lowering.
[[nodiscard]] ScanAttribute lower_row_body(const ScanAttribute& scan);

/// Lanes of a workgroup: few, so that small populations spread over the whole device. Workgroups
/// that keep shared memory have up to `max_row_group_width`: a device sets some aside for each of
/// them.
inline constexpr std::uint32_t row_group_width = 32;
inline constexpr std::uint32_t max_row_group_width = 128;
/// Lanes that may walk one row of a large network together.
inline constexpr std::uint32_t max_row_team = 4;

struct RowTextOptions {
    Math math = Math::fast;
    std::int64_t max_expanded = 2048;  ///< Operations of a node above which it becomes a loop.
    std::int64_t max_cached = 192;     ///< Invariant words kept in registers through all steps.
    /// Words of an invariant that are worth to be laid out word by word, all individuals side by
    /// side, before they are read in every step; 0: none are.
    std::int64_t max_interleaved = 8192;
    bool teams = false;  ///< Whether several lanes may walk one row: neighbours are one subgroup.
    /// A software device, which compiles for minutes what is written out hundreds of times, and
    /// ends loops early (max_turns): networks of neurons of any kind report that.
    bool software = false;
    std::int64_t shared_words = 8192;  ///< Of a workgroup, at most.
};

/// Networks that are data, laid out anew before the steps: of `individuals` networks side by side
/// one four of words after another by turns, so that rows beside each other, which read the same
/// place of different networks, read one line of memory. Bytecodes first, then weights.
struct RowSpread {
    static constexpr std::int64_t individuals = 8;
    static constexpr std::int64_t max_words = 2048;  ///< Of networks that are worth it.
    /// What a step of a row takes besides the network, in fours of weights.
    static constexpr std::uint32_t fixed_price = 25;
    std::size_t bytecode = 0;  ///< Operand of the scan.
    std::size_t weights = 0;
    std::int64_t bytecode_words = 0;  ///< Of one individual.
    std::int64_t weight_words = 0;
};

/// Entries of the memory table of a row kernel, RowEntry::words each: three for every carry (the
/// operand, and two places that dispatches of a cut scan alternate between), then one for every
/// sequence, invariant and stacked result, then the status words, then six of a RowSpread
/// (bytecodes and weights of its whole groups of individuals, and of those left over, the price of
/// every network, and the sum of all), then the constants that the text reads from memory.
struct RowText {
    std::string text;
    std::vector<std::shared_ptr<const Tensor>> constants;
    bool reports = false;                   ///< Whether it writes to the status words.
    std::uint32_t width = row_group_width;  ///< Lanes of a workgroup.
    /// Operands whose entry is a copy: word w of individual i at w times the population plus i.
    std::vector<std::size_t> interleaved;
    std::optional<RowSpread> spread;
    /// Whether several lanes may walk a row, up to as many as constant 1 says: 1, or for each
    /// network times rows as many workgroups as lanes of a workgroup share them.
    bool teams = false;
};

/// One entry: slot, words between individuals, then low and high words of two numbers: words from
/// the slot's address, and words more for every individual of the run.
struct RowEntry {
    static constexpr std::size_t words = 6;
    static constexpr std::size_t carry_places = 3;
    static constexpr std::size_t spread_after_status = 1;
    static constexpr std::size_t prices_after_spread = 4;
    static constexpr std::size_t constants_after_status = 7;
};

/// Slots of a row kernel: address 0 of the push block is the memory table; slots below `direct` are
/// the addresses after it, the others are listed at the last address.
struct RowSlots {
    static constexpr std::size_t direct = 6;
};

/// Words of the push block of a row kernel.
struct RowPush {
    static constexpr std::size_t population = 0;
    static constexpr std::size_t lanes = 1;  ///< Population times rows.
    static constexpr std::size_t first_step = 2;
    static constexpr std::size_t steps = 3;       ///< Of this dispatch.
    static constexpr std::size_t read_place = 4;  ///< Of carries: 0, 1 or 2.
    static constexpr std::size_t write_place = 5;
    static constexpr std::size_t length = 6;  ///< Of the whole scan.
    static constexpr std::size_t rows = 7;    ///< Of an individual.
    /// Where the text has teams: times the price of a network about as long as a row of it takes
    /// alone, where all together take the sum of prices; 0: as many lanes as can be walk every row.
    static constexpr std::size_t team_weight = 8;
};

/// The GLSL text of a scan. Contract: the analysis found no obstacle.
[[nodiscard]] RowText write_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                                       const RowTextOptions& options);

}  // namespace cambrian::gpu
