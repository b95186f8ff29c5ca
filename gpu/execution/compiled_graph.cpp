#include "cambrian/gpu/execution/compiled_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/execution/transfer.hpp"

namespace cambrian::gpu {

namespace {

/// The first slots of every frame; inputs follow, then outputs.
enum FrameSlot : std::uint32_t {
    individual_slot,  ///< Temporaries of each individual.
    fixed_slot,       ///< Temporaries that all individuals share.
    constants_slot,
    status_slot,
    scratch_slot,  ///< Of one kernel at a time.
    first_input_slot,
};

constexpr std::int64_t words_per_line = 16;
constexpr std::uint64_t frame_alignment = 256;

std::int64_t whole_lines(std::int64_t words) {
    return (words + words_per_line - 1) / words_per_line * words_per_line;
}

std::size_t index_of(ValueId id) {
    return static_cast<std::size_t>(id);
}

/// By value: whether it is a table, the same for all individuals, of which nothing is read but rows
/// that a gather finds. It does so in 64 bits.
std::vector<bool> tables_of_rows(const Graph& graph) {
    std::vector<bool> tables(graph.value_count(), false);
    for (const ValueId id : graph.inputs()) tables[index_of(id)] = !graph.value(id).per_individual;
    for (const Node& node : graph.nodes()) {
        const auto operands = graph.operands(node);
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (node.op != Op::gather || i != 0) tables[index_of(operands[i])] = false;
    }
    for (const ValueId id : graph.outputs()) tables[index_of(id)] = false;
    return tables;
}

[[noreturn]] void fail_size(const Node& node, std::int64_t words) {
    const auto* input = std::get_if<InputAttribute>(&node.attributes);
    throw OutOfMemoryError(fmt::format(
        "cannot compile the graph ({} takes {} words, and a kernel indexes {}, 4 GiB, of a value) "
        "use a smaller batch or less data, or set engine.backend to \"cpu\"",
        input != nullptr ? "input " + *input->name : std::string(name(node.op)), words, max_words));
}

}  // namespace

struct CompiledGraph::State {
    State(Resources& shared, Boundary embedded, Plan planned)
        : resources(shared),
          boundary(std::move(embedded)),
          plan(std::move(planned)),
          individual_words(plan.per_individual_elements),
          fixed_words(whole_lines(plan.shared_elements)) {}

    void place_values(const Graph& graph);
    [[nodiscard]] BufferView place(const Graph& graph, ValueId id);
    [[nodiscard]] BufferView place_output(const Placement& placement, const ValueInfo& info);
    void add_kernel(const Graph& graph, const Node& node, CompiledGraph& owner);
    void add_output_copies(const Graph& graph);
    void add_output_copy(const Graph& graph, std::size_t index);
    void upload_constants();
    [[nodiscard]] bool needs_kernel(const Node& node, const Graph& graph) const;
    [[nodiscard]] BufferView reserve(std::int64_t elements, bool per_individual);
    [[nodiscard]] BufferView reserve_uncounted(std::int64_t elements);
    void measure(const BufferView& view, std::int64_t elements, const Node& of);
    [[nodiscard]] std::uint32_t output_slot(std::size_t index) const {
        return first_input_slot + static_cast<std::uint32_t>(boundary.input_strides.size() + index);
    }

    Resources& resources;
    Boundary boundary;
    Plan plan;
    std::int64_t individual_words;
    std::int64_t fixed_words;
    std::int64_t scratch_of_individual = 0;
    std::int64_t shared_scratch = 0;
    std::vector<BufferView> views;  ///< One for each value.
    std::int64_t widest_stride = 0;
    std::vector<std::uint32_t> constants;
    Memory constant_memory;
    std::vector<StatusSite> sites;
    const Graph* graph = nullptr;  ///< During construction: where the kernels are made ...
    const Node* node = nullptr;    ///< ... and for which node.
    std::vector<std::unique_ptr<CompiledGraph>> bodies;
    std::vector<std::unique_ptr<Kernel>> kernels;
};

CompiledGraph::CompiledGraph(const Graph& graph, Resources& resources, Boundary boundary)
    : state_(std::make_unique<State>(resources, std::move(boundary), plan(graph))) {
    state_->graph = &graph;
    state_->place_values(graph);
    state_->kernels.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
        state_->add_kernel(graph, node, *this);
    }
    state_->add_output_copies(graph);
    state_->upload_constants();
    state_->graph = nullptr;
    state_->node = nullptr;
}

CompiledGraph::~CompiledGraph() = default;

void CompiledGraph::State::place_values(const Graph& source) {
    views.reserve(source.value_count());
    const std::vector<bool> tables = tables_of_rows(source);
    for (std::uint32_t value = 0; value < source.value_count(); ++value) {
        const ValueId id{value};
        const Node& producer = source.producer(id);
        views.push_back(place(source, id));
        const bool written =
            plan.values[value].kind != Placement::Kind::unused || producer.result_count > 1;
        if (written && !tables[value])
            measure(views.back(), source.value(id).shape.elements(), producer);
    }
}

