#include "cambrian/gpu/program.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"

namespace cambrian::gpu {

namespace {

/// Parts of a population on several queues, each of two sizes.
constexpr std::size_t max_recordings = 16;
/// Outputs of a run that go to the host at once; larger ones go when they are asked for.
constexpr std::int64_t small_outputs = std::int64_t{4} << 20;
/// Host memory of all recordings together.
constexpr std::int64_t max_readback = std::int64_t{128} << 20;

}  // namespace

struct GpuProgram::Recording {
    struct Part {
        std::size_t output = 0;
        std::int64_t offset = 0;  ///< Bytes into the readback.
    };
    Recording(vulkan::Device& device, std::vector<std::uint64_t> addresses)
        : key(std::move(addresses)), recorder(device) {}

    std::vector<std::uint64_t> key;
    vulkan::Recorder recorder;
    vulkan::Ticket last_use = 0;
    std::int64_t last_run = 0;
    std::shared_ptr<Readback> readback;
    std::vector<Part> parts;
};

GpuProgram::GpuProgram(const Graph& graph, Resources& resources, RunState& state)
    : resources_(resources),
      state_(state),
      number_(state.programs++),
      inputs_(ports(graph, graph.inputs())),
      outputs_(ports(graph, graph.outputs())),
      updates_(graph.updates().begin(), graph.updates().end()) {
    const Graph passed = run_passes(graph, resources);
    compiled_ = std::make_unique<CompiledGraph>(passed, resources, boundary(inputs_, outputs_));
    sites_ = compiled_->status_sites();
    static_cast<void>(status());
    write_dump(passed, *compiled_, resources, number_);
    ++resources.transfer.live().programs;
}

GpuProgram::~GpuProgram() {
    --resources_.transfer.live().programs;
    for (const auto& recording : recordings_) {
        resources_.device.settle(recording->last_use);
        release_readback(*recording);
    }
}

std::vector<GpuProgram::Port> GpuProgram::ports(const Graph& graph, std::span<const ValueId> ids) {
    std::vector<Port> result;
    for (const ValueId id : ids) {
        const ValueInfo& info = graph.value(id);
        result.push_back({info.type, info.shape.elements(), info.per_individual});
    }
    return result;
}

CompiledGraph::Boundary GpuProgram::boundary(std::span<const Port> inputs,
                                             std::span<const Port> outputs) {
    const auto strides = [](std::span<const Port> ports) {
        std::vector<std::int64_t> result;
        for (const Port& port : ports) {
            result.push_back(port.per_individual ? port.elements : 0);
        }
        return result;
    };
    return {strides(inputs), strides(outputs)};
}

std::int64_t GpuProgram::peak_bytes(std::int64_t population) const {
    std::uint64_t end = 0;
    (void)compiled_->make_frame(population, end);
    return static_cast<std::int64_t>(end);
}

std::int64_t GpuProgram::max_population() const {
    return max_words / std::max<std::int64_t>(compiled_->widest_stride(), 1);
}

DeviceBuffer& GpuProgram::bound(const Port& port, const Binding& binding,
                                std::int64_t population) const {
    auto* buffer = dynamic_cast<DeviceBuffer*>(binding.buffer);
    CAMBRIAN_ASSERT(buffer != nullptr && buffer->type() == port.type);
    buffer->require_inside(binding.first, port.words(population));
    return *buffer;
}

void GpuProgram::find_key(std::int64_t population, std::span<const Binding> inputs,
                          std::span<const Binding> outputs) {
    CAMBRIAN_ASSERT(inputs.size() == inputs_.size() && outputs.size() == outputs_.size());
    key_.assign({static_cast<std::uint64_t>(population), 0});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        key_.push_back(bound(inputs_[i], inputs[i], population).address(inputs[i].first));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        key_.push_back(bound(outputs_[i], outputs[i], population).address(outputs[i].first));
    }
    require_memory(population);
    key_[1] = state_.scratch().hold(peak_bytes(population));
    key_.push_back(resources_.heap.generation());
    key_.push_back(resources_.transfer.queue());
}

