#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cambrian/engine/io/safetensors.hpp"

// Models of others that tests write and read.
namespace cambrian::test {

/// The folder of a model that tests/golden/models/make_models.py has written.
[[nodiscard]] std::filesystem::path golden_model(const std::string& name);

/// What such a model gives, in f64.
struct ExpectedOutputs {
    std::vector<float> inputs;    ///< [rows, width]
    std::vector<double> outputs;  ///< [rows, outputs]
    std::int64_t rows = 0;
};
[[nodiscard]] ExpectedOutputs expected_outputs(const std::filesystem::path& folder);

/// Writes tensors of F32 with numbers that tell them apart.
void write_tensors(const std::filesystem::path& path, const std::map<std::string, Shape>& shapes);

}  // namespace cambrian::test
