#include "cambrian/engine/layers/custom/layer_results.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

LayerResults::LayerResults(const CustomLayer& layer, Var x, const LayerOperands& operands)
    : layer_(layer),
      operands_(operands),
      x_(x),
      known_(operands.training == nullptr ? 0 : operands.training->updates().size()) {
    for (int axis = 0; axis < x.rank() - operands.row.rank(); ++axis)
        leading_.push_back(x.shape()[axis]);
}

void LayerResults::check(Var output, std::span<const Var> state) const {
    check(output);
    check_state(state);
}

void LayerResults::check(Var output) const {
    require("its output", output, with_leading(leading_, layer_.output_shape(operands_.row)));
    check_updates();
}

void LayerResults::check_state(std::span<const Var> state) const {
    const std::vector<StateSpec> specs = layer_.state();
    if (state.size() != specs.size())
        throw std::logic_error("it gives " + std::to_string(state.size()) + " states and has " +
                               std::to_string(specs.size()));
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const std::span<const std::int64_t> extents = specs[i].shape.extents();
        std::vector<std::int64_t> own(extents.begin(), extents.end());
        if (specs[i].kind == StateKind::rows && own.size() > 1) own[1] = 1;
        require("its state \"" + specs[i].name + "\"", state[i],
                with_leading(leading_, Shape(std::span<const std::int64_t>(own))));
    }
}

void LayerResults::check_updates() const {
    if (operands_.training == nullptr) return;
    const std::vector<ParameterSpec> specs = layer_.parameters();
    std::vector<bool> seen(specs.size());
    for (const BufferUpdate& update : operands_.training->updates().subspan(known_)) {
        const auto own = std::ranges::find_if(operands_.parameters, [&](Var value) {
            return value.graph == update.buffer.graph && value.id == update.buffer.id;
        });
        const auto i = static_cast<std::size_t>(own - operands_.parameters.begin());
        if (i >= specs.size() || !specs[i].buffer)
            throw std::logic_error("it updates what is no running statistic of its own");
        if (seen[i])
            throw std::logic_error("it updates the statistic \"" + specs[i].name + "\" twice");
        seen[i] = true;
        require("the new statistic \"" + specs[i].name + "\"", update.value, specs[i].shape);
    }
}

void LayerResults::require(const std::string& what, Var value, const Shape& shape) const {
    const bool ours = value.graph == x_.graph;
    if (ours && value.info().type == ValueType::real && value.shape() == shape) return;
    std::string found = value.graph == nullptr ? "nothing" : "of another graph";
    if (ours) found = std::string(name(value.info().type)) + " " + value.shape().text();
    throw std::logic_error(what + " is " + found + ", and real " + shape.text() + " belongs there");
}

}  // namespace cambrian
