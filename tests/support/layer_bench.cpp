#include "cambrian/tests/support/layer_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian::test {

LayerBench::LayerBench(const AnyLayer& layer, const Shape& row, std::vector<std::int64_t> leading)
    : layer_(layer), row_(row), leading_(std::move(leading)) {
    layer_.resolve(row_);
    real_inputs_ = 1 + layer_.state().size() + layer_.parameters().size();
    graph_ = built(false);
}

Graph LayerBench::built(bool with_gradients) const {
    Graph graph;
    const auto real = [&graph](const std::string& name, const Shape& shape) {
        return graph.input(name, ValueType::real, shape);
    };
    std::vector<Var> inputs{real("x", with_leading(leading_, row_))};
    std::vector<Var> state;
    std::vector<Var> parameters;
    std::vector<Var> codes;
    for (const StateSpec& spec : layer_.state())
        state.push_back(real(spec.name, with_leading(leading_, spec.shape)));
    for (const ParameterSpec& spec : layer_.parameters())
        parameters.push_back(real(spec.name, spec.shape));
    for (std::size_t i = 0; i < layer_.activations().size(); ++i)
        codes.push_back(graph.input("code", ValueType::integer, {}));
    inputs.insert(inputs.end(), state.begin(), state.end());
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());

    const StepResult result = layer_.step(inputs[0], state,
                                          {.parameters = parameters,
                                           .activations = codes,
                                           .row = row_,
                                           .activation_set = layer_.activation_set()});
    std::vector<Var> outputs{result.output};
    outputs.insert(outputs.end(), result.state.begin(), result.state.end());
    if (!with_gradients) {
        for (const Var output : outputs) graph.output(output);
        return graph;
    }
    Var loss = constant(graph, 0.0);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        Tensor weights(ValueType::real, outputs[o].shape());
        for (std::size_t e = 0; e < weights.elements.size(); ++e)
            weights.elements[e] = upstream(o, e);
        loss = loss + sum_all(outputs[o] * graph.constant(std::move(weights)));
    }
    for (const Var value : gradient(loss, inputs)) graph.output(value);
    return graph;
}

double LayerBench::upstream(std::size_t output, std::size_t element) {
    RandomStream stream(random_key(output, "upstream"), element);
    return static_cast<double>(stream.normal());
}

std::vector<Tensor> LayerBench::values(std::int64_t population) const {
    std::vector<Tensor> result;
    const std::vector<Activation> activations = std::as_const(layer_).activations();
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
        const ValueInfo& info = graph_.value(graph_.inputs()[i]);
        const bool shared = population == 0 || i < first_own();
        Tensor tensor(info.type,
                      shared ? info.shape : with_leading(std::array{population}, info.shape));
        const auto count = static_cast<std::size_t>(info.shape.elements());
        for (std::size_t e = 0; e < tensor.elements.size(); ++e) {
            RandomStream stream(random_key(i, "values"), e % count + 1000 * (e / count));
            tensor.elements[e] = static_cast<double>(stream.normal());
            if (info.type == ValueType::integer)
                tensor.elements[e] = static_cast<double>(activations[i - real_inputs_]);
            if (is_id(i))
                tensor.elements[e] = std::clamp(std::round(tensor.elements[e]), -1.0, 1.0) + 1.5;
            if (is_positive(i)) tensor.elements[e] = 0.5 + std::abs(tensor.elements[e]);
        }
        result.push_back(std::move(tensor));
    }
    return result;
}

/// Between two integers, so that a small step leaves the id, or the number of a position.
bool LayerBench::is_id(std::size_t input) const {
    if (input == 0) return std::holds_alternative<Embedding>(layer_.variant());
    const std::vector<StateSpec> state = layer_.state();
    return input <= state.size() && state[input - 1].kind == StateKind::position;
}

bool LayerBench::is_positive(std::size_t input) const {
    const std::size_t first = 1 + layer_.state().size();
    if (input < first || input >= real_inputs_) return false;
    const ParameterSpec spec = layer_.parameters()[input - first];
    return spec.buffer || spec.name.ends_with("time_constant");
}

Graph LayerBench::vmap() const {
    std::vector<std::size_t> marked;
    for (std::size_t i = first_own(); i < graph_.inputs().size(); ++i) marked.push_back(i);
    return cambrian::vmap(graph_, marked);
}

Graph LayerBench::gradients() const {
    return built(true);
}

std::vector<double> individual(const Tensor& tensor, std::int64_t p) {
    const std::int64_t count = tensor.shape.elements() / tensor.shape[0];
    const auto first = tensor.elements.begin() + p * count;
    return {first, first + count};
}

}  // namespace cambrian::test
