#include "cambrian/evolve/analysis/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

using Value = std::optional<double>;

double count_of(const Truth& truth) {
    return static_cast<double>(truth.rows());
}

/// Mean over all numbers of what a function makes of the error.
template <class F>
Value mean_error(const Truth& truth, const Answers& answers, const F& f) {
    if (truth.targets.empty()) return std::nullopt;
    double sum = 0.0;
    for (std::size_t i = 0; i < truth.targets.size(); ++i)
        sum += f(answers.values[i] - truth.targets[i]);
    return sum / static_cast<double>(truth.targets.size());
}

Value mean_squared_error(const Truth& truth, const Answers& answers) {
    return mean_error(truth, answers, [](double error) { return error * error; });
}

Value mean_absolute_error(const Truth& truth, const Answers& answers) {
    return mean_error(truth, answers, [](double error) { return std::abs(error); });
}

/// Of one of the numbers of a row.
Value determination(const Truth& truth, const Answers& answers, std::size_t column) {
    double mean = 0.0;
    double least = truth.targets[column];
    double largest = least;
    for (std::size_t i = column; i < truth.targets.size(); i += truth.width) {
        mean += truth.targets[i];
        least = std::min(least, truth.targets[i]);
        largest = std::max(largest, truth.targets[i]);
    }
    // The mean of equal numbers is not always that number, so that their spread is not 0.
    if (least == largest) return std::nullopt;
    mean /= count_of(truth);
    double residual = 0.0;
    double total = 0.0;
    for (std::size_t i = column; i < truth.targets.size(); i += truth.width) {
        const double error = truth.targets[i] - answers.values[i];
        const double spread = truth.targets[i] - mean;
        residual += error * error;
        total += spread * spread;
    }
    if (!(total > 0.0)) return std::nullopt;
    return 1.0 - residual / total;
}

Value r2(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    double sum = 0.0;
    for (std::size_t column = 0; column < truth.width; ++column) {
        const Value one = determination(truth, answers, column);
        if (!one) return std::nullopt;
        sum += *one;
    }
    return sum / static_cast<double>(truth.width);
}

Value deviation_score(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    return deviations(truth, answers).score;
}

Value accuracy(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    std::uint64_t right = 0;
    for (std::size_t row = 0; row < truth.rows(); ++row)
        right += answers.chosen[row] == truth.class_of(row) ? 1U : 0U;
    return static_cast<double>(right) / count_of(truth);
}

/// Mean of a score over the classes that a condition takes.
template <class Counts, class Score>
Value class_mean(const Truth& truth, const Answers& answers, const Counts& counts,
                 const Score& score) {
    double sum = 0.0;
    double classes = 0.0;
    for (const ClassScore& one : class_scores(truth, answers)) {
        if (!counts(one)) continue;
        sum += score(one);
        classes += 1.0;
    }
    if (classes == 0.0) return std::nullopt;
    return sum / classes;
}

bool has_targets(const ClassScore& one) {
    return one.targets > 0;
}
bool appears(const ClassScore& one) {
    return one.targets > 0 || one.answers > 0;
}

Value balanced_accuracy(const Truth& truth, const Answers& answers) {
    return class_mean(truth, answers, has_targets, [](const ClassScore& s) { return s.recall; });
}
Value macro_precision(const Truth& truth, const Answers& answers) {
    return class_mean(truth, answers, appears, [](const ClassScore& s) { return s.precision; });
}
Value macro_recall(const Truth& truth, const Answers& answers) {
    return class_mean(truth, answers, appears, [](const ClassScore& s) { return s.recall; });
}
Value macro_f1(const Truth& truth, const Answers& answers) {
    return class_mean(truth, answers, appears, [](const ClassScore& s) { return s.f1; });
}

Value log_loss(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    double sum = 0.0;
    for (std::size_t row = 0; row < truth.rows(); ++row)
        sum -= std::log(answers.values[row * truth.width + truth.class_of(row)]);
    return sum / count_of(truth);
}

