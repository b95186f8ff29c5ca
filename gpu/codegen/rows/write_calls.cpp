#include <array>

#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"

// Ops that are calls of functions with choices of their own: activations by gene code, random
// numbers.
namespace cambrian::gpu {
namespace {

/// Activations that share a function, on an element x with a code: all elements of a layer take
/// one way, so that neighbours compute side by side.
struct ActivationGroup {
    std::string_view codes;  ///< Condition on the code {0}.
    std::string_view call;   ///< With x for {0} and the code for {1}.
};
constexpr std::array activation_groups{
    ActivationGroup{"{0} == 4", "own_tanh({0})"},
    ActivationGroup{"{0} == 5 || {0} == 2", "row_sigmoid_or_silu({0}, {1})"},
    ActivationGroup{"{0} == 3", "activation_gelu({0})"},
    ActivationGroup{"{0} == 1", "activation_relu({0})"},
};
/// Where they may be any.
constexpr std::array other_activations{ActivationGroup{"{0} > 5", "op_activate_any({0}, {1})"}};
constexpr std::string_view activation_functions = R"(
float row_sigmoid_or_silu(float x, int code) {
    precise float sigmoid = own_sigmoid(x);
    precise float silu = x * sigmoid;
    return code == 2 ? silu : sigmoid;
}
)";

}  // namespace

void row_write::activate(RowWriter& writer, const Node& node) {
    const auto ids = writer.graph().operands(node);
    const View operand = writer.view(ids[0]);
    const std::string code = writer.element(writer.view(ids[1]), {});
    writer.need_functions("activations", activation_functions);
    writer.begin(node);
    const View result = writer.result(node, 0, operand.shape);
    std::string_view keyword = "if";
    const auto write = [&](const ActivationGroup& group, std::int64_t cost) {
        writer.open("{} ({})", keyword, fmt::format(fmt::runtime(group.codes), code));
        writer.each(result.shape, cost, [&](std::span<const Index> at) {
            writer.line("{} = {};", writer.element(result, at),
                        fmt::format(fmt::runtime(group.call), writer.element(operand, at), code));
        });
        writer.end();
        keyword = "else if";
    };
    for (const ActivationGroup& group : activation_groups) write(group, row_op(Op::tanh).cost);
    if (node.op == Op::activate_any)
        for (const ActivationGroup& group : other_activations) write(group, row_op(node.op).cost);
    writer.open("else");
    writer.copy(result, operand);
    writer.end();
    writer.set(result_of(node), result);
}

void row_write::random(RowWriter& writer, const Node& node) {
    const auto ids = writer.graph().operands(node);
    const View key = writer.view(ids[0]);
    const View id = writer.view(ids[1]);
    const std::int64_t draws = std::get<LengthAttribute>(node.attributes).length;
    const auto key_word = [&](std::int64_t word) {
        const std::array at{Index(word)};
        return writer.element(key, at);
    };
    writer.begin(node);
    const View result = writer.result(node, 0, writer.row_shape(result_of(node)));
    const std::string words = writer.fresh("words");
    writer.line("vec4 {};", words);
    writer.each(id.shape, 40 * draws, [&](std::span<const Index> at) {
        std::vector<Index> to(at.begin(), at.end());
        to.emplace_back();
        for (std::int64_t draw = 0; draw < draws; ++draw) {
            if (draw % 4 == 0)
                writer.line("{} = random_uniforms(uvec2({}, {}), uint({}), {}u);", words,
                            key_word(0), key_word(1), writer.element(id, at), draw / 4);
            to.back() = draw;
            writer.line("{} = {}[{}];", writer.element(result, to), words, draw % 4);
        }
    });
    writer.set(result_of(node), result);
}

}  // namespace cambrian::gpu
