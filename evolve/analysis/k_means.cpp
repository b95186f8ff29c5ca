#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/analysis/clustering.hpp"

namespace cambrian::evolve {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/// A uniform in [0, 1) with 48 bits: 24 would miss points among many.
double fine_uniform(RandomStream& rng) {
    const double high = rng.uniform();
    return high + double{rng.uniform()} * 0x1p-24;
}

/// Index of a point with probability by weight; any point where all weights are 0.
std::size_t drawn_by(std::span<const double> weights, RandomStream& rng) {
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    if (!(sum > 0.0)) return rng.index(static_cast<std::uint32_t>(weights.size()));
    double left = fine_uniform(rng) * sum;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!(weights[i] > 0.0)) continue;
        last = i;
        left -= weights[i];
        if (left < 0.0) break;
    }
    return last;
}

/// k-means++: each centre is a point, with probability by its squared distance to the nearest one.
Points first_centres(const Points& points, std::size_t clusters, RandomStream& rng) {
    Points centres{.rows = clusters, .width = points.width, .values = {}};
    std::vector<double> nearest(points.rows, std::numeric_limits<double>::infinity());
    std::size_t chosen = rng.index(static_cast<std::uint32_t>(points.rows));
    for (std::size_t k = 0; k < clusters; ++k) {
        if (k > 0) chosen = drawn_by(nearest, rng);
        const auto centre = points.row(chosen);
        centres.values.insert(centres.values.end(), centre.begin(), centre.end());
        for (std::size_t i = 0; i < points.rows; ++i)
            nearest[i] = std::min(nearest[i], squared_distance(points.row(i), centre));
    }
    return centres;
}

std::size_t nearest_centre(const Points& centres, std::span<const double> point) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < centres.rows; ++k) {
        const double distance = squared_distance(centres.row(k), point);
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

std::vector<std::size_t> sizes_of(std::span<const std::uint32_t> cluster, std::size_t clusters) {
    std::vector<std::size_t> sizes(clusters, 0);
    for (const std::uint32_t k : cluster) ++sizes[k];
    return sizes;
}

/// Gives each empty cluster the point that is farthest from its centre.
void fill_empty(const Points& points, const Points& centres, std::vector<std::uint32_t>& cluster) {
    std::vector<std::size_t> sizes = sizes_of(cluster, centres.rows);
    for (std::size_t k = 0; k < centres.rows; ++k) {
        if (sizes[k] > 0) continue;
        std::size_t farthest = points.rows;
        double most = -1.0;
        for (std::size_t i = 0; i < points.rows; ++i) {
            const double distance = squared_distance(points.row(i), centres.row(cluster[i]));
            if (sizes[cluster[i]] > 1 && distance > most) {
                most = distance;
                farthest = i;
            }
        }
        --sizes[cluster[farthest]];
        cluster[farthest] = static_cast<std::uint32_t>(k);
        sizes[k] = 1;
    }
}

void move_centres(const Points& points, std::span<const std::uint32_t> cluster, Points& centres) {
    const std::vector<std::size_t> sizes = sizes_of(cluster, centres.rows);
    std::ranges::fill(centres.values, 0.0);
    for (std::size_t i = 0; i < points.rows; ++i)
        for (std::size_t j = 0; j < points.width; ++j)
            centres.values[cluster[i] * points.width + j] += points.row(i)[j];
    for (std::size_t k = 0; k < centres.rows; ++k)
        for (std::size_t j = 0; j < points.width; ++j)
            centres.values[k * points.width + j] /= static_cast<double>(sizes[k]);
}

KMeans lloyd(const Points& points, Points centres, std::size_t max_iterations) {
    KMeans result{.cluster = std::vector<std::uint32_t>(points.rows, 0),
                  .centres = std::move(centres)};
    for (bool changed = true; changed && result.iterations < max_iterations; ++result.iterations) {
        std::vector<std::uint32_t> next(points.rows);
        for (std::size_t i = 0; i < points.rows; ++i)
            next[i] = static_cast<std::uint32_t>(nearest_centre(result.centres, points.row(i)));
        fill_empty(points, result.centres, next);
        changed = next != result.cluster || result.iterations == 0;
        result.cluster = std::move(next);
        move_centres(points, result.cluster, result.centres);
    }
    for (std::size_t i = 0; i < points.rows; ++i)
        result.inertia += squared_distance(points.row(i), result.centres.row(result.cluster[i]));
    return result;
}

/// Clusters by their first points.
void number(KMeans& result) {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> name(result.centres.rows, none);
    Points ordered{.rows = result.centres.rows, .width = result.centres.width, .values = {}};
    std::uint32_t next = 0;
    for (std::uint32_t& k : result.cluster) {
        if (name[k] == none) {
            name[k] = next++;
            const auto centre = result.centres.row(k);
            ordered.values.insert(ordered.values.end(), centre.begin(), centre.end());
        }
        k = name[k];
    }
    result.centres = std::move(ordered);
}

}  // namespace

KMeans k_means(const Points& points, const KMeansSettings& settings) {
    if (settings.clusters < 1 || settings.clusters > points.rows)
        throw ConfigError(
            fmt::format("{} clusters are asked for (there are {} things to put into them) ask for "
                        "1 to as many",
                        settings.clusters, points.rows));
    KMeans best;
    const RandomKey key = random_key(settings.seed, "k_means");
    for (std::size_t restart = 0; restart < std::max<std::size_t>(1, settings.restarts);
         ++restart) {
        RandomStream rng(key, restart);
        KMeans found = lloyd(points, first_centres(points, settings.clusters, rng),
                             std::max<std::size_t>(1, settings.max_iterations));
        if (restart == 0 || found.inertia < best.inertia) best = std::move(found);
    }
    number(best);
    return best;
}

Distances euclidean(const Points& points) {
    Distances result{.count = points.rows,
                     .values = std::vector<double>(points.rows * points.rows, 0.0)};
    for (std::size_t i = 0; i < points.rows; ++i)
        for (std::size_t j = 0; j < points.rows; ++j)
            result.values[i * points.rows + j] =
                std::sqrt(squared_distance(points.row(i), points.row(j)));
    return result;
}

std::vector<double> silhouettes(const Distances& distances,
                                std::span<const std::uint32_t> cluster) {
    std::uint32_t clusters = 0;
    for (const std::uint32_t k : cluster) clusters = std::max(clusters, k + 1);
    const std::vector<std::size_t> sizes = sizes_of(cluster, clusters);
    std::vector<double> result(cluster.size(), 0.0);
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        if (sizes[cluster[i]] < 2) continue;
        std::vector<double> sums(clusters, 0.0);
        for (std::size_t j = 0; j < cluster.size(); ++j) sums[cluster[j]] += distances.at(i, j);
        const double own = sums[cluster[i]] / static_cast<double>(sizes[cluster[i]] - 1);
        double other = std::numeric_limits<double>::infinity();
        for (std::uint32_t k = 0; k < clusters; ++k)
            if (k != cluster[i] && sizes[k] > 0)
                other = std::min(other, sums[k] / static_cast<double>(sizes[k]));
        if (std::isfinite(other) && own != other) result[i] = (other - own) / std::max(own, other);
    }
    return result;
}

}  // namespace cambrian::evolve
