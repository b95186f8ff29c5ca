#include "cambrian/engine/layers/recurrent/mamba.hpp"

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {
namespace {

/// The parameters by name, in their order.
struct Weights {
    explicit Weights(const LayerOperands& operands)
        : gain(operands.parameters[0]),
          in_proj(operands.parameters[1]),
          conv_weight(operands.parameters[2]),
          conv_bias(operands.parameters[3]),
          x_proj(operands.parameters[4]),
          dt_proj(operands.parameters[5]),
          dt_bias(operands.parameters[6]),
          a_log(operands.parameters[7]),
          skip(operands.parameters[8]),
          out_proj(operands.parameters[9]) {}

    Var gain, in_proj, conv_weight, conv_bias, x_proj, dt_proj, dt_bias, a_log, skip, out_proj;

    /// [D, kernel]
    [[nodiscard]] Var filter() const {
        return reshape(conv_weight, {conv_weight.shape()[0], conv_weight.shape()[2]});
    }
};

struct Halves {
    Var u;
    Var z;
};

/// What enters the block, [.., D] each.
Halves enter(Var x, const Weights& weights, float epsilon) {
    const Var both =
        project(rms_norm(x, weights.gain, static_cast<double>(epsilon)), weights.in_proj);
    const std::int64_t channels = both.shape()[-1] / 2;
    return {slice(both, -1, 0, channels), slice(both, -1, channels, channels)};
}

/// What the filter gave, [N, L, D], through the scan from a state [N, D, S].
SelectiveScan scan_from(Var filtered, Var state, const Weights& weights,
                        Discretization discretization) {
    const Var u = activate(filtered, Activation::silu);
    const Var all = project(u, weights.x_proj);
    const std::int64_t states = weights.a_log.shape()[1];
    const std::int64_t rank = weights.dt_proj.shape()[1];
    const Var step = project(slice(all, -1, 0, rank), weights.dt_proj) + weights.dt_bias;
    return selective_scan({.u = u,
                           .raw_delta = step,
                           .log_decay = weights.a_log,
                           .b = slice(all, -1, rank, states),
                           .c = slice(all, -1, rank + states, states),
                           .skip = weights.skip,
                           .state = state},
                          discretization);
}

Var leave(Var y, Var z, const Weights& weights) {
    return project(y * activate(z, Activation::silu), weights.out_proj);
}

}  // namespace

std::optional<Mamba> Mamba::fitted(const Shape& in, const Shape& out) {
    if (in != out || in.rank() != 1) return std::nullopt;
    Mamba result;
    result.resolve(in);
    return result;
}

std::string_view Mamba::fault() const {
    if (state_size < 1 || state_size > widest_layer) return "state is 1 or more";
    if (expand < 1 || expand > widest_layer) return "expand is 1 or more";
    if (kernel < 2 || kernel > widest_layer) return "kernel is 2 or more";
    return epsilon_fault(epsilon);
}

void Mamba::resolve(const Shape& input) {
    require_no_fault(name, fault());
    resolve_whole_row(name, "features", features, input);
    constexpr std::int64_t features_of_a_rank = 16;
    if (dt_rank == 0) dt_rank = (features + features_of_a_rank - 1) / features_of_a_rank;
    require_range(name, "dt_rank", dt_rank);
    require_range(name, "expand times features", channels());
}

std::vector<ParameterSpec> Mamba::parameters() const {
    const std::int64_t d = channels();
    const auto weight = [](std::string text, const Shape& shape, std::int64_t fan_in,
                           Activation activation = Activation::identity) {
        return ParameterSpec{.name = std::move(text),
                             .shape = shape,
                             .initial = Initial::weight,
                             .fan_in = fan_in,
                             .activation = activation};
    };
    return {{.name = "norm.gain", .shape = {features}, .initial = Initial::ones},
            weight("in_proj", {2 * d, features}, features),
            weight("conv_weight", {d, 1, kernel}, kernel, Activation::silu),
            {.name = "conv_bias", .shape = {d}, .initial = Initial::zeros},
            weight("x_proj", {dt_rank + 2 * state_size, d}, d),
            weight("dt_proj", {d, dt_rank}, dt_rank),
            {.name = "dt_bias", .shape = {d}, .initial = Initial::time_step},
            {.name = "a_log",
             .shape = {d, state_size},
             .initial = Initial::log_index,
             .undecayed = true},
            {.name = "skip", .shape = {d}, .initial = Initial::ones},
            weight("out_proj", {features, d}, d)};
}

std::vector<StateSpec> Mamba::state() const {
    return {{.name = "inputs", .shape = {kernel - 1, channels()}},
            {.name = "states", .shape = {channels(), state_size}}};
}

StepResult Mamba::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    const Weights weights(operands);
    const std::int64_t rows = x.shape().elements() / features;
    const std::int64_t d = channels();
    const Halves halves = enter(shaped(x, {rows, features}), weights, epsilon);
    const Var inputs = shaped(state[0], {rows, kernel - 1, d});
    const std::array parts{inputs, reshape(halves.u, {rows, 1, d})};
    const Var window = concat(parts, 1);
    const Var filtered =
        reduce_sum(window * transpose(weights.filter()), 1, true) + weights.conv_bias;
    const SelectiveScan scanned =
        scan_from(filtered, shaped(state[1], {rows, d, state_size}), weights, discretization);
    const Var output = leave(reshape(scanned.y, {rows, d}), halves.z, weights);
    return {.output = x + shaped(output, x.shape()),
            .state = {shaped(slice(window, 1, 1, kernel - 1), state[0].shape()),
                      shaped(scanned.state, state[1].shape())}};
}

Var Mamba::sequence(Var x, const LayerOperands& operands) const {
    const Weights weights(operands);
    const std::int64_t batch = x.shape()[0];
    const Var rows = shape_rows(x, operands.row.rank(), {features});
    const Halves halves = enter(rows, weights, epsilon);
    const Var filtered = causal_conv1d(halves.u, weights.filter(), weights.conv_bias);
    const Var zero = broadcast(constant(*x.graph, 0.0), {batch, channels(), state_size});
    const Var y = scan_from(filtered, zero, weights, discretization).y;
    const Var output = leave(y, halves.z, weights);
    return x + shaped(output, x.shape());
}

}  // namespace cambrian
