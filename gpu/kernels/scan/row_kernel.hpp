#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cambrian/gpu/codegen/rows/row_source.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// The values that a scan reads and writes, where they lie: as in a scan node.
struct RowViews {
    std::span<const BufferView> operands;
    std::span<const BufferView> results;
    bool per_individual = false;  ///< Whether any result is.
};

class SpreadCopy;

/// The memory table of a row kernel: what it says where, and what has to be recorded before the
/// kernel can read by it.
class RowTable {
  public:
    RowTable(const ScanAttribute& scan, const RowAnalysis& analysis, const RowViews& views,
             CompiledGraph& owner, const RowText& text);
    ~RowTable();
    RowTable(const RowTable&) = delete;
    RowTable& operator=(const RowTable&) = delete;

    /// Points a push block at the table and the slots, and records what fills the rest.
    /// @param teams whether the kernel reads prices of networks.
    void prepare(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                 bool teams) const;
    /// What a dispatch touches. A later one of a cut scan also reads what the first has written.
    [[nodiscard]] std::vector<vulkan::Range> reads(const Frame& frame, bool later) const;
    [[nodiscard]] std::vector<vulkan::Range> writes(const Frame& frame) const;

  private:
    /// A value and how many words of one individual it has.
    struct Touched {
        BufferView view;
        std::int64_t elements = 0;
    };

    /// An invariant laid out anew before the steps.
    struct Interleaved {
        BufferView from;
        BufferView to;
        std::int64_t elements = 0;
    };
    void add_entries(const ScanAttribute& scan, const RowAnalysis& analysis, const RowViews& views,
                     CompiledGraph& owner, const std::vector<std::size_t>& interleaved);
    void add_carry(const ScanAttribute& scan, const RowAnalysis& analysis, const RowViews& views,
                   CompiledGraph& owner, std::size_t index);
    void add_entry(const BufferView& view);
    [[nodiscard]] BufferView interleave(const BufferView& operand, std::int64_t elements,
                                        CompiledGraph& owner);
    void record_copies(vulkan::Recorder& recorder, const Frame& frame) const;
    void place_slots(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push) const;
    [[nodiscard]] std::int64_t listed_slots() const;

    std::vector<std::uint32_t> entries_;
    std::vector<std::uint32_t> slots_;  ///< Of the frame, in the order of the table's numbers.
    BufferView table_;
    BufferView slot_list_;  ///< Addresses of the slots that the push block has no room for.
    std::vector<Touched> read_;
    std::vector<Touched> written_;
    std::vector<Interleaved> copies_;
    std::unique_ptr<SpreadCopy> spread_;
    const vulkan::Pipeline* copy_pipeline_ = nullptr;
};

/// Runs a scan as one row kernel: one dispatch, or several of a fixed number of steps
/// each where one would run for too long. Contract: the analysis found no obstacle; the body has no
/// matmul_epilogue and no fusion group.
[[nodiscard]] std::unique_ptr<Kernel> make_row_kernel(const ScanAttribute& scan,
                                                      const RowAnalysis& analysis,
                                                      const RowViews& views, CompiledGraph& owner,
                                                      const std::string& kernel_name);

}  // namespace cambrian::gpu
