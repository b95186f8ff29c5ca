#include "cambrian/engine/cpu/execution/compiled_graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/nest.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::int64_t words_per_line = 16;
std::int64_t whole_lines(std::int64_t words) {
    return (words + words_per_line - 1) / words_per_line * words_per_line;
}

std::size_t index_of(ValueId id) {
    return static_cast<std::size_t>(id);
}

/// Ops of several results write all of them, also those that nobody reads.
bool writes_unused_results(Op op) {
    return op_info(op).result_count != nullptr;
}

void write_constant(const Tensor& tensor, std::byte* memory) {
    if (tensor.type == ValueType::real) {
        auto* words = reinterpret_cast<float*>(memory);
        std::ranges::transform(tensor.elements, words,
                               [](double x) { return static_cast<float>(x); });
    } else {
        auto* words = reinterpret_cast<std::int32_t*>(memory);
        std::ranges::transform(tensor.elements, words,
                               [](double x) { return static_cast<std::int32_t>(x); });
    }
}

}  // namespace

PlanTree plan_tree(const Graph& graph) {
    PlanTree tree{.plan = plan(graph), .bodies = {}};
    tree.words_per_individual = tree.plan.per_individual_elements;
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::scan) {
            tree.bodies.push_back(plan_tree(*std::get<ScanAttribute>(node.attributes).body));
            tree.words_per_individual += tree.bodies.back().words_per_individual;
        }
    }
    return tree;
}

CompiledGraph::CompiledGraph(const Graph& graph, const PlanTree& tree, std::int64_t block,
                             Boundary boundary, Math math, MemoryAccount& account, Profile* profile)
    : tree_(&tree),
      block_(block),
      boundary_(std::move(boundary)),
      math_(math),
      account_(&account),
      profile_(profile) {
    find_needed(graph);
    find_phases(graph);
    place_values(graph);
    fill_constants(graph);
    block_kernels_.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
        add_kernel(graph, node);
    }
    add_output_copies(graph);
}

void CompiledGraph::find_needed(const Graph& graph) {
    needed_.assign(graph.value_count(), false);
    for (const ValueId id : graph.outputs()) {
        needed_[index_of(id)] = true;
    }
    const auto nodes = graph.nodes();
    for (std::size_t n = nodes.size(); n-- > 0;) {
        const Node& node = nodes[n];
        bool any = false;
        for (std::uint32_t r = 0; r < node.result_count; ++r) {
            any = any || needed_[node.first_result + r];
        }
        if (any) {
            for (const ValueId id : graph.operands(node)) {
                needed_[index_of(id)] = true;
            }
        }
    }
}

void CompiledGraph::find_phases(const Graph& graph) {
    in_shared_phase_.assign(graph.value_count(), false);
    only_shared_ = !boundary_.is_body;
    if (boundary_.is_body) {
        return;
    }
    for (const Node& node : graph.nodes()) {
        bool shared = true;
        for (const ValueId id : graph.operands(node)) {
            shared = shared && in_shared_phase_[index_of(id)];
        }
        for (std::uint32_t r = 0; r < node.result_count; ++r) {
            shared = shared && !graph.value(ValueId{node.first_result + r}).per_individual;
        }
        for (std::uint32_t r = 0; r < node.result_count; ++r) {
            in_shared_phase_[node.first_result + r] = shared;
        }
        only_shared_ = only_shared_ && shared;
    }
}

void CompiledGraph::place_values(const Graph& graph) {
    arena_words_ = tree_->plan.per_individual_elements * block_;
    private_words_ = boundary_.is_body ? whole_lines(tree_->plan.shared_elements) : 0;
    shared_words_ = only_shared_ ? tree_->plan.shared_elements : 0;
    refs_.resize(graph.value_count());
    for (std::size_t value = 0; value < refs_.size(); ++value) {
        refs_[value] = place(graph, value);
    }
}

