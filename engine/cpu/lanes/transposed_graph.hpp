#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/memory.hpp"
#include "cambrian/engine/cpu/execution/profile.hpp"
#include "cambrian/engine/cpu/lanes/transposed_nodes.hpp"

namespace cambrian::cpu {

/// The body of a scan whose values are transposed: element by element, the individuals of a block
/// side by side. Small values then fill whole vectors, and what only moves elements costs nothing.
/// The bits of numbers are those of the same graph individual by individual.
///
/// The slots of its frame are those of a CompiledGraph; rows follow each other without gaps, so a
/// value of 3 elements is 3 count words. Inputs and outputs are transposed too.
class TransposedGraph {
  public:
    /// What of its inputs a graph does not say itself.
    struct Inputs {
        std::span<const std::int64_t> strides;  ///< Words between individuals outside.
        std::size_t first_fixed = 0;            ///< From it on they are the same in every run.
    };
    /// Of a value.
    static constexpr std::int64_t max_elements = 4096;
    /// Or nothing where it has no kernel for an op, where individuals share what is computed, or
    /// where a value is larger.
    [[nodiscard]] static std::optional<TransposedGraph> make(const Graph& graph,
                                                             const Inputs& inputs, Math math,
                                                             MemoryAccount& account,
                                                             Profile* profile);

    /// Rows of temporaries.
    [[nodiscard]] std::int64_t temporaries() const { return temporaries_; }
    [[nodiscard]] std::size_t slots() const { return slots_; }
    /// Of the largest value that a kernel reads or computes; 0 where there is none.
    [[nodiscard]] std::int64_t mean_elements() const {
        return kernels_.empty() ? 0 : elements_ / static_cast<std::int64_t>(kernels_.size());
    }
    [[nodiscard]] std::uint32_t input_slot(std::size_t index) const {
        return first_input_slot + static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] std::uint32_t output_slot(std::size_t index) const {
        return input_slot(inputs_ + index);
    }
    [[nodiscard]] std::byte* constants() const { return constants_.data(); }
    /// Whether a fixed input is read where it lies outside: its slot is where its first individual
    /// is. So is one that nobody reads.
    [[nodiscard]] bool stays(std::size_t input) const { return stays_[input]; }
    /// Words that the scratch slot has for so many individuals.
    [[nodiscard]] std::int64_t scratch_words(std::int64_t count) const {
        return arranged_ == nullptr ? 0 : arranged_->words(count);
    }

    /// How many of `count` individuals, from the first one on, can be side by side. Only the slots
    /// of inputs that stay outside are set.
    [[nodiscard]] std::int64_t fitting(const Frame& frame, std::int64_t count) const {
        return arranged_ == nullptr ? count : arranged_->fitting(frame, count);
    }
    /// Comes before the first run and whenever Frame::individuals changed.
    void arrange(Frame& frame, std::int64_t count) const {
        if (arranged_ != nullptr) arranged_->arrange(frame, count);
    }
    /// @param frame has all slots set; nothing after the last word of a slot is written, and up to
    ///     `padding` words are read.
    void run(Frame& frame, std::int64_t count) const {
        for (const auto& kernel : kernels_) kernel->run(frame, count);
    }
    static constexpr std::int64_t padding = 16;

  private:
    friend class TransposedWriter;

    std::vector<std::unique_ptr<Kernel>> kernels_;
    std::int64_t temporaries_ = 0;
    std::int64_t elements_ = 0;  ///< Of all kernels' largest values.
    std::size_t inputs_ = 0;
    std::size_t slots_ = 0;
    std::vector<bool> stays_;  ///< One for each input.
    const ArrangedKernel* arranged_ = nullptr;
    Memory constants_;
};

}  // namespace cambrian::cpu
