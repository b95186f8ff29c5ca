#include "cambrian/launch/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::launch {
namespace {

constexpr double width = 760.0;
constexpr double height = 280.0;
constexpr double min_left = 64.0;
constexpr double right = 16.0;
constexpr double top = 8.0;
constexpr double bottom = 40.0;

/// The finite numbers of one axis, and where they stand in the picture.
class Axis {
  public:
    Axis(double first, double last) : first_(first), last_(last) {}

    void see(const std::vector<double>& values) {
        for (const double value : values) {
            if (!std::isfinite(value)) continue;
            low_ = std::min(low_, value);
            high_ = std::max(high_, value);
        }
    }
    [[nodiscard]] bool empty() const { return low_ > high_; }
    /// Leaves room around the numbers, and makes the ticks.
    void finish(bool exact) {
        // Numbers that differ by rounding alone are one: no tick fits between them.
        const double size = std::max(std::abs(low_), std::abs(high_));
        if (high_ - low_ <= 1e-9 * size) {
            const double room = size == 0.0 ? 1.0 : 0.1 * size;
            low_ -= room;
            high_ += room;
        } else if (!exact) {
            const double room = 0.03 * (high_ - low_);
            low_ -= room;
            high_ += room;
        }
        const double rough = (high_ - low_) / 6.0;
        const double power = std::pow(10.0, std::floor(std::log10(rough)));
        for (const double step : {1.0, 2.0, 5.0, 10.0})
            if (step_ = step * power; step_ >= rough) break;
        const double first = std::ceil(low_ / step_);
        for (int i = 0; i < 20 && (first + i) * step_ <= high_; ++i)
            ticks_.push_back((first + i) * step_);
    }
    [[nodiscard]] double place(double value) const {
        return first_ + (last_ - first_) * (value - low_) / (high_ - low_);
    }
    /// Where its lowest number stands in the picture.
    [[nodiscard]] double first() const { return first_; }
    [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }
    [[nodiscard]] std::string text(double tick) const { return number_text(tick, step_); }

  private:
    double first_;
    double last_;
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
    double step_ = 1.0;
    std::vector<double> ticks_;
};

struct Point {
    double x = 0.0;
    double y = 0.0;
    bool gap = false;  ///< Before it.
};

/// What shares half a pixel is one to the eye.
constexpr double mark_size = 0.5;

/// Where the points of a line stand in the picture.
std::vector<Point> placed(const Line& line, const Axis& across, const Axis& up) {
    std::vector<Point> points;
    bool gap = true;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
        if (!std::isfinite(line.x[i]) || !std::isfinite(line.y[i])) {
            gap = true;
            continue;
        }
        points.push_back({across.place(line.x[i]), up.place(line.y[i]), gap});
        gap = false;
    }
    return points;
}

/// Of many points of a line only the extremes of each column of the picture.
std::vector<Point> thinned_line(std::vector<Point> points) {
    if (points.size() < 1500) return points;
    std::vector<Point> thinned;
    for (std::size_t i = 0; i < points.size();) {
        std::size_t end = i;
        std::size_t low = i;
        std::size_t high = i;
        bool any_gap = false;
        for (; end < points.size() && points[end].x < points[i].x + mark_size; ++end) {
            any_gap |= points[end].gap;
            if (points[end].y < points[low].y) low = end;
            if (points[end].y > points[high].y) high = end;
        }
        thinned.push_back(points[std::min(low, high)]);
        thinned.back().gap = any_gap;
        if (low != high) {
            thinned.push_back(points[std::max(low, high)]);
            thinned.back().gap = false;
        }
        i = end;
    }
    return thinned;
}

/// Of marks that share a square of the picture only the first.
std::vector<Point> thinned_marks(const std::vector<Point>& points) {
    std::set<std::pair<double, double>> taken;
    std::vector<Point> thinned;
    for (const Point& point : points)
        if (taken.emplace(std::floor(point.x / mark_size), std::floor(point.y / mark_size)).second)
            thinned.push_back(point);
    return thinned;
}

void draw(std::string& text, const Line& line, const Axis& across, const Axis& up) {
    const auto mark = [&](const Point& point, int radius) {
        fmt::format_to(std::back_inserter(text),
                       "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}'/>\n", point.x, point.y,
                       radius, line.colour);
    };
    std::vector<Point> points = placed(line, across, up);
    if (line.points) {
        for (const Point& point : thinned_marks(points)) mark(point, 3);
        return;
    }
    points = thinned_line(std::move(points));
    std::string path;
    for (std::size_t i = 0; i < points.size(); ++i)
        // A path of one point is not seen.
        if (points[i].gap && (i + 1 == points.size() || points[i + 1].gap))
            mark(points[i], 2);
        else
            fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", points[i].gap ? 'M' : 'L',
                           points[i].x, points[i].y);
    if (path.empty()) return;
    fmt::format_to(std::back_inserter(text),
                   "<path d='{}' fill='none' stroke='{}' stroke-width='1.6'{}/>\n", path,
                   line.colour, line.dashed ? " stroke-dasharray='5 4'" : "");
}

