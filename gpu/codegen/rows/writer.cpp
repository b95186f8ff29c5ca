#include "cambrian/gpu/codegen/rows/writer.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"

namespace cambrian::gpu {
namespace {

/// Operations a body may have written out before everything else becomes loops.
constexpr std::int64_t max_expanded_in_all = 8192;

std::string_view pointer_type(ValueType type) {
    return type == ValueType::real ? "Reals" : "Integers";
}

std::string tensor_literal(ValueType type, double value) {
    if (type == ValueType::real) return literal(static_cast<float>(value));
    return fmt::format("int(0x{:X}u)",
                       static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
}

}  // namespace

RowWriter::RowWriter(const ScanAttribute& scan, const RowAnalysis& analysis,
                     const RowTextOptions& options, std::set<std::string> uncached)
    : scan_(scan),
      analysis_(analysis),
      options_(options),
      uncached_(std::move(uncached)),
      views_(scan.body->value_count()) {
    step_.depth = 2;
}

Shape RowWriter::row_shape(ValueId id) const {
    const Shape& shape = graph().value(id).shape;
    return has_rows(id) ? without_first_axis(shape) : shape;
}

View RowWriter::operand(ValueId id, bool result_has_rows, int rank) const {
    const View& found = view(id);
    if (!result_has_rows || has_rows(id) || found.shape.rank() < rank) return found;
    if (found.shape[0] == 1) return at_first(found, 0);
    return at_first(found, Index::variable(row_variable));
}

std::vector<View> RowWriter::operands(const Node& node) const {
    const ValueId id{node.first_result};
    std::vector<View> views;
    for (const ValueId operand_id : graph().operands(node))
        views.push_back(operand(operand_id, has_rows(id), graph().value(id).shape.rank()));
    return views;
}

void RowWriter::begin(const Node& node) {
    bool invariant = true;
    for (const ValueId id : graph().operands(node)) invariant = invariant && view(id).invariant;
    section_ = invariant ? &prologue_ : &step_;
}

void RowWriter::write(const std::string& text) {
    section_->text += std::string(static_cast<std::size_t>(4 * section_->depth), ' ') + text + "\n";
}

void RowWriter::end(std::string_view closing) {
    --section_->depth;
    write(std::string(closing));
}

View RowWriter::local(ValueType type, const Shape& shape, std::string name) {
    View view;
    view.kind = View::Kind::local;
    view.type = type;
    view.name = std::move(name);
    view.invariant = section_ == &prologue_;
    view.shape = shape;
    view.strides = row_major_strides(shape);
    view.scalar = shape.elements() <= 1;
    const std::string_view qualifier = type == ValueType::real ? "precise " : "";
    if (view.scalar) {
        line("{}{} {};", qualifier, glsl_type(type), view.name);
    } else {
        line("{}{} {}[{}];", qualifier, glsl_type(type), view.name, shape.elements());
    }
    return view;
}

View RowWriter::result(const Node& node, std::uint32_t index, const Shape& shape) {
    std::string operands;
    for (const ValueId id : graph().operands(node))
        operands +=
            (operands.empty() ? "v" : ", v") + std::to_string(static_cast<std::uint32_t>(id));
    const ValueId id{node.first_result + index};
    line("// v{} {} = {}({})", static_cast<std::uint32_t>(id), graph().value(id).shape.text(),
         name(node.op), operands);
    return local(graph().value(id).type, shape,
                 "v" + std::to_string(static_cast<std::uint32_t>(id)));
}

std::string RowWriter::fresh(std::string_view prefix) {
    return fmt::format("{}_{}", prefix, next_++);
}

std::string RowWriter::element(const View& view, std::span<const Index> indices) {
    if (view.kind == View::Kind::literal) return view.name;
    const Index index = view.position(indices);
    if (view.kind == View::Kind::position) return "int(" + index.text() + ")";
    if (view.kind == View::Kind::constant) return constant_element(view, index);
    if (view.kind == View::Kind::memory) return memory_element(view, index);
    return view.scalar ? view.name : view.name + "[" + index.text() + "]";
}

std::string RowWriter::memory_element(const View& view, const Index& index) {
    const std::string position =
        interleaved_.contains(view.name)
            ? fmt::format("({}) * push.word[{}] + individual", index.text(), RowPush::population)
            : index.text();
    const std::string word = view.name + ".at[" + position + "]";
    if (!view.invariant || !index.only(row_variable) || uncached_.contains(view.name)) return word;
    const auto found = registers_by_word_.find(word);
    if (found != registers_by_word_.end()) return found->second;
    const std::string name = fmt::format("{}_{}", view.name, cached_words_[view.name]++);
    registers_.text += fmt::format("    const {} {} = {};\n", glsl_type(view.type), name, word);
    registers_by_word_.emplace(word, name);
    return name;
}

std::string RowWriter::constant_element(const View& view, const Index& index) {
    if (index.known())
        return tensor_literal(view.type,
                              view.tensor->elements[static_cast<std::size_t>(index.constant())]);
    auto found = constant_pointers_.find(view.tensor.get());
    if (found == constant_pointers_.end()) {
        const std::size_t entry =
            status_entry + RowEntry::constants_after_status + constants.size();
        const std::string name = pointer(view.type, fmt::format("constant_{}", constants.size()),
                                         std::to_string(entry) + "u");
        constants.push_back(view.tensor);
        found = constant_pointers_.emplace(view.tensor.get(), name).first;
    }
    View words = view;
    words.name = found->second;
    return memory_element(words, index);
}

void RowWriter::each(const Shape& shape, std::int64_t cost, const Body& body) {
    const std::int64_t operations = shape.elements() * cost;
    if (operations <= options_.max_expanded &&
        section_->expanded + operations <= max_expanded_in_all) {
        section_->expanded += operations;
        std::vector<Index> indices;
        expand(shape, indices, body);
    } else {
        section_->expanded += cost;
        loop_over(shape, body);
    }
}

void RowWriter::loop_over(const Shape& shape, const Body& body) {
    std::vector<Index> indices;
    loops(shape, indices, body);
}

void RowWriter::expand(const Shape& shape, std::vector<Index>& indices, const Body& body) {
    const int axis = static_cast<int>(indices.size());
    if (axis == shape.rank()) return body(indices);
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
        indices.emplace_back(i);
        expand(shape, indices, body);
        indices.pop_back();
    }
}

void RowWriter::loops(const Shape& shape, std::vector<Index>& indices, const Body& body) {
    const int axis = static_cast<int>(indices.size());
    if (axis == shape.rank()) return body(indices);
    if (shape[axis] == 1) {
        indices.emplace_back(0);
        loops(shape, indices, body);
    } else {
        const std::string variable = fresh("i");
        open("for (uint {0} = 0u; {0} < {1}u; ++{0})", variable, shape[axis]);
        indices.push_back(Index::variable(variable));
        loops(shape, indices, body);
        end();
    }
    indices.pop_back();
}

void RowWriter::copy(const View& to, const View& from) {
    each(to.shape, 1,
         [&](std::span<const Index> at) { line("{} = {};", element(to, at), element(from, at)); });
}

View RowWriter::copied(const View& view) {
    const View target = local(view.type, view.shape, fresh("copy"));
    copy(target, view);
    return target;
}

std::string RowWriter::pointer(ValueType type, std::string name, const std::string& entry,
                               std::string_view individual) {
    pointers_.text += fmt::format("    {0} {1} = {0}(entry_address({2}, {3}));\n",
                                  pointer_type(type), name, entry, individual);
    return name;
}

void RowWriter::need_spread(const RowSpread& wanted) {
    spread = wanted;
    // The first entries are of whole groups, the others of those left over.
    pointers_.text += fmt::format(
        "    const uint group_first = individual / {0}u * {0}u;\n"
        "    const bool whole_group = group_first + {0}u <= push.word[{1}];\n"
        "    const uint spread_entry = whole_group ? {2}u : {3}u;\n"
        "    const uint spread_first = whole_group ? group_first : 0u;\n"
        "    const uint64_t in_group = 16ul * uint64_t(individual - group_first);\n"
        "    const uint64_t bytecode = in_group + entry_address(spread_entry, spread_first);\n"
        "    const uint64_t weights = in_group + entry_address(spread_entry + 1u, spread_first);\n",
        RowSpread::individuals, RowPush::population, status_entry + RowEntry::spread_after_status,
        status_entry + RowEntry::spread_after_status + 2);
}

std::string RowWriter::before_loop() const {
    return pointers_.text + registers_.text + prologue_.text;
}

}  // namespace cambrian::gpu
