#pragma once

#include <cstdint>
#include <string_view>

#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/source.hpp"

// What the programs of a training read and add up. Internal to engine/train.
namespace cambrian::training_graphs {

/// An input that every individual has for itself.
[[nodiscard]] Var own(Graph& graph, std::string_view name, ValueType type, const Shape& shape);
[[nodiscard]] Var own_number(Graph& graph, std::string_view name);

struct Batch {
    Var inputs;
    Var targets;
};
/// The rows of a part at these positions.
[[nodiscard]] Batch rows_of(Graph& graph, const Samples& samples, std::string_view part,
                            Var indices);
/// `rows` positions from the shared counter on, which moves after them.
[[nodiscard]] Var next_positions(Graph& graph, std::int64_t rows);

/// Adds a value to the buffer of that name, and what its rounding in f32 loses to that of lost_of:
/// long epochs add small numbers to large sums.
void add_to(Graph& graph, std::string_view name, Var value);
/// Adds loss, count and right answers to "{sums}.loss", "{sums}.count" and "{sums}.right".
void add_terms(Graph& graph, std::string_view sums, const Loss& loss, const LossTerms& terms);

}  // namespace cambrian::training_graphs