BufferView CompiledGraph::State::place(const Graph& source, ValueId id) {
    const Placement& placement = plan.values[index_of(id)];
    const ValueInfo& info = source.value(id);
    const std::int64_t elements = info.shape.elements();
    switch (placement.kind) {
        case Placement::Kind::unused:
            // A node with several results writes also those that nobody reads.
            return source.producer(id).result_count > 1 ? reserve(elements, info.per_individual)
                                                        : BufferView{};
        case Placement::Kind::input: {
            const auto slot = first_input_slot + placement.index;
            return {slot, 0, 0, info.per_individual ? boundary.input_strides[placement.index] : 0};
        }
        case Placement::Kind::output:
            return place_output(placement, info);
        case Placement::Kind::constant: {
            const BufferView result{constants_slot, static_cast<std::int64_t>(constants.size()), 0,
                                    0};
            const auto& tensor = std::get<ConstantAttribute>(source.producer(id).attributes).value;
            const std::vector<std::uint32_t> words = tensor_words(*tensor);
            constants.insert(constants.end(), words.begin(), words.end());
            return result;
        }
        case Placement::Kind::arena:
            return info.per_individual ? BufferView{individual_slot, 0, placement.offset, elements}
                                       : BufferView{fixed_slot, placement.offset, 0, 0};
        case Placement::Kind::alias: {
            BufferView result = views[index_of(placement.base)];
            result.offset += placement.offset;
            return result;
        }
    }
    return {};
}

// A value that all individuals share but each of them hands out is computed once, then copied.
BufferView CompiledGraph::State::place_output(const Placement& placement, const ValueInfo& info) {
    const std::int64_t stride = boundary.output_strides[placement.index];
    return info.per_individual || stride == 0
               ? BufferView{output_slot(placement.index), 0, 0, stride}
               : reserve(info.shape.elements(), false);
}

BufferView CompiledGraph::State::reserve(std::int64_t elements, bool per_individual) {
    if (per_individual) return reserve_uncounted(elements);
    return {fixed_slot, std::exchange(fixed_words, fixed_words + whole_lines(elements)), 0, 0};
}

BufferView CompiledGraph::State::reserve_uncounted(std::int64_t elements) {
    // What is whole fours begins at a multiple of 16 bytes for any population.
    if (elements % 4 == 0) individual_words = (individual_words + 3) / 4 * 4;
    return {individual_slot, 0, std::exchange(individual_words, individual_words + elements),
            elements};
}

void CompiledGraph::State::measure(const BufferView& view, std::int64_t elements, const Node& of) {
    if (std::max(view.stride, elements) > max_words) fail_size(of, std::max(view.stride, elements));
    widest_stride = std::max(widest_stride, view.stride);
}

bool CompiledGraph::State::needs_kernel(const Node& candidate, const Graph& source) const {
    bool needed = false;
    for (std::uint32_t r = 0; r < candidate.result_count; ++r) {
        const ValueId id{candidate.first_result + r};
        const Placement::Kind kind = plan.values[index_of(id)].kind;
        const bool placed = kind == Placement::Kind::arena || kind == Placement::Kind::output;
        needed = needed || (placed && source.value(id).shape.elements() > 0);
    }
    return needed;
}

void CompiledGraph::State::add_kernel(const Graph& source, const Node& next, CompiledGraph& owner) {
    if (!needs_kernel(next, source)) {
        return;
    }
    std::vector<BufferView> operands;
    for (const ValueId id : source.operands(next)) {
        operands.push_back(views[index_of(id)]);
    }
    bool per_individual = false;
    for (std::uint32_t r = 0; r < next.result_count; ++r) {
        per_individual =
            per_individual || source.value(ValueId{next.first_result + r}).per_individual;
    }
    node = &next;
    const KernelContext context{
        source,         next,
        operands,       std::span(views).subspan(next.first_result, next.result_count),
        per_individual, owner};
    if (auto kernel = make_kernel(context)) {
        kernels.push_back(std::move(kernel));
    }
}

// Values that do not lie where an output is wanted: inputs, constants, repeated outputs, parts of
// others. What replaces an input comes last: another output may show its old content.
void CompiledGraph::State::add_output_copies(const Graph& source) {
    std::vector<bool> replaces(source.outputs().size(), false);
    for (const Update& update : source.updates()) {
        replaces[update.output] = true;
    }
    for (const bool last : {false, true}) {
        for (std::size_t i = 0; i < replaces.size(); ++i) {
            if (replaces[i] == last) {
                add_output_copy(source, i);
            }
        }
    }
}

void CompiledGraph::State::add_output_copy(const Graph& source, std::size_t index) {
    const ValueId id = source.outputs()[index];
    const BufferView target{output_slot(index), 0, 0, boundary.output_strides[index]};
    const BufferView& view = views[index_of(id)];
    CAMBRIAN_ASSERT(view.slot != target.slot || view.offset == 0);
    if (view.slot == target.slot) {
        return;
    }
    const std::int64_t elements = source.value(id).shape.elements();
    measure(target, elements, source.producer(id));
    if (auto kernel = make_view_copy(resources, target, view, elements, target.stride != 0)) {
        kernels.push_back(std::move(kernel));
    }
}

