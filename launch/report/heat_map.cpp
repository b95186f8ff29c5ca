#include "cambrian/launch/report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "cambrian/launch/report/chart.hpp"

namespace cambrian::launch {
namespace {

constexpr std::size_t max_cells_across = 170;
constexpr std::size_t max_cells_down = 48;
constexpr double map_left = 64.0;
constexpr double map_width = 680.0;

// From light to dark; each is told from the next also in grey.
constexpr std::array<const char*, 8> shades{"#eef4fb", "#d3e3f3", "#b0d0e8", "#82b6dc",
                                            "#5497c9", "#2f78b3", "#155893", "#083366"};

/// Means of numbers that fall into cells.
class Cells {
  public:
    Cells(std::size_t across, std::size_t down)
        : across_(across), sums_(across * down), counts_(across * down) {}
    void add(std::size_t x, std::size_t y, const MeanColumn::Cell& part) {
        sums_[y * across_ + x] += part.sum;
        counts_[y * across_ + x] += part.count;
    }
    /// Not a number where nothing fell.
    [[nodiscard]] double mean(std::size_t x, std::size_t y) const {
        const std::size_t i = y * across_ + x;
        return counts_[i] == 0 ? std::numeric_limits<double>::quiet_NaN()
                               : sums_[i] / static_cast<double>(counts_[i]);
    }

  private:
    std::size_t across_;
    std::vector<double> sums_;
    std::vector<std::size_t> counts_;
};

using Rows = std::map<std::int64_t, MeanColumn>;

/// The numbers in the cells of the picture.
class HeatMap {
  public:
    explicit HeatMap(const Rows& rows) : rows_(rows) {
        for (const auto& [number, row] : rows)
            if (!row.cells().empty()) {
                first_ = std::min(first_, row.cells().front().begin);
                last_ = std::max(last_, row.last());
            }
        if (!valid()) return;
        const double generations = last_ - first_ + 1.0;
        across_ =
            static_cast<std::size_t>(std::min(generations, static_cast<double>(max_cells_across)));
        share_ = (rows.size() + max_cells_down - 1) / max_cells_down;
        down_ = (rows.size() + share_ - 1) / share_;
        cells_.emplace(across_, down_);
        std::size_t index = 0;
        for (const auto& [number, row] : rows) {
            for (const MeanColumn::Cell& cell : row.cells()) {
                const double part = (cell.begin - first_) / generations;
                const auto x = static_cast<std::size_t>(part * static_cast<double>(across_));
                cells_->add(std::min(across_ - 1, x), index / share_, cell);
            }
            ++index;
        }
        for (std::size_t y = 0; y < down_; ++y)
            for (std::size_t x = 0; x < across_; ++x)
                if (const double mean = cells_->mean(x, y); std::isfinite(mean)) {
                    low_ = std::min(low_, mean);
                    high_ = std::max(high_, mean);
                }
    }

    [[nodiscard]] bool valid() const { return last_ > first_; }
    [[nodiscard]] double cell_height() const {
        return std::clamp(200.0 / static_cast<double>(down_), 6.0, 22.0);
    }
    [[nodiscard]] double foot() const { return cell_height() * static_cast<double>(down_) + 16.0; }

    /// Cells as one path for each shade; neighbours of one shade are one piece.
    [[nodiscard]] std::string cells_svg() const {
        const double width = map_width / static_cast<double>(across_);
        std::array<std::string, shades.size()> paths;
        for (std::size_t y = 0; y < down_; ++y)
            for (std::size_t x = 0, end = 0; x < across_; x = end) {
                end = x + 1;
                const double mean = cells_->mean(x, y);
                if (!std::isfinite(mean)) continue;
                while (end < across_ && std::isfinite(cells_->mean(end, y)) &&
                       shade_of(cells_->mean(end, y)) == shade_of(mean))
                    ++end;
                const double wide = width * static_cast<double>(end - x);
                fmt::format_to(std::back_inserter(paths.at(shade_of(mean))),
                               "M{:.1f} {:.1f}h{:.2f}v{:.1f}h-{:.2f}z",
                               map_left + width * static_cast<double>(x),
                               cell_height() * static_cast<double>(y), wide, cell_height(), wide);
            }
        std::string text;
        for (std::size_t i = 0; i < shades.size(); ++i)
            if (!paths.at(i).empty())
                text += fmt::format("<path d='{}' fill='{}'/>\n", paths.at(i), shades.at(i));
        return text;
    }

    [[nodiscard]] std::string labels_svg(const std::string& row_name) const {
        std::string text;
        std::size_t index = 0;
        const std::size_t labelled = share_ * ((down_ + 11) / 12);  // at most twelve of them
        for (const auto& [number, row] : rows_) {
            if (index % labelled == 0)
                text += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{} {}</text>\n",
                                    map_left - 8,
                                    cell_height() * (static_cast<double>(index / share_) + 0.5) + 4,
                                    row_name, number);
            ++index;
        }
        return text + fmt::format(
                          "<text x='{}' y='{:.1f}'>{:.0f}</text><text x='{}' y='{:.1f}' "
                          "text-anchor='middle'>generation</text><text x='{}' y='{:.1f}' "
                          "text-anchor='end'>{:.0f}</text>\n",
                          map_left, foot(), first_, map_left + 0.5 * map_width, foot(),
                          map_left + map_width, foot(), last_);
    }

    [[nodiscard]] std::string legend_html() const {
        std::vector<LegendEntry> entries;
        for (std::size_t i = 0; i < shades.size(); ++i)
            if (high_ > low_ || i == 0)
                entries.push_back(
                    {fmt::format("from {:.3g}", low_ + (high_ - low_) * static_cast<double>(i) /
                                                           static_cast<double>(shades.size())),
                     shades.at(i)});
        return legend(entries);
    }

  private:
    [[nodiscard]] std::size_t shade_of(double value) const {
        if (!(high_ > low_)) return 0;
        const double part = (value - low_) / (high_ - low_);
        return std::min(shades.size() - 1,
                        static_cast<std::size_t>(part * static_cast<double>(shades.size())));
    }

    const Rows& rows_;
    double first_ = std::numeric_limits<double>::infinity();
    double last_ = -std::numeric_limits<double>::infinity();
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
    std::size_t across_ = 1;
    std::size_t down_ = 1;
    std::size_t share_ = 1;  ///< Rows in a cell.
    std::optional<Cells> cells_;
};

}  // namespace

std::string heat_map_html(const std::string& title, const std::string& row_name,
                          const std::map<std::int64_t, MeanColumn>& rows) {
    const HeatMap map(rows);
    if (!map.valid()) return "";
    return figure(title, map.legend_html(), map_left + map_width + 16.0, map.foot() + 8.0,
                  map.cells_svg() + map.labels_svg(row_name));
}

}  // namespace cambrian::launch
