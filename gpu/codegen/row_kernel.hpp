#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::gpu {

/// How the body of a scan (or a graph run once) falls apart into rows: in every value either axis 0
/// is the row axis, or all rows share the value; no op mixes rows. Then one invocation can walk one
/// row of one individual through all steps.
struct RowAnalysis {
    std::int64_t rows = 1;       ///< Extent of the row axis; 1: no value has one.
    std::vector<bool> has_rows;  ///< Of every value of the body.
    std::int64_t row_words = 0;  ///< Words one invocation holds for its row.
};

/// The analysis, or nothing when rows meet, an op has no row form, or a row would hold more than
/// `most_words`. `row_inputs` says which inputs have the row axis for sure (carries, sequences and
/// results of a scan); others have it where that makes the body fall apart.
[[nodiscard]] std::optional<RowAnalysis> analyse_rows(const Graph& body, std::int64_t most_words);

}  // namespace cambrian::gpu
