#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/profile.hpp"

namespace cambrian::cpu {

/// What a run takes for its temporaries: the first workers have frames.
struct RunBytes {
    std::int64_t shared = 0;
    std::int64_t part = 0;   ///< Of each thread, for the parts of kernels.
    std::int64_t frame = 0;  ///< Of each frame.
    std::size_t threads = 0;
    std::size_t frames = 0;

    [[nodiscard]] std::int64_t worker(std::size_t index) const {
        return part + (index < frames ? frame : 0);
    }
    [[nodiscard]] std::int64_t total() const {
        return shared + static_cast<std::int64_t>(threads) * part +
               static_cast<std::int64_t>(frames) * frame;
    }
};

/// Temporaries that all programs of a backend use in turn; grown to the largest need.
class Scratch {
  public:
    Scratch(MemoryAccount& account, int workers)
        : account_(&account), workers_(static_cast<std::size_t>(workers)) {}

    [[nodiscard]] std::byte* worker(std::size_t index, std::int64_t bytes) {
        return grown(workers_[index], bytes);
    }
    [[nodiscard]] std::byte* shared(std::int64_t bytes) { return grown(shared_, bytes); }
    /// Gives all of it back; the next run takes what it needs.
    void release();
    /// Bytes that are held.
    [[nodiscard]] std::int64_t bytes() const;
    /// Bytes that the account would count more.
    [[nodiscard]] std::int64_t growth(const RunBytes& bytes) const;

  private:
    std::byte* grown(Memory& memory, std::int64_t bytes);

    MemoryAccount* account_;
    std::vector<Memory> workers_;
    Memory shared_;
};

/// What the programs of a backend share.
struct Resources {
    MemoryAccount account;
    ThreadPool pool;
    Scratch scratch;
    std::optional<Profile> profile;

    explicit Resources(const CpuOptions& options);
    [[nodiscard]] Profile* profiled() { return profile ? &*profile : nullptr; }
    /// Gives back what no program needs between its runs.
    void trim();
};

/// Runs a compiled graph over blocks of individuals, the items of the thread pool.
class CpuProgram : public Program {
  public:
    CpuProgram(const Graph& graph, Math math, Resources& resources);
    ~CpuProgram() override { --resources_->account.programs; }
    CpuProgram(const CpuProgram&) = delete;
    CpuProgram& operator=(const CpuProgram&) = delete;

    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs) override;
    [[nodiscard]] std::int64_t peak_bytes(std::int64_t population) const override;

  private:
    /// A graph input or output: its words for one individual.
    struct Port {
        ValueType type;
        std::int64_t elements;
        std::int64_t stride;
        std::uint32_t slot;
    };
    struct Bound {
        std::byte* first;
        std::int64_t stride_bytes;
        std::uint32_t slot;
    };

    static std::vector<Port> ports(const Graph& graph, std::span<const ValueId> ids);
    static std::vector<std::int64_t> strides(const std::vector<Port>& ports);
    [[nodiscard]] RunBytes run_bytes(std::int64_t blocks) const;
    /// As many as its individuals fill, and in a small population as many as there are threads;
    /// results do not depend on it.
    [[nodiscard]] std::int64_t block_count(std::int64_t population) const;
    void bind(std::int64_t population, std::span<const Binding> inputs,
              std::span<const Binding> outputs);
    [[nodiscard]] Bound bound(std::int64_t population, const Port& port, const Binding& binding);
    void require_memory(const RunBytes& bytes, std::int64_t population) const;
    void prepare_frames(const RunBytes& bytes);
    /// Everything before the first kernel: where it fails, nothing has changed.
    void prepare(std::int64_t population, std::span<const Binding> inputs,
                 std::span<const Binding> outputs);
    void compute(std::int64_t blocks);
    void bind_frame(Frame& frame, std::int64_t first_individual) const;
    void run_block(std::int64_t block, int worker);

    Resources* resources_;
    PlanTree tree_;
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
    CompiledGraph compiled_;
    std::vector<Frame> frames_;
    std::vector<std::byte*> part_scratch_;  ///< One for each thread.
    std::vector<Update> updates_;
    std::vector<Bound> bound_;
    std::vector<BoundRange> ranges_;  ///< Of this run ...
    std::vector<BoundRange> apart_;   ///< ... and of the last one that was checked.
    std::int64_t population_ = 0;
    std::int64_t block_ = 0;  ///< Individuals of a block of this run.
};

}  // namespace cambrian::cpu
