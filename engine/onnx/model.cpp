#include "cambrian/engine/onnx/model.hpp"

#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/io/protobuf.hpp"

// Field numbers are those of onnx.proto3.
namespace cambrian::onnx {
namespace {

std::string message(const Initializer& tensor) {
    ProtobufWriter out;
    out.integers(1, tensor.extents).integer(2, static_cast<std::int64_t>(tensor.type));
    for (const std::string& text : tensor.texts) out.bytes(6, text);
    out.bytes(8, tensor.name);
    if (tensor.type != ElementType::text) out.bytes(9, tensor.raw);
    return out.content();
}

std::string message(const Value& value) {
    ProtobufWriter shape;
    for (const Axis& axis : value.axes) {
        ProtobufWriter dimension;
        if (const auto* const extent = std::get_if<std::int64_t>(&axis))
            dimension.integer(1, *extent);
        else
            dimension.bytes(2, std::get<std::string>(axis));
        shape.bytes(1, dimension.content());
    }
    ProtobufWriter tensor;
    tensor.integer(1, static_cast<std::int64_t>(value.type)).bytes(2, shape.content());
    ProtobufWriter type;
    type.bytes(1, tensor.content());
    ProtobufWriter out;
    out.bytes(1, value.name).bytes(2, type.content()).text(3, value.documentation);
    return out.content();
}

std::string message(const GraphMessage& graph);

/// Writes the field that holds the value, then the one that says which it is.
struct AttributeValue {
    ProtobufWriter& out;

    void operator()(std::int64_t value) const { out.integer(3, value).integer(20, 2); }
    void operator()(const std::string& value) const { out.bytes(4, value).integer(20, 3); }
    void operator()(const std::vector<std::int64_t>& values) const {
        out.integers(8, values).integer(20, 7);
    }
    void operator()(const std::shared_ptr<const GraphMessage>& body) const {
        out.bytes(6, message(*body)).integer(20, 5);
    }
};

std::string message(const Attribute& attribute) {
    ProtobufWriter out;
    out.bytes(1, attribute.name);
    std::visit(AttributeValue{out}, attribute.value);
    return out.content();
}

std::string message(const NodeMessage& node) {
    ProtobufWriter out;
    for (const std::string& input : node.inputs) out.bytes(1, input);
    for (const std::string& output : node.outputs) out.bytes(2, output);
    out.text(3, node.name).bytes(4, node.operation);
    for (const Attribute& attribute : node.attributes) out.bytes(5, message(attribute));
    return out.content();
}

std::string message(const GraphMessage& graph) {
    ProtobufWriter out;
    for (const NodeMessage& node : graph.nodes) out.bytes(1, message(node));
    out.bytes(2, graph.name);
    for (const Initializer& tensor : graph.initializers) out.bytes(5, message(tensor));
    for (const Value& input : graph.inputs) out.bytes(11, message(input));
    for (const Value& output : graph.outputs) out.bytes(12, message(output));
    return out.content();
}

}  // namespace

std::string encode(const ModelMessage& model) {
    constexpr std::size_t max_bytes = std::size_t{1} << 31U;
    std::size_t constants = 0;
    for (const Initializer& tensor : model.graph.initializers) constants += tensor.raw.size();
    if (constants >= max_bytes)
        throw InputError(fmt::format(
            "the network has {} bytes of weights (a file of ONNX holds less than 2 GiB) write a "
            ".safetensors",
            constants));
    ProtobufWriter operators;
    operators.bytes(1, "").integer(2, operator_set);
    ProtobufWriter out;
    out.integer(1, format_version)
        .bytes(2, "cambrian")
        .bytes(3, fmt::format("{}.{}.{}", CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR,
                              CAMBRIAN_VERSION_PATCH))
        .text(6, model.documentation)
        .bytes(7, message(model.graph))
        .bytes(8, operators.content());
    for (const auto& [key, value] : model.metadata) {
        ProtobufWriter entry;
        entry.bytes(1, key).bytes(2, value);
        out.bytes(14, entry.content());
    }
    // Nodes, names and texts come on top of the weights.
    if (out.content().size() >= max_bytes)
        throw InputError(fmt::format(
            "the model has {} bytes (a file of ONNX holds less than 2 GiB) write a .safetensors",
            out.content().size()));
    return out.content();
}

}  // namespace cambrian::onnx
