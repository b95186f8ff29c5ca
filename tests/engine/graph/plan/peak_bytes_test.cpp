#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A loop whose stacked results are captured as outputs, beside what follows from them.
Graph captured_loop() {
    Graph body;
    const Var a = body.input("a", ValueType::real, {40});
    const Var row = body.input("row", ValueType::real, {40});
    const Var w = body.input("w", ValueType::real, {40, 40});
    const Var moved = reshape(matmul(reshape(tanh(a + row), {1, 40}), w), {40});
    body.output(moved);
    body.output(exp(moved));
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {40}, true);
    const Var rows = graph.input("rows", ValueType::real, {9, 40});
    const Var weights = graph.input("weights", ValueType::real, {40, 40});
    const ScanResult result = scan(std::move(body), std::array{start}, std::array{rows},
                                   std::array{weights * 2.0}, {.length = 9});
    graph.output(result.stacked[0]);
    graph.output(sum_all(exp(result.stacked[0]) * result.stacked[0]));
    return graph;
}

/// A program with everything it is bound to.
struct Bound {
    Bound(Backend& backend, const Graph& graph, std::int64_t population)
        : program(backend.compile(graph)) {
        const auto bind = [&](ValueId id) {
            const ValueInfo& info = graph.value(id);
            buffers.push_back(backend.allocate(
                info.type, info.shape.elements() * (info.per_individual ? population : 1)));
            return Binding{buffers.back().get(), 0};
        };
        for (const ValueId id : graph.inputs()) inputs.push_back(bind(id));
        for (const ValueId id : graph.outputs()) outputs.push_back(bind(id));
    }
    std::unique_ptr<Program> program;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> inputs;
    std::vector<Binding> outputs;
};

TEST(PeakBytes, AreWhatARunWithScansAndCapturesTakes) {
    for (const int threads : {1, 3}) {
        for (const std::int64_t population : {1, 7, 900}) {
            const auto cpu = make_cpu_backend({.threads = threads});
            Bound bound(*cpu, captured_loop(), population);
            const std::int64_t before = cpu->memory().used;
            bound.program->run(population, bound.inputs, bound.outputs);
            EXPECT_EQ(cpu->memory().used - before, bound.program->peak_bytes(population))
                << threads << " threads, population " << population;
        }
    }
}

TEST(PeakBytes, ARunAboveTheLimitFailsBeforeItAllocates) {
    const auto measured = make_cpu_backend({});
    Bound sample(*measured, captured_loop(), 50);
    const std::int64_t peak = sample.program->peak_bytes(50);
    const std::int64_t held = measured->memory().used;

    const auto tight = make_cpu_backend({.memory_limit = held + peak - 64});
    Bound bound(*tight, captured_loop(), 50);
    const std::int64_t before = tight->memory().used;
    ASSERT_EQ(bound.program->peak_bytes(50), peak);
    EXPECT_THAT(
        [&] { bound.program->run(50, bound.inputs, bound.outputs); },
        ThrowsMessage<OutOfMemoryError>(AllOf(HasSubstr(std::to_string(peak) + " bytes"),
                                              HasSubstr(std::to_string(tight->memory().limit)),
                                              HasSubstr("evaluate fewer"))));
    EXPECT_EQ(tight->memory().used, before) << "nothing was taken";

    const auto enough = make_cpu_backend({.memory_limit = held + peak});
    Bound fits(*enough, captured_loop(), 50);
    EXPECT_NO_THROW(fits.program->run(50, fits.inputs, fits.outputs));
}

}  // namespace
}  // namespace cambrian
