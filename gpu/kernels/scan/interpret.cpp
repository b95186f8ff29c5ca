#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

namespace cambrian::gpu {
namespace {

Shape flattened(const Shape& shape) {
    return Shape{shape.elements() / shape[-1], shape[-1]};
}

/// One step whose only node is the network, so that the rows of a row kernel are its rows.
ScanAttribute one_step(const KernelContext& context) {
    Graph body;
    std::vector<Var> operands;
    for (std::size_t i = 0; i < context.operands.size(); ++i) {
        const ValueInfo& info = context.operand(i);
        operands.push_back(body.input(
            "operand", info.type, i < 2 ? info.shape : flattened(info.shape), info.per_individual));
    }
    const Var output = body.add(Op::interpret, operands, context.node.attributes);
    body.output(output);
    body.output({&body, ValueId{static_cast<std::uint32_t>(output.id) + 1}});
    ScanAttribute scan;
    scan.length = 1;
    scan.body = std::make_shared<const Graph>(std::move(body));
    return scan;
}

// The text reads four words at a time.
void check_strides(const KernelContext& context) {
    for (std::size_t i = 0; i < 2; ++i) {
        if (context.operands[i].stride % 4 == 0) continue;
        throw ShapeError(fmt::format(
            "interpret: {} of {} words do not fit (every individual's must begin at a multiple of "
            "4 words) round its capacity up",
            i == 0 ? "bytecode" : "weights", context.operand(i).shape.elements()));
    }
}

}  // namespace

std::unique_ptr<Kernel> make_interpret(const KernelContext& context) {
    check_strides(context);
    const ScanAttribute scan = one_step(context);
    const RowAnalysis analysis =
        analyse_rows(scan, {.words = std::int64_t{1} << 20, .operations = std::int64_t{1} << 40});
    CAMBRIAN_ASSERT(analysis.obstacle.empty());
    return make_row_kernel(scan, analysis,
                           {context.operands, context.results, context.per_individual},
                           context.owner, "interpret_rows");
}

}  // namespace cambrian::gpu
