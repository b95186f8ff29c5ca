#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::cpu {

/// Who may work on one kernel: all threads of a pool while the caller runs alone, or only the
/// thread that runs the kernel, because the others have blocks of their own (no pool).
struct Team {
    ThreadPool* pool = nullptr;
    /// One piece for each thread, of the words that kernels have asked for by
    /// CompiledGraph::part_scratch; no kernel finds there what another left.
    std::span<std::byte* const> scratch;
};

/// Calls part(index) or part(index, scratch) for every index below `parts`, in any order and at
/// once on the threads of the team. A kernel cuts its parts by shapes only, never by threads, so
/// that its bits are the same on any number of them; one part stays on the caller.
template <class Part>
void for_each_part(const Team& team, std::int64_t parts, const Part& part) {
    const auto run = [&](std::int64_t index, int worker) {
        if constexpr (std::is_invocable_v<Part, std::int64_t>) {
            part(index);
        } else {
            part(index, team.scratch[static_cast<std::size_t>(worker)]);
        }
    };
    if (team.pool == nullptr || parts <= 1) {
        for (std::int64_t index = 0; index < parts; ++index) {
            run(index, 0);
        }
        return;
    }
    team.pool->for_each(parts, [&](std::int64_t index, int worker) {
        const FloatGuard rules;
        run(index, worker);
    });
}

}  // namespace cambrian::cpu
