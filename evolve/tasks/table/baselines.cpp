#include "cambrian/evolve/tasks/table/table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// Linear least squares in double, row by row: a triangular factor kept up to date by Givens
/// rotations, so memory does not grow with the rows. A column that depends on the ones before it
/// gets the coefficient 0.
class LeastSquares {
  public:
    LeastSquares(std::size_t inputs, std::size_t answers);
    void add(std::span<const double> inputs, std::span<const double> answers);
    /// [inputs, answers]
    [[nodiscard]] std::vector<double> solve() const;

  private:
    [[nodiscard]] double* row(std::size_t index) { return factor_.data() + index * width_; }
    void rotate_in(std::vector<double>& entries, std::size_t first_column);
    void drop_dependent_columns();

    std::size_t inputs_;
    std::size_t width_;           ///< inputs + answers
    std::vector<double> factor_;  ///< [inputs, width]: upper triangular, then the rotated answers.
};

LeastSquares::LeastSquares(std::size_t inputs, std::size_t answers)
    : inputs_(inputs), width_(inputs + answers), factor_(inputs * width_, 0.0) {}

void LeastSquares::add(std::span<const double> inputs, std::span<const double> answers) {
    CAMBRIAN_EXPECT(inputs.size() == inputs_ && inputs.size() + answers.size() == width_);
    std::vector<double> entries(inputs.begin(), inputs.end());
    entries.insert(entries.end(), answers.begin(), answers.end());
    rotate_in(entries, 0);
}

void LeastSquares::rotate_in(std::vector<double>& entries, std::size_t first_column) {
    for (std::size_t column = first_column; column < inputs_; ++column) {
        if (entries[column] == 0.0) continue;
        double* factor = row(column);
        const double length =
            std::sqrt(factor[column] * factor[column] + entries[column] * entries[column]);
        const double cosine = factor[column] / length;
        const double sine = entries[column] / length;
        for (std::size_t i = column; i < width_; ++i) {
            const double rotated = cosine * factor[i] + sine * entries[i];
            entries[i] = cosine * entries[i] - sine * factor[i];
            factor[i] = rotated;
        }
        entries[column] = 0.0;
    }
}

void LeastSquares::drop_dependent_columns() {
    constexpr double tolerance = 1e-9;
    for (std::size_t column = 0; column < inputs_; ++column) {
        double squares = 0.0;
        for (std::size_t i = 0; i <= column; ++i) squares += row(i)[column] * row(i)[column];
        if (std::abs(row(column)[column]) > tolerance * std::sqrt(squares)) continue;
        // Without this column its row is one more equation for the columns after it.
        std::vector<double> entries(row(column), row(column) + width_);
        std::fill_n(row(column), width_, 0.0);
        rotate_in(entries, column + 1);
    }
}

std::vector<double> LeastSquares::solve() const {
    LeastSquares reduced = *this;
    reduced.drop_dependent_columns();
    const std::size_t answers = width_ - inputs_;
    std::vector<double> result(inputs_ * answers, 0.0);
    for (std::size_t column = inputs_; column-- > 0;) {
        const double* factor = reduced.row(column);
        if (factor[column] == 0.0) continue;
        for (std::size_t answer = 0; answer < answers; ++answer) {
            double sum = factor[inputs_ + answer];
            for (std::size_t i = column + 1; i < inputs_; ++i)
                sum -= factor[i] * result[i * answers + answer];
            result[column * answers + answer] = sum / factor[column];
        }
    }
    return result;
}

double loss_of(double error, TableLoss loss) {
    return loss == TableLoss::mse ? error * error : std::abs(error);
}

double persistence(std::span<const Series> series, TableLoss loss) {
    double total = 0.0;
    double count = 0.0;
    for (const Series& part : series)
        for (std::size_t i = 0; i < part.answers.size(); ++i) {
            total += loss_of(part.answers[i] - part.current[i], loss);
            count += 1.0;
        }
    return total / count;
}

/// Of each column of a member [rows, width], over the rows that train.
std::vector<double> train_means(const TableData& data, std::vector<double> Series::*member,
                                std::size_t width) {
    std::vector<double> means(width, 0.0);
    for (const Series& part : data.train)
        for (std::size_t i = 0; i < (part.*member).size(); ++i)
            means[i % width] += (part.*member)[i];
    for (double& value : means) value /= static_cast<double>(total_rows(data.train));
    return means;
}

double mean(const TableData& data, Phase phase, TableLoss loss) {
    const std::size_t targets = data.outputs.size();
    const std::vector<double> means = train_means(data, &Series::answers, targets);
    double total = 0.0;
    double count = 0.0;
    for (const Series& part : data.series(phase))
        for (std::size_t i = 0; i < part.answers.size(); ++i) {
            total += loss_of(part.answers[i] - means[i % targets], loss);
            count += 1.0;
        }
    return total / count;
}

/// 1 for the constant, then the inputs of one row, scaled. Without its mean a column with a large
/// offset is not taken for the constant.
std::vector<double> input_regressors(const TableData& data, std::span<const double> means,
                                     const Series& series, std::int64_t row) {
    const std::size_t count = data.inputs.size();
    std::vector<double> result(count + 1, 1.0);
    // The constant comes first, so that of a constant column and it the column is dropped.
    for (std::size_t i = 0; i < count; ++i)
        result[i + 1] = (series.inputs[static_cast<std::size_t>(row) * count + i] - means[i]) /
                        data.inputs[i].scale;
    return result;
}

/// Where a row of a series is in its past.
std::size_t past_index(const Series& series, std::int64_t row) {
    const auto found =
        std::ranges::lower_bound(series.past_places, series.places[static_cast<std::size_t>(row)]);
    CAMBRIAN_EXPECT(found != series.past_places.end());
    return static_cast<std::size_t>(found - series.past_places.begin());
}

