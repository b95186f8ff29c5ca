#pragma once

#include <limits>

namespace cambrian::test {

/// While it lives, allocations of the program fail, on whatever thread they are made. One at a
/// time. For programs that are linked with cambrian_refused_allocations, all of whose allocations
/// go through there.
class RefusedAllocations {
  public:
    /// @param before how many are served first.
    /// @param count how many of those that follow fail; all: memory stays short.
    explicit RefusedAllocations(long before, long count = std::numeric_limits<long>::max());
    ~RefusedAllocations();
    RefusedAllocations(const RefusedAllocations&) = delete;
    RefusedAllocations& operator=(const RefusedAllocations&) = delete;
    /// Whether one has failed.
    [[nodiscard]] bool any() const;
    /// How many more were served than were freed.
    [[nodiscard]] long left_over() const;
};

}  // namespace cambrian::test
