#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"

namespace cambrian::test {

/// Takes the tensors of a case one by one, as inputs of a graph or as what it must give.
class GoldenReader {
  public:
    explicit GoldenReader(Safetensors file) : file_(std::move(file)) {}

    [[nodiscard]] Graph& graph() { return case_.graph; }
    [[nodiscard]] bool has(const std::string& name) const { return file_.tensors.contains(name); }
    [[nodiscard]] Tensor tensor(const std::string& name);
    [[nodiscard]] Var input(const std::string& name);
    /// Compares a value, in row-major order, with a tensor of the file.
    void output(Var value, const std::string& name);
    /// Compares the gradients of the sum of `value` times `upstream`, or of a scalar value, with
    /// the tensors "grad.<name>".
    void gradients(Var value, const std::vector<std::pair<std::string, Var>>& inputs);

    /// Throws when a tensor of the file was not read.
    [[nodiscard]] GoldenCase finish(const std::string& name, double tolerance);

  private:
    Safetensors file_;
    GoldenCase case_;
    std::set<std::string> read_;
};

/// One kind of case.
struct GoldenKind {
    std::string_view name;
    void (*build)(GoldenReader& reader, const nlohmann::json& entry) = nullptr;
};
/// Throws for an unknown name.
[[nodiscard]] const GoldenKind& golden_kind(std::string_view name);

/// Throws when an object has other keys than these.
void only_keys(const nlohmann::json& object, std::initializer_list<std::string_view> keys);

}  // namespace cambrian::test
