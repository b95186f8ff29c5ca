#include "cambrian/launch/report/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/launch/json.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/scripts.hpp"

namespace cambrian::launch {
namespace {

using evolve::Picture;

// Numbers in the page are whole tenths of a pixel.
constexpr double stage_width = 6800.0;
constexpr double stage_height = 3600.0;
constexpr double farthest = 1e6;

struct InkStyle {
    const char* name;
    const char* colour;
};
// In the order of Picture::Ink.
constexpr std::array<InkStyle, 6> inks{{{"ground", "#555"},
                                        {"body", "#0072b2"},
                                        {"limb", "#d55e00"},
                                        {"joint", "#333"},
                                        {"goal", "#009e73"},
                                        {"faint", "#e2e6ea"}}};

/// A picture in the numbers of the page: [kind, ink, size, [x, y, ..], text] for each mark.
class Stage {
  public:
    explicit Stage(const Picture& first)
        : low_(first.low()),
          high_(first.high()),
          scale_(std::min(stage_width / (high_.x - low_.x), stage_height / (high_.y - low_.y))) {}

    /// Whether anything can be seen.
    [[nodiscard]] bool valid() const { return std::isfinite(scale_) && scale_ > 0.0; }
    [[nodiscard]] double width() const { return std::ceil((high_.x - low_.x) * scale_); }
    [[nodiscard]] double height() const { return std::ceil((high_.y - low_.y) * scale_); }

    /// Marks with numbers that are not finite are left out.
    [[nodiscard]] Json frame(const Picture& picture) const {
        Json marks = Json::array();
        for (const Picture::Mark& mark : picture.marks()) {
            Json points = Json::array();
            bool finite = std::isfinite(mark.size);
            for (const Picture::Point& point : mark.points) {
                finite = finite && std::isfinite(point.x) && std::isfinite(point.y);
                points.push_back(whole_number((point.x - low_.x) * scale_));
                points.push_back(whole_number((high_.y - point.y) * scale_));
            }
            if (!finite || points.empty()) continue;
            Json row = Json::array({static_cast<int>(mark.kind), static_cast<int>(mark.ink),
                                    whole_number(std::abs(mark.size) * scale_), std::move(points)});
            if (mark.kind == Picture::Kind::text) row.push_back(mark.text);
            marks.push_back(std::move(row));
        }
        return marks;
    }

  private:
    static std::int64_t whole_number(double value) {
        return std::isfinite(value) ? std::llround(std::clamp(value, -farthest, farthest)) : 0;
    }

    Picture::Point low_;
    Picture::Point high_;
    double scale_;
};

/// A mark as the script of the page draws it.
std::string mark_svg(const Json& mark) {
    const std::string colour = inks.at(mark[1].get<std::size_t>()).colour;
    const Json& points = mark[3];
    const auto size = mark[2].get<std::int64_t>();
    std::string list;
    for (const Json& number : points) list += fmt::format("{} ", number.get<std::int64_t>());
    switch (static_cast<Picture::Kind>(mark[0].get<int>())) {
        case Picture::Kind::polyline:
            return fmt::format(
                "<polyline points='{}' fill='none' stroke='{}' stroke-width='{}' "
                "stroke-linecap='round' stroke-linejoin='round'/>",
                list, colour, size);
        case Picture::Kind::polygon:
            return fmt::format("<polygon points='{}' fill='{}'/>", list, colour);
        case Picture::Kind::circle:
            return fmt::format("<circle cx='{}' cy='{}' r='{}' fill='{}'/>",
                               points[0].get<std::int64_t>(), points[1].get<std::int64_t>(), size,
                               colour);
        case Picture::Kind::text:
            return fmt::format("<text x='{}' y='{}' font-size='{}' text-anchor='middle'>{}</text>",
                               points[0].get<std::int64_t>(), points[1].get<std::int64_t>(), size,
                               escaped(mark[4].get<std::string>()));
    }
    return "";
}

std::string marks_svg(const Json& marks, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text += mark_svg(marks[i]);
    return text;
}

/// How many marks of the first frame all frames begin with.
std::size_t background_of(const std::vector<Json>& frames) {
    std::size_t count = frames.front().size();
    for (const Json& frame : frames) {
        std::size_t same = 0;
        while (same < std::min(count, frame.size()) && frame[same] == frames.front()[same]) ++same;
        count = same;
    }
    return count;
}

/// JSON in an element of a page: no text in it can end the element.
std::string embedded(const Json& json) {
    std::string text;
    for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace))
        text += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return text;
}

}  // namespace

