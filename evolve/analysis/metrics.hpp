#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/analysis/answers.hpp"

// How good answers are. All sums are in double precision, in the order of the rows.
namespace cambrian::evolve {

/// One row of the table of metrics.
struct Metric {
    std::string_view name;
    bool classes = false;  ///< Of classes; else of numbers.
    bool higher = false;   ///< Which is better.
    std::string_view formula;
    std::string_view source;
    /// Nothing where it is not defined, such as r2 where all targets are equal.
    std::optional<double> (*of)(const Truth& truth, const Answers& answers) = nullptr;
};

/// All of them, those of numbers first.
[[nodiscard]] std::span<const Metric> metrics();
/// Throws ContractViolation for a name that is none.
[[nodiscard]] const Metric& metric(std::string_view name);

/// Rows by target and answer: [width, width], a row of it for each target.
[[nodiscard]] std::vector<std::uint64_t> confusion_matrix(const Truth& truth,
                                                          const Answers& answers);

/// How good the answers of one class are. A share of nothing is 0.
struct ClassScore {
    std::uint64_t targets = 0;  ///< Rows that are of it.
    std::uint64_t answers = 0;  ///< Rows that are taken to be of it.
    std::uint64_t right = 0;
    double precision = 0.0;  ///< right / answers
    double recall = 0.0;     ///< right / targets
    double f1 = 0.0;         ///< 2 right / (targets + answers)
};
[[nodiscard]] std::vector<ClassScore> class_scores(const Truth& truth, const Answers& answers);

/// Rows whose answered class has a probability in (low, high].
struct CalibrationBin {
    double low = 0.0;
    double high = 0.0;
    std::uint64_t rows = 0;
    double confidence = 0.0;  ///< Mean probability of the answered class.
    double accuracy = 0.0;    ///< Share of right answers.
};
inline constexpr std::size_t calibration_bins = 10;
/// Bins of equal width; the first one has probability 0, too.
[[nodiscard]] std::vector<CalibrationBin> calibration(const Truth& truth, const Answers& answers,
                                                      std::size_t bins = calibration_bins);
/// Σ rows / all · |accuracy - confidence| (Guo et al., "On Calibration of Modern Neural Networks",
/// 2017).
[[nodiscard]] double calibration_error(std::span<const CalibrationBin> bins);

/// 100 |answer - target| / |target|, or 100 |answer - target| where |target| < 1e-10; 100 for what
/// is not finite.
[[nodiscard]] double deviation_percent(double answer, double target);

/// Upper ends of the buckets of deviations, in percent, each belonging to its bucket; the last one
/// has no end, and what is not finite.
inline constexpr std::array<double, 6> deviation_ends{10.0, 20.0, 30.0, 40.0, 50.0, 100.0};
struct Deviations {
    std::array<std::uint64_t, deviation_ends.size() + 1> buckets{};
    double average = 0.0;  ///< Mean deviation in percent.
    double score = 0.0;    ///< Mean of max(0, 100 - deviation).
};
/// Of all numbers; with classes of their labels.
[[nodiscard]] Deviations deviations(const Truth& truth, const Answers& answers);

}  // namespace cambrian::evolve