/// 1 for the constant, then the values of a target at a row and at those before it in its file,
/// without its mean. A row that is left out has the value of the row before, one before the file
/// that of its first row.
std::vector<double> past_values(const Series& series, std::int64_t row, std::int64_t order,
                                std::size_t target, std::span<const double> means) {
    std::vector<double> result{1.0};
    const std::int64_t place = series.places[static_cast<std::size_t>(row)];
    std::size_t at = past_index(series, row);
    for (std::int64_t lag = 0; lag < order; ++lag) {
        while (at > 0 && series.past_places[at] > place - lag) --at;
        result.push_back(series.past[at * means.size() + target] - means[target]);
    }
    return result;
}

/// Whether a row and those before it in its file, `order` in all, are all there.
bool has_past(const Series& series, std::int64_t row, std::int64_t order) {
    const std::size_t last = past_index(series, row);
    const auto before = static_cast<std::size_t>(order - 1);
    return last >= before &&
           series.past_places[last] - series.past_places[last - before] == order - 1;
}

/// Whether most rows that train have a past to fit AR(order): a few would decide for all others.
bool enough_past(const TableData& data, std::int64_t order) {
    std::int64_t found = 0;
    for (const Series& part : data.train)
        for (std::int64_t row = 0; row < part.rows; ++row)
            found += has_past(part, row, order) ? 1 : 0;
    return found > order && 2 * found > total_rows(data.train);
}

struct Total {
    double loss = 0.0;
    double count = 0.0;
};

/// The losses of the linear function that fits the train rows best.
/// @param regressors of a row of a series
/// @param fits whether it is to fit a row of a series
/// @param first, targets which of the answers of a row
template <typename Regressors, typename Fits>
Total linear(const TableData& data, Phase phase, TableLoss loss, const Regressors& regressors,
             const Fits& fits, std::size_t first, std::size_t targets) {
    const std::size_t width = data.outputs.size();
    const auto answers = [&](const Series& series, std::int64_t row) {
        return std::span(series.answers)
            .subspan(static_cast<std::size_t>(row) * width + first, targets);
    };
    std::optional<LeastSquares> fit;
    for (const Series& part : data.train)
        for (std::int64_t row = 0; row < part.rows; ++row) {
            if (!fits(part, row)) continue;
            const std::vector<double> values = regressors(part, row);
            if (!fit) fit.emplace(values.size(), targets);
            fit->add(values, answers(part, row));
        }
    const std::vector<double> coefficients = fit.value().solve();

    Total total;
    for (const Series& part : data.series(phase))
        for (std::int64_t row = 0; row < part.rows; ++row) {
            const std::vector<double> values = regressors(part, row);
            for (std::size_t target = 0; target < targets; ++target) {
                double predicted = 0.0;
                for (std::size_t i = 0; i < values.size(); ++i)
                    predicted += values[i] * coefficients[i * targets + target];
                total.loss += loss_of(answers(part, row)[target] - predicted, loss);
                total.count += 1.0;
            }
        }
    return total;
}

double least_squares(const TableData& data, Phase phase, TableLoss loss) {
    const std::vector<double> means = train_means(data, &Series::inputs, data.inputs.size());
    const auto regressors = [&](const Series& series, std::int64_t row) {
        return input_regressors(data, means, series, row);
    };
    const auto every_row = [](const Series&, std::int64_t) { return true; };
    const Total total = linear(data, phase, loss, regressors, every_row, 0, data.outputs.size());
    return total.loss / total.count;
}

std::vector<double> class_counts(const TableData& data, std::span<const Series> series) {
    std::vector<double> counts(data.classes.size(), 0.0);
    for (const Series& part : series)
        for (const double answer : part.answers) counts[static_cast<std::size_t>(answer)] += 1.0;
    return counts;
}

double majority(const TableData& data, Phase phase) {
    const std::vector<double> trained = class_counts(data, data.train);
    const auto common =
        static_cast<std::size_t>(std::ranges::max_element(trained) - trained.begin());
    return class_counts(data, data.series(phase))[common] /
           static_cast<double>(total_rows(data.series(phase)));
}

double frequencies(const TableData& data, Phase phase) {
    const std::vector<double> trained = class_counts(data, data.train);
    const std::vector<double> found = class_counts(data, data.series(phase));
    const auto rows = static_cast<double>(total_rows(data.train));
    double total = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) total -= found[i] * std::log(trained[i] / rows);
    return total / static_cast<double>(total_rows(data.series(phase)));
}

}  // namespace

double table_baseline(std::string_view name, const TableData& data, Phase phase, TableLoss loss) {
    if (name == "persistence") return persistence(data.series(phase), loss);
    if (name == "mean") return mean(data, phase, loss);
    if (name == "least_squares") return least_squares(data, phase, loss);
    if (name == "majority") return majority(data, phase);
    CAMBRIAN_ASSERT(name == "frequencies");
    return frequencies(data, phase);
}

double autoregressive_baseline(std::int64_t order, const TableData& data, Phase phase,
                               TableLoss loss) {
    const std::size_t targets = data.outputs.size();
    const std::vector<double> means = train_means(data, &Series::current, targets);
    const bool enough = enough_past(data, order);
    Total total;
    for (std::size_t target = 0; target < targets; ++target) {
        const auto regressors = [&](const Series& series, std::int64_t row) {
            return past_values(series, row, order, target, means);
        };
        const auto fits = [&](const Series& series, std::int64_t row) {
            return !enough || has_past(series, row, order);
        };
        const Total one = linear(data, phase, loss, regressors, fits, target, 1);
        total.loss += one.loss;
        total.count += one.count;
    }
    return total.loss / total.count;
}

}  // namespace cambrian::evolve
