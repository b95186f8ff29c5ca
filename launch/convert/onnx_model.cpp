#include "cambrian/launch/convert/onnx_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/engine/onnx/translation.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/convert/onnx_preparation.hpp"

namespace cambrian::launch {
namespace {

using onnx::Builder;
using onnx::Place;

constexpr std::string_view state_prefix = "state.";
constexpr std::string_view next_state_prefix = "next.";

/// One row of a network as a graph: weights, rows and states in, outputs and new states out.
struct NetworkGraph {
    Graph graph;
    bool steps = false;  ///< Whether states are among its inputs and outputs.
};

Shape with_one(const Shape& shape) {
    return with_leading(std::array<std::int64_t, 1>{1}, shape);
}

/// @param shown steps for which a row is shown; 1: each row is a step of its own.
NetworkGraph network_graph(const Network& network, std::int64_t shown) {
    NetworkGraph result{.graph = {}, .steps = network.stateful() && shown == 1};
    Graph& graph = result.graph;
    const WatchedNetwork watched(network, "");
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, Shape{network.weight_count()}),
        .activations = graph.constant(code_operand(ValueType::integer, network.activation_codes())),
        .enabled = graph.constant(code_operand(ValueType::boolean, network.enabled_flags()))};
    const std::int64_t width = network.input_features();
    const Var row = graph.input("rows", ValueType::real, {1, width});
    std::vector<Var> state;
    if (result.steps)
        for (const StateSpec& spec : network.state())
            state.push_back(graph.input(spec.name, ValueType::real, with_one(spec.shape)));
    if (result.steps) {
        const StepResult step = watched.step(row, state, operands);
        graph.output(step.output);
        for (const Var value : step.state) graph.output(value);
    } else if (network.stateful()) {
        const Var rows = broadcast(reshape(row, {1, 1, width}), {1, shown, width});
        const Var all = watched.sequence(rows, operands);
        graph.output(reshape(slice(all, 1, shown - 1, 1), {1, all.shape()[-1]}));
    } else {
        graph.output(watched.apply(row, operands));
    }
    return result;
}

/// "slot.3" as "slot 3, dense".
std::string layer_text(const Blueprint& blueprint, const std::string& capture) {
    constexpr std::string_view slot = "slot.";
    if (!capture.starts_with(slot)) return fmt::format("its head, {}", blueprint.head.type());
    const std::size_t index = std::stoul(capture.substr(slot.size()));
    return fmt::format("slot {}, {}", index, blueprint.slots[index]->layer.type());
}

void check_sayable(const std::string& source, const Graph& graph, const Blueprint& blueprint) {
    const onnx::RefusedOp refused = onnx::refused_op(graph);
    if (refused.op == nullptr) return;
    throw ConfigError(fmt::format(
        "{} cannot be written as ONNX ({} computes {}, {}, for which ONNX has no nodes) leave out "
        "the layer, or its \"activation_dtype\", or write a .safetensors",
        source, layer_text(blueprint, refused.capture), refused.op->name, refused.op->meaning));
}

/// The graph with the batch in place of the population, in the ops that have nodes.
Graph prepared_graph(const Graph& graph) {
    std::vector<std::size_t> own(graph.inputs().size() - 1);
    std::iota(own.begin(), own.end(), std::size_t{1});
    return eliminate_dead_code(eliminate_common_subexpressions(
        fold_constants(lower(vmap(graph, own), onnx::has_nodes), evaluate_node)));
}

/// The weights as a layer's numbers, which are slices of it by name.
Place weights_place(const Network& network, std::span<const float> masters) {
    const std::vector<float> weights = evaluated_weights(network, masters);
    auto names = std::make_shared<std::map<std::int64_t, std::string>>();
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        names->emplace(network.weights()[i].offset, network.weight_name(i));
    Place place = Place::of_constant(
        Tensor(ValueType::real, Shape{std::ssize(weights)}, {weights.begin(), weights.end()}),
        "weights");
    place.parts = std::move(names);
    return place;
}

onnx::Value state_value(std::string_view prefix, const StateSpec& spec) {
    onnx::Value value{.name = fmt::format("{}{}", prefix, spec.name),
                      .axes = {std::string(onnx::batch_axis)}};
    for (const std::int64_t extent : spec.shape.extents()) value.axes.emplace_back(extent);
    return value;
}

