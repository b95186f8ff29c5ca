#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// What changes of a task do to those who work on it, and how long they take to recover.
namespace cambrian::evolve {

/// How well something did at a step (a generation, an epoch), after so many evaluations in all.
struct Progress {
    std::uint64_t step = 0;
    std::uint64_t evaluations = 0;
    double value = 0.0;  ///< Higher is better; not finite where nothing was measured.
};

/// One change.
struct Adaptation {
    std::uint64_t step = 0;  ///< The first one after it.
    double before = 0.0;     ///< At the last measured step of the task before it.
    double after = 0.0;      ///< At the first measured step of the task after it.
    double lowest = 0.0;     ///< From there to the next change or the end.
    double highest = 0.0;
    double goal = 0.0;  ///< recovery_goal(before, share).
    /// Steps and evaluations from the last step before the change to the first that reaches the
    /// goal; nothing where none does before the next change.
    std::optional<std::uint64_t> steps{};
    std::optional<std::uint64_t> evaluations{};
};

/// What counts as recovered: share · before; of a loss, which is negative, before / share.
[[nodiscard]] double recovery_goal(double before, double share);

/// What each change did; nothing of one with no measured step from the change before it (or the
/// start) to it, or from it to the next one.
/// @param progress by ascending steps.
/// @param changes first steps after a change, ascending.
/// Throws ConfigError for a share that is not above 0 and at most 1, and for changes that do not
/// ascend.
[[nodiscard]] std::vector<std::optional<Adaptation>> known_adaptations(
    std::span<const Progress> progress, std::span<const std::uint64_t> changes,
    double share = 0.95);
/// The same, but throws ConfigError for a change of which nothing is known.
[[nodiscard]] std::vector<Adaptation> adaptations(std::span<const Progress> progress,
                                                  std::span<const std::uint64_t> changes,
                                                  double share = 0.95);

/// Counts right answers in windows of time, across changes of a task: for those who learn while
/// they answer. Times are told, not measured, so that equal calls have equal results.
class AdaptationTracker {
  public:
    /// Throws ConfigError unless a window is longer than 0.
    explicit AdaptationTracker(double window_seconds);

    /// An answer at a time from 0 on; it counts in window floor(seconds / window). Throws
    /// ConfigError for times that are negative, not finite, or beyond a million windows.
    void record(double seconds, bool right);
    /// The task changes at a time; ascending.
    void change(double seconds);

    struct Window {
        std::uint64_t answers = 0;
        std::uint64_t right = 0;
        [[nodiscard]] double accuracy() const;  ///< 0 without answers.
    };
    /// From the first to the last that has an answer.
    [[nodiscard]] const std::vector<Window>& windows() const { return windows_; }
    /// Of windows that have answers.
    [[nodiscard]] double mean_accuracy() const;
    [[nodiscard]] double answers_per_second(std::size_t window) const;
    /// What each change did to the accuracy of windows; steps are windows, evaluations answers. A
    /// window in which the task changes belongs to what was before, unless it begins with the
    /// change; changes that leave no window between them count as one; windows without answers are
    /// left out.
    [[nodiscard]] std::vector<Adaptation> adaptations(double share = 0.95) const;

  private:
    double window_seconds_;
    std::vector<Window> windows_;
    std::vector<double> changes_;
};

}  // namespace cambrian::evolve
