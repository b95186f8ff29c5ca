#pragma once

#include <string>
#include <vector>

#include "cambrian/evolve/analysis/clustering.hpp"
#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {

/// Networks in groups.
struct Grouping {
    std::string how;                   ///< "k-means" or "average linkage within 0.3".
    std::vector<std::uint32_t> group;  ///< Of each network.
    std::vector<double> silhouettes;   ///< By the distances of the networks.
};

/// Whether the options ask for groups or a tree.
[[nodiscard]] bool asks_for_groups(const CompareOptions& options);
/// k-means of the networks as points whose coordinates are their distances to all networks, or the
/// groups of a hierarchy. Throws ConfigError for more groups than networks.
[[nodiscard]] Grouping grouping(const CompareOptions& options, const evolve::Distances& distances);
/// A line for each group: size, mean silhouette, the member with the least mean distance to the
/// others, and all members.
[[nodiscard]] std::string grouping_text(const Grouping& grouping,
                                        const evolve::Distances& distances,
                                        const std::vector<std::string>& names);
/// "network,group,silhouette".
[[nodiscard]] std::string grouping_csv(const Grouping& grouping,
                                       const std::vector<std::string>& names);
/// The whole tree, as options.tree says.
[[nodiscard]] std::string dendrogram(const CompareOptions& options,
                                     const evolve::Distances& distances,
                                     const std::vector<std::string>& names);

}  // namespace cambrian::launch
