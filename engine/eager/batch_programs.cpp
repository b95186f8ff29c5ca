#include "cambrian/engine/eager/batch_programs.hpp"

#include <algorithm>

#include "cambrian/engine/graph/graph_equality.hpp"

namespace cambrian {

Program& BatchPrograms::program(const Graph& graph) {
    const std::uint64_t hash = structure_hash(graph);
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
        return entry.hash == hash && same_graph(entry.graph, graph);
    });
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        ++hits_;
    } else {
        entries_.push_front({hash, graph, backend_.compile(graph)});
        ++misses_;
        if (entries_.size() > max_programs_) entries_.pop_back();
    }
    return *entries_.front().program;
}

void BatchPrograms::count(EagerStatistics& statistics) const {
    statistics.program_hits = hits_;
    statistics.program_misses = misses_;
}

}  // namespace cambrian
