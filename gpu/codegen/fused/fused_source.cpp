#include "cambrian/gpu/codegen/fused/fused_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {
namespace {

std::uint32_t word_of(const Node& constant) {
    const Tensor& tensor = *std::get<ConstantAttribute>(constant.attributes).value;
    CAMBRIAN_ASSERT(tensor.shape.rank() == 0);
    const double value = tensor.elements[0];
    if (tensor.type == ValueType::real)
        return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return std::bit_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

/// Words of the push block that a kernel may use.
constexpr std::size_t push_words = vulkan::Push::first_group;

/// Ops whose result has the elements of its operand.
bool passes_on(Op op) {
    return is_movement(op) || op == Op::stop_gradient;
}

}  // namespace

std::size_t first_number(const Graph& body) {
    // As in the push blocks of shaders/fused/fused_rows.glsl and fused_elements.glsl.
    constexpr std::size_t before_rows = 3;
    constexpr std::size_t before_views = 5;
    return reduces_rows(body) ? before_rows : before_views + body.inputs().size() + 1;
}

std::vector<std::uint32_t> pushed_numbers(const Graph& body) {
    std::vector<std::uint32_t> words;
    for (const Node& node : body.nodes())
        if (node.op == Op::constant && first_number(body) + words.size() < push_words)
            words.push_back(word_of(node));
    return words;
}

FusedWriter::FusedWriter(const Graph& body) : body_(body), names_(body.value_count()) {
    for (std::size_t i = 0; i < body.inputs().size(); ++i)
        rename(body.inputs()[i], fmt::format("operand_{}", i));
    const bool rows = reduces_rows(body);
    std::size_t number = first_number(body);
    std::size_t variable = 0;
    for (const Node& node : body.nodes()) {
        const ValueId id{node.first_result};
        if (node.op == Op::constant) {
            const std::string word = number < push_words ? fmt::format("push.word[{}]", number++)
                                                         : fmt::format("0x{:08X}U", word_of(node));
            rename(id, from_word(body.value(id).type, word));
        } else if (!rows && passes_on(node.op)) {
            rename(id, name(body.operands(node)[0]));
        } else if (node.op != Op::input) {
            rename(id, fmt::format("v{}", variable++));
        }
    }
}

const std::string& FusedWriter::name(ValueId id) const {
    return names_[static_cast<std::size_t>(id)];
}

std::string FusedWriter::statement(ValueId id) const {
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
    return fmt::format("{} {} = {};  // {}\n", glsl_type(type), name(id), value,
                       cambrian::name(node.op));
}

std::string FusedWriter::word(ValueId id) const {
    const bool real = body_.value(id).type == ValueType::real;
    return (real ? "floatBitsToUint(" : "uint(") + name(id) + ")";
}

std::string FusedWriter::from_word(ValueType type, const std::string& word) {
    return (type == ValueType::real ? "uintBitsToFloat(" : "int(") + word + ")";
}

std::string fused_name(const Graph& body) {
    std::string text = "fused";
    const auto nodes = body.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend() && text.size() < 40; ++node)
        if (!is_bound(node->op)) text += "_" + std::string(name(node->op));
    return text;
}

bool reduces_rows(const Graph& body) {
    return std::ranges::any_of(body.nodes(), [](const Node& node) { return is_fold(node.op); });
}

std::string fused_elements_source(const Graph& body) {
    const FusedWriter writer(body);
    std::string text = fmt::format("#define CAMBRIAN_VIEWS {}U\n", body.inputs().size() + 1);
    text += std::string(shader_text("cambrian/gpu/shaders/fused/fused_axes.glsl")) + "\n";
    text += "uint fused(uint words[CAMBRIAN_VIEWS]) {\n";
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
        const ValueType type = body.value(body.inputs()[i]).type;
        text += fmt::format("    {} operand_{} = {};\n", glsl_type(type), i,
                            FusedWriter::from_word(type, fmt::format("words[{}]", i + 1)));
    }
    for (const Node& node : body.nodes())
        if (!is_bound(node.op) && !passes_on(node.op))
            text += "    " + writer.statement(ValueId{node.first_result});
    text += fmt::format("    return {};\n}}\n\n", writer.word(body.outputs()[0]));
    return text + std::string(shader_text("cambrian/gpu/shaders/fused/fused_elements.glsl"));
}

}  // namespace cambrian::gpu
