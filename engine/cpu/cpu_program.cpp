#include "cambrian/engine/cpu/cpu_program.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/lanes/transposed_scan.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::cpu {

namespace {

// Temporaries of a block, and what its scans read in every step, stay in the second-level cache.
constexpr std::int64_t block_words = std::int64_t{48} * 1024;
constexpr std::int64_t max_individuals = 256;
// Fewer of a small population for each thread would cost more than the thread gives.
constexpr std::int64_t min_individuals_of_thread = 32;

/// Words of an individual, such as weights, that every step of a scan reads again; 0 where the body
/// is so small that it runs transposed, which has blocks of its own.
std::int64_t words_read_again(const Graph& graph) {
    std::int64_t most = 0;
    for (const Node& node : graph.nodes()) {
        if (node.op != Op::scan) continue;
        const auto& scan = std::get<ScanAttribute>(node.attributes);
        std::int64_t words = 0;
        for (const ValueId id :
             graph.operands(node).subspan(static_cast<std::size_t>(scan.carries + scan.sequences)))
            if (graph.value(id).per_individual) words += graph.value(id).shape.elements();
        if (words > max_transposed_words) most = std::max(most, words);
    }
    return most;
}

std::int64_t block_size(const PlanTree& tree, const Graph& graph) {
    const std::int64_t words = tree.words_per_individual + words_read_again(graph);
    return std::clamp(block_words / std::max<std::int64_t>(1, words), std::int64_t{1},
                      max_individuals);
}

/// Blocks of about the same size, so that no thread waits for another's last one, and of full
/// vectors where that moves less than a sixteenth of a block.
std::int64_t even_block(std::int64_t population, std::int64_t blocks, std::int64_t largest) {
    const std::int64_t even = (population + blocks - 1) / blocks;
    if (even < 16 * lanes) return even;
    return std::min(largest, whole_vectors(even));
}

}  // namespace

std::byte* Scratch::grown(Memory& memory, std::int64_t bytes) {
    if (memory.bytes() < bytes) {
        memory = Memory();
        memory = Memory(*account_, bytes, Fill::anything);
    } else if (account_->poison) {
        memory.poison();
    }
    return memory.data();
}

void Scratch::release() {
    shared_ = Memory();
    for (Memory& memory : workers_) {
        memory = Memory();
    }
}

Resources::Resources(const CpuOptions& options)
    : pool(options.threads), scratch(account, options.threads) {
    account.limit = options.memory_limit;
    account.poison = options.poison;
    account.pool.set_max_held(options.memory_limit);
    account.pool.set_refusal(options.refuse_memory);
    if (options.profile) {
        profile.emplace();
    }
}

void Resources::trim() {
    scratch.release();
    account.pool.trim();
}

std::int64_t Scratch::bytes() const {
    std::int64_t result = shared_.bytes();
    for (const Memory& memory : workers_) {
        result += memory.bytes();
    }
    return result;
}

std::int64_t Scratch::growth(const RunBytes& bytes) const {
    const auto more = [](const Memory& memory, std::int64_t needed) {
        return std::max<std::int64_t>(0, needed - memory.bytes());
    };
    std::int64_t result = more(shared_, bytes.shared);
    for (std::size_t worker = 0; worker < bytes.threads; ++worker) {
        result += more(workers_[worker], bytes.worker(worker));
    }
    return result;
}

CpuProgram::CpuProgram(const Graph& graph, Math math, Resources& resources)
    : resources_(&resources),
      tree_(plan_tree(graph)),
      inputs_(ports(graph, graph.inputs())),
      outputs_(ports(graph, graph.outputs())),
      compiled_(graph, tree_, block_size(tree_, graph),
                {.input_strides = strides(inputs_), .output_strides = strides(outputs_)}, math,
                resources.account, resources.profiled()),
      updates_(graph.updates().begin(), graph.updates().end()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        inputs_[i].slot = compiled_.input_slot(i);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        outputs_[i].slot = compiled_.output_slot(i);
    }
    bound_.reserve(inputs_.size() + outputs_.size());
    ++resources.account.programs;
}

std::vector<CpuProgram::Port> CpuProgram::ports(const Graph& graph, std::span<const ValueId> ids) {
    std::vector<Port> result;
    result.reserve(ids.size());
    for (const ValueId id : ids) {
        const ValueInfo& info = graph.value(id);
        const std::int64_t elements = info.shape.elements();
        result.push_back({info.type, elements, info.per_individual ? elements : 0, 0});
    }
    return result;
}

std::vector<std::int64_t> CpuProgram::strides(const std::vector<Port>& ports) {
    std::vector<std::int64_t> result;
    result.reserve(ports.size());
    for (const Port& port : ports) {
        result.push_back(port.stride);
    }
    return result;
}

std::int64_t CpuProgram::block_count(std::int64_t population) const {
    if (!compiled_.has_block_kernels()) return 0;
    const std::int64_t for_all =
        (population + resources_->pool.threads() - 1) / resources_->pool.threads();
    const std::int64_t block =
        std::min(compiled_.block(), std::max(for_all, min_individuals_of_thread));
    return (population + block - 1) / block;
}

// Any thread of the pool may take a block; a single block stays on the caller, and its kernels may
// have parts for the others.
RunBytes CpuProgram::run_bytes(std::int64_t blocks) const {
    const auto threads = static_cast<std::size_t>(resources_->pool.threads());
    return {.shared = compiled_.shared_bytes(),
            .part = compiled_.part_bytes(),
            .frame = compiled_.frame_bytes(),
            .threads = threads,
            .frames = blocks > 1 ? threads : 1};
}

