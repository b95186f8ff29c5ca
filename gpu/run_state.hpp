#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/gpu/data_errors.hpp"
#include "cambrian/gpu/execution/transfer.hpp"

namespace cambrian::gpu {

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
    [[nodiscard]] const Scratch& scratch() const { return scratch_[transfer_.queue()]; }
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

}  // namespace cambrian::gpu
