#include "cambrian/evolve/variation/hyperneat/cppn.hpp"

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/bytecode/rows.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"

namespace cambrian::evolve {

namespace {

/// Outputs of a CPPN, in this order where it has them.
constexpr std::int64_t weight_output = 0;
constexpr std::int64_t link_output = 1;
std::int64_t bias_output(const SubstrateSettings& settings) {
    return settings.link_expression ? 2 : 1;
}

/// In [-1, 1]; what is no number is 0.
float limited(float value) {
    return std::isnan(value) ? 0.0F : std::clamp(value, -1.0F, 1.0F);
}

float distance(const SubstratePoint& a, const SubstratePoint& b) {
    float squares = 0.0F;
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
        const float difference = a[axis] - b[axis];
        squares += difference * difference;
    }
    return std::sqrt(squares);
}

const Structure::BytecodeForm& bytecode_of(const Individual& individual) {
    const Structure::BytecodeForm* form = individual.structure->bytecode();
    CAMBRIAN_EXPECT(form != nullptr && individual.on_host());
    return *form;
}

}  // namespace

Cppn::Cppn(const Substrate& substrate, const Individual& individual)
    : substrate_(substrate),
      form_(bytecode_of(individual)),
      weights_(static_cast<std::size_t>(form_.capacity.weights)),
      memory_(static_cast<std::size_t>(3 * form_.capacity.memory * cpu::max_lanes)),
      scale_(static_cast<float>(substrate.settings().maximum_weight /
                                (substrate.settings().link_expression
                                     ? 1.0
                                     : 1.0 - substrate.settings().weight_threshold))) {
    CAMBRIAN_EXPECT(individual.blueprint().input_features == substrate.cppn_inputs());
    CAMBRIAN_EXPECT(individual.blueprint().output_features == substrate.cppn_outputs());
    pack(form_.packings, individual.weights, weights_);
}

void Cppn::ask(const SubstratePoint& source, const SubstratePoint& target) {
    const auto dimensions = static_cast<std::ptrdiff_t>(substrate_.dimensions());
    questions_.insert(questions_.end(), source.begin(), source.begin() + dimensions);
    questions_.insert(questions_.end(), target.begin(), target.begin() + dimensions);
    if (substrate_.settings().distance) {
        questions_.push_back(distance(source, target));
    }
}

std::span<const Cppn::Answer> Cppn::answers() {
    const std::int64_t count = std::ssize(questions_) / substrate_.cppn_inputs();
    const std::int64_t width = substrate_.cppn_outputs();
    outputs_.resize(static_cast<std::size_t>(count * width));
    cpu::BytecodeRun run;
    run.bytecode = form_.words.data();
    run.weights = weights_.data();
    run.memory = memory_.data();
    run.staging = memory_.data() + form_.capacity.memory * cpu::max_lanes;
    run.inputs = substrate_.cppn_inputs();
    run.outputs = width;
    run.capacity = form_.capacity;
    cpu::run_bytecode(run, questions_.data(), count, outputs_.data(), nullptr);
    questions_.clear();

    const SubstrateSettings& settings = substrate_.settings();
    answers_.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const float* const row = outputs_.data() + i * width;
        Answer& answer = answers_[static_cast<std::size_t>(i)];
        answer.weight = limited(row[weight_output]);
        answer.link = settings.link_expression ? row[link_output] : 0.0F;
        answer.bias = settings.bias ? limited(row[bias_output(settings)]) : 0.0F;
    }
    return answers_;
}

float Cppn::connection_weight(const Answer& answer) const {
    const SubstrateSettings& settings = substrate_.settings();
    if (settings.link_expression) {
        return answer.link > 0.0F ? scale_ * answer.weight : 0.0F;
    }
    const float excess = std::abs(answer.weight) - static_cast<float>(settings.weight_threshold);
    return excess > 0.0F ? std::copysign(scale_ * excess, answer.weight) : 0.0F;
}

float Cppn::bias(const Answer& answer) const {
    return static_cast<float>(substrate_.settings().maximum_weight) * answer.bias;
}

Blueprint cppn_blueprint(const Substrate& substrate) {
    const SubstrateSettings& settings = substrate.settings();
    const std::int64_t inputs = substrate.cppn_inputs();
    const std::int64_t outputs = substrate.cppn_outputs();
    const bool local = !settings.locality.empty();
    Neurons layer{.in = inputs, .out = outputs, .neurons = {}, .connections = {}};
    layer.neurons.assign(static_cast<std::size_t>(outputs), {.activation = NeuronActivation::tanh});
    if (settings.link_expression) {
        layer.neurons[link_output].activation = NeuronActivation::identity;
    }
    for (std::int64_t output = 0; output < outputs; ++output) {
        if (local && output == link_output) {
            continue;
        }
        for (std::int64_t input = 0; input < inputs; ++input) {
            layer.connections.push_back({.source = input, .target = output});
        }
    }
    for (const SubstrateAxis axis : settings.locality) {
        const auto of_source = static_cast<std::int64_t>(axis);
        const std::int64_t bell = std::ssize(layer.neurons);
        layer.neurons.push_back({.activation = NeuronActivation::gauss});
        layer.connections.push_back({.source = of_source, .target = bell});
        layer.connections.push_back({.source = of_source + substrate.dimensions(), .target = bell});
        layer.connections.push_back({.source = inputs + bell, .target = link_output});
    }
    Blueprint blueprint;
    blueprint.input_features = inputs;
    blueprint.output_features = outputs;
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.head = layer;
    return Network(blueprint).blueprint();
}

std::vector<SeedWeight> locality_weights(const Substrate& substrate, const Genome& founder) {
    const auto axes = static_cast<std::int64_t>(substrate.settings().locality.size());
    const int head = founder.blueprint.grid.slots();
    const Neurons& layer = neurons_of(founder, head);
    // An initial network may have other neurons.
    if (axes == 0 || std::ssize(layer.neurons) != layer.out + axes) {
        return {};
    }
    const std::int64_t first = first_weight(founder, head);
    std::vector<SeedWeight> seeds;
    for (std::int64_t i = 0; i < std::ssize(layer.connections); ++i) {
        const Neurons::Connection& each = layer.connections[static_cast<std::size_t>(i)];
        if (each.target >= layer.out) {
            seeds.push_back({first + i, each.source < substrate.dimensions() ? 1.0F : -1.0F});
        } else if (each.target == link_output) {
            seeds.push_back({first + i, 1.0F});
        }
    }
    // All bells but half of one: both ends are near along each axis.
    const std::int64_t biases = first + std::ssize(layer.connections);
    seeds.push_back({biases + link_output, 0.5F - static_cast<float>(axes)});
    for (std::int64_t bell = 0; bell < axes; ++bell) {
        seeds.push_back({biases + layer.out + bell, 0.0F});
    }
    return seeds;
}

}  // namespace cambrian::evolve
