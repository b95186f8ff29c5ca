#include "cambrian/gpu/codegen/rows/text.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"

namespace cambrian::gpu {
namespace {

/// Sequences up to this many words are read at the start of a step.
constexpr std::int64_t max_step_words = 64;

bool is_needed(const Node& node, const std::vector<bool>& needed) {
    const auto first = needed.begin() + node.first_result;
    return std::find(first, first + node.result_count, true) != first + node.result_count;
}

std::vector<bool> needed_values(const Graph& graph) {
    std::vector<bool> needed(graph.value_count(), false);
    for (const ValueId id : graph.outputs()) needed[static_cast<std::size_t>(id)] = true;
    for (std::size_t i = graph.nodes().size(); i-- > 0;) {
        const Node& node = graph.nodes()[i];
        if (!is_needed(node, needed)) continue;
        for (const ValueId id : graph.operands(node)) needed[static_cast<std::size_t>(id)] = true;
    }
    return needed;
}

/// Walks all elements of one row in one order.
template <class Body>
void for_each_element(const Shape& shape, const Body& body) {
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
        std::vector<Index> at(static_cast<std::size_t>(shape.rank()));
        std::int64_t rest = i;
        for (std::size_t axis = at.size(); axis-- > 0;) {
            at[axis] = rest % shape.extents()[axis];
            rest /= shape.extents()[axis];
        }
        body(std::span<const Index>(at));
    }
}

}  // namespace

RowKernelText::RowKernelText(const ScanAttribute& scan, const RowAnalysis& analysis,
                             const RowTextOptions& options, std::set<std::string> uncached)
    : scan_(scan),
      analysis_(analysis),
      carries_(static_cast<std::size_t>(scan.carries)),
      sequences_(static_cast<std::size_t>(scan.sequences)),
      options_(options),
      writer_(scan, analysis, options, std::move(uncached)) {
    const std::size_t others =
        scan.body->inputs().size() + scan.body->outputs().size() - 2 * carries_;
    writer_.status_entry = RowEntry::carry_places * carries_ + others;
}

void RowKernelText::write() {
    writer_.begin_step();
    for (std::size_t i = 0; i < carries_; ++i) enter_carry(i);
    for (std::size_t i = carries_; i < scan_.body->inputs().size(); ++i) enter_operand(i);
    const std::vector<bool> needed = needed_values(*scan_.body);
    for (const Node& node : scan_.body->nodes())
        if (node.op != Op::input && is_needed(node, needed)) row_op(node.op).write(writer_, node);
    writer_.begin_step();
    stack_results();
    pass_carries();
}

View RowKernelText::output_view(std::size_t index) const {
    const ValueId id = output(index);
    const bool rows = index < carries_ ? writer_.has_rows(input(index)) : writer_.has_rows(id);
    return writer_.operand(id, rows, scan_.body->value(id).shape.rank());
}

View RowKernelText::memory(ValueId id, std::string pointer, bool invariant) const {
    View view;
    view.kind = View::Kind::memory;
    view.type = scan_.body->value(id).type;
    view.name = std::move(pointer);
    view.invariant = invariant;
    view.shape = scan_.body->value(id).shape;
    view.strides = row_major_strides(view.shape);
    if (writer_.has_rows(id)) view = at_first(view, Index::variable(row_variable));
    return view;
}

bool RowKernelText::leaves_early() const {
    if (scan_.alive_carry < 0) return false;
    return writer_.row_shape(input(static_cast<std::size_t>(scan_.alive_carry))).elements() == 1;
}

// Results that rows or individuals share are written by the first of them.
std::string RowKernelText::who_writes(ValueId id) const {
    std::string condition;
    if (analysis_.rows > 1 && !writer_.has_rows(id)) condition = "row == 0u";
    if (!scan_.body->value(id).per_individual)
        condition += std::string(condition.empty() ? "" : " && ") + "individual == 0u";
    return condition;
}

std::string RowKernelText::guarded_store(ValueId id, const std::string& stores) const {
    const std::string condition = who_writes(id);
    return condition.empty() ? stores
                             : fmt::format("    if ({}) {{\n{}    }}\n", condition, stores);
}

bool RowKernelText::tells_who_walks_on(ValueId id) const {
    if (!leaves_early()) return false;
    const Graph& graph = *scan_.body;
    for (const Node* node = &graph.producer(id);
         row_op(node->op).moves && !graph.operands(*node).empty(); node = &graph.producer(id))
        id = graph.operands(*node)[0];
    return id == input(static_cast<std::size_t>(scan_.alive_carry));
}

std::string RowKernelText::state_in_place(std::size_t index) const {
    const Graph& graph = *scan_.body;
    const ValueId id = input(index);
    const auto frozen = [&](const Node& node) {
        return node.op == Op::select && tells_who_walks_on(graph.operands(node)[0]);
    };
    ValueId next = output(index);
    while (frozen(graph.producer(next))) next = graph.operands(graph.producer(next))[1];
    const Node& network = graph.producer(next);
    const bool state = network.op == Op::interpret && graph.operands(network)[3] == id &&
                       next == result_of(network, 1);
    if (!state || writer_.row_shape(id).elements() <= 1) return {};
    std::ptrdiff_t reads = std::ranges::count(graph.outputs(), id);
    for (const Node& node : graph.nodes()) {
        const auto operands = graph.operands(node);
        reads += std::ranges::count(frozen(node) ? operands.first(2) : operands, id);
    }
    return reads == 1 ? state_of_network(network) : std::string();
}

