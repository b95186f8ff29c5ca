#pragma once

#include <string>

#include "cambrian/engine/onnx/builder.hpp"
#include "cambrian/evolve/genome/preparation.hpp"

// What lies between rows of data and a network, as nodes of ONNX.
namespace cambrian::launch {

/// Rows as a model reads them.
struct OnnxRows {
    std::string given;     ///< As they were given, in the units of the data, [batch, inputs].
    std::string prepared;  ///< As the network sees them, float32.
};

/// Declares the input `rows` and prepares it, in double precision as `infer` does; without a
/// preparation rows are float32 as the network sees them.
[[nodiscard]] OnnxRows add_rows(onnx::Builder& builder, std::int64_t inputs,
                                const evolve::Preparation* preparation);
/// Declares what a model answers, of outputs [batch, outputs]: `answers` in the units of the data,
/// or `class` and `probabilities`; without a preparation `outputs`.
void add_answers(onnx::Builder& builder, const OnnxRows& rows, const std::string& outputs,
                 std::int64_t count, const evolve::Preparation* preparation);

}  // namespace cambrian::launch
