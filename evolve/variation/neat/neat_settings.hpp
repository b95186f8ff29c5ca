#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/layers/neurons.hpp"
#include "cambrian/evolve/variation/value_rules.hpp"

namespace cambrian::evolve {

/// The shape of the noise of values.
enum class Noise : std::uint8_t { normal, uniform };
inline constexpr std::array<std::string_view, 2> noise_names{"normal", "uniform"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Noise) {
    return noise_names;
}

/// How values of one group start and differ: weights, biases, time constants, or what rules of
/// plasticity are made of.
struct ValueSettings {
    float perturb_rate = 0.9F;
    float power = 0.5F;
    float replace_rate = 0.1F;
    Noise noise = Noise::normal;
    float mean = 0.0F;
    float deviation = 1.0F;
    float least = -30.0F;
    float largest = 30.0F;

    static constexpr FieldRange any{-1e6, 1e6};
    static constexpr auto fields = FieldTable{
        Field{"perturb_rate", &ValueSettings::perturb_rate, from_zero_to_one,
              "Per value of a child that differs: add noise."},
        Field{"power", &ValueSettings::power, FieldRange{0.0, 1e6},
              "Of the noise of perturb_rate: its standard deviation, or half its width where it is "
              "uniform."},
        Field{"replace_rate", &ValueSettings::replace_rate, from_zero_to_one,
              "Per value of a child that differs: start afresh instead."},
        Field{"noise", &ValueSettings::noise, "Of changes and of fresh values."},
        Field{"mean", &ValueSettings::mean, any, "Of fresh values."},
        Field{"deviation", &ValueSettings::deviation, FieldRange{0.0, 1e6},
              "Of fresh values from their mean, as power is of changes."},
        Field{"least", &ValueSettings::least, any, "Values that differ are limited to it."},
        Field{"largest", &ValueSettings::largest, any, "Values that differ are limited to it."},
    };
};

/// Keys of the section "genome" of type neat. Rates are probabilities; what is not said to be per
/// value or neuron is per child.
struct NeatSettings {
    float node_add_rate = 0.03F;
    float connection_add_rate = 0.05F;
    float node_delete_rate = 0.0F;
    float connection_delete_rate = 0.0F;
    float connection_toggle_rate = 0.0F;
    float weight_rate = 0.8F;
    ValueSettings weight{};
    ValueSettings bias{};
    ValueSettings time_constant{.perturb_rate = 0.0F,
                                .power = 0.1F,
                                .replace_rate = 0.0F,
                                .mean = 1.0F,
                                .deviation = 0.0F,
                                .least = smallest_positive,
                                .largest = largest_positive};
    ValueSettings learning_rate{.perturb_rate = 0.5F,
                                .power = 0.1F,
                                .replace_rate = 0.05F,
                                .deviation = 0.3F,
                                .least = -1.0F,
                                .largest = 1.0F};
    ValueSettings rule{.perturb_rate = 0.5F,
                       .power = 0.3F,
                       .replace_rate = 0.05F,
                       .least = -5.0F,
                       .largest = 5.0F};
    std::vector<NeuronActivation> activations{NeuronActivation::steep_sigmoid};
    float activation_rate = 0.0F;
    std::vector<NeuronActivation> output_activations{};
    std::vector<NeuronAggregation> aggregations{NeuronAggregation::sum};
    float aggregation_rate = 0.0F;
    bool feed_forward = true;
    float delay_rate = 0.0F;
    std::int64_t largest_delay = 1;
    float initial_connection_rate = 1.0F;
    float average_rate = 0.0F;
    float disabled_rate = 0.75F;
    float plastic_rate = 1.0F;
    float plastic_toggle_rate = 0.0F;

    static constexpr auto fields = FieldTable{
        Field{"node_add_rate", &NeatSettings::node_add_rate, from_zero_to_one,
              "A neuron splits a connection, which is disabled: with a weight of 1 into the neuron "
              "and the old weight out of it. Exact for the activation identity, and for relu, "
              "leaky_relu, abs and clamped where they are the identity."},
        Field{"connection_add_rate", &NeatSettings::connection_add_rate, from_zero_to_one,
              "A connection more. One that would close a cycle gets a delay, or is not drawn where "
              "feed_forward is true."},
        Field{"node_delete_rate", &NeatSettings::node_delete_rate, from_zero_to_one,
              "A neuron that is no output goes with its connections."},
        Field{"connection_delete_rate", &NeatSettings::connection_delete_rate, from_zero_to_one,
              "A connection goes."},
        Field{"connection_toggle_rate", &NeatSettings::connection_toggle_rate, from_zero_to_one,
              "A connection is disabled, or enabled again."},
        Field{"weight_rate", &NeatSettings::weight_rate, from_zero_to_one,
              "The weights, biases, time constants and rules of a child differ from its parents', "
              "each by "
              "the rates of its group."},
        Field{"weight", &NeatSettings::weight, "Of connections."},
        Field{"bias", &NeatSettings::bias, "Of neurons."},
        Field{"time_constant", &NeatSettings::time_constant,
              "Of the neurons of a continuous network; above 0."},
        Field{"learning_rate", &NeatSettings::learning_rate,
              "Of the neurons of a plastic network: what the rest of their rules is multiplied "
              "with."},
        Field{"rule", &NeatSettings::rule,
              "Of the neurons of a plastic network: the factors of source · value, of the source, "
              "of the value, and what is added, by which weights into them change at each step."},
        Field{"activations", &NeatSettings::activations,
              "What new neurons and mutation choose from."},
        Field{"activation_rate", &NeatSettings::activation_rate, from_zero_to_one,
              "Per neuron that is no output: another activation."},
        Field{"output_activations", &NeatSettings::output_activations,
              "Of the outputs of the network: one for all, or one for each; none: as the network "
              "says."},
        Field{"aggregations", &NeatSettings::aggregations,
              "What new neurons and mutation choose from."},
        Field{"aggregation_rate", &NeatSettings::aggregation_rate, from_zero_to_one,
              "Per neuron that is no output: another aggregation."},
        Field{"feed_forward", &NeatSettings::feed_forward,
              "No connection looks back; else new ones may, in a task with time."},
        Field{"delay_rate", &NeatSettings::delay_rate, from_zero_to_one,
              "Per new connection of a recurrent network: it looks back though it need not."},
        Field{"largest_delay", &NeatSettings::largest_delay,
              FieldRange{1.0, double{Neurons::longest_delay}},
              "Steps that a new connection looks back: one to that many."},
        Field{"initial_connection_rate", &NeatSettings::initial_connection_rate, from_zero_to_one,
              "Per connection of the network in the config: a founder has it. 1: all, 0: none. Of "
              "network.initial founders have all."},
        Field{"average_rate", &NeatSettings::average_rate, from_zero_to_one,
              "Per child of two parents: matching genes are averaged, else each is of either."},
        Field{"disabled_rate", &NeatSettings::disabled_rate, from_zero_to_one,
              "Per matching connection that is disabled in a parent: it is in the child."},
        Field{"plastic_rate", &NeatSettings::plastic_rate, from_zero_to_one,
              "Per connection of a founder or that is new, in a layer with \"plastic\": true: its "
              "weight changes at each step of an episode. Connections of network.initial stay as "
              "they are. After a split the connection out of the new neuron is as the old one "
              "was."},
        Field{"plastic_toggle_rate", &NeatSettings::plastic_toggle_rate, from_zero_to_one,
              "A connection of such a layer becomes plastic, or ceases to be."},
    };
};

}  // namespace cambrian::evolve
