#include <algorithm>
#include <optional>

#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

// Networks that are data: their interpreter, and where it reads them.
namespace cambrian::gpu {
namespace {

/// Words of a row of a network, and of its state.
struct InterpretedRow {
    std::int64_t inputs = 0;
    std::int64_t state = 0;
    std::int64_t spread = 1;  ///< Fours from one of the bytecode and the weights to the next.
};

std::string function_of(const Node& node) {
    return fmt::format("interpret_{}", node.first_result);
}

/// An operand of the node as one of the scan that is the same in every step, or nothing.
std::optional<std::size_t> invariant_operand(const RowWriter& writer, ValueId id) {
    const auto inputs = writer.graph().inputs();
    const auto found = std::ranges::find(inputs, id);
    const auto first = inputs.begin() + writer.scan().carries + writer.scan().sequences;
    if (found == inputs.end() || found < first) return std::nullopt;
    return static_cast<std::size_t>(found - inputs.begin());
}

/// Lays the networks of a node out anew, of one node in a kernel, where they are small and have so
/// few rows that neighbours walk several of them; → whether it did.
bool spread_networks(RowWriter& writer, const Node& node) {
    const auto ids = writer.graph().operands(node);
    const auto bytecode = invariant_operand(writer, ids[0]);
    const auto weights = invariant_operand(writer, ids[1]);
    const ValueInfo& code = writer.graph().value(ids[0]);
    const bool several = 2 * writer.analysis().rows <= std::int64_t{row_group_width};
    if (!bytecode || !weights || !code.per_individual || !several || !writer.lays_out() ||
        writer.spread)
        return false;
    const std::int64_t most = std::get<InterpretAttribute>(node.attributes).weights;
    const RowSpread spread{.bytecode = *bytecode,
                           .weights = *weights,
                           .bytecode_words = code.shape.elements(),
                           .weight_words = (most + 3) / 4 * 4};
    if (spread.bytecode_words % 4 != 0 ||
        spread.bytecode_words + spread.weight_words > RowSpread::max_words)
        return false;
    writer.need_spread(spread);
    return true;
}

/// Puts the working memory of one network in a kernel into shared memory, in workgroups as wide as
/// that is for: 32 KiB, or less where the device's workgroups have less. → definitions, none where
/// it does not fit.
std::string shared_memory(RowWriter& writer, const std::string& function, std::int64_t words) {
    const std::int64_t shared_words = writer.shared_words();
    if (words * row_group_width > shared_words || writer.has_functions("interpret_store"))
        return {};
    writer.need_functions("interpret_store", "");
    while (writer.width < max_row_group_width && words * 2 * writer.width <= shared_words)
        writer.width *= 2;
    return fmt::format("#define INTERPRET_STORE {}_store\n#define INTERPRET_LANES {}\n", function,
                       writer.width);
}

/// Several lanes for a row of the one network in a kernel whose working memory they share.
/// → definitions, none where there are no teams.
std::string teams(RowWriter& writer) {
    if (!writer.may_have_teams()) return {};
    writer.teams = true;
    writer.need_functions("teams", shader_text("cambrian/gpu/shaders/scan/interpret/team.glsl"));
    return "#define INTERPRET_TEAMS\n";
}

/// Whether the words of a row are copied one by one in the text.
bool writes_out_inputs(const RowWriter& writer, std::int64_t inputs) {
    constexpr std::int64_t max_of_software = 64;
    return !writer.software() || inputs <= max_of_software;
}

/// The interpreter of a node, for networks of these sizes.
void need_interpreter(RowWriter& writer, const Node& node, const InterpretedRow& row) {
    const auto& attribute = std::get<InterpretAttribute>(node.attributes);
    const std::string function = function_of(node);
    const std::string activations =
        attribute.activations == ActivationSet::any ? "#define INTERPRET_ANY_ACTIVATION\n" : "";
    const std::string memory = shared_memory(writer, function, attribute.memory);
    if (writer.software() && attribute.neurons >= NeuronSet::any) {
        writer.need_functions("status", shader_text("cambrian/gpu/shaders/status.glsl"));
        writer.reports = true;
        writer.reports_ended_loops = true;
    }
    // Neurons wait for each other: levels of few hold little to share.
    const bool shares = !memory.empty() && row.spread > 1 && attribute.neurons == NeuronSet::none;
    writer.need_functions(
        function,
        activations + memory + (shares ? teams(writer) : "") +
            fmt::format("#define INTERPRET_NAME {}\n#define INTERPRET_INPUTS {}\n"
                        "#define INTERPRET_OUTPUTS {}\n#define INTERPRET_STATE {}\n"
                        "#define INTERPRET_STATE_SIZE {}\n#define INTERPRET_MEMORY {}\n"
                        "#define INTERPRET_NEURONS {}\n#define INTERPRET_SPREAD {}\n"
                        "#define INTERPRET_EACH_INPUT [[{}]]\n"
                        "#define CAMBRIAN_CALL(name) own_##name\n{}#undef CAMBRIAN_CALL\n",
                        function, row.inputs, attribute.outputs, state_of_network(node),
                        (row.state + 7) / 4 * 4, attribute.memory,
                        static_cast<int>(attribute.neurons), row.spread,
                        writes_out_inputs(writer, row.inputs) ? "unroll" : "dont_unroll",
                        whole_shader_text("cambrian/gpu/shaders/scan/interpret/network.glsl")));
}

}  // namespace

std::string state_of_network(const Node& node) {
    return function_of(node) + "_state";
}

void row_write::interpret(RowWriter& writer, const Node& node) {
    const auto ids = writer.graph().operands(node);
    const ValueId output = result_of(node);
    const auto row_of = [&](std::size_t index) {
        const View view = writer.operand(ids[index], writer.has_rows(output),
                                         writer.graph().value(output).shape.rank());
        return *reshaped(view, Shape{view.shape.elements()});
    };
    const View rows = row_of(2);
    const View state = row_of(3);
    const std::int64_t outputs = std::get<InterpretAttribute>(node.attributes).outputs;
    const bool spread = spread_networks(writer, node);
    need_interpreter(writer, node,
                     {.inputs = rows.shape[0],
                      .state = state.shape[0],
                      .spread = spread ? RowSpread::individuals : 1});
    writer.begin(node);
    const View result = writer.result(node, 0, Shape{outputs});
    // Where a carry is the state itself, nothing moves.
    const std::string kept = state_of_network(node);
    const bool in_place = state.name == kept;
    const View next = in_place ? state : writer.result(node, 1, state.shape);
    // Arguments are whole arrays, also of one element.
    const auto array = [&](const View& view, std::string_view prefix) {
        const std::string name = writer.fresh(prefix);
        writer.line("float {}[{}];", name, std::max<std::int64_t>(view.shape[0], 1));
        return name;
    };
    const auto index_in = [](std::span<const Index> at) { return at[0].text(); };
    const std::string x = array(rows, "row");
    const std::string y = array(result, "output");
    const auto copy_input = [&](std::span<const Index> at) {
        writer.line("{}[{}] = {};", x, index_in(at), writer.element(rows, at));
    };
    if (writes_out_inputs(writer, rows.shape[0])) {
        writer.each(rows.shape, 1, copy_input);
    } else {
        writer.loop_over(rows.shape, copy_input);
    }
    const auto each_of_state = [&](const auto& line) {
        if (!in_place) writer.each(state.shape, 1, line);
    };
    each_of_state([&](std::span<const Index> at) {
        writer.line("{}[{}] = {};", kept, index_in(at), writer.element(state, at));
    });
    writer.line("{}(Bytecode({}), PackedWeights({}), {}, {});", function_of(node),
                spread ? "bytecode" : writer.view(ids[0]).name,
                spread ? "weights" : writer.view(ids[1]).name, x, y);
    writer.each(result.shape, 1, [&](std::span<const Index> at) {
        writer.line("{} = {}[{}];", writer.element(result, at), y, index_in(at));
    });
    each_of_state([&](std::span<const Index> at) {
        writer.line("{} = {}[{}];", writer.element(next, at), kept, index_in(at));
    });
    writer.set(output, *reshaped(result, writer.row_shape(output)));
    writer.set(result_of(node, 1), *reshaped(next, writer.row_shape(result_of(node, 1))));
}

}  // namespace cambrian::gpu
