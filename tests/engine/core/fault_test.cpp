#include <gtest/gtest.h>

#include "cambrian/tests/engine/train/training_support.hpp"
#include "cambrian/tests/support/fault_support.hpp"

namespace cambrian {
namespace {

std::vector<float> train(Backend& backend) {
    test::Training training(backend, 300, Adam{});
    for (int step = 0; step < 3; ++step) {
        training.step();
        training.infer();
    }
    std::vector<float> results = training.answer();
    const std::vector<float> loss = training.loss();
    results.insert(results.end(), loss.begin(), loss.end());
    return results;
}

/// Upload, a scan over the rows of many individuals, download.
std::vector<float> walk(Backend& backend) {
    Graph body;
    const Var state = body.input("state", ValueType::real, {16});
    const Var row = body.input("row", ValueType::real, {16});
    const Var next = tanh(state + row * 0.5);
    body.output(next);
    body.output(sum_all(next));
    Graph graph;
    const Var start = graph.constant(Tensor(ValueType::real, {16}));
    const Var rows = graph.input("rows", ValueType::real, {4, 16}, true);
    const ScanResult result =
        scan(std::move(body), std::array{start}, std::array{rows}, {}, {.length = 4});
    graph.output(result.carries[0]);
    graph.output(result.stacked[0]);
    constexpr std::int64_t population = 40;
    Tensor input(ValueType::real, {population, 4, 16});
    for (std::size_t i = 0; i < input.elements.size(); ++i)
        input.elements[i] = 0.01 * static_cast<double>(i % 37);
    std::vector<float> values;
    for (const Tensor& tensor : evaluate(backend, graph, population, std::array{input}))
        values.insert(values.end(), tensor.elements.begin(), tensor.elements.end());
    return values;
}

TEST(CpuFaults, NoAllocationThatFailsHurts) {
    for (const int threads : {1, 3}) {
        test::CpuRefusal refusal;
        const auto make = [&] { return refusal.backend(threads); };
        EXPECT_GT(test::expect_no_fault_hurts(make, refusal.faults(), train, "training"), 10);
        EXPECT_GT(test::expect_no_fault_hurts(make, refusal.faults(), walk, "a scan"), 3);
    }
}

}  // namespace
}  // namespace cambrian
