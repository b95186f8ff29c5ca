#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/analysis/clustering.hpp"

namespace cambrian::evolve {
namespace {

/// The distance of a cluster to one made of two, from its distances to both (Lance and Williams
/// 1967).
double joined(Linkage linkage, double a, double b, double size_a, double size_b) {
    switch (linkage) {
        case Linkage::single:
            return std::min(a, b);
        case Linkage::average:
            return (size_a * a + size_b * b) / (size_a + size_b);
        case Linkage::complete:
            return std::max(a, b);
    }
    return 0.0;
}

/// Two clusters, each named by its lowest member.
struct Joint {
    std::size_t low = 0;
    std::size_t high = 0;
    double distance = 0.0;
};

/// Nearest-neighbour chains (Benzécri 1982, Juan 1982): who is nearest to each other is merged at
/// once, which gives the merges of the greedy method, in another order.
class Chains {
  public:
    Chains(const Distances& distances, Linkage linkage)
        : distances_(distances),
          linkage_(linkage),
          sizes_(distances.count, 1.0),
          living_(distances.count, true) {}

    [[nodiscard]] std::vector<Joint> joints() {
        std::vector<Joint> result;
        std::vector<std::size_t> chain;
        while (result.size() + 1 < distances_.count) {
            if (chain.empty())
                chain.push_back(
                    static_cast<std::size_t>(std::ranges::find(living_, true) - living_.begin()));
            const std::size_t end = chain.back();
            const std::size_t before = chain.size() > 1 ? chain[chain.size() - 2] : end;
            const std::size_t next = nearest(end, before);
            if (next != before) {
                chain.push_back(next);
                continue;
            }
            chain.resize(chain.size() - 2);
            result.push_back(merge(std::min(end, next), std::max(end, next)));
        }
        return result;
    }

  private:
    /// The one before in the chain, where no other is nearer: so that chains end.
    [[nodiscard]] std::size_t nearest(std::size_t from, std::size_t before) const {
        std::size_t best = before;
        double least =
            before == from ? std::numeric_limits<double>::infinity() : distances_.at(from, before);
        for (std::size_t other = 0; other < distances_.count; ++other)
            if (living_[other] && other != from &&
                (best == from || distances_.at(from, other) < least)) {
                best = other;
                least = distances_.at(from, other);
            }
        return best;
    }

    Joint merge(std::size_t low, std::size_t high) {
        const Joint joint{low, high, distances_.at(low, high)};
        for (std::size_t other = 0; other < distances_.count; ++other) {
            if (!living_[other] || other == low || other == high) continue;
            const double distance = joined(linkage_, distances_.at(low, other),
                                           distances_.at(high, other), sizes_[low], sizes_[high]);
            distances_.values[low * distances_.count + other] = distance;
            distances_.values[other * distances_.count + low] = distance;
        }
        sizes_[low] += sizes_[high];
        living_[high] = false;
        return joint;
    }

