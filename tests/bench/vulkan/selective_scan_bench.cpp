#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"

namespace cambrian {
namespace {

struct SelectiveScanCase {
    std::int64_t batch = 8;
    std::int64_t length = 2048;
    std::int64_t channels = 1536;
    std::int64_t states = 16;
    Discretization kind = Discretization::zero_order_hold;
    bool gradient = false;

    [[nodiscard]] std::string name() const {
        return fmt::format("selective scan {} x {} x {} x {}{}{}", batch, length, channels, states,
                           kind == Discretization::euler ? ", euler" : "",
                           gradient ? ", gradient" : "");
    }
    [[nodiscard]] Graph graph() const {
        Graph graph;
        const auto input = [&](std::string_view input_name, const Shape& shape) {
            return graph.input(input_name, ValueType::real, shape);
        };
        const Shape wide{batch, length, channels};
        const Shape narrow{batch, length, states};
        const SelectiveScanOperands o{.u = input("u", wide),
                                      .raw_delta = input("raw_delta", wide),
                                      .log_decay = input("log_decay", {channels, states}),
                                      .b = input("b", narrow),
                                      .c = input("c", narrow),
                                      .skip = input("skip", {channels}),
                                      .state = input("state", {batch, channels, states})};
        const SelectiveScan result = selective_scan(o, kind);
        graph.output(result.y);
        graph.output(result.state);
        if (!gradient) return graph;
        const std::array results{result.y, result.state};
        const std::array upstreams{input("upstream", wide),
                                   input("upstream_state", {batch, channels, states})};
        const std::array operands{o.u, o.raw_delta, o.log_decay, o.b, o.c, o.skip, o.state};
        for (const Var g : cambrian::gradient(results, upstreams, operands)) graph.output(g);
        return graph;
    }
};

/// Of all inputs and outputs.
double bytes_of(const Graph& graph) {
    std::int64_t words = 0;
    for (const auto ids : {graph.inputs(), graph.outputs()})
        for (const ValueId id : ids) words += graph.value(id).shape.elements();
    return 4.0 * static_cast<double>(words);
}

}  // namespace

void measure_selective_scan(const VulkanOptions& options, std::int64_t scale, int runs,
                            const std::string& only) {
    for (SelectiveScanCase measured :
         {SelectiveScanCase{}, SelectiveScanCase{.kind = Discretization::euler},
          SelectiveScanCase{.batch = 1}, SelectiveScanCase{.gradient = true},
          SelectiveScanCase{.kind = Discretization::euler, .gradient = true}}) {
        measured.batch = std::max<std::int64_t>(measured.batch / scale, 1);
        if (scale > 1) measured.length = std::max<std::int64_t>(measured.length / scale, 16);
        if (measured.name().find(only) == std::string::npos) continue;
        const Graph graph = measured.graph();
        measure_kernels({measured.name(), graph, bytes_of(graph), "TB/s"}, options, runs);
    }
}

}  // namespace cambrian
