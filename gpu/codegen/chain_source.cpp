#include "cambrian/gpu/codegen/chain_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/expressions.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

std::string literal_of(const Node& node) {
    const Tensor& tensor = *std::get<ConstantAttribute>(node.attributes).value;
    CAMBRIAN_ASSERT(tensor.shape.rank() == 0);
    const double value = tensor.elements[0];
    if (tensor.type == ValueType::real) return literal(static_cast<float>(value));
    const auto integer = static_cast<std::int32_t>(value);
    if (integer == std::numeric_limits<std::int32_t>::min()) return "int(0x80000000U)";
    return integer < 0 ? fmt::format("({})", integer) : std::to_string(integer);
}

/// Ops whose result has the elements of its operand.
bool passes_on(Op op) {
    return op == Op::broadcast || op == Op::reshape;
}

}  // namespace

ChainWriter::ChainWriter(const Graph& body) : body_(body), names_(body.value_count()) {
    for (std::size_t i = 0; i < body.inputs().size(); ++i)
        rename(body.inputs()[i], fmt::format("operand_{}", i));
    for (const Node& node : body.nodes()) {
        if (node.op == Op::constant) rename(ValueId{node.first_result}, literal_of(node));
        if (node.op == Op::constant || node.op == Op::input) continue;
        rename(ValueId{node.first_result}, fmt::format("v{}", node.first_result));
    }
}

const std::string& ChainWriter::name(ValueId id) const {
    return names_[static_cast<std::size_t>(id)];
}

std::string ChainWriter::statement(ValueId id) const {
    const Node& node = body_.producer(id);
    std::vector<std::string> operands;
    std::vector<ValueType> types;
    for (const ValueId operand : body_.operands(node)) {
        operands.push_back(name(operand));
        types.push_back(body_.value(operand).type);
    }
    const ValueType type = body_.value(id).type;
    const std::string value =
        passes_on(node.op) ? operands[0] : expression(node.op, operands, types, type);
    return fmt::format("{} v{} = {};  // {}\n", glsl_type(type), static_cast<std::uint32_t>(id),
                       value, cambrian::name(node.op));
}

std::string ChainWriter::word(ValueId id) const {
    const bool real = body_.value(id).type == ValueType::real;
    return (real ? "floatBitsToUint(" : "uint(") + name(id) + ")";
}

std::string ChainWriter::from_word(ValueType type, const std::string& word) {
    return (type == ValueType::real ? "uintBitsToFloat(" : "int(") + word + ")";
}

std::string chain_name(const Graph& body) {
    std::string text = "chain";
    const auto nodes = body.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend() && text.size() < 40; ++node)
        if (node->op != Op::input && node->op != Op::constant)
            text += "_" + std::string(name(node->op));
    return text;
}

bool reduces_rows(const Graph& body) {
    return std::ranges::any_of(body.nodes(), [](const Node& node) {
        return node.op == Op::reduce_sum || node.op == Op::reduce_max;
    });
}

std::string elementwise_chain_source(const Graph& body) {
    const ChainWriter writer(body);
    std::string text = fmt::format("#define CAMBRIAN_VIEWS {}U\n", body.inputs().size() + 1);
    text += std::string(shader_text("chain_axes.glsl")) + "\n";
    text += "uint chain(uint words[CAMBRIAN_VIEWS]) {\n";
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
        const ValueType type = body.value(body.inputs()[i]).type;
        text += fmt::format("    {} operand_{} = {};\n", glsl_type(type), i,
                            ChainWriter::from_word(type, fmt::format("words[{}]", i + 1)));
    }
    for (const Node& node : body.nodes())
        if (node.op != Op::input && node.op != Op::constant)
            text += "    " + writer.statement(ValueId{node.first_result});
    text += fmt::format("    return {};\n}}\n\n", writer.word(body.outputs()[0]));
    return text + std::string(shader_text("chain_elements.glsl"));
}

}  // namespace cambrian::gpu
