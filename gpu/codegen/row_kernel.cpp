#include "cambrian/gpu/codegen/row_kernel.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/expressions.hpp"
#include "cambrian/gpu/codegen/row_ops.hpp"
#include "cambrian/gpu/codegen/row_writer.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::string_view place_function = R"(
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Addresses {
    uint64_t at[];
};

// Where an individual's part of an entry of the memory table lies.
uint64_t place(uint entry, uint individual) {
    Words words = Words(push.address[0] + uint64_t(entry) * 24ul);
    const uint slot = words.at[0];
    uint64_t start;
    if (slot < 6u) start = push.address[1u + slot];
    else start = Addresses(push.address[7]).at[slot - 6u];
    const uint64_t fixed_words = packUint2x32(uvec2(words.at[2], words.at[3]));
    const uint64_t scaled_words = packUint2x32(uvec2(words.at[4], words.at[5]));
    const uint64_t own_words = uint64_t(words.at[1]) * uint64_t(individual);
    return start + 4ul * (fixed_words + scaled_words * uint64_t(push.word[0]) + own_words);
}
)";
static_assert(RowEntry::words * 4 == 24 && RowSlots::direct == 6);

/// Sequences up to this many words are read at the start of a step.
constexpr std::int64_t most_step_words = 64;

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

