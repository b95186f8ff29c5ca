#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

struct CpuOptions {
    int threads = 1;  ///< At least 1. Never changes a bit of the results.
    Math math = Math::fast;
    std::int64_t memory_limit = 0;  ///< Bytes; 0 = none.
    /// Graph and plan of every program are written there; empty: none.
    std::string dump_directory = {};
    bool profile = false;  ///< Times every kernel (Backend::take_profile).
    /// Freed memory, and temporaries before every run, are filled with NaNs, so that results show
    /// a read of what was never written. Slow.
    bool poison = false;
    /// For tests: asked before memory for buffers, constants or temporaries is taken from the
    /// system; true: there is none.
    std::function<bool()> refuse_memory = {};
};

/// Runs graphs in blocks of individuals whose size depends on shapes only, spread over a thread
/// pool; contractions by multiply_add over blocks of k (fast, see cpu/gemm/gemm.hpp) or in order
/// (strict). Throws DeviceError when the processor lacks the instructions the build needs.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace cambrian
