#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/fused/fused_source.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

std::size_t index_of(ValueId id) {
    return static_cast<std::size_t>(id);
}

bool has_statement(const Node& node) {
    return !is_bound(node.op) && !is_fold(node.op);
}

/// Writes the main function of one fusion group.
class FusedRowsWriter {
  public:
    FusedRowsWriter(const Graph& body, const FusedRowsPlan& plan, bool in_registers)
        : body_(body), plan_(plan), in_registers_(in_registers), names_(body) {}

    std::string main_function() {
        text_ =
            "void main() {\n"
            "    uint row = group() * (group_threads / row_threads) +\n"
            "               gl_LocalInvocationID.x / row_threads;\n"
            "    bool present = row < push.word[0];\n"
            "    uint length = push.word[1];\n"
            "    uint offsets[CAMBRIAN_VIEWS];\n"
            "    // Threads without a row go along with the first one and store nothing.\n"
            "    find_offsets(present ? row : 0U, offsets);\n";
        declare_kept();
        for (int pass = 0; pass < plan_.passes; ++pass) write_pass(pass);
        return text_ + "}\n";
    }

  private:
    [[nodiscard]] const ValueInfo& info(ValueId id) const { return body_.value(id); }
    [[nodiscard]] bool varies(ValueId id) const { return plan_.varies[index_of(id)]; }
    /// Whether the result has one element for each column.
    [[nodiscard]] bool stores_row() const {
        const Shape& shape = info(body_.outputs()[0]).shape;
        return plan_.row_length > 1 && shape.rank() > 0 && shape[-1] > 1;
    }

    void declare_kept() {
        if (!in_registers_) return;
        for (const Node& node : body_.nodes()) {
            const ValueId id{node.first_result};
            if (node.op == Op::input || !plan_.kept[index_of(id)]) continue;
            text_ +=
                fmt::format("    {} kept_{}[vectors];\n",
                            info(id).type == ValueType::real ? "vec4" : "ivec4", names_.name(id));
        }
    }

    /// Values of rows that are known once `pass` passes are over, and no earlier.
    void write_row_values(int pass) {
        for (std::size_t i = 0; i < body_.inputs().size(); ++i) {
            const ValueId id = body_.inputs()[i];
            if (pass != 0 || varies(id)) continue;
            const std::string word = fmt::format("load_word({0}U, offsets[{0}])", i + 1);
            text_ += fmt::format("    {} operand_{} = {};\n", glsl_type(info(id).type), i,
                                 FusedWriter::from_word(info(id).type, word));
        }
        for (const Node& node : body_.nodes()) {
            const ValueId id{node.first_result};
            if (has_statement(node) && !varies(id) && plan_.ready[index_of(id)] == pass)
                text_ += "    " + names_.statement(id);
        }
    }

    [[nodiscard]] std::vector<const Node*> reductions(int pass) const {
        std::vector<const Node*> found;
        for (const Node& node : body_.nodes())
            if (plan_.reduced_in[node.first_result] == pass) found.push_back(&node);
        return found;
    }

    void write_pass(int pass) {
        const bool last = pass + 1 == plan_.passes;
        text_ += fmt::format("\n    // Pass {} of {}.\n", pass + 1, plan_.passes);
        write_row_values(pass);
        if (last && !stores_row()) {
            text_ += fmt::format(
                "    if (present && lane() == 0U) Words(push.address[0]).at[offsets[0]] = {};\n",
                names_.word(body_.outputs()[0]));
            return;
        }
        const std::vector<const Node*> folds = reductions(pass);
        for (const Node* node : folds) declare_fold(*node);
        if (in_registers_) write_loads(pass);
        open_loop();
        if (!in_registers_) write_loads(pass);
        if (last) text_ += "        uvec4 result = uvec4(0U);\n";
        text_ += "        CAMBRIAN_UNROLL for (uint word = 0U; word < width; ++word) {\n";
        write_elements(pass);
        for (const Node* node : folds) write_fold(*node);
        if (last)
            text_ +=
                fmt::format("            result[word] = {};\n", names_.word(body_.outputs()[0]));
        text_ += "        }\n";
        if (last) text_ += "        if (present) store_vector(offsets[0] + column, result);\n";
        text_ += in_registers_ ? "    } }\n" : "    }\n";
        for (const Node* node : folds) finish_fold(*node);
    }

    void open_loop() {
        if (in_registers_) {
            text_ +=
                "    CAMBRIAN_UNROLL for (uint vector = 0U; vector < vectors; ++vector) {\n"
                "        uint column = (vector * row_threads + lane()) * width;\n"
                "        if (whole == 1U || column < length) {\n";
        } else {
            text_ +=
                "    for (uint column = lane() * width; column < length;\n"
                "         column += row_threads * width) {\n";
        }
    }

    /// Everything a pass needs that varies, operands first: marks, by value.
    [[nodiscard]] std::vector<bool> needed_in(int pass) const {
        std::vector<bool> needed(body_.value_count(), false);
        const auto mark = [&](auto& self, ValueId id) -> void {
            if (!varies(id) || needed[index_of(id)]) return;
            needed[index_of(id)] = true;
            if (in_registers_ && plan_.pass[index_of(id)] < pass) return;
            for (const ValueId operand : body_.operands(body_.producer(id))) self(self, operand);
        };
        for (const Node* node : reductions(pass)) mark(mark, body_.operands(*node)[0]);
        if (pass + 1 == plan_.passes) mark(mark, body_.outputs()[0]);
        return needed;
    }

