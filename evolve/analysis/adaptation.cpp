#include "cambrian/evolve/analysis/adaptation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

constexpr double max_windows = 1e6;

/// Throws ConfigError where nothing is known of the task before a change, or of the one after it.
[[noreturn]] void refuse_change(std::uint64_t change) {
    throw ConfigError(
        fmt::format("the task changes at step {} (nothing is known of the task before it, or of "
                    "the one from it on) name a step within what is known",
                    change));
}

bool measured(const Progress& one) {
    return std::isfinite(one.value);
}

/// @param begin,first,end of the task before the change, of the one after it, and of the next one.
std::optional<Adaptation> adaptation(std::span<const Progress> progress, std::size_t begin,
                                     std::size_t first, std::size_t end, double share) {
    if (begin == first || first == progress.size()) return std::nullopt;
    const Progress& last = progress[first - 1];
    const auto before = progress.subspan(begin, first - begin);
    const auto after = progress.subspan(first, end - first);
    const auto known = std::find_if(before.rbegin(), before.rend(), measured);
    const auto next = std::ranges::find_if(after, measured);
    if (known == before.rend() || next == after.end()) return std::nullopt;
    Adaptation result{.step = progress[first].step,
                      .before = known->value,
                      .after = next->value,
                      .lowest = next->value,
                      .highest = next->value,
                      .goal = recovery_goal(known->value, share)};
    for (const Progress& one : after) {
        if (!measured(one)) continue;
        result.lowest = std::min(result.lowest, one.value);
        result.highest = std::max(result.highest, one.value);
        if (result.steps || !(one.value >= result.goal)) continue;
        result.steps = one.step - last.step;
        result.evaluations = one.evaluations - last.evaluations;
    }
    return result;
}

void check_time(double seconds, double window) {
    if (!std::isfinite(seconds) || seconds < 0.0 || seconds / window >= max_windows)
        throw ConfigError(fmt::format(
            "a time is {} seconds (times go from 0 to a million windows of {} seconds) pass "
            "another, or longer windows",
            seconds, window));
}

/// The first window that begins at a time or after it. A time that is a multiple of the window but
/// for rounding begins one.
std::uint64_t first_window(double seconds, double window) {
    const double nearest = std::round(seconds / window);
    const double rounding = 2.0 * std::numeric_limits<double>::epsilon() * seconds;
    return static_cast<std::uint64_t>(
        std::abs(seconds - nearest * window) <= rounding ? nearest : std::ceil(seconds / window));
}

}  // namespace

double recovery_goal(double before, double share) {
    return before >= 0.0 ? share * before : before / share;
}

std::vector<std::optional<Adaptation>> known_adaptations(std::span<const Progress> progress,
                                                         std::span<const std::uint64_t> changes,
                                                         double share) {
    if (!(share > 0.0 && share <= 1.0))
        throw ConfigError(fmt::format(
            "the share to recover is {} (it is above 0 and at most 1) choose another", share));
    std::vector<std::size_t> first{0};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        if (i > 0 && changes[i] <= changes[i - 1])
            throw ConfigError(fmt::format(
                "the task changes at step {} (changes ascend, with steps between them) sort them",
                changes[i]));
        const auto found = std::ranges::lower_bound(progress, changes[i], {}, &Progress::step);
        first.push_back(static_cast<std::size_t>(found - progress.begin()));
    }
    first.push_back(progress.size());
    std::vector<std::optional<Adaptation>> result;
    for (std::size_t i = 0; i < changes.size(); ++i)
        result.push_back(adaptation(progress, first[i], first[i + 1], first[i + 2], share));
    return result;
}

std::vector<Adaptation> adaptations(std::span<const Progress> progress,
                                    std::span<const std::uint64_t> changes, double share) {
    const auto known = known_adaptations(progress, changes, share);
    std::vector<Adaptation> result;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (!known[i]) refuse_change(changes[i]);
        result.push_back(*known[i]);
    }
    return result;
}

AdaptationTracker::AdaptationTracker(double window_seconds) : window_seconds_(window_seconds) {
    if (!(window_seconds > 0.0) || !std::isfinite(window_seconds))
        throw ConfigError(fmt::format(
            "a window lasts {} seconds (a time above 0) choose a longer one", window_seconds));
}

void AdaptationTracker::record(double seconds, bool right) {
    check_time(seconds, window_seconds_);
    const auto index = static_cast<std::size_t>(seconds / window_seconds_);
    if (index >= windows_.size()) windows_.resize(index + 1);
    ++windows_[index].answers;
    windows_[index].right += right ? 1U : 0U;
}

void AdaptationTracker::change(double seconds) {
    check_time(seconds, window_seconds_);
    if (!changes_.empty() && seconds <= changes_.back())
        throw ConfigError(fmt::format(
            "the task changes at {} seconds (it changed at {} before) tell changes in their order",
            seconds, changes_.back()));
    changes_.push_back(seconds);
}

double AdaptationTracker::Window::accuracy() const {
    return answers == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(answers);
}

double AdaptationTracker::mean_accuracy() const {
    double sum = 0.0;
    double counted = 0.0;
    for (const Window& window : windows_) {
        if (window.answers == 0) continue;
        sum += window.accuracy();
        counted += 1.0;
    }
    return counted == 0.0 ? 0.0 : sum / counted;
}

double AdaptationTracker::answers_per_second(std::size_t window) const {
    return window < windows_.size()
               ? static_cast<double>(windows_[window].answers) / window_seconds_
               : 0.0;
}

std::vector<Adaptation> AdaptationTracker::adaptations(double share) const {
    std::vector<Progress> progress;
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        answers += windows_[i].answers;
        if (windows_[i].answers > 0)
            progress.push_back(
                {.step = i, .evaluations = answers, .value = windows_[i].accuracy()});
    }
    std::vector<std::uint64_t> first;
    for (const double change : changes_) {
        const std::uint64_t window = first_window(change, window_seconds_);
        if (first.empty() || first.back() != window) first.push_back(window);
    }
    return evolve::adaptations(progress, first, share);
}

}  // namespace cambrian::evolve
