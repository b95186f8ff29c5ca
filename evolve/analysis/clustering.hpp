#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Groups of things that are alike: of points, or of distances alone.
namespace cambrian::evolve {

/// Numbers [rows, width].
struct Points {
    std::size_t rows = 0;
    std::size_t width = 0;
    std::vector<double> values;

    [[nodiscard]] std::span<const double> row(std::size_t i) const {
        return std::span(values).subspan(i * width, width);
    }
};

/// Distances [count, count], symmetric, 0 on the diagonal.
struct Distances {
    std::size_t count = 0;
    std::vector<double> values;

    [[nodiscard]] double at(std::size_t i, std::size_t j) const { return values[i * count + j]; }
};
/// Euclidean ones of all pairs of points.
[[nodiscard]] Distances euclidean(const Points& points);

struct KMeansSettings {
    std::size_t clusters = 2;
    std::size_t restarts = 10;
    std::size_t max_iterations = 300;
    std::uint64_t seed = 1;
};
struct KMeans {
    std::vector<std::uint32_t> cluster;  ///< Of each point; numbered by their first points.
    Points centres;
    double inertia = 0.0;        ///< Sum of squared distances to the centres.
    std::size_t iterations = 0;  ///< Of the best restart.
};
/// Lloyd's iterations from centres drawn by k-means++ (Arthur and Vassilvitskii 2007), until no
/// point changes its cluster; the restart with the least inertia, the first of equals. Of equally
/// near centres the first takes a point; a cluster that has lost all points takes the point
/// farthest from its centre, the first of equals, out of clusters of more than one.
/// Throws ConfigError unless there are 1 to `rows` clusters.
[[nodiscard]] KMeans k_means(const Points& points, const KMeansSettings& settings);

/// Rousseeuw 1987: (b - a) / max(a, b) of each, a the mean distance to the others of its cluster, b
/// the least mean distance to another cluster; 0 for one alone in its cluster, where there is but
/// one cluster, and for a = b.
[[nodiscard]] std::vector<double> silhouettes(const Distances& distances,
                                              std::span<const std::uint32_t> cluster);

/// How far two clusters are from each other: the least, the mean, or the largest distance of a
/// member of one to a member of the other.
enum class Linkage : std::uint8_t { single, average, complete };
inline constexpr std::array<std::string_view, 3> linkage_names{"single", "average", "complete"};

/// Two clusters that become one: below `count` a thing by itself, else count + the index of an
/// earlier merge.
struct Merge {
    std::size_t first = 0;  ///< That with the lowest member.
    std::size_t second = 0;
    double distance = 0.0;
    std::size_t size = 0;  ///< Of what they become.
};
/// All count - 1 merges, by ascending distance (nearest-neighbour chains, O(count²)).
[[nodiscard]] std::vector<Merge> hierarchy(const Distances& distances, Linkage linkage);

/// Groups after all merges up to a distance, numbered by their lowest members.
[[nodiscard]] std::vector<std::uint32_t> groups_within(std::span<const Merge> merges,
                                                       std::size_t count, double distance);
/// So many groups, at least 1 and at most `count`.
[[nodiscard]] std::vector<std::uint32_t> groups_of(std::span<const Merge> merges, std::size_t count,
                                                   std::size_t groups);

/// The tree of all merges with a name for each leaf, as Newick: "((a:0.1,b:0.1):0.3,c:0.4);". What
/// lies between a cluster and its parent is the difference of their distances.
[[nodiscard]] std::string newick(std::span<const Merge> merges, std::span<const std::string> names);
/// The same as lines: a leaf or "distance" each, indented by its depth.
[[nodiscard]] std::string tree_text(std::span<const Merge> merges,
                                    std::span<const std::string> names);

}  // namespace cambrian::evolve
