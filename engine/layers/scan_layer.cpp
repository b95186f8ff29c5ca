#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/support/step_scan.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

Var scan_layer(const AnyLayer& layer, Var x, const LayerOperands& operands) {
    StepScan steps(x, layer.state(), operands.training);
    const std::vector<Var> parameters = steps.invariants(operands.parameters);
    const std::vector<Var> activations = steps.invariants(operands.activations);
    const LayerOperands inner{.parameters = parameters,
                              .activations = activations,
                              .row = operands.row,
                              .training = steps.training(),
                              .activation_set = operands.activation_set};
    const StepResult result =
        layer.step(shape_rows(steps.x(), 1, operands.row), steps.state(), inner);
    const Shape output = layer.output_shape(operands.row);
    const Var all = steps.outputs(
        result.state, shape_rows(result.output, output.rank(), flat(output)),
        "a batch_norm cannot be trained inside a layer with a state (its statistics are of all "
        "steps together) put it beside that layer");
    return shape_rows(all, 1, output);
}

}  // namespace cambrian
