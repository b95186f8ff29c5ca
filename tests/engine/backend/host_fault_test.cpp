#include <gtest/gtest.h>

#include <new>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/support/refused_allocations.hpp"

namespace cambrian {
namespace {

/// A training step with a scan in it: rows walk through tanh(state + row), and w is updated.
Graph graph_with_everything() {
    Graph body;
    const Var state = body.input("state", ValueType::real, {4});
    const Var row = body.input("row", ValueType::real, {4});
    body.output(tanh(state + row));
    Graph graph;
    const Var w = graph.input("w", ValueType::real, {4, 3}, true);
    const Var rows = graph.input("rows", ValueType::real, {3, 4});
    const Var start = slice(reshape(w, {12}), 0, 0, 4);
    const ScanResult walked =
        scan(std::move(body), std::array{start}, std::array{rows}, {}, {.length = 3});
    const Var y = matmul(reshape(walked.carries[0], {1, 4}), w);
    graph.output(softmax(y));
    graph.update(w, w * 0.5 + sum_all(y));
    return graph;
}

/// Compiles and runs on buffers of its own; the results go to `values`.
void use(Backend& backend, const Graph& graph, std::span<float> values) {
    const auto program = backend.compile(graph);
    const auto w = backend.allocate(ValueType::real, 12 * 300);
    const auto rows = backend.allocate(ValueType::real, 12);
    const auto out = backend.allocate(ValueType::real, 3 * 300);
    static constexpr std::array<float, 12> numbers{1, 2, 3, -1, -2, -3, 0.5, 0, 1, 1, -1, 2};
    backend.upload(*rows, 0, std::span<const float>(numbers));
    for (std::int64_t i = 0; i < 300; ++i)
        backend.upload(*w, 12 * i, std::span<const float>(numbers));
    const std::array in{Binding{w.get()}, Binding{rows.get()}};
    const std::array outputs{Binding{out.get()}, Binding{w.get()}};
    program->run(300, in, outputs);
    backend.download(*out, 0, values.first(900));
    backend.download(*w, 0, values.subspan(900));
}

TEST(HostFaults, NoAllocationOfTheHostThatFailsHurts) {
    const Graph graph = graph_with_everything();
    std::vector<float> expected(900 + 3600);
    std::vector<float> values(expected.size());
    use(*make_cpu_backend({.threads = 2, .math = Math::strict}), graph, expected);
    for (const long count : {1L, 1000000L}) {
        long errors = 0;
        for (long at = 0;; ++at) {
            const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict});
            std::ranges::fill(values, 0.0F);
            bool failed = false;
            bool fired = false;
            long left_over = 0;
            {
                const test::RefusedAllocations refused(at, count);
                try {
                    use(*backend, graph, values);
                } catch (const OutOfMemoryError&) {
                    failed = true;
                } catch (const std::bad_alloc&) {  // Not even the error could be made.
                    failed = true;
                }
                fired = refused.any();
                left_over = refused.left_over();
            }
            ASSERT_TRUE(failed || values == expected) << "allocation " << at;
            ASSERT_FALSE(failed && count == 1) << "allocation " << at << ": one is overcome";
            ASSERT_EQ(left_over, 0) << "allocation " << at << " has left something behind";
            ASSERT_EQ(backend->memory().programs, 0) << at;
            ASSERT_EQ(backend->memory().buffers, 0) << at;
            if (at % 16 == 0) {
                use(*backend, graph, values);
                ASSERT_EQ(values, expected) << "after allocation " << at;
            }
            errors += failed ? 1 : 0;
            if (!fired) break;
        }
        EXPECT_EQ(errors > 100, count > 1);
    }
}

}  // namespace
}  // namespace cambrian