void draw(std::string& text, const Band& band, const Axis& across, const Axis& up) {
    const auto side = [&](const std::vector<double>& y) {
        return thinned_line(placed({{}, {}, band.x, y}, across, up));
    };
    const std::vector<Point> upper = side(band.high);
    const std::vector<Point> lower = side(band.low);
    std::string corners;
    for (const Point& point : upper)
        fmt::format_to(std::back_inserter(corners), "{:.1f},{:.1f} ", point.x, point.y);
    for (auto point = lower.rbegin(); point != lower.rend(); ++point)
        fmt::format_to(std::back_inserter(corners), "{:.1f},{:.1f} ", point->x, point->y);
    fmt::format_to(std::back_inserter(text),
                   "<polygon points='{}' fill='{}' fill-opacity='.5'><title>{}</title></polygon>\n",
                   corners, band.colour, escaped(band.name));
}

/// Room for the numbers beside the upward axis, and for its title.
double left_of(const Chart& chart, const Axis& up) {
    std::size_t longest = 0;
    for (const double tick : up.ticks()) longest = std::max(longest, up.text(tick).size());
    const double title = chart.y_title.empty() ? 10.0 : 24.0;
    return std::max(min_left, title + 6.5 * static_cast<double>(longest));
}

void draw_axes(std::string& text, const Chart& chart, const Axis& across, const Axis& up) {
    const double left = across.first();
    for (const double tick : up.ticks())
        fmt::format_to(std::back_inserter(text),
                       "<path d='M{} {:.1f}H{}' class='grid'/><text x='{}' y='{:.1f}' "
                       "text-anchor='end'>{}</text>\n",
                       left, up.place(tick), width - right, left - 6, up.place(tick) + 4,
                       up.text(tick));
    for (const double tick : across.ticks())
        fmt::format_to(std::back_inserter(text),
                       "<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n",
                       across.place(tick), height - bottom + 16, across.text(tick));
    fmt::format_to(std::back_inserter(text),
                   "<text x='{}' y='{}' text-anchor='middle'>{}</text>\n"
                   "<path d='M{} {}V{}H{}' class='axis'/>\n",
                   (left + width - right) / 2, height - 6, escaped(chart.x_title), left, top,
                   height - bottom, width - right);
    if (!chart.y_title.empty())
        fmt::format_to(std::back_inserter(text),
                       "<text transform='translate(12 {}) rotate(-90)' "
                       "text-anchor='middle'>{}</text>\n",
                       (top + height - bottom) / 2, escaped(chart.y_title));
}

std::string legend_of(const Chart& chart) {
    std::vector<LegendEntry> entries;
    for (const Line& line : chart.lines) entries.push_back({line.name, line.colour});
    for (const Band& band : chart.bands) entries.push_back({band.name, band.colour});
    return legend(entries);
}

}  // namespace

std::string palette(std::size_t index) {
    // Okabe and Ito, "Color Universal Design", 2008; then the same, half as far from white.
    static constexpr std::array<const char*, 16> colours{
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b8a800",
        "#80b9d9", "#eaaf80", "#80cfb9", "#e6bcd3", "#f3cf80", "#abdaf4", "#cccccc", "#dcd480"};
    return colours[index % colours.size()];
}

std::string legend(const std::vector<LegendEntry>& entries) {
    std::string text;
    for (const LegendEntry& entry : entries)
        if (!entry.name.empty())
            text += fmt::format("<span><i style='background:{}'></i>{}</span>", entry.colour,
                                escaped(entry.name));
    return text.empty() ? text : fmt::format("<div class='legend'>{}</div>\n", text);
}

std::string figure(const std::string& title, const std::string& legend, double width, double height,
                   const std::string& content) {
    return fmt::format(
        "<figure><figcaption>{0}</figcaption>\n{1}<svg viewBox='0 0 {2:.0f} {3:.0f}' "
        "style='max-width:{2:.0f}px' role='img' aria-label='{0}'>\n{4}</svg></figure>\n",
        escaped(title), legend, width, height, content);
}

Chart stacked(std::string title, std::string x_title, const std::vector<double>& x,
              const std::vector<Line>& parts) {
    Chart chart{std::move(title), std::move(x_title)};
    std::vector<double> sum(x.size(), 0.0);
    for (const Line& part : parts) {
        CAMBRIAN_ASSERT(part.y.size() == x.size());
        Band band{part.name, part.colour, x, sum, {}};
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.y[i];
        band.high = sum;
        chart.bands.push_back(std::move(band));
    }
    return chart;
}

std::string number_text(double value, double step) {
    const auto place = [](double number) { return std::floor(std::log10(std::abs(number))); };
    const double digits = value == 0.0 ? 1.0 : 1.0 + place(value) - place(step);
    return fmt::format("{:.{}g}", value, static_cast<int>(std::clamp(digits, 6.0, 17.0)));
}

std::string svg(const Chart& chart) {
    Axis up(height - bottom, top);
    for (const Line& line : chart.lines) up.see(line.y);
    for (const Band& band : chart.bands) {
        up.see(band.low);
        up.see(band.high);
    }
    if (up.empty()) return "";
    up.finish(false);
    Axis across(left_of(chart, up), width - right);
    for (const Line& line : chart.lines) across.see(line.x);
    for (const Band& band : chart.bands) across.see(band.x);
    if (across.empty()) return "";
    across.finish(true);
    std::string text;
    draw_axes(text, chart, across, up);
    for (const Band& band : chart.bands) draw(text, band, across, up);
    for (const Line& line : chart.lines) draw(text, line, across, up);
    return figure(chart.title, legend_of(chart), width, height, text);
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '&':
                result += "&amp;";
                break;
            case '"':
                result += "&quot;";
                break;
            case '\'':
                result += "&#39;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

}  // namespace cambrian::launch
