#include "cambrian/tests/support/model_support.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace cambrian::test {

std::filesystem::path golden_model(const std::string& name) {
    return std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "tests/golden/models" / name;
}

ExpectedOutputs expected_outputs(const std::filesystem::path& folder) {
    std::ifstream file(folder / "expected.json");
    const nlohmann::json json = nlohmann::json::parse(file);
    ExpectedOutputs expected;
    expected.rows = static_cast<std::int64_t>(json["inputs"].size());
    for (const auto& row : json["inputs"])
        for (const auto& value : row) expected.inputs.push_back(value.get<float>());
    for (const auto& row : json["outputs"])
        for (const auto& value : row) expected.outputs.push_back(value.get<double>());
    return expected;
}

void write_tensors(const std::filesystem::path& path, const std::map<std::string, Shape>& shapes) {
    Safetensors content;
    double next = 1.0;
    for (const auto& [name, shape] : shapes) {
        Tensor tensor(ValueType::real, shape);
        for (double& element : tensor.elements) element = 0.001 * next++;
        content.tensors.emplace(name, StoredTensor::of(tensor));
    }
    write_safetensors(path, content);
}

}  // namespace cambrian::test