std::int64_t CpuProgram::peak_bytes(std::int64_t population) const {
    return run_bytes(block_count(population)).total();
}

CpuProgram::Bound CpuProgram::bound(std::int64_t population, const Port& port,
                                    const Binding& binding) {
    const auto* buffer = dynamic_cast<const CpuBuffer*>(binding.buffer);
    CAMBRIAN_ASSERT(buffer != nullptr);
    CAMBRIAN_ASSERT(buffer->type() == port.type);
    const std::int64_t words = port.stride != 0 ? population * port.elements : port.elements;
    CAMBRIAN_ASSERT(binding.first >= 0 && words <= buffer->elements() - binding.first);
    ranges_.push_back({buffer, binding.first, words});
    return {buffer->data() + binding.first * word_bytes, port.stride * word_bytes, port.slot};
}

void CpuProgram::bind(std::int64_t population, std::span<const Binding> inputs,
                      std::span<const Binding> outputs) {
    CAMBRIAN_ASSERT(inputs.size() == inputs_.size() && outputs.size() == outputs_.size());
    bound_.clear();
    ranges_.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        bound_.push_back(bound(population, inputs_[i], inputs[i]));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        bound_.push_back(bound(population, outputs_[i], outputs[i]));
    }
    if (ranges_ == apart_) {
        return;
    }
    const std::span<const BoundRange> ranges(ranges_);
    require_apart(ranges.first(inputs.size()), ranges.subspan(inputs.size()), updates_);
    apart_ = ranges_;
}

void CpuProgram::require_memory(const RunBytes& bytes, std::int64_t population) const {
    const std::int64_t used = resources_->account.used;
    const std::int64_t limit = resources_->account.limit;
    const std::int64_t more = resources_->scratch.growth(bytes);
    if (limit > 0 && more > limit - used) {
        throw OutOfMemoryError(
            "cannot run " + std::to_string(population) + " individuals at once (temporaries of " +
            std::to_string(bytes.total()) + " bytes take " + std::to_string(more) + " more, and " +
            std::to_string(used) + " of the limit of " + std::to_string(limit) +
            " bytes are in use) raise the memory limit or evaluate fewer at once");
    }
}

void CpuProgram::prepare_frames(const RunBytes& bytes) {
    std::byte* shared = resources_->scratch.shared(bytes.shared);
    part_scratch_.resize(bytes.threads);
    for (std::size_t worker = 0; worker < bytes.threads; ++worker) {
        part_scratch_[worker] = resources_->scratch.worker(worker, bytes.worker(worker));
    }
    for (std::size_t worker = 0; worker < bytes.frames; ++worker) {
        if (frames_.size() <= worker) {
            frames_.push_back(compiled_.make_frame());
        }
        std::byte* memory = part_scratch_[worker] + bytes.part;
        compiled_.place_frame(frames_[worker], memory, shared);
        frames_[worker].team = {nullptr, std::span(part_scratch_).subspan(worker, 1)};
    }
}

void CpuProgram::bind_frame(Frame& frame, std::int64_t first_individual) const {
    for (const Bound& bound : bound_) {
        frame.slots[bound.slot] = bound.first + first_individual * bound.stride_bytes;
    }
}

void CpuProgram::run_block(std::int64_t block, int worker) {
    const FloatGuard rules;
    Frame& frame = frames_[static_cast<std::size_t>(worker)];
    const std::int64_t first = block * block_;
    bind_frame(frame, first);
    compiled_.run_block(frame, std::min(block_, population_ - first));
    if (block == 0) {
        compiled_.run_once(frame);
    }
}

void CpuProgram::prepare(std::int64_t population, std::span<const Binding> inputs,
                         std::span<const Binding> outputs) {
    population_ = population;
    bind(population, inputs, outputs);
    const std::int64_t blocks = block_count(population);
    block_ = blocks > 0 ? even_block(population, blocks, compiled_.block()) : 0;
    const RunBytes bytes = run_bytes(blocks);
    require_memory(bytes, population);
    prepare_frames(bytes);
}

void CpuProgram::compute(std::int64_t blocks) {
    const FloatGuard rules;
    Frame& own = frames_[0];
    const Team all{&resources_->pool, part_scratch_};
    const Team alone = std::exchange(own.team, all);
    bind_frame(own, 0);
    compiled_.run_shared(own);
    if (blocks > 1) {
        own.team = alone;
    }
    resources_->pool.for_each(blocks,
                              [this](std::int64_t block, int worker) { run_block(block, worker); });
    own.team = all;
    compiled_.run_last(own);
}

void CpuProgram::run(std::int64_t population, std::span<const Binding> inputs,
                     std::span<const Binding> outputs) {
    CAMBRIAN_ASSERT(population >= 1);
    retry_once([&] { prepare(population, inputs, outputs); }, [this] { resources_->trim(); });
    try {
        compute(block_ > 0 ? (population + block_ - 1) / block_ : 0);
    } catch (const std::bad_alloc&) {
        throw OutOfMemoryError(
            "cannot run " + std::to_string(population) +
            " individuals at once (the system is out of memory) evaluate fewer at once");
    }
}

}  // namespace cambrian::cpu