Value brier(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    double sum = 0.0;
    for (std::size_t row = 0; row < truth.rows(); ++row)
        for (std::size_t k = 0; k < truth.width; ++k) {
            const double wanted = k == truth.class_of(row) ? 1.0 : 0.0;
            const double error = answers.values[row * truth.width + k] - wanted;
            sum += error * error;
        }
    return sum / count_of(truth);
}

Value expected_calibration_error(const Truth& truth, const Answers& answers) {
    if (truth.targets.empty()) return std::nullopt;
    return calibration_error(calibration(truth, answers));
}

constexpr bool numbers = false;
constexpr bool classes = true;
constexpr bool lower = false;
constexpr bool higher = true;
constexpr std::array table{
    Metric{"mse", numbers, lower, "mean (answer - target)^2 over all numbers", "",
           mean_squared_error},
    Metric{"mae", numbers, lower, "mean |answer - target|", "", mean_absolute_error},
    Metric{"r2", numbers, higher,
           "mean over the numbers of a row of 1 - sum (target - answer)^2 / sum (target - mean "
           "target)^2; none where all targets are equal",
           "Wright, \"Correlation and Causation\", 1921", r2},
    Metric{"deviation_score", numbers, higher,
           "mean of max(0, 100 - deviation), deviation = 100 |answer - target| / |target|, of "
           "|answer - target| where |target| < 1e-10",
           "", deviation_score},
    Metric{"accuracy", classes, higher, "share of rows whose class is answered", "", accuracy},
    Metric{"balanced_accuracy", classes, higher, "mean recall of the classes that have rows",
           "Brodersen et al., \"The Balanced Accuracy and Its Posterior Distribution\", 2010",
           balanced_accuracy},
    Metric{"precision", classes, higher,
           "mean over classes that are targets or answers of right / answers, 0 without answers",
           "van Rijsbergen, \"Information Retrieval\", 1979", macro_precision},
    Metric{"recall", classes, higher,
           "mean over classes that are targets or answers of right / targets, 0 without targets",
           "van Rijsbergen, \"Information Retrieval\", 1979", macro_recall},
    Metric{"f1", classes, higher,
           "mean over classes that are targets or answers of 2 right / (targets + answers)",
           "van Rijsbergen, \"Information Retrieval\", 1979", macro_f1},
    Metric{"log_loss", classes, lower, "mean -ln p(target); infinite where one has no probability",
           "Good, \"Rational Decisions\", 1952", log_loss},
    Metric{"brier", classes, lower, "mean over rows of sum over classes (p - [class is target])^2",
           "Brier, \"Verification of Forecasts Expressed in Terms of Probability\", 1950", brier},
    Metric{"calibration_error", classes, lower,
           "sum over 10 bins of p(answer) of share of rows · |accuracy - mean p(answer)|",
           "Guo et al., \"On Calibration of Modern Neural Networks\", 2017",
           expected_calibration_error},
};

std::size_t bin_of(double probability, std::size_t bins) {
    if (!(probability > 0.0)) return 0;
    const auto scaled =
        static_cast<std::size_t>(std::ceil(probability * static_cast<double>(bins)));
    return std::min(scaled, bins) - 1;
}

}  // namespace

double mean_value(std::span<const double> values) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

std::size_t first_largest(const double* values, std::size_t count) {
    return static_cast<std::size_t>(std::max_element(values, values + count) - values);
}

std::vector<std::uint8_t> right_answers(const Truth& truth, const Answers& answers) {
    std::vector<std::uint8_t> right(truth.rows(), 1);
    for (std::size_t row = 0; row < right.size(); ++row) {
        if (truth.classes) {
            right[row] = answers.chosen[row] == truth.class_of(row) ? 1 : 0;
            continue;
        }
        for (std::size_t i = row * truth.width; i < (row + 1) * truth.width; ++i)
            if (!std::isfinite(answers.values[i]) ||
                deviation_percent(answers.values[i], truth.targets[i]) > deviation_ends.front())
                right[row] = 0;
    }
    return right;
}

std::span<const Metric> metrics() {
    return table;
}

