#pragma once

#include <new>

#include "cambrian/engine/core/error.hpp"

// For backends.
namespace cambrian {

/// What `action` returns. Where there is no memory for it, it is tried once more after `trim`, and
/// may be tried again because what failed has left nothing. Throws OutOfMemoryError when
/// there is none then either.
template <class Action, class Trim>
decltype(auto) retry_once(const Action& action, const Trim& trim) {
    try {
        return action();
    } catch (const OutOfMemoryError&) {
        trim();
    } catch (const std::bad_alloc&) {
        trim();
    }
    try {
        return action();
    } catch (const std::bad_alloc&) {
        throw OutOfMemoryError(
            "the host is out of memory (the system refused a small allocation) evaluate fewer "
            "individuals at once or let fewer ranks share the host");
    }
}

}  // namespace cambrian
