#include "cambrian/launch/report/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "cambrian/launch/report/chart.hpp"

namespace cambrian::launch {
namespace {

/// By rising cost, of equal ones the fittest first.
void sort_by_cost(std::vector<Candidate>& all) {
    std::erase_if(all, [](const Candidate& one) {
        return !std::isfinite(one.cost) || !std::isfinite(one.fitness);
    });
    std::ranges::sort(all, {},
                      [](const Candidate& one) { return std::tuple(one.cost, -one.fitness); });
}

std::vector<Candidate> front_of_sorted(std::span<const Candidate> all) {
    std::vector<Candidate> front;
    double best = -std::numeric_limits<double>::infinity();
    for (const Candidate& one : all) {
        if (!(one.fitness > best)) continue;
        best = one.fitness;
        front.push_back(one);
    }
    return front;
}

}  // namespace

std::vector<Candidate> front_of(std::vector<Candidate> all) {
    sort_by_cost(all);
    return front_of_sorted(all);
}

std::string front_html(const std::string& title, const std::string& cost_name,
                       std::vector<Candidate> all) {
    sort_by_cost(all);
    const auto first = [&](const Candidate& one) {
        return one.cost == all.front().cost && one.fitness == all.front().fitness;
    };
    if (all.empty() || std::ranges::all_of(all, first)) return "";
    Line dominated{"networks", palette(6), {}, {}, true};
    for (const Candidate& one : all) {
        dominated.x.push_back(one.cost);
        dominated.y.push_back(one.fitness);
    }
    // Steps: up to the cost of the next one, nothing better is to be had.
    Line steps{"", palette(1), {}, {}};
    Line front{"none is fitter at this price", palette(1), {}, {}, true};
    for (const Candidate& one : front_of_sorted(all)) {
        if (!steps.y.empty()) {
            steps.x.push_back(one.cost);
            steps.y.push_back(steps.y.back());
        }
        steps.x.push_back(one.cost);
        steps.y.push_back(one.fitness);
        front.x.push_back(one.cost);
        front.y.push_back(one.fitness);
    }
    std::vector<Line> lines{std::move(dominated)};
    if (steps.x.size() > 1) lines.push_back(std::move(steps));
    lines.push_back(std::move(front));
    return svg({title, cost_name, {}, std::move(lines), "fitness"});
}

}  // namespace cambrian::launch