/// A text for programs: JSON in ASCII, whatever bytes names have.
std::string json_list(const std::vector<std::string>& names) {
    return nlohmann::json(names).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> metadata(const distributed::NetworkFile& file,
                                                          const Network& network, bool steps,
                                                          const evolve::Preparation* preparation) {
    std::vector<std::pair<std::string, std::string>> entries{
        {"parameters", fmt::format("{}", network.weight_count())}};
    if (std::isfinite(file.fitness)) {
        entries.emplace_back("fitness", fmt::format("{}", file.fitness));
        entries.emplace_back("generation", fmt::format("{}", file.generation));
        entries.emplace_back("birth", fmt::format("{}", file.birth));
    }
    if (file.validated) entries.emplace_back("validated", fmt::format("{}", *file.validated));
    const auto identity = nlohmann::json::parse(file.identity_json, nullptr, false);
    const nlohmann::json::json_pointer task("/task/type");
    if (identity.is_object() && identity.contains(task) && identity.at(task).is_string())
        entries.emplace_back("task", identity.at(task).get<std::string>());
    std::vector<std::string> names;
    if (steps) {
        for (const StateSpec& spec : network.state()) names.push_back(spec.name);
        entries.emplace_back("states", json_list(names));
    }
    if (preparation == nullptr) return entries;
    names.clear();
    for (const evolve::PreparedInput& input : preparation->inputs) names.push_back(input.column);
    if (preparation->named()) entries.emplace_back("columns", json_list(names));
    names.clear();
    if (preparation->classes.empty())
        for (std::size_t i = 0; i < preparation->outputs.size(); ++i)
            names.push_back(preparation->answer_name(i));
    else
        names = preparation->class_names();
    entries.emplace_back(preparation->classes.empty() ? "answers" : "classes", json_list(names));
    if (preparation->ahead.value_or(0) > 0)
        entries.emplace_back("ahead", fmt::format("{}", *preparation->ahead));
    if (preparation->sequence_rows > 0 && steps)
        entries.emplace_back("sequence_rows", fmt::format("{}", preparation->sequence_rows));
    return entries;
}

}  // namespace

OnnxModel onnx_model(const std::string& source, const distributed::NetworkFile& file,
                     const std::optional<evolve::Preparation>& given) {
    const Blueprint& blueprint = file.genome.blueprint;
    const Network network(blueprint);
    // Rows that nothing prepares are those of --raw.
    evolve::Preparation plain = evolve::plain_preparation(blueprint);
    if (given && !given->ahead) plain.ahead.reset();
    const evolve::Preparation* const preparation = given && *given != plain ? &*given : nullptr;
    const std::int64_t shown = preparation == nullptr ? 1 : preparation->shown_steps();
    const auto [graph, steps] = network_graph(network, shown);
    check_sayable(source, graph, blueprint);

    Builder builder;
    const OnnxRows rows = add_rows(builder, network.input_features(), preparation);
    const std::string second_axis = builder.integers({1});
    std::vector<Place> inputs{
        weights_place(network, file.genome.weights),
        Place::of_value(builder.add("Unsqueeze", {rows.prepared, second_axis}), true)};
    if (steps)
        for (const StateSpec& spec : network.state()) {
            const std::string state = builder.input(state_value(state_prefix, spec));
            inputs.push_back(Place::of_value(builder.add("Unsqueeze", {state, second_axis}), true));
        }
    std::vector<std::string> outputs =
        onnx::translate(builder, prepared_graph(graph), std::move(inputs));
    for (std::string& output : outputs) output = builder.add("Squeeze", {output, second_axis});
    add_answers(builder, rows, outputs[0], blueprint.output_features, preparation);
    for (std::size_t i = 1; i < outputs.size(); ++i)
        builder.output(outputs[i], state_value(next_state_prefix, network.state()[i - 1]));

    OnnxModel model;
    model.bytes = onnx::encode({.graph = builder.finish("network"),
                                .documentation = "A network of Cambrian.",
                                .metadata = metadata(file, network, steps, preparation)});
    if (steps)
        model.lines =
            fmt::format("  one step: begin with zeros in every {}NAME, and pass {}NAME on to it\n",
                        state_prefix, next_state_prefix);
    if (shown > 1)
        model.lines +=
            fmt::format("  every row is shown for {} steps, the last of which answers\n", shown);
    return model;
}

}  // namespace cambrian::launch