/// Writes the whole text of a scan once, with or without words of invariants in registers.
class KernelText {
  public:
    KernelText(const ScanAttribute& scan, const RowAnalysis& analysis,
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

    void write() {
        writer_.begin_step();
        for (std::size_t i = 0; i < carries_; ++i) enter_carry(i);
        for (std::size_t i = carries_; i < scan_.body->inputs().size(); ++i) enter_operand(i);
        const std::vector<bool> needed = needed_values(*scan_.body);
        for (const Node& node : scan_.body->nodes())
            if (node.op != Op::input && is_needed(node, needed))
                row_op(node.op).write(writer_, node);
        writer_.begin_step();
        stack_results();
        pass_carries();
    }

    [[nodiscard]] const RowWriter& writer() const { return writer_; }
    [[nodiscard]] RowText finish();

  private:
    [[nodiscard]] ValueId input(std::size_t index) const { return scan_.body->inputs()[index]; }
    [[nodiscard]] ValueId output(std::size_t index) const { return scan_.body->outputs()[index]; }
    [[nodiscard]] std::size_t entry(std::size_t operand) const {
        return operand < carries_ ? RowEntry::carry_places * operand
                                  : operand + (RowEntry::carry_places - 1) * carries_;
    }

    /// A value in memory; `rows` of it, or one for all.
    View memory(ValueId id, std::string pointer, bool invariant) const;
    void enter_carry(std::size_t index);
    void enter_operand(std::size_t index);
    void stack_results();
    void pass_carries();
    [[nodiscard]] bool leaves_early() const;
    [[nodiscard]] std::string guarded_store(ValueId id, const std::string& stores) const;
    [[nodiscard]] View output_view(std::size_t index) const {
        const ValueId id = output(index);
        const bool rows = index < carries_ ? writer_.has_rows(input(index)) : writer_.has_rows(id);
        return writer_.operand(id, rows, scan_.body->value(id).shape.rank());
    }

    const ScanAttribute& scan_;
    const RowAnalysis& analysis_;
    std::size_t carries_;
    std::size_t sequences_;
    RowTextOptions options_;
    RowWriter writer_;
    std::vector<std::size_t> interleaved_;
    std::vector<View> carry_views_;
    std::string loads_;
    std::string stores_;
};

View KernelText::memory(ValueId id, std::string pointer, bool invariant) const {
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

bool KernelText::leaves_early() const {
    if (scan_.alive_carry < 0) return false;
    return writer_.row_shape(input(static_cast<std::size_t>(scan_.alive_carry))).elements() == 1;
}

// Results that rows or individuals share are written by the first of them.
std::string KernelText::guarded_store(ValueId id, const std::string& stores) const {
    std::string condition;
    if (analysis_.rows > 1 && !writer_.has_rows(id)) condition = "row == 0u";
    if (!scan_.body->value(id).per_individual)
        condition += std::string(condition.empty() ? "" : " && ") + "individual == 0u";
    return condition.empty() ? stores
                             : fmt::format("    if ({}) {{\n{}    }}\n", condition, stores);
}

void KernelText::enter_carry(std::size_t index) {
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
    carry.name = fmt::format("carry_{}", index);
    carry.first = 0;
    carry.strides = row_major_strides(carry.shape);
    carry.scalar = carry.shape.elements() <= 1;
    loads_ +=
        fmt::format("    {}{} {}{};  // v{} {}\n", info.type == ValueType::real ? "precise " : "",
                    glsl_type(info.type), carry.name,
                    carry.scalar ? "" : fmt::format("[{}]", carry.shape.elements()),
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

void KernelText::enter_operand(std::size_t index) {
    const ValueId id = input(index);
    const ValueInfo& info = scan_.body->value(id);
    const bool sequence = index < carries_ + sequences_;
    const std::string name = fmt::format("{}_{}", sequence ? "sequence" : "operand", index);
    const bool interleaved = !sequence && info.per_individual &&
                             !writer_.keeps_in_registers(name) &&
                             info.shape.elements() <= options_.most_interleaved;
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
        if (view.shape.elements() <= most_step_words) view = writer_.copied(view);
    }
    writer_.set(id, view);
}

void KernelText::stack_results() {
    const std::size_t inputs = scan_.body->inputs().size();
    for (std::size_t i = carries_; i < scan_.body->outputs().size(); ++i) {
        const ValueId id = output(i);
        const ValueInfo& info = scan_.body->value(id);
        const std::size_t at = entry(inputs) + i - carries_;
        View to = memory(
            id, writer_.pointer(info.type, fmt::format("stacked_{}", i), fmt::format("{}u", at)),
            false);
        to.first.add(Index::variable("position"), info.shape.elements());
        const bool shared_by_rows = analysis_.rows > 1 && !writer_.has_rows(id);
        const bool guarded = shared_by_rows || !info.per_individual;
        if (guarded)
            writer_.open("if ({}{}{})", shared_by_rows ? "row == 0u" : "",
                         shared_by_rows && !info.per_individual ? " && " : "",
                         info.per_individual ? "" : "individual == 0u");
        writer_.copy(to, writer_.view(id));
        if (guarded) writer_.end();
    }
}

// All new values are there before the first carry changes: none may still be the old value of
// another.
void KernelText::pass_carries() {
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

RowText KernelText::finish() {
    const auto carry_alive = [&] {
        const View& alive = carry_views_[static_cast<std::size_t>(scan_.alive_carry)];
        return alive.scalar ? alive.name : alive.name + "[0]";
    };
    std::string text = fmt::format(
        "// A scan over rows: {} rows, {} words and about {} operations "
        "a step for each.\n",
        analysis_.rows, analysis_.row_words, analysis_.operations);
    text += place_function;
    text += writer_.functions();
    text += "\nvoid main() {\n";
    text += "    const uint lane = group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;\n";
    text += fmt::format("    if (lane >= push.word[{}]) return;\n", RowPush::lanes);
    text += fmt::format("    const uint individual = lane / {}u;\n", analysis_.rows);
    text += fmt::format("    const uint row = lane - individual * {}u;\n", analysis_.rows);
    text += writer_.before_loop();
    text += loads_;
    text += fmt::format(
        "    const uint last = push.word[{0}] + push.word[{1}];\n"
        "    for (uint step = push.word[{0}]; step < last; ++step) {{\n",
        RowPush::first_step, RowPush::steps);
    if (leaves_early()) text += fmt::format("        if ({} == 0) break;\n", carry_alive());
    if (scan_.reverse) {
        text += fmt::format("        const uint position = push.word[{}] - 1u - step;\n",
                            RowPush::length);
    } else {
        text += "        const uint position = step;\n";
    }
    text += writer_.in_loop();
    text += "    }\n" + stores_ + "}\n";
    return {std::move(text), writer_.constants, writer_.reports, interleaved_};
}

/// Pointers whose words go without registers, so that the others fit: those with most words.
std::set<std::string> too_many(const RowWriter& writer, std::int64_t most_cached) {
    std::vector<std::pair<std::int64_t, std::string>> by_words;
    for (const auto& [name, words] : writer.cached_words()) by_words.emplace_back(words, name);
    std::ranges::sort(by_words);
    std::set<std::string> uncached;
    std::int64_t cached = 0;
    for (const auto& [words, name] : by_words) {
        cached += words;
        if (cached > most_cached) uncached.insert(name);
    }
    return uncached;
}

}  // namespace

RowText write_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                         const RowTextOptions& options) {
    CAMBRIAN_EXPECT(analysis.obstacle.empty());
    KernelText first(scan, analysis, options, {});
    first.write();
    std::set<std::string> uncached = too_many(first.writer(), options.most_cached);
    if (uncached.empty()) return first.finish();
    KernelText second(scan, analysis, options, std::move(uncached));
    second.write();
    return second.finish();
}

}  // namespace cambrian::gpu
