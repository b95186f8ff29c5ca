#include "cambrian/tests/conformance/golden_cases.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/conformance/golden_kinds.hpp"

namespace cambrian::test {

namespace {

nlohmann::json golden_index() {
    const std::filesystem::path path = golden_directory() / "index.json";
    std::ifstream file(path);
    if (!file)
        throw InputError(path.string() +
                         " cannot be read (there is no such file) set "
                         "CAMBRIAN_GOLDEN_DIR to a directory with one");
    return nlohmann::json::parse(file);
}

/// How far an output lies outside the tolerance, as a text; empty where it does not.
std::string outside(const Tensor& actual, const Tensor& expected, double tolerance) {
    if (actual.shape.elements() != expected.shape.elements())
        return actual.shape.text() + " instead of " + expected.shape.text();
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        const double wanted = expected.elements[i];
        const double error = std::abs(actual.elements[i] - wanted);
        if (!(error <= tolerance * std::max(1.0, std::abs(wanted))))
            return "element " + std::to_string(i) + " is " + std::to_string(actual.elements[i]) +
                   " instead of " + std::to_string(wanted);
    }
    return {};
}

}  // namespace

std::vector<std::string> golden_names() {
    std::vector<std::string> names;
    const nlohmann::json index = golden_index();
    for (const auto& entry : index.at("cases")) names.push_back(entry.at("name"));
    return names;
}

GoldenCase golden_case(const std::string& name) {
    const nlohmann::json index = golden_index();
    for (const auto& entry : index.at("cases"))
        if (entry.at("name") == name) {
            GoldenReader reader(read_safetensors(golden_directory() / (name + ".safetensors")));
            golden_kind(entry.at("kind").get<std::string>()).build(reader, entry);
            return reader.finish(name, entry.at("tolerance"));
        }
    throw InputError("no golden case is named " + name +
                     " (it is not in the index) choose another");
}

void expect_golden(Backend& backend) {
    const std::vector<std::string> names = golden_names();
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        try {
            const GoldenCase known = golden_case(name);
            const std::vector<Tensor> outputs = evaluate(backend, known.graph, 1, known.inputs);
            for (std::size_t i = 0; i < outputs.size(); ++i)
                EXPECT_EQ(outside(outputs[i], known.expected[i], known.tolerance), "")
                    << known.output_names[i];
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
    }
}

}  // namespace cambrian::test
