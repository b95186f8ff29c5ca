#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/neuron_functions.hpp"

namespace cambrian {

/// A graph of single neurons, such as NEAT evolves.
struct Neurons {
    static constexpr std::string_view name = "neurons";
    static constexpr LayerText about{
        .summary = "A graph of single neurons with connections of their own, such as NEAT evolves",
        .formula =
            "z = activation(aggregation(weight · source, ..) + bias), the bias alone without "
            "inputs\n"
            "y = z; continuous: y = y' + time_step / time_constant (z - y'), y' one step ago\n"
            "plastic: weight += learning_rate (hebbian · source · y + presynaptic · source + "
            "postsynaptic · y + drift) after a step, limited to ±largest_weight",
        .source =
            "Stanley and Miikkulainen, \"Evolving Neural Networks through Augmenting Topologies\", "
            "2002; Beer, \"On the Dynamics of Small Continuous-Time Recurrent Neural Networks\", "
            "1995; Floreano and Urzelai, \"Evolutionary Robots with On-line Self-Organization and "
            "Behavioral Fitness\", 2000"};

    /// One neuron beside the inputs.
    struct Neuron {
        NeuronActivation activation = NeuronActivation::sigmoid;
        NeuronAggregation aggregation = NeuronAggregation::sum;

        static constexpr auto fields = FieldTable{
            Field{"activation", &Neuron::activation},
            Field{"aggregation", &Neuron::aggregation, "of its weighted inputs"},
        };
        bool operator==(const Neuron&) const = default;
    };

    static constexpr std::int64_t constant = -1;  ///< The source that is always 1.
    static constexpr std::int64_t longest_delay = 4096;

    /// One connection. Sources: `constant`, 0 to in - 1 the inputs, in + n the neuron n. Targets
    /// are numbers of neurons.
    struct Connection {
        std::int64_t source = 0;
        std::int64_t target = 0;
        std::int64_t delay = 0;  ///< Steps; 0: the value of this step, which must be acyclic.
        bool enabled = true;     ///< Else it has a weight and computes nothing.
        bool plastic = false;    ///< The rule of its target changes its weight at each step.

        static constexpr auto fields = FieldTable{
            Field{"source", &Connection::source, FieldRange{-1.0, double{largest_count}},
                  "-1: the constant 1; 0 to in - 1: an input; in + n: neuron n"},
            Field{"target", &Connection::target, "a neuron"},
            Field{"delay", &Connection::delay, FieldRange{0.0, double{longest_delay}},
                  "in steps, from a past that was 0 but for the constant; connections without one "
                  "form no cycle"},
            Field{"enabled", &Connection::enabled, "else it computes nothing"},
            Field{"plastic", &Connection::plastic, "its weight changes at each step"}.later(),
        };
        bool operator==(const Connection&) const = default;
    };

    std::int64_t in = 0;
    std::int64_t out = 0;  ///< The first `out` neurons are the outputs.
    std::vector<Neuron> neurons;
    std::vector<Connection> connections;
    bool continuous = false;
    double time_step = 0.1;  ///< Of a step of a continuous network, in units of its time constants.
    /// Whether each neuron has a rule by which its plastic connections change; else there are none.
    bool plastic = false;
    double largest_weight = 4.0;  ///< That a plastic connection changes to, in either direction.

    static constexpr auto fields = FieldTable{
        Field{"in", &Neurons::in, "0: all elements of a row"},
        Field{"out", &Neurons::out, "0: told by what follows; the outputs are the first neurons"},
        Field{"neurons", &Neurons::neurons, "none: the outputs alone"},
        Field{"connections", &Neurons::connections,
              "none, and no neurons: from every input to every output"},
        Field{"continuous", &Neurons::continuous,
              "neurons approach their values with a time constant each"},
        Field{"time_step", &Neurons::time_step, representable, "of a continuous network"},
        Field{"plastic", &Neurons::plastic,
              "neurons have a rule each by which their plastic connections change in an episode"}
            .later(),
        Field{"largest_weight", &Neurons::largest_weight, representable,
              "a plastic weight that changes is limited to it, in either direction, to rounding: "
              "it is the inherited one and its change in the episode added"}
            .later(),
    };

    static Neurons example();
    /// Every input connected to every output.
    static std::optional<Neurons> fitted(const Shape& in, const Shape& out);

    /// Whether both ends of a connection are there.
    [[nodiscard]] bool has_ends(const Connection& connection) const {
        const auto count = static_cast<std::int64_t>(neurons.size());
        return connection.source >= constant && connection.source < in + count &&
               connection.target >= 0 && connection.target < count;
    }
    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    /// Throws ShapeError that names the connection which has an end out of range or stands twice,
    /// and the neurons of a cycle of enabled connections without delay.
    void resolve(const Shape& input);
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (out == 0) out = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    /// weight [connections] (none without connections), bias [neurons], where continuous
    /// time_constant [neurons], and where plastic the five numbers of a rule, [neurons] each:
    /// learning_rate, hebbian, presynaptic, postsynaptic, drift.
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    static constexpr std::int64_t rule_numbers = 5;
    /// Weights that each neuron has of its own, in as many parameters.
    [[nodiscard]] std::int64_t weights_of_neuron() const {
        return 1 + (continuous ? 1 : 0) + (plastic ? rule_numbers : 0);
    }
    /// Whether an output depends on a value of an earlier step.
    [[nodiscard]] bool stateful() const;
    /// What NeuronPlan says of the state, in one tensor.
    [[nodiscard]] std::vector<StateSpec> state() const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;

    bool operator==(const Neurons&) const = default;
};

/// What of a graph of neurons is computed, and in which order. Neurons that no output depends on
/// are left out.
struct NeuronPlan {
    /// Values of earlier steps of one source, the latest first.
    struct Memory {
        std::int64_t source = 0;
        std::int64_t first = 0;  ///< Place in the state.
        std::int64_t length = 0;
    };

    /// Connections without ends, which a layer that was resolved has not, are left out. Throws
    /// ShapeError naming the neurons of a cycle.
    explicit NeuronPlan(const Neurons& layer);

    /// Numbers of connections into a neuron, in their order.
    [[nodiscard]] std::span<const std::int64_t> inputs(std::int64_t neuron) const {
        const auto at = static_cast<std::size_t>(neuron);
        return std::span(connections).subspan(first[at], first[at + 1] - first[at]);
    }
    /// Whether a weight of a connection into a neuron changes.
    [[nodiscard]] bool changes(const Neurons& layer, std::int64_t neuron) const;
    /// Place in the state of what a source gave `delay` >= 1 steps ago.
    [[nodiscard]] std::int64_t place(std::int64_t source, std::int64_t delay) const {
        return memory_of[static_cast<std::size_t>(source)] + delay - 1;
    }

    std::vector<std::int64_t> order;  ///< Neurons, each after what it depends on in its step.
    std::vector<Memory> memories;     ///< In the order of their sources.
    /// Plastic connections into those neurons, grouped by them. The state holds by how much the
    /// weight of each has changed, from `first_change` on.
    std::vector<std::int64_t> plastic;
    std::int64_t first_change = 0;
    std::int64_t state_words = 0;
    std::vector<std::int64_t> connections;  ///< Enabled, grouped by target.
    std::vector<std::size_t> first;         ///< Of each neuron's; one more at the end.
    std::vector<std::int64_t> memory_of;    ///< First place of each source with a memory.
};

}  // namespace cambrian