BufferView CompiledGraph::place(const Graph& graph, std::size_t value) {
    const Placement& placement = tree_->plan.values[value];
    const ValueInfo& info = graph.value(ValueId{static_cast<std::uint32_t>(value)});
    const std::int64_t elements = info.shape.elements();
    switch (placement.kind) {
        case Placement::Kind::unused: {
            const Op op = graph.producer(ValueId{static_cast<std::uint32_t>(value)}).op;
            const bool written = writes_unused_results(op);
            return written ? reserve(elements, info.per_individual) : BufferView{};
        }
        case Placement::Kind::input:
            return {input_slot(placement.index), 0,
                    info.per_individual ? boundary_.input_strides[placement.index] : 0};
        case Placement::Kind::output: {
            if (replaces_shared(graph, placement.index)) return place_shared(graph, value, 0);
            const std::int64_t stride = boundary_.output_strides[placement.index];
            const bool direct = info.per_individual ||
                                (stride == 0 && (in_shared_phase_[value] || boundary_.is_body));
            return direct ? BufferView{output_slot(placement.index), 0, stride}
                          : reserve(elements, false);
        }
        case Placement::Kind::constant:
            return {
                constants_slot,
                std::exchange(constant_words_, constant_words_ + (needed_[value] ? elements : 0)),
                0};
        case Placement::Kind::arena:
            return info.per_individual ? BufferView{arena_slot, placement.offset * block_, elements}
                                       : place_shared(graph, value, placement.offset);
        case Placement::Kind::alias: {
            BufferView ref = refs_[index_of(placement.base)];
            ref.offset += placement.offset;
            return ref;
        }
    }
    return {};
}

// The planner reuses shared elements in node order. A program computes shared values first, out of
// that order, so there each keeps its own words unless nothing is left for the blocks.
BufferView CompiledGraph::place_shared(const Graph& graph, std::size_t value,
                                       std::int64_t planned) {
    if (only_shared_) {
        return {shared_slot, planned, 0};
    }
    if (boundary_.is_body) {
        return {private_slot, planned, 0};
    }
    const std::int64_t elements =
        graph.value(ValueId{static_cast<std::uint32_t>(value)}).shape.elements();
    if (!in_shared_phase_[value]) {
        return reserve(elements, false);
    }
    const BufferView ref{shared_slot, shared_words_, 0};
    shared_words_ += whole_lines(elements);
    return ref;
}

void CompiledGraph::fill_constants(const Graph& graph) {
    if (constant_words_ == 0) {
        return;
    }
    constants_ = Memory(*account_, constant_words_ * word_bytes);
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::constant && needed_[node.first_result]) {
            write_constant(*std::get<ConstantAttribute>(node.attributes).value,
                           constants_.data() + refs_[node.first_result].offset * word_bytes);
        }
    }
}

void CompiledGraph::add_kernel(const Graph& graph, const Node& node) {
    bool needed = false;
    bool per_individual = false;
    if (node.op == Op::scan) {
        ++scans_seen_;
    }
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
        const std::size_t value = node.first_result + r;
        needed = needed || needed_[value];
        per_individual = per_individual ||
                         graph.value(ValueId{static_cast<std::uint32_t>(value)}).per_individual;
    }
    const Placement::Kind kind = tree_->plan.values[node.first_result].kind;
    // A link of a fusion group of aliases whose end reads the base has no place of its own.
    const bool passed_over = kind == Placement::Kind::unused && !writes_unused_results(node.op);
    if (!needed || passed_over || kind == Placement::Kind::alias) {
        return;
    }
    std::array<BufferView, 8> few;
    std::vector<BufferView> many;
    const auto ids = graph.operands(node);
    std::span<BufferView> operands(few);
    if (ids.size() > few.size()) {
        many.resize(ids.size());
        operands = many;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        operands[i] = refs_[index_of(ids[i])];
    }
    const KernelContext context{graph,
                                node,
                                operands.first(ids.size()),
                                std::span(refs_).subspan(node.first_result, node.result_count),
                                per_individual,
                                math_,
                                *this};
    if (auto kernel = make_kernel(context)) {
        if (profile_ != nullptr) {
            kernel = profile_->timed(std::move(kernel), graph, node, boundary_.is_body);
        }
        Entries& phase = in_shared_phase_[node.first_result] ? shared_kernels_ : block_kernels_;
        phase.push_back({std::move(kernel), per_individual});
    }
}

// Shared values are computed before the blocks, which may still read the input that is replaced.
bool CompiledGraph::replaces_shared(const Graph& graph, std::size_t output) const {
    return !only_shared_ && !boundary_.is_body && boundary_.output_strides[output] == 0 &&
           std::ranges::find(graph.updates(), output, &Update::output) != graph.updates().end();
}

// Values that do not lie where an output is wanted: inputs, constants, repeated outputs, parts of
// others. What replaces an input comes last: another output may show its old content.
void CompiledGraph::add_output_copies(const Graph& graph) {
    std::vector<bool> replaces(graph.outputs().size(), false);
    for (const Update& update : graph.updates()) {
        replaces[update.output] = true;
    }
    for (const bool last : {false, true}) {
        for (std::size_t i = 0; i < replaces.size(); ++i) {
            if (replaces[i] == last) {
                add_output_copy(graph, i);
            }
        }
    }
}

