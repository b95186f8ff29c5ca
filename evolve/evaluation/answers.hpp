#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/analysis/answers.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"

namespace cambrian::evolve {

/// What should be answered to the rows that count.
[[nodiscard]] Truth truth_of(const LabelledRows& rows);

/// What networks of a task answer to them, all networks in as few programs as their structures
/// allow. Throws OutOfMemoryError where there is no memory for one of them.
[[nodiscard]] std::vector<Answers> answers_of(Backend& backend, Family family,
                                              const LabelledRows& rows,
                                              std::span<const Genome* const> genomes);

/// Probabilities and the class of each row, from scores [rows, width] that networks give: of all
/// classes, or one of the second of two. Where there is one class, it is always the answer.
[[nodiscard]] Answers class_answers(std::span<const float> scores, std::size_t width,
                                    std::size_t classes);

}  // namespace cambrian::evolve