const Metric& metric(std::string_view name) {
    const auto* const found = std::ranges::find(table, name, &Metric::name);
    CAMBRIAN_EXPECT(found != table.end());
    return *found;
}

std::vector<std::uint64_t> confusion_matrix(const Truth& truth, const Answers& answers) {
    CAMBRIAN_EXPECT(truth.classes);
    std::vector<std::uint64_t> matrix(truth.width * truth.width, 0);
    for (std::size_t row = 0; row < truth.rows(); ++row)
        ++matrix[truth.class_of(row) * truth.width + answers.chosen[row]];
    return matrix;
}

std::vector<ClassScore> class_scores(const Truth& truth, const Answers& answers) {
    const std::vector<std::uint64_t> matrix = confusion_matrix(truth, answers);
    std::vector<ClassScore> scores(truth.width);
    for (std::size_t target = 0; target < truth.width; ++target)
        for (std::size_t answer = 0; answer < truth.width; ++answer) {
            const std::uint64_t rows = matrix[target * truth.width + answer];
            scores[target].targets += rows;
            scores[answer].answers += rows;
            if (target == answer) scores[target].right = rows;
        }
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    for (ClassScore& score : scores) {
        score.precision = share(score.right, score.answers);
        score.recall = share(score.right, score.targets);
        score.f1 = share(2 * score.right, score.targets + score.answers);
    }
    return scores;
}

std::vector<CalibrationBin> calibration(const Truth& truth, const Answers& answers,
                                        std::size_t bins) {
    CAMBRIAN_EXPECT(truth.classes && bins > 0);
    std::vector<CalibrationBin> result(bins);
    for (std::size_t i = 0; i < bins; ++i) {
        result[i].low = static_cast<double>(i) / static_cast<double>(bins);
        result[i].high = static_cast<double>(i + 1) / static_cast<double>(bins);
    }
    for (std::size_t row = 0; row < truth.rows(); ++row) {
        const std::size_t answer = answers.chosen[row];
        const double probability = answers.values[row * truth.width + answer];
        CalibrationBin& bin = result[bin_of(probability, bins)];
        ++bin.rows;
        bin.confidence += probability;
        bin.accuracy += answer == truth.class_of(row) ? 1.0 : 0.0;
    }
    for (CalibrationBin& bin : result)
        if (bin.rows > 0) {
            bin.confidence /= static_cast<double>(bin.rows);
            bin.accuracy /= static_cast<double>(bin.rows);
        }
    return result;
}

double calibration_error(std::span<const CalibrationBin> bins) {
    double rows = 0.0;
    double sum = 0.0;
    for (const CalibrationBin& bin : bins) {
        rows += static_cast<double>(bin.rows);
        sum += static_cast<double>(bin.rows) * std::abs(bin.accuracy - bin.confidence);
    }
    return rows == 0.0 ? 0.0 : sum / rows;
}

double deviation_percent(double answer, double target) {
    constexpr double all = 100.0;
    constexpr double smallest_target = 1e-10;
    const double error = std::abs(answer - target);
    const double share = std::abs(target) < smallest_target ? error : error / std::abs(target);
    return std::isfinite(share) ? all * share : all;
}

Deviations deviations(const Truth& truth, const Answers& answers) {
    Deviations result;
    if (truth.targets.empty()) return result;
    for (std::size_t i = 0; i < truth.targets.size(); ++i) {
        const double answer = truth.classes ? truth.labels[answers.chosen[i]] : answers.values[i];
        const double target = truth.classes ? truth.labels[truth.class_of(i)] : truth.targets[i];
        const double percent = deviation_percent(answer, target);
        const auto* const end = std::isfinite(answer)
                                    ? std::ranges::lower_bound(deviation_ends, percent)
                                    : deviation_ends.end();
        ++result.buckets[static_cast<std::size_t>(end - deviation_ends.begin())];
        result.average += percent;
        result.score += std::max(0.0, 100.0 - percent);
    }
    result.average /= static_cast<double>(truth.targets.size());
    result.score /= static_cast<double>(truth.targets.size());
    return result;
}

}  // namespace cambrian::evolve
