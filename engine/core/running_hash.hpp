#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian {

/// hash128 of bytes that come piece by piece, known after every piece.
class RunningHash {
  public:
    RunningHash();
    ~RunningHash();
    RunningHash(const RunningHash&) = delete;
    RunningHash& operator=(const RunningHash&) = delete;

    void add(std::span<const std::byte> bytes);
    /// Of all bytes so far.
    [[nodiscard]] Hash128 hash() const;
    /// Back to no bytes.
    void reset();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian
