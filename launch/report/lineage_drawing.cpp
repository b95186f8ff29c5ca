#include "cambrian/launch/report/lineage_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/lineage_layout.hpp"

namespace cambrian::launch {
namespace {

using evolve::BirthId;
using evolve::Recipe;

constexpr double tree_left = 84.0;
constexpr double widest = 660.0;
constexpr double curve_top = 20.0;
constexpr double curve_bottom = 100.0;
constexpr double lanes_top = 132.0;
constexpr double lane_height = 18.0;
constexpr std::size_t max_rows = 30;  ///< Of the table.

/// How an individual came about.
struct Origin {
    const char* name;
    std::size_t colour;
};
constexpr std::array<Origin, 4> origins{
    {{"founder", 6}, {"copy", 5}, {"mutation", 0}, {"splice of two", 1}}};

std::size_t origin_of(const Kin& kin) {
    if (kin.recipe == Recipe::sample) return 0;
    if (kin.recipe == Recipe::carry) return 1;
    return kin.parent_count < 2 ? 2 : 3;
}

std::string parents_text(const Ancestry& ancestry, const Kin& kin) {
    std::string text;
    for (const BirthId parent : ancestry.parents_of(kin))
        text += fmt::format("{}{}", text.empty() ? "" : " and ", parent);
    return text.empty() ? "–" : text;
}

/// Where things stand.
class LineagePlaces {
  public:
    explicit LineagePlaces(const LineageLayout& layout) : layout_(layout) {
        const std::size_t columns = layout.generations.size();
        step_ = columns < 2 ? 0.0 : std::min(44.0, widest / static_cast<double>(columns - 1));
        for (const Kin* kin : layout.main_line) {
            if (!layout.placed.contains(kin->id) || !std::isfinite(kin->fitness)) continue;
            low_ = std::min(low_, kin->fitness);
            high_ = std::max(high_, kin->fitness);
        }
    }
    [[nodiscard]] double x(std::size_t column) const {
        return tree_left + step_ * static_cast<double>(column);
    }
    [[nodiscard]] static double y(std::size_t lane) {
        return lanes_top + lane_height * static_cast<double>(lane);
    }
    [[nodiscard]] double fitness_y(double fitness) const {
        if (!(high_ > low_)) return 0.5 * (curve_top + curve_bottom);
        return curve_bottom - (curve_bottom - curve_top) * (fitness - low_) / (high_ - low_);
    }
    [[nodiscard]] bool has_fitness() const { return low_ <= high_; }
    [[nodiscard]] double low() const { return low_; }
    [[nodiscard]] double high() const { return high_; }
    [[nodiscard]] double width() const {
        return std::max(x(layout_.generations.size() - 1), tree_left + 200.0) + 16.0;
    }
    [[nodiscard]] double foot() const { return y(layout_.lanes - 1) + 18.0; }

  private:
    const LineageLayout& layout_;
    double step_ = 0.0;
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
};

/// The fitness of the line of first parents.
void draw_fitness(std::string& text, const LineageLayout& layout, const LineagePlaces& places) {
    if (!places.has_fitness()) return;
    const auto level = [&](double fitness) {
        fmt::format_to(std::back_inserter(text),
                       "<path d='M{} {:.1f}H{:.1f}' class='grid'/><text x='{}' y='{:.1f}' "
                       "text-anchor='end'>{:.4g}</text>\n",
                       tree_left - 8, places.fitness_y(fitness), places.width() - 16,
                       tree_left - 12, places.fitness_y(fitness) + 4, fitness);
    };
    level(places.low());
    if (places.high() > places.low()) level(places.high());
    std::string path;
    std::string points;
    for (const Kin* kin : layout.main_line) {
        const auto at = layout.placed.find(kin->id);
        if (at == layout.placed.end() || !std::isfinite(kin->fitness)) continue;
        const double x = places.x(at->second.column);
        const double y = places.fitness_y(kin->fitness);
        fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
        fmt::format_to(std::back_inserter(points),
                       "<circle cx='{:.1f}' cy='{:.1f}' r='2' fill='#333'/>", x, y);
    }
    fmt::format_to(std::back_inserter(text),
                   "<text x='{}' y='12'>fitness along the line of first parents</text>\n"
                   "<path d='{}' fill='none' stroke='#333'/>{}\n",
                   tree_left - 8, path, points);
}

void draw_descents(std::string& text, const LineageLayout& layout, const LineagePlaces& places) {
    for (const DrawnDescent& descent : layout.descents) {
        const PlacedKin& child = layout.placed.at(descent.child);
        const PlacedKin& ancestor = layout.placed.at(descent.ancestor);
        const double from = places.x(ancestor.column);
        const double to = places.x(child.column);
        fmt::format_to(std::back_inserter(text),
                       "<path d='M{0:.1f} {1:.1f}C{2:.1f} {1:.1f} {2:.1f} {3:.1f} {4:.1f} {3:.1f}' "
                       "fill='none' stroke='{5}' stroke-width='{6}'{7}/>\n",
                       from, LineagePlaces::y(ancestor.lane), 0.5 * (from + to),
                       LineagePlaces::y(child.lane), to, descent.first ? "#555" : palette(1),
                       descent.first ? 1.6 : 1.0,
                       descent.skipped > 0 ? " stroke-dasharray='3 3'" : "");
    }
}

void draw_kin(std::string& text, const Ancestry& ancestry, const LineageLayout& layout,
              const LineagePlaces& places) {
    const BirthId best = layout.main_line.front()->id;
    for (const auto& [id, one] : layout.placed) {
        const Kin& kin = *one.kin;
        fmt::format_to(
            std::back_inserter(text),
            "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}' stroke='#333'{}><title>birth {}, "
            "generation {}, {}, parents {}, fitness {:.6g}, {} weights</title></circle>\n",
            places.x(one.column), LineagePlaces::y(one.lane), id == best ? 6 : 4,
            palette(origins.at(origin_of(kin)).colour), id == best ? " stroke-width='2.5'" : "", id,
            kin.generation, origins.at(origin_of(kin)).name, parents_text(ancestry, kin),
            kin.fitness, kin.parameters);
    }
}

void draw_generations(std::string& text, const LineageLayout& layout, const LineagePlaces& places) {
    double free = 0.0;
    for (std::size_t i = 0; i < layout.generations.size(); ++i) {
        const std::string label = fmt::format("{}", layout.generations[i]);
        const double half = 0.5 * (8.0 + 6.5 * static_cast<double>(label.size()));
        if (places.x(i) - half < free) continue;
        free = places.x(i) + half;
        fmt::format_to(std::back_inserter(text),
                       "<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", places.x(i),
                       places.foot() + 8, label);
    }
    fmt::format_to(std::back_inserter(text),
                   "<text x='{:.1f}' y='{:.1f}' text-anchor='end'>generation</text>\n",
                   tree_left - 12, places.foot() + 8);
}

/// "1 birth", "2 births".
std::string counted(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string summary_text(const Ancestry& ancestry, const Lineage& lineage,
                         const LineageLayout& layout) {
    std::array<std::size_t, origins.size()> counts{};
    std::size_t unknown = 0;
    for (const auto& [id, depth] : lineage) {
        const Kin* kin = ancestry.find(id);
        if (kin == nullptr)
            ++unknown;
        else
            ++counts.at(origin_of(*kin));
    }
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts.at(i) > 0)
            text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", counts.at(i),
                                i == 0 ? "no parents (founders)" : origins.at(i).name);
    text = fmt::format(
        "<p>The best network and its {}: {}. The line of first parents has {}, back to generation "
        "{}.",
        counted(lineage.size() - 1, "ancestor"), text, counted(layout.main_line.size(), "birth"),
        layout.main_line.back()->generation);
    const std::size_t known = lineage.size() - unknown;
    if (layout.placed.size() < known)
        text += fmt::format(
            " Of the {} the picture leaves out {}: it keeps births of that line whose fitness "
            "differs most from their parent's, with their other parents; dashed lines pass over "
            "what is left out. 'cambrian lineage' lists all.",
            known, known - layout.placed.size());
    if (unknown > 0)
        text += fmt::format(" {} {} not in individuals.cmb.", counted(unknown, "ancestor"),
                            unknown == 1 ? "is" : "are");
    return text + "</p>\n";
}

/// The line of first parents, the newest first.
std::string table_of(const Ancestry& ancestry, const LineageLayout& layout) {
    std::string text =
        "<details><summary>The line of first parents</summary><table><tr><th>birth</th>"
        "<th>generation</th><th>made "
        "by</th><th>parents</th><th>fitness</th><th>weights</th></tr>\n";
    for (std::size_t i = 0; i < std::min(layout.main_line.size(), max_rows); ++i) {
        const Kin& kin = *layout.main_line[i];
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.6g}</td><td>{}</td></tr>\n",
            kin.id, kin.generation, origins.at(origin_of(kin)).name, parents_text(ancestry, kin),
            kin.fitness, kin.parameters);
    }
    text += "</table>";
    if (layout.main_line.size() > max_rows)
        text +=
            fmt::format("<p>{} older ones are left out.</p>", layout.main_line.size() - max_rows);
    return text + "</details>\n";
}

}  // namespace

std::string lineage_html(const Ancestry& ancestry, BirthId birth) {
    const BirthId last = ancestry.origin_of(birth);
    if (ancestry.find(last) == nullptr) return "";
    const Lineage lineage = lineage_of(ancestry, last);
    const LineageLayout layout = lineage_layout(ancestry, lineage, last);
    const LineagePlaces places(layout);
    std::string text;
    draw_fitness(text, layout, places);
    draw_descents(text, layout, places);
    draw_kin(text, ancestry, layout, places);
    draw_generations(text, layout, places);
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < origins.size(); ++i)
        if (std::ranges::any_of(layout.placed,
                                [&](const auto& one) { return origin_of(*one.second.kin) == i; }))
            entries.push_back({origins.at(i).name, palette(origins.at(i).colour)});
    return summary_text(ancestry, lineage, layout) +
           figure("Ancestors of the best network", legend(entries), places.width(),
                  places.foot() + 16.0, text) +
           table_of(ancestry, layout);
}

}  // namespace cambrian::launch
