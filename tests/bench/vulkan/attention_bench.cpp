#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"

namespace cambrian {
namespace {

struct AttentionCase {
    std::int64_t batch = 8;
    std::int64_t heads = 16;
    std::int64_t key_heads = 16;
    std::int64_t length = 2048;
    std::int64_t width = 64;
    bool causal = true;
    bool gradient = false;
    bool step = false;  ///< One query a head, as when a text is continued.

    [[nodiscard]] std::string name() const {
        return fmt::format("{}attention {} x {}/{} x {} x {}{}{}", causal ? "causal " : "", batch,
                           heads, key_heads, length, width, gradient ? ", gradient" : "",
                           step ? ", one query a head" : "");
    }
    /// Two products forward; the gradient has five more.
    [[nodiscard]] double flops() const {
        const auto count = static_cast<double>(batch * heads * queries() * length * width);
        if (step) return 4.0 * count;
        return 2.0 * (gradient ? 7.0 : 2.0) * count * (causal ? 0.5 : 1.0);
    }
    [[nodiscard]] std::int64_t queries() const { return step ? 1 : length; }
    [[nodiscard]] Graph graph() const {
        Graph graph;
        const Var q = graph.input("q", ValueType::real, {batch, heads, queries(), width});
        const Var k = graph.input("k", ValueType::real, {batch, key_heads, length, width});
        const Var v = graph.input("v", ValueType::real, {batch, key_heads, length, width});
        const Var output = attention(q, k, v, {.causal = causal}).output;
        if (gradient) {
            const Var upstream = graph.input("upstream", ValueType::real, output.shape());
            for (const Var g : cambrian::gradient(output, upstream, std::array{q, k, v}))
                graph.output(g);
        }
        graph.output(output);
        return graph;
    }
};

}  // namespace

void measure_attention(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only) {
    for (AttentionCase measured :
         {AttentionCase{}, AttentionCase{.causal = false}, AttentionCase{.key_heads = 4},
          AttentionCase{.width = 128}, AttentionCase{.length = 512, .width = 32},
          AttentionCase{.length = 1024, .width = 256}, AttentionCase{.gradient = true},
          AttentionCase{.key_heads = 4, .gradient = true},
          AttentionCase{.width = 128, .gradient = true},
          AttentionCase{.batch = 1, .heads = 8, .key_heads = 8, .length = 1024, .step = true},
          AttentionCase{.batch = 1, .heads = 8, .key_heads = 2, .length = 1024, .step = true},
          AttentionCase{
              .batch = 1, .heads = 32, .key_heads = 8, .length = 8192, .width = 128, .step = true},
          AttentionCase{.batch = 64, .length = 1024, .step = true}}) {
        measured.batch = std::max<std::int64_t>(measured.batch / scale, 1);
        if (scale > 1) measured.length = std::max<std::int64_t>(measured.length / scale, 16);
        if (measured.name().find(only) != std::string::npos)
            measure_kernels({measured.name(), measured.graph(), measured.flops(), "TFLOP/s"},
                            options, runs);
    }
}

}  // namespace cambrian
