#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/evaluation/activation_similarity.hpp"
#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/evolve/genome/assignment.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/golden_directory.hpp"
#include "cambrian/tests/support/network_run.hpp"

// Similarities and orders of units against known ones in merging/ below the golden directory. The
// suite's name is what ctest -R golden looks for.
namespace cambrian::evolve::golden_merging_test {
namespace {

using nlohmann::json;

class golden_merging : public ::testing::Test {
  protected:
    void SetUp() override {
        if (test::golden_set_lacks("merging")) GTEST_SKIP() << "the golden set has no merging/";
    }
};

Safetensors known(const std::string& name) {
    return read_safetensors(test::golden_directory() / "merging" / (name + ".safetensors"));
}

/// The cases of a method, of which there are some.
std::vector<json> cases_of(const std::string& method) {
    const json index =
        json::parse(std::ifstream(test::golden_directory() / "merging" / "index.json"));
    std::vector<json> cases;
    for (const json& row : index.at("cases"))
        if (row.at("params").at("method") == method) cases.push_back(row);
    EXPECT_FALSE(cases.empty()) << method;
    return cases;
}

/// A network that gives row i of a table for row i of two identities side by side: a number is a
/// weight for the first, and what a float leaves of it one for the second.
Genome giving(const Tensor& table) {
    const auto rows = static_cast<std::size_t>(table.shape[0]);
    const auto features = static_cast<std::size_t>(table.shape[1]);
    Genome genome = testing::founder(test::blueprint_of(R"({"layers": [{"type": "dense"}]})",
                                                        2 * table.shape[0], table.shape[1]));
    genome.weights.assign((2 * rows + 1) * features, 0.0F);  // The bias is last.
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < features; ++k) {
            const double value = table.elements[i * features + k];
            float& weight = genome.weights[k * 2 * rows + i];
            weight = static_cast<float>(value);
            genome.weights[(k * 2 + 1) * rows + i] = static_cast<float>(value - double{weight});
        }
    return genome;
}

Probe identities(std::int64_t rows) {
    Probe probe{.steps = 1, .batch = rows, .rows = {}};
    const auto size = static_cast<std::size_t>(rows);
    probe.rows.resize(2 * size * size);
    for (std::size_t i = 0; i < size; ++i)
        probe.rows[i * 2 * size + i] = probe.rows[(i * 2 + 1) * size + i] = 1.0F;
    return probe;
}

TEST_F(golden_merging, SimilarityOfActivations) {
    const auto backend = make_reference_backend(Precision::f64);
    for (const json& row : cases_of("cka")) {
        const std::string name = row.at("name");
        const Safetensors file = known(name);
        const Probe probe = identities(file.at("x").shape[0]);
        const auto profile = [&](const char* table) {
            return activation_profile(*backend, giving(file.at(table).tensor()), probe);
        };
        EXPECT_NEAR(linear_cka(profile("x").places.back(), profile("y").places.back()),
                    file.at("expected.linear").tensor().elements.at(0),
                    row.at("tolerance").get<double>())
            << name;
    }
}

/// The network of a file whose tensors are named so, of dense layers with tanh between them.
Genome network_of(const Safetensors& file, const std::string& prefix,
                  const std::vector<std::int64_t>& sizes) {
    std::string layers;
    std::vector<float> weights;
    for (std::size_t layer = 0; layer + 1 < sizes.size(); ++layer) {
        layers += layer + 2 == sizes.size() ? R"({"type": "dense"})"
                                            : R"({"type": "dense", "activation": "tanh", "out": )" +
                                                  std::to_string(sizes[layer + 1]) + "}, ";
        for (const char* part : {".weight", ".bias"})
            for (const double value :
                 file.at(prefix + std::to_string(layer) + part).tensor().elements)
                weights.push_back(static_cast<float>(value));
    }
    Genome genome = testing::founder(
        test::blueprint_of(R"({"layers": [)" + layers + "]}", sizes.front(), sizes.back()));
    EXPECT_EQ(weights.size(), genome.weights.size());
    genome.weights = std::move(weights);
    return genome;
}

TEST_F(golden_merging, OrderOfUnitsByWeights) {
    for (const json& row : cases_of("weight_matching")) {
        if (!row.at("params").contains("noise")) continue;  // What is unrelated has no one answer.
        const std::string name = row.at("name");
        SCOPED_TRACE(name);
        const Safetensors file = known(name);
        const auto sizes = row.at("params").at("sizes").get<std::vector<std::int64_t>>();
        const Genome found = aligned(network_of(file, "a.", sizes), network_of(file, "b.", sizes));
        EXPECT_EQ(found.weights, network_of(file, "b_permuted.", sizes).weights);
        const Tensor outputs =
            test::run(Network(found.blueprint), found.weights, file.at("input").tensor());
        EXPECT_LE(test::difference(outputs, file.at("output.b").tensor()), 1e-12);
    }
}

void expect_assignment(const Safetensors& file, const std::string& gains,
                       const std::string& order) {
    const StoredTensor& square = file.at(gains);
    const auto found =
        best_assignment(square.tensor().elements, static_cast<std::size_t>(square.shape[0]));
    const Tensor wanted = file.at(order).tensor();
    EXPECT_EQ(std::vector<double>(found.begin(), found.end()), wanted.elements) << gains;
}

TEST_F(golden_merging, AssignmentOfUnits) {
    const Safetensors activations = known("activation_matching");
    expect_assignment(activations, "correlation.0", "expected.permutation.0");
    expect_assignment(activations, "correlation.1", "expected.permutation.1");
    expect_assignment(known("weight_matching_unrelated_1_hidden"), "similarity",
                      "expected.permutation.0");
}

}  // namespace
}  // namespace cambrian::evolve::golden_merging_test