    Distances distances_;
    Linkage linkage_;
    std::vector<double> sizes_;
    std::vector<bool> living_;
};

/// Which cluster a thing is in, by its lowest member.
class Sets {
  public:
    explicit Sets(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    [[nodiscard]] std::size_t root(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(std::size_t a, std::size_t b) {
        const std::size_t low = std::min(root(a), root(b));
        parent_[std::max(root(a), root(b))] = low;
    }

  private:
    std::vector<std::size_t> parent_;
};

std::vector<std::uint32_t> groups_after(std::span<const Merge> merges, std::size_t count,
                                        std::size_t done) {
    Sets sets(count);
    std::vector<std::size_t> lowest(count + merges.size());
    std::iota(lowest.begin(), lowest.begin() + static_cast<std::ptrdiff_t>(count), std::size_t{0});
    for (std::size_t i = 0; i < done; ++i) {
        sets.join(lowest[merges[i].first], lowest[merges[i].second]);
        lowest[count + i] = sets.root(lowest[merges[i].first]);
    }
    std::vector<std::uint32_t> group(count);
    std::vector<std::uint32_t> named(count);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t root = sets.root(i);  // Never above i: it is met first.
        if (root == i) named[i] = next++;
        group[i] = named[root];
    }
    return group;
}

/// A name as Newick takes it: in single quotes where it has letters with a meaning; '_' is a blank.
std::string newick_name(const std::string& name) {
    if (!name.empty() && name.find_first_of(" \t\n()[]':;,_") == std::string::npos) return name;
    std::string text = "'";
    for (const char letter : name) text += letter == '\'' ? "''" : std::string(1, letter);
    return text + "'";
}

double height(std::span<const Merge> merges, std::size_t count, std::size_t node) {
    return node < count ? 0.0 : merges[node - count].distance;
}

}  // namespace

std::vector<Merge> hierarchy(const Distances& distances, Linkage linkage) {
    const std::size_t count = distances.count;
    std::vector<Joint> joints = Chains(distances, linkage).joints();
    std::ranges::stable_sort(joints, {}, &Joint::distance);
    Sets sets(count);
    std::vector<std::size_t> node(count);
    std::vector<std::size_t> sizes(count, 1);
    std::iota(node.begin(), node.end(), std::size_t{0});
    std::vector<Merge> merges;
    for (const Joint& joint : joints) {
        const std::size_t a = sets.root(joint.low);
        const std::size_t b = sets.root(joint.high);
        const std::size_t low = std::min(a, b);
        const std::size_t high = std::max(a, b);
        sets.join(a, b);
        sizes[low] += sizes[high];
        merges.push_back({.first = node[low],
                          .second = node[high],
                          .distance = joint.distance,
                          .size = sizes[low]});
        node[low] = count + merges.size() - 1;
    }
    return merges;
}

std::vector<std::uint32_t> groups_within(std::span<const Merge> merges, std::size_t count,
                                         double distance) {
    const auto end = std::ranges::upper_bound(merges, distance, {}, &Merge::distance);
    return groups_after(merges, count, static_cast<std::size_t>(end - merges.begin()));
}

std::vector<std::uint32_t> groups_of(std::span<const Merge> merges, std::size_t count,
                                     std::size_t groups) {
    CAMBRIAN_EXPECT(groups >= 1 && groups <= count);
    return groups_after(merges, count, count - groups);
}

std::string newick(std::span<const Merge> merges, std::span<const std::string> names) {
    const std::size_t count = names.size();
    std::vector<std::string> text;
    for (const std::string& name : names) text.push_back(newick_name(name));
    for (const Merge& merge : merges) {
        const auto branch = [&](std::size_t node) {
            return fmt::format("{}:{:.9g}", text[node],
                               merge.distance - height(merges, count, node));
        };
        std::string joint = "(" + branch(merge.first) + "," + branch(merge.second) + ")";
        text[merge.first].clear();  // Each is part of one other: the whole stays linear in memory.
        text[merge.second].clear();
        text.push_back(std::move(joint));
    }
    return text.empty() ? ";" : text.back() + ";";
}

std::string tree_text(std::span<const Merge> merges, std::span<const std::string> names) {
    const std::size_t count = names.size();
    std::string text;
    std::vector<std::pair<std::size_t, std::size_t>> open;  // Node and depth.
    if (count > 0) open.emplace_back(count + merges.size() - 1, 0);
    while (!open.empty()) {
        const auto [node, depth] = open.back();
        open.pop_back();
        const std::string indent(2 * depth, ' ');
        if (node < count) {
            text += indent + names[node] + "\n";
            continue;
        }
        const Merge& merge = merges[node - count];
        text += fmt::format("{}+ {:.6g} ({} networks)\n", indent, merge.distance, merge.size);
        open.emplace_back(merge.second, depth + 1);
        open.emplace_back(merge.first, depth + 1);
    }
    return text;
}

}  // namespace cambrian::evolve
