#include <iterator>
#include <memory>

#include "cambrian/engine/onnx/node_writer.hpp"

// Loops as nodes of ONNX.
namespace cambrian::onnx {

namespace {

std::size_t as_index(int value) {
    return static_cast<std::size_t>(value);
}

/// A loop of one step is its body.
void write_step(const NodeWriter& node, const ScanAttribute& scan) {
    const Graph& body = *scan.body;
    Builder& to = node.builder();
    std::vector<Place> inputs;
    for (std::size_t i = 0; i < node.count(); ++i) {
        const bool is_sequence =
            i >= as_index(scan.carries) && i < as_index(scan.carries + scan.sequences);
        if (!is_sequence) {
            inputs.push_back(node.place(i));
            continue;
        }
        const std::string axis = to.integers({node.axis(0, i)});
        inputs.push_back(Place::of_value(to.add("Squeeze", {node.name(i), axis}), node.batched(i)));
    }
    std::vector<Place> outputs = translate_places(to, body, std::move(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (i < as_index(scan.carries)) {
            node.give(outputs[i], i);
            continue;
        }
        const std::string axis = to.integers({outputs[i].batched ? 1 : 0});
        const bool batched = outputs[i].batched;
        node.give(Place::of_value(to.add("Unsqueeze", {written(to, outputs[i]), axis}), batched),
                  i);
    }
}

Value declared(std::string name, const ValueInfo& info, bool batched) {
    Value value{.name = std::move(name), .type = element_type(info.type), .axes = {}};
    if (batched) value.axes.emplace_back(std::string(batch_axis));
    for (const std::int64_t extent : info.shape.extents()) value.axes.emplace_back(extent);
    return value;
}

}  // namespace

/// Carries, sequences and stacked results are operands and results of the loop; invariants are
/// values that its body sees. Which carries have the batch is what vmap found for the body.
void write_scan(const NodeWriter& node, std::string_view operation) {
    const auto& scan = node.attribute<ScanAttribute>();
    if (scan.length == 1) return write_step(node, scan);
    const Graph& body = *scan.body;
    Builder& to = node.builder();
    auto message = std::make_shared<GraphMessage>();
    std::vector<std::string> operands;
    std::vector<Place> inputs;
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < node.count(); ++i) {
        const ValueInfo& info = body.value(body.inputs()[i]);
        if (i >= as_index(scan.carries + scan.sequences)) {
            // Written here: what is written in the body is not seen after it.
            static_cast<void>(node.name(i));
            inputs.push_back(node.place(i));
            continue;
        }
        const bool is_carry = i < as_index(scan.carries);
        const bool batched = is_carry ? info.per_individual : node.batched(i);
        operands.push_back(batched ? node.spread(i) : node.name(i));
        if (!is_carry) axes.push_back(batched ? 1 : 0);
        // Not a name that the model's own inputs and outputs take later.
        const std::string name = to.free_name("step." + std::string(body.input_name(i)));
        message->inputs.push_back(declared(name, info, batched));
        inputs.push_back(Place::of_value(name, batched));
    }
    if (scan.sequences == 0) {
        // Something has to tell how often: a sequence that nothing reads.
        const Tensor steps(ValueType::integer, Shape{scan.length});
        operands.push_back(to.constant(steps, "steps"));
        axes.push_back(0);
        message->inputs.push_back(
            {.name = to.free_name("step_number"), .type = element_type(steps.type), .axes = {}});
    }
    to.begin_body();
    std::vector<Place> outputs = translate_places(to, body, std::move(inputs));
    std::vector<std::int64_t> stacked;
    std::vector<bool> has_batch;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const ValueInfo& info = body.value(body.outputs()[i]);
        const bool is_carry = i < as_index(scan.carries);
        const bool batched =
            is_carry ? body.value(body.inputs()[i]).per_individual : outputs[i].batched;
        const std::string value =
            batched ? with_batch(to, outputs[i], info) : written(to, outputs[i]);
        has_batch.push_back(batched);
        if (!is_carry) stacked.push_back(batched ? 1 : 0);
        message->outputs.push_back(declared(to.add("Identity", {value}), info, batched));
    }
    message->nodes = to.end_body();
    message->name = to.free_name("step");
    const std::vector<std::int64_t> directions(axes.size(), scan.reverse ? 1 : 0);
    const std::vector<std::int64_t> ways(stacked.size(), scan.reverse ? 1 : 0);
    std::vector<Attribute> attributes{{"body", std::shared_ptr<const GraphMessage>(message)},
                                      {"num_scan_inputs", std::ssize(axes)},
                                      {"scan_input_axes", axes},
                                      {"scan_input_directions", directions}};
    if (!stacked.empty()) {
        attributes.push_back({"scan_output_axes", stacked});
        attributes.push_back({"scan_output_directions", ways});
    }
    const std::vector<std::string> results =
        to.add(operation, operands, std::move(attributes), outputs.size());
    for (std::size_t i = 0; i < results.size(); ++i)
        node.give(Place::of_value(results[i], has_batch[i]), i);
}

}  // namespace cambrian::onnx
