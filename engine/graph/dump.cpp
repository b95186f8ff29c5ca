#include <charconv>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {
namespace {

std::string label(ValueId id) {
    return "v" + std::to_string(static_cast<std::uint32_t>(id));
}

std::string number(double value) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

std::string labels(std::span<const ValueId> ids) {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + label(id);
    return text;
}

/// Text of the attributes of a node, empty when there is nothing to say.
struct AttributeText {
    int rank;
    std::string operator()(const std::monostate&) const { return ""; }
    std::string operator()(const AxisAttribute& a) const {
        return "axis " + std::to_string(a.axis) + (a.keep ? ", keep" : "");
    }
    std::string operator()(const ShapeAttribute&) const { return ""; }
    std::string operator()(const PermuteAttribute& a) const {
        std::string text = "order";
        for (int i = 0; i < rank; ++i)
            text += " " + std::to_string(a.order[static_cast<std::size_t>(i)]);
        return text;
    }
    std::string operator()(const SliceAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", start " + std::to_string(a.start);
    }
    std::string operator()(const PadAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", before " + std::to_string(a.before) +
               ", after " + std::to_string(a.after);
    }
    std::string operator()(const CastAttribute&) const { return ""; }
    std::string operator()(const MatmulAttribute& a) const {
        std::string text = a.transpose_left ? "transpose_left" : "";
        if (a.transpose_right) text += text.empty() ? "transpose_right" : ", transpose_right";
        return text;
    }
    std::string operator()(const ConstantAttribute& a) const {
        return a.value->elements.size() == 1 ? number(a.value->elements[0]) : "";
    }
    std::string operator()(const InputAttribute& a) const { return *a.name; }
    std::string operator()(const LengthAttribute& a) const {
        return "length " + std::to_string(a.length);
    }
    std::string operator()(const LinearAttribute& a) const {
        std::string text = (*this)(a.product);
        for (const auto& [flag, word] : {std::pair{a.bias, "bias"}, {a.activation, "activation"}})
            if (flag) text += (text.empty() ? "" : ", ") + std::string(word);
        return text;
    }
    std::string operator()(const ChainAttribute&) const { return ""; }
    std::string operator()(const InterpretAttribute& a) const {
        return "outputs " + std::to_string(a.outputs) + ", memory " + std::to_string(a.memory);
    }
    std::string operator()(const ScanAttribute& a) const {
        return "length " + std::to_string(a.length) + ", carries " + std::to_string(a.carries) +
               ", sequences " + std::to_string(a.sequences) + (a.reverse ? ", reverse" : "") +
               (a.alive_carry >= 0 ? ", alive " + std::to_string(a.alive_carry) : "");
    }
};

std::string node_line(const Graph& graph, const Node& node) {
    std::string text;
    for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id) {
        const ValueInfo& info = graph.value(ValueId{id});
        if (!text.empty()) text += ", ";
        text += label(ValueId{id}) + " " + std::string(name(info.type)) + " " + info.shape.text();
        if (info.per_individual) text += " *";
    }
    text += " = " + std::string(name(node.op)) + "(" + labels(graph.operands(node)) + ")";
    const std::string attributes = std::visit(
        AttributeText{graph.value(ValueId{node.first_result}).shape.rank()}, node.attributes);
    return attributes.empty() ? text : text + " {" + attributes + "}";
}

std::string dump_indented(const Graph& graph, const std::string& indent) {
    std::string text;
    for (const Node& node : graph.nodes()) {
        text += indent + node_line(graph, node) + "\n";
        if (node.op == Op::scan)
            text += dump_indented(*std::get<ScanAttribute>(node.attributes).body, indent + "    ");
        if (node.op == Op::chain)
            text += dump_indented(*std::get<ChainAttribute>(node.attributes).body, indent + "    ");
    }
    return text + indent + "outputs " + labels(graph.outputs()) + "\n";
}

}  // namespace

std::string dump(const Graph& graph) {
    return dump_indented(graph, "");
}

}  // namespace cambrian
