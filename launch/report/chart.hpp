#pragma once

#include <string>
#include <vector>

namespace cambrian::launch {

/// Points of a line; where y is not finite the line has a gap. A point between two gaps is a mark.
struct Line {
    std::string name;
    std::string colour;
    std::vector<double> x;
    std::vector<double> y;
    bool points = false;  ///< Marks instead of a line.
    bool dashed = false;
};

/// An area between two lines over the same x.
struct Band {
    std::string name;
    std::string colour;
    std::vector<double> x;
    std::vector<double> low;
    std::vector<double> high;
};

/// A diagram with both axes, as SVG: nothing is loaded, nothing is run to see it.
struct Chart {
    std::string title;
    std::string x_title;
    std::vector<Band> bands{};  ///< Drawn before the lines, which lie on them.
    std::vector<Line> lines{};
    std::string y_title{};
};

/// Colours that are told apart, also by those who see few; after eight they are lighter, after
/// sixteen they repeat.
[[nodiscard]] std::string palette(std::size_t index);

/// What a colour stands for.
struct LegendEntry {
    std::string name;  ///< Empty: no entry.
    std::string colour;
};
/// Names beside their colours, in as many rows as they need, as HTML.
[[nodiscard]] std::string legend(const std::vector<LegendEntry>& entries);

/// A picture with its title, a legend and as wide as it is drawn, or narrower, as HTML.
[[nodiscard]] std::string figure(const std::string& title, const std::string& legend, double width,
                                 double height, const std::string& content);

/// Lines above each other, each as what it adds to those before: all over the same x.
[[nodiscard]] Chart stacked(std::string title, std::string x_title, const std::vector<double>& x,
                            const std::vector<Line>& parts);

/// A number with as many digits as tell it from others that are `step` away, six at least.
[[nodiscard]] std::string number_text(double value, double step);

/// Empty where nothing has a point that is finite. More than a few thousand points of a line are
/// thinned: of neighbours that share a column of the picture, the lowest and highest stay. Of marks
/// that share half a pixel in both directions one does.
[[nodiscard]] std::string svg(const Chart& chart);

/// With the characters that HTML reads as its own replaced.
[[nodiscard]] std::string escaped(const std::string& text);

}  // namespace cambrian::launch
