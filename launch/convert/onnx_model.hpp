#pragma once

#include <optional>
#include <string>

#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// Networks as models of ONNX.
namespace cambrian::launch {

/// A .onnx file, and what is to be said of it: lines.
struct OnnxModel {
    std::string bytes;
    std::string lines;
};

/// The model of a network: rows [batch, inputs] in, answers out as `cambrian infer` gives them. A
/// network with a memory is one step of it: `state.NAME` in, `next.NAME` out, unless its task shows
/// every row for some steps, which are inside then.
/// @param preparation none: rows and outputs as they are (--raw).
/// @param source names the file in messages.
/// Throws ConfigError for a layer that ONNX cannot say, naming it, InputError for a network beyond
/// the size of a file.
[[nodiscard]] OnnxModel onnx_model(const std::string& source, const distributed::NetworkFile& file,
                                   const std::optional<evolve::Preparation>& preparation);

}  // namespace cambrian::launch
