#pragma once

#include <set>
#include <string>
#include <vector>

#include "cambrian/gpu/codegen/rows/row_source.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"

namespace cambrian::gpu {

/// Writes the whole text of a scan once, with or without words of invariants in registers.
class RowKernelText {
  public:
    /// @param uncached pointers whose words are not kept in registers.
    RowKernelText(const ScanAttribute& scan, const RowAnalysis& analysis,
                  const RowTextOptions& options, std::set<std::string> uncached);

    /// Everything but the frame of main; once.
    void write();
    [[nodiscard]] const RowWriter& writer() const { return writer_; }
    /// The whole, after write.
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
    /// Whether a value is true for every row that takes the step.
    [[nodiscard]] bool tells_who_walks_on(ValueId id) const;
    /// The state of a network that a carry is, where nobody else reads the carry; else empty.
    [[nodiscard]] std::string state_in_place(std::size_t index) const;
    void enter_carry(std::size_t index);
    /// Whether a value is the bytecode or the weights of networks that are data.
    [[nodiscard]] bool is_network(ValueId id) const;
    void enter_operand(std::size_t index);
    void stack_results();
    void pass_carries();
    [[nodiscard]] bool leaves_early() const;
    /// The condition for an invocation to write a value; empty: every one has its own.
    [[nodiscard]] std::string who_writes(ValueId id) const;
    [[nodiscard]] std::string guarded_store(ValueId id, const std::string& stores) const;
    [[nodiscard]] View output_view(std::size_t index) const;

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

}  // namespace cambrian::gpu
