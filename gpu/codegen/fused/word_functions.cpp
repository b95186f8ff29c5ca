#include "cambrian/gpu/codegen/fused/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::array all_types{ValueType::real, ValueType::integer, ValueType::boolean};

std::string_view from_word(ValueType type) {
    return type == ValueType::real ? "uintBitsToFloat" : "int";
}
std::string_view to_word(ValueType type) {
    return type == ValueType::real ? "floatBitsToUint" : "uint";
}

/// The op's expression between the words a, b and c: reals come and go as their bits.
std::string expression_of_words(Op op, std::span<const ValueType> types, ValueType result) {
    constexpr std::array<std::string_view, 3> words{"a", "b", "c"};
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < types.size(); ++i)
        operands.push_back(fmt::format("{}({})", from_word(types[i]), words[i]));
    const std::string value = expression(op, operands, types, result);
    if (value == operands[0]) return std::string(words[0]);
    return fmt::format("{}({})", to_word(result), value);
}

/// What the node of an op may hold that decides its type.
std::vector<Attributes> attributes_of(Op op) {
    if (op != Op::cast) return {Attributes{}};
    std::vector<Attributes> targets;
    for (const ValueType type : all_types) targets.emplace_back(CastAttribute{type});
    return targets;
}

/// All functions, by their numbers.
class WordFunctions {
    struct Case {
        std::string expression;
        bool chosen_late = false;
    };

  public:
    WordFunctions() {
        add({"a", false});
        for (const OpInfo& row : op_table())
            if (is_elementwise(row.op)) add(row);
    }

    [[nodiscard]] WordFunction find(const std::string& expression) const {
        const auto found = std::ranges::find(cases_, expression, &Case::expression);
        CAMBRIAN_EXPECT(found != cases_.end());
        return {static_cast<std::uint32_t>(found - cases_.begin()), found->chosen_late};
    }

    [[nodiscard]] std::string text() const {
        return "layout(constant_id = 3) const uint function = 0U;\n"
               "uint apply_late(uint a, uint b, uint c) {\n" +
               choice("push.word[3]", true) +
               "}\n"
               "uint apply(uint a, uint b, uint c) {\n"
               "    if (function == ~0U) return apply_late(a, b, c);\n" +
               choice("function", false) + "}\n";
    }

  private:
    /// For every choice of types: the op's own rule says which of them it takes.
    void add(const OpInfo& row) {
        const auto arity = static_cast<std::size_t>(row.arity);
        std::size_t choices = 1;
        for (std::size_t i = 0; i < arity; ++i) choices *= all_types.size();
        for (std::size_t choice = 0; choice < choices; ++choice) {
            std::vector<ValueType> types;
            for (std::size_t i = 0, rest = choice; i < arity; ++i, rest /= all_types.size())
                types.push_back(all_types[rest % all_types.size()]);
            for (const Attributes& attributes : attributes_of(row.op)) add(row, types, attributes);
        }
    }

    void add(const OpInfo& row, const std::vector<ValueType>& types, const Attributes& attributes) {
        std::deque<ValueInfo> operands;
        std::vector<ValueId> ids;
        for (const ValueType type : types) {
            ids.push_back(ValueId{static_cast<std::uint32_t>(operands.size())});
            operands.push_back({type, Shape{}});
        }
        try {
            const ValueType result = row.type(OperandInfos(operands, ids), attributes, 0);
            const bool reals = types[0] == ValueType::real && result == ValueType::real;
            add({expression_of_words(row.op, types, result), !reals});
        } catch (const ShapeError&) {
            // Not for these types.
        }
    }

    void add(Case added) {
        if (std::ranges::find(cases_, added.expression, &Case::expression) == cases_.end())
            cases_.push_back(std::move(added));
    }

    [[nodiscard]] std::string choice(std::string_view number, bool late) const {
        std::string text = fmt::format("    switch ({}) {{\n", number);
        for (std::size_t i = 0; i < cases_.size(); ++i)
            if (cases_[i].chosen_late == late)
                text += fmt::format("        case {}U: return {};\n", i, cases_[i].expression);
        return text + "        default: return 0U;\n    }\n";
    }

    std::vector<Case> cases_;
};

const WordFunctions& word_functions() {
    static const WordFunctions functions;
    return functions;
}

}  // namespace

WordFunction word_function(Op op, std::span<const ValueType> types, ValueType result) {
    return word_functions().find(expression_of_words(op, types, result));
}

const std::string& elementwise_source() {
    static const std::string text =
        word_functions().text() +
        std::string(shader_text("cambrian/gpu/shaders/elementwise/elementwise.glsl"));
    return text;
}

}  // namespace cambrian::gpu
