#include "vulkan_attention_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/gradient.hpp"
#include "cambrian/engine/graph/ops_attention.hpp"

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

    [[nodiscard]] std::string name() const {
        return fmt::format("{}attention {} x {}/{} x {} x {}{}", causal ? "causal " : "", batch,
                           heads, key_heads, length, width, gradient ? ", gradient" : "");
    }
    /// Two products forward; the gradient has five more.
    [[nodiscard]] double flops() const {
        const auto count = static_cast<double>(batch * heads * length * length * width);
        return 2.0 * (gradient ? 7.0 : 2.0) * count * (causal ? 0.5 : 1.0);
    }
    [[nodiscard]] Graph graph() const {
        Graph graph;
        const Var q = graph.input("q", ValueType::real, {batch, heads, length, width});
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

/// Buffers of the values on the device; uniform words in [-1, 1) where they are filled.
class Buffers {
  public:
    Buffers(Backend& backend, const Graph& graph, std::span<const ValueId> values, bool filled) {
        for (const ValueId id : values) {
            const std::int64_t elements = graph.value(id).shape.elements();
            buffers_.push_back(backend.allocate(ValueType::real, elements));
            bindings.push_back({buffers_.back().get(), 0});
            if (filled) fill(backend, *buffers_.back());
        }
    }
    std::vector<Binding> bindings;

  private:
    void fill(Backend& backend, Buffer& buffer) {
        std::vector<float> words(static_cast<std::size_t>(buffer.elements()));
        RandomStream stream(random_key(1, "attention bench"), buffers_.size());
        for (float& word : words) word = stream.uniform() * 2.0F - 1.0F;
        backend.upload(buffer, 0, std::span<const float>(words));
    }
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

void measure(const AttentionCase& measured, VulkanOptions options, int runs) {
    options.profile = true;
    const Graph graph = measured.graph();
    const auto backend = make_vulkan_backend(options);
    const auto program = backend->compile(graph);
    const Buffers inputs(*backend, graph, graph.inputs(), true);
    const Buffers outputs(*backend, graph, graph.outputs(), false);
    float first = 0.0F;
    const auto run = [&](int times) {
        for (int i = 0; i < times; ++i) program->run(1, inputs.bindings, outputs.bindings);
        backend->download(*outputs.bindings[0].buffer, 0, std::span<float>(&first, 1));
    };
    run(2);
    static_cast<void>(backend->take_profile());
    run(runs);
    double seconds = 0.0;
    const std::vector<KernelTime> kernels = backend->take_profile();
    for (const KernelTime& kernel : kernels) seconds += kernel.seconds / runs;
    fmt::print("{:<52} {:>9.3f} ms {:>8.3f} TFLOP/s\n", measured.name(), seconds * 1e3,
               measured.flops() / seconds * 1e-12);
    if (kernels.size() > 1)
        for (const KernelTime& kernel : kernels)
            fmt::print("    {:>10.4f} ms in {:>3}  {}\n", kernel.seconds / runs * 1e3,
                       kernel.dispatches / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace

void measure_attention(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only) {
    for (AttentionCase measured :
         {AttentionCase{}, AttentionCase{.causal = false}, AttentionCase{.key_heads = 4},
          AttentionCase{.width = 128}, AttentionCase{.length = 512, .width = 32},
          AttentionCase{.length = 1024, .width = 256}, AttentionCase{.gradient = true},
          AttentionCase{.key_heads = 4, .gradient = true},
          AttentionCase{.width = 128, .gradient = true}}) {
        measured.batch = std::max<std::int64_t>(measured.batch / scale, 1);
        if (scale > 1) measured.length = std::max<std::int64_t>(measured.length / scale, 16);
        if (measured.name().find(only) != std::string::npos) measure(measured, options, runs);
    }
}

}  // namespace cambrian
