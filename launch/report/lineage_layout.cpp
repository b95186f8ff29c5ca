#include "cambrian/launch/report/lineage_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace cambrian::launch {
namespace {

using evolve::BirthId;

constexpr std::size_t max_all = 60;   ///< So many are drawn with all that is between them.
constexpr std::size_t max_main = 48;  ///< Of the line of first parents.
constexpr std::size_t max_lanes = 12;

std::vector<const Kin*> main_line_of(const Ancestry& ancestry, BirthId last) {
    std::vector<const Kin*> line;
    for (const Kin* kin = ancestry.find(last); kin != nullptr;) {
        line.push_back(kin);
        const KinParents parents = ancestry.parents_of(*kin);
        // A parent is older, whatever a log says.
        if (parents.empty() || parents.front() >= kin->id) break;
        kin = ancestry.find(parents.front());
    }
    return line;
}

/// The ends of a line and those whose fitness differs most from their parent's.
std::vector<const Kin*> important(const std::vector<const Kin*>& line) {
    if (line.size() <= max_main) return line;
    std::vector<std::size_t> inner;
    for (std::size_t i = 1; i + 1 < line.size(); ++i) inner.push_back(i);
    const auto change = [&](std::size_t i) {
        const double by = std::abs(line[i]->fitness - line[i + 1]->fitness);
        return std::isnan(by) ? 0.0 : by;
    };
    std::ranges::stable_sort(inner, std::ranges::greater(), change);
    inner.resize(max_main - 2);
    std::ranges::sort(inner);
    std::vector<const Kin*> kept{line.front()};
    for (const std::size_t i : inner) kept.push_back(line[i]);
    kept.push_back(line.back());
    return kept;
}

std::set<BirthId> chosen_of(const Ancestry& ancestry, const Lineage& lineage,
                            const std::vector<const Kin*>& main_line) {
    std::set<BirthId> chosen;
    if (lineage.size() <= max_all) {
        for (const auto& [id, depth] : lineage)
            if (ancestry.find(id) != nullptr) chosen.insert(id);
        return chosen;
    }
    for (const Kin* kin : important(main_line)) {
        chosen.insert(kin->id);
        const KinParents parents = ancestry.parents_of(*kin);
        for (const BirthId parent : parents)
            if (parent != kin->id && ancestry.find(parent) != nullptr && parents.front() != parent)
                chosen.insert(parent);
    }
    return chosen;
}

/// The nearest ancestor by first parents that is drawn, if any.
std::optional<DrawnDescent> descent_of(const Ancestry& ancestry, const std::set<BirthId>& chosen,
                                       const Kin& child) {
    DrawnDescent descent{.child = child.id};
    for (const Kin* kin = &child; kin->parent_count > 0;) {
        const BirthId parent = ancestry.parents_of(*kin).front();
        if (parent >= kin->id) return std::nullopt;
        if (chosen.contains(parent)) {
            descent.ancestor = parent;
            return descent;
        }
        ++descent.skipped;
        kin = ancestry.find(parent);
        if (kin == nullptr) return std::nullopt;
    }
    return std::nullopt;
}

/// Lanes, each of which waits for an ancestor to stand in it.
class Lanes {
  public:
    /// The upper one of those that wait for it, or a free one; the others become free.
    std::size_t take(BirthId id) {
        std::optional<std::size_t> found;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            if (waiting_[i] != id) continue;
            if (!found) found = i;
            waiting_[i].reset();
        }
        return found ? *found : free(std::nullopt);
    }
    void wait(std::size_t lane, BirthId id) {
        if (lane >= waiting_.size()) waiting_.resize(lane + 1);
        waiting_[lane] = id;
    }
    [[nodiscard]] bool waited_for(BirthId id) const {
        return std::ranges::find(waiting_, std::optional(id)) != waiting_.end();
    }
    /// The uppermost one but a given one that nobody waits for.
    [[nodiscard]] std::size_t free(std::optional<std::size_t> besides) const {
        std::size_t lane = 0;
        while (lane == besides || (lane < waiting_.size() && waiting_[lane])) ++lane;
        return lane;
    }

  private:
    std::vector<std::optional<BirthId>> waiting_;
};

}  // namespace

LineageLayout lineage_layout(const Ancestry& ancestry, const Lineage& lineage, BirthId last) {
    LineageLayout layout;
    layout.main_line = main_line_of(ancestry, last);
    std::set<BirthId> chosen = chosen_of(ancestry, lineage, layout.main_line);
    Lanes lanes;
    // From the newest on, so that a line of first parents stays in one lane.
    while (!chosen.empty()) {
        const Kin& kin = *ancestry.find(*chosen.rbegin());
        const std::size_t lane = lanes.take(kin.id);
        if (lane >= max_lanes) {
            chosen.erase(kin.id);
            continue;
        }
        layout.placed[kin.id] = {&kin, 0, lane};
        layout.lanes = std::max(layout.lanes, lane + 1);
        if (const auto first = descent_of(ancestry, chosen, kin)) {
            layout.descents.push_back(*first);
            lanes.wait(lane, first->ancestor);
        }
        const KinParents parents = ancestry.parents_of(kin);
        for (std::size_t i = 1; i < parents.size(); ++i) {
            if (parents[i] >= kin.id || !chosen.contains(parents[i])) continue;
            layout.descents.push_back({kin.id, parents[i], false, 0});
            // Not in the lane of its child, even where nobody waits there.
            if (!lanes.waited_for(parents[i])) lanes.wait(lanes.free(lane), parents[i]);
        }
        chosen.erase(kin.id);
    }
    std::set<std::uint32_t> generations;
    for (const auto& [id, one] : layout.placed) generations.insert(one.kin->generation);
    layout.generations.assign(generations.begin(), generations.end());
    for (auto& [id, one] : layout.placed)
        one.column = static_cast<std::size_t>(
            std::ranges::lower_bound(layout.generations, one.kin->generation) -
            layout.generations.begin());
    std::erase_if(layout.descents, [&](const DrawnDescent& descent) {
        return !layout.placed.contains(descent.ancestor);
    });
    return layout;
}

}  // namespace cambrian::launch
