#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/front.hpp"
#include "cambrian/launch/report/heat_map.hpp"
#include "cambrian/launch/report/network_drawing.hpp"
#include "cambrian/launch/report/replay.hpp"

namespace cambrian::launch {
namespace drawings_tests {
namespace {

using evolve::Picture;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

TEST(Front, HasThoseThatNobodyBeatsInBoth) {
    const std::vector<Candidate> front = front_of(
        {{5, 1}, {3, 2}, {3, 1}, {3, 2}, {4, 2}, {6, 3}, {1, 0}, {2, infinite}, {infinite, 9}});
    ASSERT_EQ(front.size(), 3U);
    EXPECT_EQ(front[0].cost, 1);
    EXPECT_EQ(front[1].cost, 3);
    EXPECT_EQ(front[1].fitness, 2);
    EXPECT_EQ(front[2].cost, 6);
    EXPECT_TRUE(front_of({}).empty());
    EXPECT_EQ(front_html("t", "c", {}), "");
    EXPECT_EQ(front_html("t", "c", {{1, 1}, {1, 1}}), "");
    const std::string html = front_html("t", "c", {{1, 1}, {2, 0}, {3, 2}});
    EXPECT_EQ(count_of(html, "<circle"), 5U);  // three networks, two of them in the front
}

TEST(Scatter, DrawsAllMarksThatLieApart) {
    Line marks{"", "#000", {}, {}, true};
    for (const int times : {1, 2, 3}) {
        for (int i = 0; i < 3000; ++i) {
            marks.x.push_back(i / 60);
            marks.y.push_back(i % 60);
        }
        EXPECT_EQ(count_of(svg({"many", "x", {}, {marks}}), "<circle"), 3000U) << times;
    }
}

TEST(HeatMap, AveragesWhatSharesACell) {
    std::map<std::int64_t, MeanColumn> rows;
    for (int rank = 0; rank < 100; ++rank)
        for (int generation = 0; generation < 1000; ++generation)
            rows[rank].add(generation, rank == 7 ? 2.0 : 1.0);
    const std::string html = heat_map_html("Time", "rank", rows);
    EXPECT_THAT(html, HasSubstr(">rank 0</text>"));
    EXPECT_THAT(html, HasSubstr("from 1<"));
    EXPECT_LT(html.size(), 400'000U);
    // The row of rank 7 is the only dark one: its cells are means of three ranks, (1 + 2 + 1) / 3.
    EXPECT_EQ(count_of(html, "<path"), 2U);
    const std::string dark = html.substr(html.rfind("<path"));
    EXPECT_EQ(count_of(dark, "M"), 1U) << "neighbours of one shade are one piece";
    rows.clear();
    rows[0].add(3, 1);
    EXPECT_EQ(heat_map_html("Time", "rank", rows), "");
    EXPECT_EQ(heat_map_html("Time", "rank", {}), "");
}

std::string drawn(const nlohmann::json& layers, std::int64_t inputs, std::int64_t outputs) {
    const Network network(blueprint_from_json({{"layers", layers}}, inputs, outputs));
    return network_html(network, {}, {}, {});
}

TEST(NetworkDrawing, CountsWhatIsTooManyToDraw) {
    const nlohmann::json neurons = nlohmann::json::array({{{"type", "neurons"}}});
    EXPECT_EQ(count_of(drawn(neurons, 3, 2), "<circle"), 5U);
    const std::string wide = drawn(neurons, 500, 2);
    EXPECT_THAT(wide, HasSubstr("<p>Too many to draw each: 500 inputs, 2 neurons, 1000 "
                                "connections.</p>"));
    EXPECT_THAT(wide, HasSubstr("class='box'"));
    const std::string dense = drawn(neurons, 150, 100);
    EXPECT_THAT(dense, HasSubstr("15000 connections"));
    EXPECT_LT(dense.size(), 5000U);
    nlohmann::json deep = nlohmann::json::array();
    for (int i = 0; i < 500; ++i) deep.push_back({{"type", "dense"}, {"out", 1}});
    EXPECT_EQ(drawn(deep, 1, 1), "<p>Too many to draw each: 500 layers, 0 links.</p>\n");
}

Picture picture_of(double x, const std::string& text = "") {
    Picture picture({0, 0}, {2, 1}, 0.02);
    picture.line(Picture::Ink::ground, 0.1, {0, 0.5}, {2, 0.5});
    picture.circle(Picture::Ink::body, {x, 0.25}, 0.1);
    if (!text.empty()) picture.text({1, 0.9}, 0.1, text);
    return picture;
}

nlohmann::json data_of(const std::string& html) {
    const std::string begin = "id='replay-data'>";
    const std::size_t at = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

TEST(Replay, KeepsWhatStandsStillOnce) {
    Replay replay{.episode = {.score = 3, .steps = 2}, .phase = "train", .command = "<x>"};
    for (const double x : {0.0, 1.0, 2.0}) replay.episode.pictures.push_back(picture_of(x));
    const std::string html = replay_html(replay);
    const nlohmann::json data = data_of(html);
    ASSERT_EQ(data.at("frames").size(), 3U);
    ASSERT_EQ(data.at("frames")[1].size(), 1U) << "the line is the background";
    // 6,800 tenths of a pixel are 2 wide; up is up.
    EXPECT_EQ(data.at("frames")[1][0][3], nlohmann::json({3400, 2550}));
    EXPECT_THAT(html, HasSubstr("<polyline points='0 1700 6800 1700 '"));
    EXPECT_THAT(html, HasSubstr("<circle cx='0' cy='2550' r='340'"));
    EXPECT_THAT(html, HasSubstr("&lt;x&gt;"));
    EXPECT_THAT(html, Not(HasSubstr("steps are shown")));
}

TEST(Replay, ThinsLongEpisodesAndSaysSo) {
    Replay replay{.episode = {.score = 3, .steps = 100'000}};
    for (int i = 0; i <= 4000; ++i) replay.episode.pictures.push_back(picture_of(i / 2000.0));
    const std::string html = replay_html(replay);
    const nlohmann::json data = data_of(html);
    EXPECT_EQ(data.at("frames").size(), max_replay_frames + 1);
    EXPECT_EQ(data.at("stride"), 4);
    EXPECT_EQ(data.at("frames").back()[0][3][0], 6800) << "the last state is there";
    EXPECT_THAT(html, HasSubstr("Only the first 4000 steps are shown"));
    EXPECT_THAT(html, HasSubstr("Of each 4 steps one has a frame"));
}

TEST(Replay, SaysWhereItRoundsDifferently) {
    Replay replay{.episode = {.score = 561.331, .steps = 1, .drawn_score = 561.3311}};
    for (const double x : {0.0, 1.0}) replay.episode.pictures.push_back(picture_of(x));
    EXPECT_THAT(replay_html(replay), Not(HasSubstr("fast math")));
    replay.episode.drawn_score = 561.332;
    EXPECT_THAT(replay_html(replay), HasSubstr("score 561.331 in 1 steps"));
    EXPECT_THAT(replay_html(replay), HasSubstr("there it scores 561.332."));
}

TEST(Replay, StandsWhatAnEnvironmentMayDraw) {
    Replay replay{.episode = {.score = 0, .steps = 1}};
    replay.episode.pictures.push_back(picture_of(std::nan(""), "</script><b>\xff & 'x'"));
    replay.episode.pictures.push_back(picture_of(1e300, "</script><b>"));
    const std::string html = replay_html(replay);
    EXPECT_EQ(count_of(html, "</script>"), 2U) << "of the data and of the player";
    EXPECT_THAT(html, Not(HasSubstr("<b>")));
    const nlohmann::json data = data_of(html);
    EXPECT_EQ(data.at("frames")[1][0][3][0], 1'000'000);
    EXPECT_EQ(data.at("frames")[0][0][4].get<std::string>().substr(0, 12), "</script><b>");
    EXPECT_EQ(replay_html({}), "");
    Replay flat{.episode = {.steps = 1}};
    flat.episode.pictures.emplace_back(Picture::Point{0, 0}, Picture::Point{0, 0}, 0.1);
    EXPECT_EQ(replay_html(flat), "");
}

}  // namespace
}  // namespace drawings_tests
}  // namespace cambrian::launch
