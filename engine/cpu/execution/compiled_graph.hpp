#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/memory.hpp"
#include "cambrian/engine/cpu/execution/profile.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian::cpu {

/// The plan of a graph and of the bodies of its scans, in node order.
struct PlanTree {
    Plan plan;
    std::vector<PlanTree> bodies;
    std::int64_t words_per_individual = 0;  ///< Temporaries of one individual, bodies included.
};
[[nodiscard]] PlanTree plan_tree(const Graph& graph);

/// How a graph is embedded: words between the individuals of each input and output (0 = shared).
struct Boundary {
    std::vector<std::int64_t> input_strides;
    std::vector<std::int64_t> output_strides;
    bool is_body = false;  ///< The body of a scan: everything runs once for each block.
};

/// A graph as a flat list of kernels with all places decided. Of a program's graph, values that
/// depend on shared values only are computed once before the blocks; the rest block by block.
class CompiledGraph {
  public:
    /// @param profile counts what the kernels do; null: nobody does.
    CompiledGraph(const Graph& graph, const PlanTree& tree, std::int64_t block, Boundary boundary,
                  Math math, MemoryAccount& account, Profile* profile);

    /// Bytes of one worker's frame, bodies included, without what parts of kernels use.
    [[nodiscard]] std::int64_t frame_bytes() const;
    /// What each thread of a team has for the parts of kernels, those of bodies included.
    [[nodiscard]] std::int64_t part_bytes() const;
    [[nodiscard]] std::int64_t shared_bytes() const;
    [[nodiscard]] bool has_block_kernels() const { return !block_kernels_.empty(); }
    [[nodiscard]] std::int64_t block() const { return block_; }

    [[nodiscard]] Frame make_frame() const;
    /// Points a frame at its memory and advances `memory` after it.
    void place_frame(Frame& frame, std::byte*& memory, std::byte* shared) const;

    void run_shared(Frame& frame) const { run(shared_kernels_, frame, 1); }
    void run_block(Frame& frame, std::int64_t count) const { run(block_kernels_, frame, count); }
    /// What only one block has to do: outputs that all individuals share.
    void run_once(Frame& frame) const { run(once_kernels_, frame, 1); }
    /// After all blocks: new contents of inputs that all individuals share.
    void run_last(Frame& frame) const { run(last_kernels_, frame, 1); }

    [[nodiscard]] std::uint32_t input_slot(std::size_t index) const {
        return first_input_slot + static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] std::uint32_t output_slot(std::size_t index) const {
        return input_slot(boundary_.input_strides.size() + index);
    }

    // For the factories of kernels, during construction.

    [[nodiscard]] MemoryAccount& account() const { return *account_; }
    /// Or null: nobody counts what kernels do.
    [[nodiscard]] Profile* profile() const { return profile_; }

    /// Private memory of a kernel that lasts for a run.
    [[nodiscard]] BufferView reserve(std::int64_t elements, bool per_individual);
    /// Memory for use inside one kernel.
    [[nodiscard]] BufferView scratch(std::int64_t words);
    /// Makes sure that each part of a kernel finds so many words (see for_each_part).
    void part_scratch(std::int64_t words);
    /// Compiles the body of the next scan; returns its position in a frame's bodies.
    std::size_t add_body(const Graph& body, Boundary boundary);
    [[nodiscard]] const CompiledGraph& body(std::size_t index) const { return *bodies_[index]; }
    /// A frame of so many slots for a transposed body; returns its position in Frame::transposed.
    std::size_t add_transposed(std::size_t slots);

  private:
    struct Entry {
        std::unique_ptr<Kernel> kernel;
        bool per_individual;
    };
    using Entries = std::vector<Entry>;

    void find_needed(const Graph& graph);
    void find_phases(const Graph& graph);
    void place_values(const Graph& graph);
    [[nodiscard]] BufferView place(const Graph& graph, std::size_t value);
    [[nodiscard]] BufferView place_shared(const Graph& graph, std::size_t value,
                                          std::int64_t planned);
    void fill_constants(const Graph& graph);
    void add_kernel(const Graph& graph, const Node& node);
    void add_output_copies(const Graph& graph);
    void add_output_copy(const Graph& graph, std::size_t index);
    [[nodiscard]] bool replaces_shared(const Graph& graph, std::size_t output) const;
    static void run(const Entries& entries, Frame& frame, std::int64_t count);

    const PlanTree* tree_;
    std::int64_t block_;
    Boundary boundary_;
    Math math_;
    MemoryAccount* account_;
    Profile* profile_;
    std::vector<BufferView> refs_;       ///< One for each value.
    std::vector<bool> needed_;           ///< One for each value.
    std::vector<bool> in_shared_phase_;  ///< One for each value.
    bool only_shared_ = false;
    std::int64_t arena_words_ = 0;
    std::int64_t private_words_ = 0;
    std::int64_t scratch_words_ = 0;
    std::int64_t part_words_ = 0;
    std::int64_t shared_words_ = 0;
    std::int64_t constant_words_ = 0;
    std::size_t scans_seen_ = 0;  ///< Scans up to the node a kernel is being made for.
    Memory constants_;
    std::vector<std::unique_ptr<CompiledGraph>> bodies_;
    std::vector<std::size_t> transposed_slots_;
    Entries shared_kernels_;
    Entries block_kernels_;
    Entries once_kernels_;
    Entries last_kernels_;
};

}  // namespace cambrian::cpu
