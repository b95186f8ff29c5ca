#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/tests/support/golden_directory.hpp"

// Known results of layers, ops, losses and optimizers, as files of numbers.
namespace cambrian::test {

/// A case as a graph: what it computes, and what it must give.
struct GoldenCase {
    std::string name;
    double tolerance = 0.0;
    Graph graph;
    std::vector<Tensor> inputs;
    std::vector<std::string> output_names;
    std::vector<Tensor> expected;
};

/// The names of all cases of the directory's index.
[[nodiscard]] std::vector<std::string> golden_names();
/// Reads and builds a case. Throws for an unknown kind, field or tensor, and for shapes that
/// differ.
[[nodiscard]] GoldenCase golden_case(const std::string& name);

/// Runs every case on a backend and compares each output with what the case holds: within its
/// tolerance times max(1, |expected|).
void expect_golden(Backend& backend);

/// The values, codes and tables of number_formats.safetensors, encoded and decoded by a backend.
void expect_golden_number_formats(Backend& backend);

/// Codes, scales and zero points of the matrices of weight_formats.safetensors, as weights are
/// encoded and decoded on the host, bit for bit.
void expect_golden_weight_formats();
/// Of each format those that it has by itself, or all.
enum class ScaleChoices { own, all };
/// What a backend unpacks of those codes, for formats that are packed.
void expect_golden_unpacked(Backend& backend, ScaleChoices which = ScaleChoices::all);

}  // namespace cambrian::test