void GpuProgram::require_memory(std::int64_t population) const {
    const std::int64_t more = peak_bytes(population) - state_.scratch().bytes();
    const std::int64_t limit = resources_.heap.limit();
    if (limit > 0 && more > limit - resources_.heap.used() && state_.idle_bytes() > 0) {
        state_.release_idle();
    }
    const std::int64_t used = resources_.heap.used();
    if (limit > 0 && more > limit - used) {
        throw OutOfMemoryError(fmt::format(
            "cannot run {} individuals at once (temporaries of {} bytes take {} more, and {} of "
            "the limit of {} bytes are in use) raise the memory limit or evaluate fewer at once",
            population, peak_bytes(population), more, used, limit));
    }
}

std::shared_ptr<StatusWords> GpuProgram::status() {
    if (sites_.empty()) return nullptr;
    const std::size_t queue = resources_.transfer.queue();
    if (status_.size() <= queue) status_.resize(queue + 1);
    if (!status_[queue]) {
        status_[queue] = std::make_shared<StatusWords>(resources_.transfer, sites_, number_);
    }
    return status_[queue];
}

void GpuProgram::require_countable(std::int64_t population) const {
    if (population > max_population()) {
        throw OutOfMemoryError(fmt::format(
            "cannot run {} individuals at once (a value or temporary of {} words for each is more "
            "than the {} that a kernel indexes) evaluate fewer individuals at once",
            population, compiled_->widest_stride(), max_words));
    }
}

void GpuProgram::require_apart(std::int64_t population, std::span<const Binding> inputs,
                               std::span<const Binding> outputs) const {
    const auto ranges = [&](std::span<const Port> ports, std::span<const Binding> bindings) {
        std::vector<BoundRange> result;
        for (std::size_t i = 0; i < ports.size(); ++i) {
            result.push_back({bindings[i].buffer, bindings[i].first, ports[i].words(population)});
        }
        return result;
    };
    cambrian::require_apart(ranges(inputs_, inputs), ranges(outputs_, outputs), updates_);
}

void GpuProgram::run(std::int64_t population, std::span<const Binding> inputs,
                     std::span<const Binding> outputs) {
    CAMBRIAN_ASSERT(population >= 1);
    state_.errors.check();
    require_countable(population);
    Recording* current = nullptr;
    vulkan::Ticket ticket = 0;
    retry_once(
        [&] {
            current = &recording_for(population, inputs, outputs);
            const VkCommandBuffer commands = current->recorder.commands();
            ticket = resources_.transfer.submit({&commands, 1},
                                                runs_before(population, inputs, outputs));
        },
        [this] { state_.trim(); });
    finish(*current, ticket, inputs, outputs);
}

GpuProgram::Recording& GpuProgram::recording_for(std::int64_t population,
                                                 std::span<const Binding> inputs,
                                                 std::span<const Binding> outputs) {
    find_key(population, inputs, outputs);
    ++runs_;
    Recording* found = find_recording();
    if (found == nullptr) {
        require_apart(population, inputs, outputs);
        found = &oldest_recording();
        record(*found);
    }
    found->last_run = runs_;
    return *found;
}

GpuProgram::Recording* GpuProgram::find_recording() const {
    const auto same = std::ranges::find_if(
        recordings_, [this](const auto& candidate) { return candidate->key == key_; });
    return same == recordings_.end() ? nullptr : same->get();
}

// A key of another generation of the heap is never asked for again. One by one: asking the device
// may throw.
void GpuProgram::forget_stale_recordings() {
    const auto stale = [this](const Recording& recording) {
        return recording.key.empty() || recording.key.end()[-2] != resources_.heap.generation();
    };
    for (auto it = recordings_.begin(); it != recordings_.end();) {
        if (stale(**it) && resources_.device.done((*it)->last_use)) {
            release_readback(**it);
            it = recordings_.erase(it);
        } else {
            ++it;
        }
    }
}

GpuProgram::Recording& GpuProgram::oldest_recording() {
    forget_stale_recordings();
    if (recordings_.size() < max_recordings) {
        recordings_.push_back(std::make_unique<Recording>(resources_.device, key_));
        return *recordings_.back();
    }
    Recording& oldest = **std::ranges::min_element(
        recordings_, {}, [](const auto& candidate) { return candidate->last_run; });
    resources_.device.wait(oldest.last_use);
    return oldest;
}