void CompiledGraph::State::upload_constants() {
    if (constants.empty()) {
        return;
    }
    constant_memory =
        Memory(resources.transfer, static_cast<std::int64_t>(constants.size() * word_bytes));
    resources.transfer.upload(constant_memory, constants);
    constants = {};
}

void CompiledGraph::record(vulkan::Recorder& recorder, const Frame& frame) const {
    for (const auto& kernel : state_->kernels) {
        kernel->record(recorder, frame);
    }
}

std::int64_t CompiledGraph::fixed_words() const {
    std::int64_t words = state_->fixed_words + state_->shared_scratch;
    for (const auto& body : state_->bodies) {
        words += body->fixed_words();
    }
    return words;
}

std::int64_t CompiledGraph::words_per_individual() const {
    std::int64_t words = state_->individual_words + state_->scratch_of_individual;
    for (const auto& body : state_->bodies) {
        words += body->words_per_individual();
    }
    return words;
}

Frame CompiledGraph::make_frame(std::int64_t population, std::uint64_t& address) const {
    const auto take = [&](std::int64_t words) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(words) * word_bytes;
        const std::uint64_t whole = (bytes + frame_alignment - 1) / frame_alignment;
        return std::exchange(address, address + whole * frame_alignment);
    };
    Frame frame;
    frame.population = population;
    frame.slots.resize(state_->output_slot(state_->boundary.output_strides.size()));
    frame.slots[individual_slot] = take(state_->individual_words * population);
    frame.slots[fixed_slot] = take(state_->fixed_words);
    frame.slots[scratch_slot] =
        take(state_->scratch_of_individual * population + state_->shared_scratch);
    frame.slots[constants_slot] = state_->constant_memory.address();
    for (const auto& body : state_->bodies) {
        frame.bodies.push_back(body->make_frame(population, address));
    }
    return frame;
}

void CompiledGraph::bind_status(Frame& frame, std::uint64_t address) const {
    frame.slots[status_slot] = address;
    std::size_t sites = state_->sites.size();
    for (std::size_t i = 0; i < frame.bodies.size(); ++i) {
        state_->bodies[i]->bind_status(frame.bodies[i], address + sites * status_pair * word_bytes);
        sites += state_->bodies[i]->status_sites().size();
    }
}

std::vector<StatusSite> CompiledGraph::status_sites() const {
    std::vector<StatusSite> sites = state_->sites;
    for (const auto& body : state_->bodies) {
        const std::vector<StatusSite> inner = body->status_sites();
        sites.insert(sites.end(), inner.begin(), inner.end());
    }
    return sites;
}

std::int64_t CompiledGraph::widest_stride() const {
    std::int64_t widest = state_->widest_stride;
    for (const auto& body : state_->bodies) {
        widest = std::max(widest, body->widest_stride());
    }
    return widest;
}

std::uint32_t CompiledGraph::input_slot(std::size_t index) const {
    return first_input_slot + static_cast<std::uint32_t>(index);
}

std::uint32_t CompiledGraph::output_slot(std::size_t index) const {
    return state_->output_slot(index);
}

Resources& CompiledGraph::resources() const {
    return state_->resources;
}

BufferView CompiledGraph::reserve(std::int64_t elements, bool per_individual) {
    const BufferView view = state_->reserve(elements, per_individual);
    state_->measure(view, elements, *state_->node);
    return view;
}

BufferView CompiledGraph::reserve_uncounted(std::int64_t elements) {
    return state_->reserve_uncounted(elements);
}

BufferView CompiledGraph::scratch(std::int64_t elements, bool per_individual) {
    std::int64_t& words = per_individual ? state_->scratch_of_individual : state_->shared_scratch;
    words = std::max(words, elements);
    const BufferView view{scratch_slot, 0, 0, per_individual ? elements : 0};
    state_->measure(view, elements, *state_->node);
    return view;
}

BufferView CompiledGraph::table(std::span<const std::uint32_t> words) {
    const BufferView result{constants_slot, static_cast<std::int64_t>(state_->constants.size()), 0,
                            0};
    state_->constants.insert(state_->constants.end(), words.begin(), words.end());
    return result;
}

std::size_t CompiledGraph::add_body(const Graph& body, Boundary boundary) {
    state_->bodies.push_back(
        std::make_unique<CompiledGraph>(body, state_->resources, std::move(boundary)));
    return state_->bodies.size() - 1;
}

const CompiledGraph& CompiledGraph::body(std::size_t index) const {
    return *state_->bodies[index];
}

BufferView CompiledGraph::status() {
    CAMBRIAN_ASSERT(state_->node != nullptr);
    const auto pair = static_cast<std::int64_t>(state_->sites.size());
    state_->sites.push_back(status_checks(*state_->graph, *state_->node));
    return {status_slot, pair * status_pair, 0, 0};
}

}  // namespace cambrian::gpu