    [[nodiscard]] bool is_there(ValueId id, int pass) const {
        return in_registers_ && plan_.pass[index_of(id)] < pass;
    }

    /// Loads the operands that are not there yet: all vectors of a thread before anything is
    /// computed, so that many are on their way at once; or the vector of one step.
    void write_loads(int pass) {
        const std::vector<bool> needed = needed_in(pass);
        for (std::size_t i = 0; i < body_.inputs().size(); ++i) {
            const ValueId id = body_.inputs()[i];
            if (!needed[index_of(id)] || is_there(id, pass)) continue;
            if (!in_registers_) {
                text_ += fmt::format(
                    "        uvec4 vector_{0} = load_vector({1}U, offsets[{1}] + column);\n", i,
                    i + 1);
                continue;
            }
            text_ += fmt::format(
                "    uvec4 vector_{0}[vectors];\n"
                "    CAMBRIAN_UNROLL for (uint vector = 0U; vector < vectors; ++vector) {{\n"
                "        uint column = (vector * row_threads + lane()) * width;\n"
                "        if (whole == 1U || column < length)\n"
                "            vector_{0}[vector] = load_vector({1}U, offsets[{1}] + column);\n"
                "    }}\n",
                i, i + 1);
        }
    }

    void write_elements(int pass) {
        const std::vector<bool> needed = needed_in(pass);
        std::size_t input = 0;
        for (const Node& node : body_.nodes()) {
            const ValueId id{node.first_result};
            const bool is_input = node.op == Op::input;
            const std::size_t position = is_input ? input++ : 0;
            if (!needed[index_of(id)]) continue;
            const std::string& name = names_.name(id);
            const std::string_view type = glsl_type(info(id).type);
            const std::string kept = fmt::format("kept_{}[vector][word]", name);
            text_ += "            ";
            if (is_input) {
                const std::string word =
                    fmt::format("vector_{}{}[word]", position, in_registers_ ? "[vector]" : "");
                text_ += fmt::format("{} {} = {};\n", type, name,
                                     FusedWriter::from_word(info(id).type, word));
            } else if (is_there(id, pass)) {
                text_ += fmt::format("{} {} = {};\n", type, name, kept);
            } else {
                text_ += names_.statement(id);
                if (in_registers_ && plan_.kept[index_of(id)])
                    text_ += fmt::format("            {} = {};\n", kept, name);
            }
        }
    }

    /// Of the folds: a sum, or else the largest.
    static bool is_sum(const Node& node) { return node.op == Op::reduce_sum; }

    void declare_fold(const Node& node) {
        const std::string& value = names_.name(ValueId{node.first_result});
        const bool real = info(ValueId{node.first_result}).type == ValueType::real;
        const bool sum = is_sum(node);
        // Adding -0 changes nothing, +0 would change -0.
        const std::string_view start =
            sum ? (real ? "uintBitsToFloat(0x80000000U)" : "0")
                : (real ? "uintBitsToFloat(0xFF800000U)" : "int(0x80000000U)");
        text_ += fmt::format("    {} fold_{} = {};\n", real ? "float" : "int", value, start);
        if (!sum) text_ += fmt::format("    uint at_{} = 0U;\n", value);
    }

    void write_fold(const Node& node) {
        const std::string& x = names_.name(body_.operands(node)[0]);
        const std::string& value = names_.name(ValueId{node.first_result});
        if (is_sum(node)) {
            text_ += fmt::format("            fold_{0} += {1};\n", value, x);
            return;
        }
        // Known while compiling where loops are unrolled.
        const std::string_view first =
            in_registers_ ? "vector + word == 0U" : "column + word == 0U";
        text_ += fmt::format(
            "            bool moves_{0} = moves(fold_{0}, {1}, {2});\n"
            "            at_{0} = moves_{0} ? column + word : at_{0};\n"
            "            fold_{0} = moves_{0} ? {1} : fold_{0};\n",
            value, x, first);
    }

    void finish_fold(const Node& node) {
        const std::string& value = names_.name(ValueId{node.first_result});
        const std::string_view type = glsl_type(info(ValueId{node.first_result}).type);
        if (is_sum(node))
            text_ += fmt::format("    {0} {1} = row_sum(fold_{1});  // {2}\n", type, value,
                                 cambrian::name(node.op));
        else
            text_ += fmt::format("    {0} {1} = row_maximum(fold_{1}, at_{1});  // {2}\n", type,
                                 value, cambrian::name(node.op));
    }

    const Graph& body_;
    const FusedRowsPlan& plan_;
    bool in_registers_;
    FusedWriter names_;
    std::string text_;
};

}  // namespace

std::string fused_rows_source(const Graph& body, const FusedRowsPlan& plan,
                              const FusedRowsOptions& options) {
    std::string text = fmt::format("#define CAMBRIAN_VIEWS {}U\n", body.inputs().size() + 1);
    text +=
        fmt::format("#define CAMBRIAN_UNROLL [[{}]]\n", options.unroll ? "unroll" : "dont_unroll");
    if (options.shuffles) text += "#define CAMBRIAN_SHUFFLES\n";
    text += std::string(shader_text("cambrian/gpu/shaders/fused/fused_axes.glsl")) + "\n";
    text += shader_text("cambrian/gpu/shaders/fused/fused_rows.glsl");
    return text + "\n" + FusedRowsWriter(body, plan, options.in_registers).main_function();
}

}  // namespace cambrian::gpu
