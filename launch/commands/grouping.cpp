#include "cambrian/launch/commands/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/analysis/answers.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"

namespace cambrian::launch {
namespace {

std::string linkage_name(const CompareOptions& options) {
    return options.linkage.value_or(std::string(default_linkage));
}

evolve::Linkage linkage_of(const CompareOptions& options) {
    const auto found = std::ranges::find(evolve::linkage_names, linkage_name(options));
    CAMBRIAN_EXPECT(found != evolve::linkage_names.end());
    return static_cast<evolve::Linkage>(found - evolve::linkage_names.begin());
}

void check_count(const char* option, std::uint64_t count, std::size_t networks) {
    if (count > networks)
        throw ConfigError(fmt::format("{} is {} (there are {} networks) ask for as many or fewer",
                                      option, count, networks));
}

/// The member with the least sum of distances to the others, the first of equals.
std::size_t medoid(const std::vector<std::size_t>& members, const evolve::Distances& distances) {
    std::size_t best = members.front();
    double least = -1.0;
    for (const std::size_t i : members) {
        double sum = 0.0;
        for (const std::size_t j : members) sum += distances.at(i, j);
        if (least < 0.0 || sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

}  // namespace

bool asks_for_groups(const CompareOptions& options) {
    return options.clusters > 0 || options.group || options.groups > 0 || !options.tree.empty();
}

Grouping grouping(const CompareOptions& options, const evolve::Distances& distances) {
    Grouping result;
    if (options.clusters > 0) {
        check_count("--cluster", options.clusters, distances.count);
        const evolve::Points points{
            .rows = distances.count, .width = distances.count, .values = distances.values};
        result.how = "k-means";
        result.group =
            evolve::k_means(points, {.clusters = options.clusters, .seed = options.seed}).cluster;
    } else {
        const std::vector<evolve::Merge> merges = evolve::hierarchy(distances, linkage_of(options));
        if (options.group) {
            result.how = fmt::format("{} linkage within {}", linkage_name(options), *options.group);
            result.group = evolve::groups_within(merges, distances.count, *options.group);
        } else {
            check_count("--groups", options.groups, distances.count);
            result.how = linkage_name(options) + " linkage";
            result.group = evolve::groups_of(merges, distances.count, options.groups);
        }
    }
    result.silhouettes = evolve::silhouettes(distances, result.group);
    return result;
}

std::string grouping_text(const Grouping& grouping, const evolve::Distances& distances,
                          const std::vector<std::string>& names) {
    std::vector<std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < grouping.group.size(); ++i) {
        members.resize(std::max<std::size_t>(members.size(), grouping.group[i] + 1));
        members[grouping.group[i]].push_back(i);
    }
    std::string text =
        fmt::format("{} groups of {} networks ({}), silhouette {:.4f}\n", members.size(),
                    names.size(), grouping.how, evolve::mean_value(grouping.silhouettes));
    text += fmt::format("  {:>5} {:>5} {:>11}  {}\n", "group", "size", "silhouette",
                        "the most central: all");
    for (std::size_t k = 0; k < members.size(); ++k) {
        std::vector<double> own;
        std::string all;
        for (const std::size_t i : members[k]) {
            own.push_back(grouping.silhouettes[i]);
            all += (all.empty() ? "" : ", ") + names[i];
        }
        text += fmt::format("  {:>5} {:>5} {:>11.4f}  {}: {}\n", k + 1, members[k].size(),
                            evolve::mean_value(own), names[medoid(members[k], distances)], all);
    }
    return text;
}

std::string grouping_csv(const Grouping& grouping, const std::vector<std::string>& names) {
    std::string text = "network,group,silhouette\n";
    for (std::size_t i = 0; i < names.size(); ++i)
        text += fmt::format("{},{},{:.9g}\n", csv_cell(names[i]), grouping.group[i] + 1,
                            grouping.silhouettes[i]);
    return text;
}

std::string dendrogram(const CompareOptions& options, const evolve::Distances& distances,
                       const std::vector<std::string>& names) {
    const std::vector<evolve::Merge> merges = evolve::hierarchy(distances, linkage_of(options));
    return options.tree == tree_forms[1] ? evolve::newick(merges, names) + "\n"
                                         : evolve::tree_text(merges, names);
}

}  // namespace cambrian::launch