void GpuProgram::record(Recording& recording) {
    // Anything may throw below; half a recording must not be found again.
    recording.key.clear();
    const auto population = static_cast<std::int64_t>(key_[0]);
    std::uint64_t address = key_[1];
    Frame frame = compiled_->make_frame(population, address);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        frame.slots[compiled_->input_slot(i)] = key_[2 + i];
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        frame.slots[compiled_->output_slot(i)] = key_[2 + inputs_.size() + i];
    }
    const std::shared_ptr<StatusWords> status_words = status();
    if (status_words) {
        compiled_->bind_status(frame, status_words->memory.address());
    }
    plan_readback(recording, status_words ? status_words->memory.bytes() : 0);
    vulkan::Recorder& recorder = recording.recorder;
    recorder.begin();
    if (resources_.transfer.poisons()) {
        recorder.fill(key_[1], static_cast<std::uint64_t>(peak_bytes(population)), poison_word);
    }
    compiled_->record(recorder, frame);
    for (const Recording::Part& part : recording.parts) {
        recorder.copy(
            key_[2 + inputs_.size() + part.output],
            recording.readback->block.address() + static_cast<std::uint64_t>(part.offset),
            static_cast<std::uint64_t>(outputs_[part.output].words(population)) * word_bytes);
    }
    if (status_words) {
        recorder.barrier();
        recorder.copy(status_words->memory.address(), recording.readback->block.address(),
                      status_words->sites.size() * status_pair * word_bytes);
    }
    recorder.end();
    recording.key = key_;
    ++state_.recordings;
    state_.dispatches += recorder.dispatches();
}

// Status words come first, then the outputs unless they are large.
void GpuProgram::plan_readback(Recording& recording, std::int64_t status_bytes) const {
    const auto population = static_cast<std::int64_t>(key_[0]);
    recording.parts.clear();
    std::int64_t bytes = status_bytes;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        const std::int64_t words = outputs_[i].words(population);
        if (words == 0) {
            continue;
        }
        recording.parts.push_back({i, bytes});
        bytes += words * static_cast<std::int64_t>(word_bytes);
    }
    // What a mirror still holds stays as it is; the recording gets memory of its own.
    release_readback(recording);
    if (bytes > small_outputs || state_.readback_bytes + bytes > max_readback) {
        recording.parts.clear();
        bytes = status_bytes;
    }
    if (bytes > 0) {
        recording.readback = std::make_shared<Readback>(
            Readback{resources_.heap.allocate(vulkan::MemoryKind::readback, bytes)});
        state_.readback_bytes += recording.readback->block.bytes();
    }
}

void GpuProgram::release_readback(Recording& recording) const {
    if (!recording.readback) return;
    state_.readback_bytes -= recording.readback->block.bytes();
    recording.readback.reset();
}

vulkan::Tickets GpuProgram::runs_before(std::int64_t population, std::span<const Binding> inputs,
                                        std::span<const Binding> outputs) const {
    vulkan::Tickets tickets;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        tickets.add(bound(inputs_[i], inputs[i], population).memory().writes());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        tickets.add(bound(outputs_[i], outputs[i], population).memory().uses());
    }
    return tickets;
}

void GpuProgram::finish(Recording& recording, vulkan::Ticket ticket,
                        std::span<const Binding> inputs, std::span<const Binding> outputs) {
    const auto population = static_cast<std::int64_t>(recording.key[0]);
    recording.last_use = ticket;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        bound(inputs_[i], inputs[i], population).read_by(ticket);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        DeviceBuffer& buffer = bound(outputs_[i], outputs[i], population);
        buffer.written_by(ticket);
        buffer.written(outputs[i].first, outputs_[i].words(population));
    }
    for (const Recording::Part& part : recording.parts) {
        bound(outputs_[part.output], outputs[part.output], population)
            .mirror({outputs[part.output].first, outputs_[part.output].words(population),
                     recording.readback->block.host() + part.offset, ticket, recording.readback});
    }
    if (const std::shared_ptr<StatusWords> words = status()) {
        words->memory.written_by(ticket);
        state_.errors.expect(ticket, words, recording.readback, recording.readback->block.host());
    }
}

}  // namespace cambrian::gpu
