#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/reference/kernels.hpp"

// Walks a graph for one individual.
namespace cambrian::reference {
namespace {

struct OpKernel {
    Op op;
    Kernel kernel;
};

constexpr std::array op_kernels{
    OpKernel{Op::iota, iota},
    OpKernel{Op::random, random},
    OpKernel{Op::cast, cast},
    OpKernel{Op::stop_gradient, copy},
    OpKernel{Op::reduce_sum, reduce_sum},
    OpKernel{Op::reduce_max, reduce_max},
    OpKernel{Op::argmax, argmax},
    OpKernel{Op::reshape, copy},
    OpKernel{Op::permute, permute},
    OpKernel{Op::broadcast, broadcast},
    OpKernel{Op::slice, slice},
    OpKernel{Op::pad, pad},
    OpKernel{Op::concat, concat},
    OpKernel{Op::matmul, matmul},
    OpKernel{Op::gather, gather},
    OpKernel{Op::scatter_add, scatter_add},
    OpKernel{Op::cumsum, cumsum},
    OpKernel{Op::sort, sort},
    OpKernel{Op::flip, flip},
    OpKernel{Op::take_along_axis, take_along_axis},
    OpKernel{Op::scatter_add_along_axis, scatter_add_along_axis},
    OpKernel{Op::im2col, im2col},
    OpKernel{Op::col2im, col2im},
    OpKernel{Op::scan, scan},
    OpKernel{Op::interpret, interpret},
    OpKernel{Op::encode, encode},
    OpKernel{Op::decode, decode},
    OpKernel{Op::unpack, unpack},
};

Elements constant_elements(const ConstantAttribute& constant, Precision precision) {
    Elements elements = constant.value->elements;
    if (constant.value->type == ValueType::real)
        std::ranges::transform(elements, elements.begin(),
                               [&](double x) { return rounded(x, precision); });
    return elements;
}

}  // namespace

Kernel kernel(Op op) {
    for (const OpKernel& row : op_kernels)
        if (row.op == op) return row.kernel;
    return elementwise_kernel(op);
}

std::vector<Elements> evaluate(const Graph& graph, Precision precision,
                               std::span<const Elements* const> inputs) {
    CAMBRIAN_ASSERT(inputs.size() == graph.inputs().size());
    std::vector<Elements> computed(graph.value_count());
    std::vector<const Elements*> values(graph.value_count());
    std::vector<const Elements*> operands;
    std::size_t next_input = 0;
    for (const Node& node : graph.nodes()) {
        for (std::uint32_t i = 0; i < node.result_count; ++i) {
            const std::uint32_t id = node.first_result + i;
            values[id] = &computed[id];
            if (node.op != Op::input)
                computed[id].resize(
                    static_cast<std::size_t>(graph.value(ValueId{id}).shape.elements()));
        }
        if (node.op == Op::input) {
            values[node.first_result] = inputs[next_input++];
        } else if (node.op == Op::constant) {
            computed[node.first_result] =
                constant_elements(std::get<ConstantAttribute>(node.attributes), precision);
        } else {
            operands.clear();
            for (const ValueId id : graph.operands(node))
                operands.push_back(values[static_cast<std::size_t>(id)]);
            const Kernel run = kernel(node.op);
            CAMBRIAN_ASSERT(run != nullptr);
            run({graph, node, precision, operands,
                 std::span(computed).subspan(node.first_result, node.result_count)});
        }
    }
    std::vector<Elements> outputs;
    for (const ValueId id : graph.outputs())
        outputs.push_back(*values[static_cast<std::size_t>(id)]);
    return outputs;
}

void scan(const Call& call) {
    const auto& scan = call.attribute<ScanAttribute>();
    const auto carries = static_cast<std::size_t>(scan.carries);
    const auto sequences = static_cast<std::size_t>(scan.sequences);
    std::vector<Elements> state;
    for (std::size_t i = 0; i < carries; ++i) state.push_back(call.operand(i));
    std::vector<Elements> steps(sequences);
    std::vector<const Elements*> inputs(call.operands.begin(), call.operands.end());
    // A body whose individual is done changes nothing and reports no data error.
    const auto is_done = [&] {
        return scan.alive_carry >= 0 &&
               std::ranges::all_of(state[static_cast<std::size_t>(scan.alive_carry)],
                                   [](double flag) { return flag == 0.0; });
    };
    for (std::int64_t t = 0; t < scan.length && !is_done(); ++t) {
        const auto step = static_cast<std::size_t>(scan.reverse ? scan.length - 1 - t : t);
        for (std::size_t i = 0; i < carries; ++i) inputs[i] = &state[i];
        for (std::size_t i = 0; i < sequences; ++i) {
            const Elements& whole = call.operand(carries + i);
            const std::size_t width = whole.size() / static_cast<std::size_t>(scan.length);
            const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(step * width);
            steps[i].assign(begin, begin + static_cast<std::ptrdiff_t>(width));
            inputs[carries + i] = &steps[i];
        }
        std::vector<Elements> outputs = evaluate(*scan.body, call.precision, inputs);
        for (std::size_t i = carries; i < outputs.size(); ++i)
            std::ranges::copy(outputs[i], call.results[i].begin() + static_cast<std::ptrdiff_t>(
                                                                        step * outputs[i].size()));
        outputs.resize(carries);
        state = std::move(outputs);
    }
    std::ranges::move(state, call.results.begin());
}

}  // namespace cambrian::reference

namespace cambrian {

bool evaluate_node(const Graph& graph, const Node& node,
                   std::span<const std::vector<double>* const> operands,
                   std::span<std::vector<double>> results) {
    const reference::Kernel run = reference::kernel(node.op);
    if (run == nullptr) return false;
    try {
        const cpu::FloatGuard rules;
        run({graph, node, Precision::f32, operands, results});
    } catch (const InputError&) {
        return false;  // Data errors are a run's to report.
    }
    return true;
}

}  // namespace cambrian
