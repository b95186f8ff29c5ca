#include "cambrian/engine/layers/normalisation/batch_norm.hpp"

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

std::string_view BatchNorm::fault() const {
    if (!(momentum >= 0.0F && momentum <= 1.0F)) return "momentum is 0 to 1";
    return epsilon_fault(epsilon);
}

void BatchNorm::resolve(const Shape& input) {
    require_no_fault(name, fault());
    resolve_channels(name, "features", features, input);
}

std::vector<ParameterSpec> BatchNorm::parameters() const {
    const Shape shape{features};
    return {{.name = "gain", .shape = shape, .initial = Initial::ones},
            {.name = "bias", .shape = shape, .initial = Initial::zeros},
            {.name = "mean", .shape = shape, .initial = Initial::zeros, .buffer = true},
            {.name = "variance", .shape = shape, .initial = Initial::ones, .buffer = true}};
}

Var BatchNorm::build(Var x, const LayerOperands& operands) const {
    std::vector<int> axes;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (axis != x.rank() - operands.row.rank()) axes.push_back(axis);
    const auto& parameters = operands.parameters;
    const Statistics running{parameters[2], parameters[3]};
    const BatchNormOptions options{.momentum = static_cast<double>(momentum),
                                   .epsilon = static_cast<double>(epsilon)};
    if (operands.training == nullptr)
        return batch_norm(x, parameters[0], parameters[1], running, axes, options);
    const TrainedBatchNorm trained =
        batch_norm_training(x, parameters[0], parameters[1], running, axes, options);
    operands.training->update(running.mean, trained.running.mean);
    operands.training->update(running.variance, trained.running.variance);
    return trained.output;
}

}  // namespace cambrian
