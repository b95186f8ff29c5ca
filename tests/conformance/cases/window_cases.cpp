#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {
namespace {

using AxisExtents = std::vector<std::int64_t>;

/// A window over extents and where it can lie in them.
struct WindowCase {
    AxisExtents inside;
    Window window;
    AxisExtents positions;
};

Shape joined(std::initializer_list<AxisExtents> parts) {
    AxisExtents extents;
    for (const AxisExtents& part : parts) extents.insert(extents.end(), part.begin(), part.end());
    return Shape(std::span<const std::int64_t>(extents));
}

AxisExtents kernel_of(const Window& window) {
    return {window.kernel.begin(), window.kernel.begin() + window.rank};
}

std::int64_t taps_of(const Window& window) {
    return joined({kernel_of(window)}).elements();
}

/// Strides 1 to 3, dilation 1 and 2, uneven padding, kernels of one element and larger than what
/// they slide over, 1 to 3 axes.
std::vector<WindowCase> window_cases_of_all_kinds() {
    return {
        {{1}, {.rank = 1}, {1}},
        {{17}, {.rank = 1, .kernel = {3}}, {15}},
        {{65}, {.rank = 1, .kernel = {5}, .stride = {3}, .before = {2}, .after = {1}}, {22}},
        {{17}, {.rank = 1, .kernel = {3}, .dilation = {2}, .before = {4}}, {17}},
        {{3}, {.rank = 1, .kernel = {5}, .before = {3}, .after = {2}}, {4}},
        {{2}, {.rank = 1, .kernel = {1}, .stride = {2}, .before = {1}, .after = {3}}, {3}},
        {{5, 3}, {.rank = 2, .kernel = {1, 1}}, {5, 3}},
        {{5, 17}, {.rank = 2, .kernel = {3, 3}, .before = {1, 1}, .after = {1, 1}}, {5, 17}},
        {{7, 4}, {.rank = 2, .kernel = {2, 3}, .stride = {2, 3}, .before = {0, 2}}, {3, 2}},
        {{6, 9},
         {.rank = 2, .kernel = {3, 2}, .stride = {1, 2}, .dilation = {2, 1}, .after = {1, 0}},
         {3, 4}},
        {{2, 2}, {.rank = 2, .kernel = {3, 5}, .before = {1, 2}, .after = {2, 2}}, {3, 2}},
        {{3, 4, 5},
         {.rank = 3, .kernel = {2, 3, 3}, .before = {0, 1, 1}, .after = {1, 0, 1}},
         {3, 3, 5}},
        {{3, 5, 4},
         {.rank = 3,
          .kernel = {1, 2, 2},
          .stride = {2, 1, 3},
          .dilation = {1, 2, 1},
          .before = {0, 1, 2}},
         {2, 4, 2}},
    };
}

/// Attributes that hold the padding's extents where the window needs some.
Im2colAttribute adding(const WindowCase& window_case) {
    Im2colAttribute attribute{.window = window_case.window};
    for (std::size_t i = 0; i < window_case.inside.size(); ++i)
        attribute.extents[i] = window_case.inside[i];
    return attribute;
}

void add_im2col(std::vector<OpCase>& cases) {
    const std::vector<AxisExtents> leading{{}, {3}, {2, 1}};
    std::size_t next = 0;
    for (const WindowCase& window_case : window_cases_of_all_kinds()) {
        const auto& [inside, window, positions] = window_case;
        const AxisExtents& images = leading[next++ % leading.size()];
        const Shape whole = joined({images, inside});
        const Shape taps = joined({images, {taps_of(window)}, positions});
        cases.push_back(
            {Op::im2col, {{Range::wide, whole}}, Im2colAttribute{.window = window}, {{taps}}});
        cases.push_back({Op::col2im, {{Range::wide, taps}}, adding(window_case), {{whole}}});
    }
    const Window window{.rank = 2, .kernel = {2, 2}, .stride = {2, 1}};
    cases.push_back({Op::im2col,
                     {{Range::wide, {4, 3}}},
                     Im2colAttribute{.window = window, .padding = Padding::lowest},
                     {{{4, 2, 2}}}});
}

struct Channels {
    std::int64_t in;
    std::int64_t out;
    std::int64_t groups;
    AxisExtents images;
};

/// One group, several, and one for each channel with one output or more.
const std::vector<Channels> channels{{1, 1, 1, {2}}, {3, 2, 1, {}},     {4, 6, 2, {2}},
                                     {3, 3, 3, {}},  {2, 6, 2, {1, 2}}, {2, 10, 2, {2}}};

void add_conv(std::vector<OpCase>& cases) {
    std::size_t next = 0;
    for (const auto& [inside, window, positions] : window_cases_of_all_kinds())
        for (int choice = 0; choice < 4; ++choice) {
            const auto& [in, out, groups, images] = channels[next % channels.size()];
            const bool bias = next++ % 4 < 2;
            OpCase op_case{Op::conv,
                           {{Range::wide, joined({images, {in}, inside})},
                            {Range::wide, joined({{out, in / groups}, kernel_of(window)})}},
                           ConvAttribute{.window = window, .groups = groups, .bias = bias},
                           {{joined({images, {out}, positions})}}};
            if (bias) op_case.operands.push_back({Range::wide, {out}});
            cases.push_back(std::move(op_case));
        }
}

}  // namespace

std::vector<OpCase> window_cases() {
    std::vector<OpCase> cases;
    add_im2col(cases);
    add_conv(cases);
    return cases;
}

}  // namespace cambrian::test