void RowKernelText::enter_carry(std::size_t index) {
    const ValueId id = input(index);
    const ValueInfo& info = scan_.body->value(id);
    const std::size_t first = entry(index);
    const View from =
        memory(id,
               writer_.pointer(info.type, fmt::format("from_{}", index),
                               fmt::format("{}u + push.word[{}]", first, RowPush::read_place)),
               false);
    const View to =
        memory(id,
               writer_.pointer(info.type, fmt::format("to_{}", index),
                               fmt::format("{}u + push.word[{}]", first, RowPush::write_place)),
               false);
    View carry = from;
    carry.kind = View::Kind::local;
    const std::string state = state_in_place(index);
    carry.name = state.empty() ? fmt::format("carry_{}", index) : state;
    carry.first = 0;
    carry.strides = row_major_strides(carry.shape);
    carry.scalar = carry.shape.elements() <= 1;
    if (state.empty())
        loads_ +=
            fmt::format("    {}{} {}{};  // v{} {}\n",
                        info.type == ValueType::real ? "precise " : "", glsl_type(info.type),
                        carry.name, carry.scalar ? "" : fmt::format("[{}]", carry.shape.elements()),
                        static_cast<std::uint32_t>(id), info.shape.text());
    std::string stores;
    for_each_element(carry.shape, [&](std::span<const Index> at) {
        loads_ +=
            fmt::format("    {} = {};\n", writer_.element(carry, at), writer_.element(from, at));
        stores +=
            fmt::format("    {} = {};\n", writer_.element(to, at), writer_.element(carry, at));
    });
    stores_ += guarded_store(id, stores);
    carry_views_.push_back(carry);
    // Whoever walks on is alive: what the body does for the others vanishes.
    if (leaves_early() && static_cast<int>(index) == scan_.alive_carry) {
        carry.kind = View::Kind::literal;
        carry.name = "int(0x1u)";
        carry.strides = {};
    }
    writer_.set(id, carry);
}

// Interpreters read these by address, not word by word.
bool RowKernelText::is_network(ValueId id) const {
    return std::ranges::any_of(scan_.body->nodes(), [&](const Node& node) {
        if (node.op != Op::interpret) return false;
        const auto operands = scan_.body->operands(node);
        return operands[0] == id || operands[1] == id;
    });
}

void RowKernelText::enter_operand(std::size_t index) {
    const ValueId id = input(index);
    const ValueInfo& info = scan_.body->value(id);
    const bool sequence = index < carries_ + sequences_;
    const std::string name = fmt::format("{}_{}", sequence ? "sequence" : "operand", index);
    const bool interleaved = !sequence && info.per_individual && !is_network(id) &&
                             !writer_.keeps_in_registers(name) &&
                             info.shape.elements() <= options_.max_interleaved;
    if (interleaved) {
        writer_.interleave(name);
        interleaved_.push_back(index);
    }
    View view = memory(id,
                       writer_.pointer(info.type, name, fmt::format("{}u", entry(index)),
                                       interleaved ? "0u" : "individual"),
                       !sequence);
    if (sequence) {
        view.first.add(Index::variable("position"), info.shape.elements());
        if (view.shape.elements() <= max_step_words) view = writer_.copied(view);
    }
    writer_.set(id, view);
}

void RowKernelText::stack_results() {
    const std::size_t inputs = scan_.body->inputs().size();
    for (std::size_t i = carries_; i < scan_.body->outputs().size(); ++i) {
        const ValueId id = output(i);
        const ValueInfo& info = scan_.body->value(id);
        const std::size_t at = entry(inputs) + i - carries_;
        View to = memory(
            id, writer_.pointer(info.type, fmt::format("stacked_{}", i), fmt::format("{}u", at)),
            false);
        to.first.add(Index::variable("position"), info.shape.elements());
        std::string condition = who_writes(id);
        if (writer_.teams)
            condition = "team_member == 0" + (condition.empty() ? "" : " && " + condition);
        if (!condition.empty()) writer_.open("if ({})", condition);
        writer_.copy(to, writer_.view(id));
        if (!condition.empty()) writer_.end();
    }
}

// All new values are there before the first carry changes: none may still be the old value of
// another.
void RowKernelText::pass_carries() {
    const auto is_carry = [&](const View& view) {
        return std::ranges::any_of(carry_views_,
                                   [&](const View& carry) { return carry.name == view.name; });
    };
    std::vector<View> next;
    for (std::size_t i = 0; i < carries_; ++i) {
        View view = output_view(i);
        const bool same = view.kind == View::Kind::local && view.name == carry_views_[i].name &&
                          view.contiguous() && view.first.known() && view.first.constant() == 0;
        if (!same && view.kind == View::Kind::local && is_carry(view)) view = writer_.copied(view);
        next.push_back(same ? View{} : view);
    }
    for (std::size_t i = 0; i < carries_; ++i) {
        const bool same = next[i].kind == View::Kind::literal && next[i].name.empty();
        if (!same) writer_.copy(carry_views_[i], next[i]);
    }
}

}  // namespace cambrian::gpu
