#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/gpu/buffer.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

/// The status words of a program: zeros until a kernel finds a data error, then until the error has
/// been thrown. They stay over runs, so no error is lost when a later run is asked about first.
struct StatusWords {
    StatusWords(Transfer& transfer, std::vector<StatusSite> status_sites);

    std::vector<StatusSite> sites;
    Memory memory;
    vulkan::Ticket thrown_at = 0;  ///< Copies made by submissions up to here tell old news.
};

/// Copies of status words that nobody has looked at yet.
class DataErrors {
  public:
    explicit DataErrors(Transfer& transfer) : transfer_(transfer) {}

    /// A run copies its status words to `host`.
    void expect(vulkan::Ticket ticket, std::shared_ptr<StatusWords> words,
                std::shared_ptr<const Readback> readback, const std::byte* host);
    /// Throws InputError for the first error in copies that are there already.
    void check();

  private:
    struct Copy {
        vulkan::Ticket ticket = 0;
        std::shared_ptr<StatusWords> words;
        std::shared_ptr<const Readback> readback;
        const std::byte* host = nullptr;
    };
    void check(const Copy& copy);
    /// What runs so far have told is old news.
    void forget(StatusWords& words);

    Transfer& transfer_;
    std::vector<Copy> copies_;
};

/// Temporaries that all programs of a queue use in turn; grown to the largest need.
class Scratch {
  public:
    explicit Scratch(Transfer& transfer) : transfer_(transfer) {}
    /// The address of at least so many bytes. Throws OutOfMemoryError when there are not as many.
    [[nodiscard]] std::uint64_t hold(std::int64_t bytes);
    /// Bytes that are held.
    [[nodiscard]] std::int64_t bytes() const { return memory_.bytes(); }
    /// Gives it back; the next run takes what it needs.
    void release() { memory_ = Memory(); }

  private:
    Transfer& transfer_;
    Memory memory_;
};

/// What programs share beyond what their kernels are made from.
struct RunState {
    explicit RunState(Transfer& transfer);
    /// Bytes that temporaries of other queues than the one in use hold.
    [[nodiscard]] std::int64_t idle_bytes() const;
    /// Waits for other queues and gives their temporaries back.
    void release_idle();
    /// Of the queue that is in use.
    [[nodiscard]] Scratch& scratch() { return scratch_[transfer_.queue()]; }
    /// Waits for everything and gives back what no program needs between its runs.
    void trim();

    DataErrors errors;
    std::int64_t recordings = 0;
    std::int64_t dispatches = 0;      ///< Recorded.
    std::int64_t readback_bytes = 0;  ///< Of all recordings together.
    std::int64_t programs = 0;        ///< Compiled.

  private:
    std::vector<Scratch> scratch_;
    Transfer& transfer_;
};

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
    /// Throws unless kernels can count the words: DeviceError for a single individual's, and
    /// OutOfMemoryError where fewer individuals at once would do.
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
    [[nodiscard]] Recording& oldest_recording();
    void record(Recording& recording);
    void plan_readback(Recording& recording);
    /// What a run comes after: others that write what it reads, or touch what it writes.
    [[nodiscard]] vulkan::Tickets runs_before(std::int64_t population,
                                              std::span<const Binding> inputs,
                                              std::span<const Binding> outputs) const;
    void finish(Recording& recording, vulkan::Ticket ticket, std::span<const Binding> inputs,
                std::span<const Binding> outputs);

    Resources& resources_;
    RunState& state_;
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
