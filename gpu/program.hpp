#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/gpu/buffer.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/run_state.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

/// Runs a compiled graph: its commands are recorded once for each set of addresses and submitted
/// again and again. Outputs that are small are copied to the host by the same submission.
class GpuProgram : public Program {
  public:
    /// @param graph as the user wrote it; the passes are run on it first.
    GpuProgram(const Graph& graph, Resources& resources, RunState& state);
    ~GpuProgram() override;
    GpuProgram(const GpuProgram&) = delete;
    GpuProgram& operator=(const GpuProgram&) = delete;

    /// Starts a run and returns without waiting for it.
    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs) override;
    [[nodiscard]] std::int64_t peak_bytes(std::int64_t population) const override;
    [[nodiscard]] std::int64_t max_population() const override;

  private:
    /// A graph input or output.
    struct Port {
        ValueType type = ValueType::real;
        std::int64_t elements = 0;
        bool per_individual = false;
        [[nodiscard]] std::int64_t words(std::int64_t population) const {
            return per_individual ? population * elements : elements;
        }
    };
    /// The commands of a run with one population and one set of addresses.
    struct Recording;

    static std::vector<Port> ports(const Graph& graph, std::span<const ValueId> ids);
    static CompiledGraph::Boundary boundary(std::span<const Port> inputs,
                                            std::span<const Port> outputs);
    [[nodiscard]] DeviceBuffer& bound(const Port& port, const Binding& binding,
                                      std::int64_t population) const;
    /// {population, address of temporaries, addresses of inputs and outputs, the heap's
    /// generation, the queue}.
    void find_key(std::int64_t population, std::span<const Binding> inputs,
                  std::span<const Binding> outputs);
    /// Throws OutOfMemoryError above max_population().
    void require_countable(std::int64_t population) const;
    /// The status words of the queue in use, or null.
    [[nodiscard]] std::shared_ptr<StatusWords> status();
    void require_memory(std::int64_t population) const;
    void require_apart(std::int64_t population, std::span<const Binding> inputs,
                       std::span<const Binding> outputs) const;
    /// The recording of a run, made anew where there is none.
    [[nodiscard]] Recording& recording_for(std::int64_t population, std::span<const Binding> inputs,
                                           std::span<const Binding> outputs);
    /// A recording of the key, or null.
    [[nodiscard]] Recording* find_recording() const;
    void forget_stale_recordings();
    [[nodiscard]] Recording& oldest_recording();
    void record(Recording& recording);
    void plan_readback(Recording& recording, std::int64_t status_bytes) const;
    void release_readback(Recording& recording) const;
    /// What a run comes after: others that write what it reads, or touch what it writes.
    [[nodiscard]] vulkan::Tickets runs_before(std::int64_t population,
                                              std::span<const Binding> inputs,
                                              std::span<const Binding> outputs) const;
    void finish(Recording& recording, vulkan::Ticket ticket, std::span<const Binding> inputs,
                std::span<const Binding> outputs);

    Resources& resources_;
    RunState& state_;
    std::int64_t number_;  ///< Of the programs of a backend.
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
    std::vector<Update> updates_;
    std::unique_ptr<CompiledGraph> compiled_;
    std::vector<StatusSite> sites_;                     ///< None for a program without data errors.
    std::vector<std::shared_ptr<StatusWords>> status_;  ///< By queue, as far as it has run there.
    std::vector<std::uint64_t> key_;
    std::vector<std::unique_ptr<Recording>> recordings_;
    std::int64_t runs_ = 0;
};

/// A graph as it is compiled: through the passes that the options and the kernels ask for.
[[nodiscard]] Graph run_passes(const Graph& graph, const Resources& resources);

/// Writes graph, plan and the bytes it needs into the dump directory, if there is one. Throws
/// InputError when a file cannot be written.
void write_dump(const Graph& graph, const CompiledGraph& compiled, const Resources& resources,
                std::int64_t number);

}  // namespace cambrian::gpu