void CompiledGraph::add_output_copy(const Graph& graph, std::size_t index) {
    const ValueId id = graph.outputs()[index];
    const std::int64_t elements = graph.value(id).shape.elements();
    BufferView source = refs_[index_of(id)];
    const BufferView target{output_slot(index), 0, boundary_.output_strides[index]};
    if (source.slot == target.slot) {
        CAMBRIAN_ASSERT(source.offset == 0);
        return;
    }
    const bool per_individual = target.stride != 0;
    Entries* phase = in_shared_phase_[index_of(id)]        ? &shared_kernels_
                     : per_individual || boundary_.is_body ? &block_kernels_
                                                           : &once_kernels_;
    if (replaces_shared(graph, index)) {
        if (phase == &once_kernels_) {
            const BufferView kept{shared_slot, shared_words_, 0};
            shared_words_ += whole_lines(elements);
            once_kernels_.push_back({make_copy(kept, source, elements, false), false});
            source = kept;
        }
        phase = &last_kernels_;
    }
    auto kernel = make_copy(target, source, elements, per_individual);
    if (profile_ != nullptr && !boundary_.is_body) {
        kernel = profile_->timed_copy(std::move(kernel), elements);
    }
    phase->push_back({std::move(kernel), per_individual});
}

BufferView CompiledGraph::reserve(std::int64_t elements, bool per_individual) {
    const BufferView ref{private_slot, private_words_, per_individual ? elements : 0};
    private_words_ += whole_lines(per_individual ? elements * block_ : elements);
    return ref;
}

BufferView CompiledGraph::scratch(std::int64_t words) {
    scratch_words_ = std::max(scratch_words_, words);
    return {scratch_slot, 0, 0};
}

void CompiledGraph::part_scratch(std::int64_t words) {
    part_words_ = std::max(part_words_, words);
}

std::size_t CompiledGraph::add_body(const Graph& body, Boundary boundary) {
    bodies_.push_back(std::make_unique<CompiledGraph>(body, tree_->bodies[scans_seen_ - 1], block_,
                                                      std::move(boundary), math_, *account_,
                                                      profile_));
    return bodies_.size() - 1;
}

std::size_t CompiledGraph::add_transposed(std::size_t slots) {
    transposed_slots_.push_back(slots);
    return transposed_slots_.size() - 1;
}

std::int64_t CompiledGraph::shared_bytes() const {
    return whole_lines(shared_words_) * word_bytes;
}

std::int64_t CompiledGraph::frame_bytes() const {
    const std::int64_t words =
        whole_lines(arena_words_) + whole_lines(private_words_) + whole_lines(scratch_words_);
    std::int64_t bytes = words * word_bytes;
    for (const auto& body : bodies_) {
        bytes += body->frame_bytes();
    }
    return bytes;
}

std::int64_t CompiledGraph::part_bytes() const {
    std::int64_t bytes = whole_lines(part_words_) * word_bytes;
    for (const auto& body : bodies_) {
        bytes = std::max(bytes, body->part_bytes());
    }
    return bytes;
}

Frame CompiledGraph::make_frame() const {
    Frame frame;
    frame.slots.resize(output_slot(boundary_.output_strides.size()));
    for (const auto& body : bodies_) {
        frame.bodies.push_back(body->make_frame());
    }
    for (const std::size_t slots : transposed_slots_) {
        frame.transposed.emplace_back().slots.resize(slots);
    }
    return frame;
}

void CompiledGraph::place_frame(Frame& frame, std::byte*& memory, std::byte* shared) const {
    const auto take = [&](std::int64_t words) {
        return std::exchange(memory, memory + whole_lines(words) * word_bytes);
    };
    frame.slots[arena_slot] = take(arena_words_);
    frame.slots[private_slot] = take(private_words_);
    frame.slots[scratch_slot] = take(scratch_words_);
    frame.slots[shared_slot] = shared;
    frame.slots[constants_slot] = constants_.data();
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
        bodies_[i]->place_frame(frame.bodies[i], memory, shared);
    }
}

void CompiledGraph::run(const Entries& entries, Frame& frame, std::int64_t count) {
    for (const Entry& entry : entries) {
        entry.kernel->run(frame, entry.per_individual ? count : 1);
    }
}

}  // namespace cambrian::cpu
