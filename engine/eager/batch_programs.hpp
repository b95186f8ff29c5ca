#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/eager/eager_options.hpp"

namespace cambrian {

/// Compiled batches, found again by the structure of their graph.
class BatchPrograms {
  public:
    BatchPrograms(Backend& backend, std::size_t max_programs)
        : backend_(backend), max_programs_(max_programs) {}

    /// The program of a graph with the same nodes, compiled now or before.
    [[nodiscard]] Program& program(const Graph& graph);
    void clear() { entries_.clear(); }
    /// Fills in what it counts.
    void count(EagerStatistics& statistics) const;

  private:
    struct Entry {
        std::uint64_t hash = 0;
        Graph graph;
        std::unique_ptr<Program> program;
    };

    Backend& backend_;
    std::size_t max_programs_;
    std::list<Entry> entries_;  ///< Last used first.
    std::int64_t hits_ = 0;
    std::int64_t misses_ = 0;
};

}  // namespace cambrian