std::string replay_html(const Replay& replay) {
    const evolve::DrawnEpisode& episode = replay.episode;
    if (episode.pictures.empty()) return "";
    const Stage stage(episode.pictures.front());
    if (!stage.valid()) return "";
    const std::size_t last = episode.pictures.size() - 1;
    const std::size_t stride =
        std::max<std::size_t>(1, (last + max_replay_frames - 1) / max_replay_frames);
    std::vector<Json> frames;
    for (std::size_t i = 0; i < last; i += stride)
        frames.push_back(stage.frame(episode.pictures[i]));
    frames.push_back(stage.frame(episode.pictures[last]));

    const std::size_t background = background_of(frames);
    Json data = {{"steps", episode.steps},
                 {"last", last},
                 {"stride", stride},
                 {"milliseconds", std::clamp(episode.pictures.front().seconds() * 1000.0 *
                                                 static_cast<double>(stride),
                                             16.0, 1000.0)},
                 {"inks", Json::array()},
                 {"frames", Json::array()}};
    for (const InkStyle& ink : inks) data["inks"].push_back(ink.colour);
    for (const Json& frame : frames) {
        Json marks = Json::array();
        for (std::size_t i = background; i < frame.size(); ++i) marks.push_back(frame[i]);
        data["frames"].push_back(std::move(marks));
    }
    std::string text = fmt::format(
        "<p>Episode {} of {}, the best of them: score {:.6g} in {} steps ({}, run.seed {}; '{}' "
        "has "
        "the same ones).",
        episode.number + 1, episode.episodes, episode.score, episode.steps, escaped(replay.phase),
        replay.seed, escaped(replay.command));
    if (const auto shown = [](double score) { return fmt::format("{:.6g}", score); };
        episode.drawn_score && shown(*episode.drawn_score) != shown(episode.score))
        text += fmt::format(
            " Its steps and pictures are computed by another program, which rounds differently in "
            "fast math: there it scores {}.",
            shown(*episode.drawn_score));
    if (static_cast<std::int64_t>(last) < episode.steps)
        text += fmt::format(" Only the first {} steps are shown.", last);
    if (stride > 1) text += fmt::format(" Of each {} steps one has a frame.", stride);
    const Json& first = frames.front();
    return text + "</p>\n" +
           fmt::format(
               "<figure><svg id='replay' viewBox='0 0 {0:.0f} {1:.0f}' style='max-width:{2:.0f}px' "
               "role='img' aria-label='The best episode'><rect width='{0:.0f}' height='{1:.0f}' "
               "fill='#fafbfc'/><g>{3}</g><g class='moving'>{4}</g></svg>\n"
               "<div id='replay-controls' hidden><button id='replay-button'>Play</button>"
               "<input id='replay-bar' type='range' min='0' value='0' aria-label='step'>"
               "<span id='replay-label'></span></div>"
               "<noscript><p>The first frame; with scripts the episode can be "
               "played.</p></noscript>"
               "</figure>\n<script type='application/json' id='replay-data'>{5}</script>\n",
               stage.width(), stage.height(), stage.width() / 10.0, marks_svg(first, 0, background),
               marks_svg(first, background, first.size()), embedded(data)) +
           replay_script();
}

}  // namespace cambrian::launch
