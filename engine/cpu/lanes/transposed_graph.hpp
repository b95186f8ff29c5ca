#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/memory.hpp"
#include "cambrian/engine/cpu/execution/profile.hpp"
#include "cambrian/engine/cpu/lanes/transposed_rows.hpp"

namespace cambrian::cpu {

/// The body of a scan whose values are transposed: element by element, the individuals of a block
/// side by side. Small values then fill whole vectors, and what only moves elements costs nothing.
/// The bits of numbers are those of the same graph individual by individual.
///
/// The slots of its frame are those of a CompiledGraph; rows follow each other without gaps, so a
/// value of 3 elements is 3 count words. Inputs and outputs are transposed too.
class TransposedGraph {
  public:
    /// Of a value.
    static constexpr std::int64_t max_elements = 4096;
    /// Or nothing where it has no step for an op, where individuals share what is computed, or
    /// where a value is larger.
    [[nodiscard]] static std::optional<TransposedGraph> make(const Graph& graph, Math math,
                                                             MemoryAccount& account,
                                                             Profile* profile);

    /// Rows of temporaries.
    [[nodiscard]] std::int64_t temporaries() const { return temporaries_; }
    [[nodiscard]] std::size_t slots() const { return slots_; }
    [[nodiscard]] std::uint32_t input_slot(std::size_t index) const {
        return first_input_slot + static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] std::uint32_t output_slot(std::size_t index) const {
        return input_slot(inputs_ + index);
    }
    [[nodiscard]] std::byte* constants() const { return constants_.data(); }

    /// @param frame has all slots set; nothing after the last word of a slot is written, and up to
    ///     `padding` words are read.
    void run(Frame& frame, std::int64_t count) const {
        for (const auto& step : steps_) step->run(frame, count);
    }
    static constexpr std::int64_t padding = 16;

  private:
    friend class TransposedWriter;

    std::vector<std::unique_ptr<Kernel>> steps_;
    std::int64_t temporaries_ = 0;
    std::size_t inputs_ = 0;
    std::size_t slots_ = 0;
    Memory constants_;
};

}  // namespace cambrian::cpu
