#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/once.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"

namespace cambrian::evolve {
namespace {

class TableTask final : public Task, public LabelledTask {
  public:
    explicit TableTask(const TableSettings& settings)
        : TableTask(settings, std::make_shared<const TableData>(load_table(settings))) {}
    TableTask(TableSettings settings, std::shared_ptr<const TableData> data)
        : settings_(std::move(settings)), data_(std::move(data)) {
        drop_slow_baselines();
        const std::int64_t wanted = settings_.rows_per_evaluation;
        draws_rows_ = wanted > 0 && wanted < total_rows(data_->train);
        for (const Series& series : data_->train)
            if (series.rows < settings_.sequence_length)
                throw ConfigError(fmt::format(
                    "task.sequence_length is {} ({} has {} rows for training) use shorter "
                    "sequences or longer files",
                    settings_.sequence_length, series.path, series.rows));
    }

    std::string_view type() const override { return "table"; }

    TaskSignature signature() const override {
        return {.observations = static_cast<std::int64_t>(data_->inputs.size()),
                .outputs = outputs(),
                .time = settings_.sequence_length > 0,
                .steps = settings_.sequence_length,
                .stochastic = draws_rows_,
                .validates = !data_->validation.empty(),
                .tests = !data_->test.empty(),
                .loss = true,
                .windows = settings_.sequence_length > 0};
    }

    std::vector<Tensor> data(Phase phase) const override;
    std::vector<Tensor> draws(Phase phase, std::uint64_t seed, std::uint64_t round) const override;
    Objective build(const ObjectiveContext& context, Phase phase) const override;

    std::vector<Baseline> baselines(Phase phase) const override {
        std::vector<Baseline> result;
        if (data_->series(phase).empty()) return result;
        for (const std::string& name : settings_.baselines) {
            if (name == "autoregressive") {
                for (const std::int64_t order : settings_.autoregressive_orders)
                    result.push_back(
                        {fmt::format("autoregressive({})", order),
                         autoregressive_baseline(order, *data_, phase, settings_.loss)});
                continue;
            }
            result.push_back({name == "majority" ? "majority (accuracy)" : name,
                              table_baseline(name, *data_, phase, settings_.loss)});
        }
        return result;
    }

    std::unique_ptr<Task> whole() const override {
        if (!draws_rows_) return nullptr;
        TableSettings settings = settings_;
        settings.rows_per_evaluation = 0;
        auto task = std::make_unique<TableTask>(std::move(settings), data_);
        task->left_out_ = left_out_;
        return task;
    }

    /// Made when it is first asked for: evolution does not need it.
    const Learning* learning() const override {
        learns_.call([this] { learning_ = table_learning(*data_, settings_); });
        return &*learning_;
    }

    std::optional<Preparation> preparation() const override {
        return table_preparation(*data_, settings_);
    }

    std::vector<std::string> notes() const override {
        std::vector<std::string> notes = table_notes(*data_, settings_);
        if (!left_out_.empty()) notes.push_back(left_out_);
        return notes;
    }

    std::optional<LossUnits> loss_units() const override {
        return table_loss_units(*data_, settings_);
    }

    std::shared_ptr<const LabelledRows> labelled_rows(Phase phase) const override {
        if (data_->series(phase).empty()) return nullptr;
        return std::make_shared<LabelledRows>(table_labelled_rows(*data_, settings_, phase));
    }

  private:
    /// Nobody waits for a baseline that was not asked for.
    void drop_slow_baselines();
    [[nodiscard]] bool classifies() const { return settings_.mode == TableMode::classification; }
    [[nodiscard]] std::int64_t outputs() const {
        return static_cast<std::int64_t>(classifies() ? data_->classes.size()
                                                      : settings_.targets.size());
    }
    /// Whether the rows of a phase are drawn from a table instead of laid out once.
    [[nodiscard]] bool draws_rows(Phase phase) const {
        return phase == Phase::train && draws_rows_;
    }
    /// What each output value loses, before masking: [.., targets] or [.., classes].
    [[nodiscard]] Var losses(Var outputs, Var goals) const;

    TableSettings settings_;
    std::shared_ptr<const TableData> data_;  ///< Shared with the whole task.
    bool draws_rows_ = false;
    std::string left_out_;  ///< Says which baseline is left out, and how to have it.
    mutable Once learns_;
    mutable std::optional<Learning> learning_;
};

void TableTask::drop_slow_baselines() {
    // Rows times columns squared, a few seconds, and columns squared twice, 200 MB.
    constexpr double affordable_work = 1e9;
    constexpr double affordable_numbers = 1.25e7;
    const auto columns = static_cast<double>(data_->inputs.size());
    const double numbers = columns * columns;
    const double work = static_cast<double>(total_rows(data_->train)) * numbers;
    if (settings_.chosen_baselines || (work <= affordable_work && numbers <= affordable_numbers))
        return;
    if (std::erase(settings_.baselines, "least_squares") > 0)
        left_out_ = fmt::format(
            "the baseline least_squares is left out ({} rows of {} columns take long, or much "
            "memory); name it in "
            "task.baselines to have it",
            total_rows(data_->train), data_->inputs.size());
}

std::vector<Tensor> TableTask::data(Phase phase) const {
    CAMBRIAN_EXPECT(!data_->series(phase).empty());
    std::vector<Tensor> result{input_rows(*data_, phase), goal_rows(*data_, settings_, phase)};
    const std::int64_t length = settings_.sequence_length;
    if (length == 0 || draws_rows(phase)) return result;

    const Windows windows = cover(data_->series(phase), length, settings_.warm_up);
    for (Tensor& table : result) table = rows_at(table, windows.rows, {windows.count, length});
    result.emplace_back(ValueType::boolean, Shape{windows.count, length, 1},
                        std::vector<double>(windows.counted.begin(), windows.counted.end()));
    return result;
}

std::vector<Tensor> TableTask::draws(Phase phase, std::uint64_t seed, std::uint64_t round) const {
    if (!draws_rows(phase)) return {};
    RandomStream rng(random_key(seed, fmt::format("rows/{}/{}", name(phase), round)), 0);
    const std::int64_t length = std::max<std::int64_t>(1, settings_.sequence_length);
    const std::int64_t count = settings_.rows_per_evaluation / length;
    const std::vector<std::int64_t> rows = draw_windows(data_->train, length, count, rng);
    const Shape shape = settings_.sequence_length == 0 ? Shape{count} : Shape{count, length};
    return {Tensor(ValueType::integer, shape, std::vector<double>(rows.begin(), rows.end()))};
}

Var TableTask::losses(Var outputs, Var goals) const {
    Graph& graph = *outputs.graph;
    if (classifies()) {
        const Var right = equal(goals, iota(graph, outputs.shape()[-1]));
        return select(right, -log_softmax(outputs), constant(graph, 0.0));
    }
    std::vector<double> scales;
    for (const Scaling& scaling : data_->outputs) scales.push_back(scaling.scale);
    const Var scale =
        graph.constant(Tensor(ValueType::real, Shape{this->outputs()}, std::move(scales)));
    const Var errors = goals - outputs * scale;
    return settings_.loss == TableLoss::mse ? square(errors) : abs(errors);
}

Objective TableTask::build(const ObjectiveContext& context, Phase phase) const {
    const bool drawn = draws_rows(phase);
    const Var inputs = drawn ? gather(context.data[0], context.draws[0]) : context.data[0];
    const Var goals = drawn ? gather(context.data[1], context.draws[0]) : context.data[1];
    const std::int64_t length = settings_.sequence_length;

    const Var answers = length > 0 ? context.network.sequence(inputs, context.operands)
                                   : context.network.apply(inputs, context.operands);
    const auto counting = [&](Var values) {
        if (length == 0) return values;
        return drawn ? slice(values, 1, settings_.warm_up, length - settings_.warm_up)
                     : select(context.data[2], values, constant(context.graph, 0.0));
    };
    const Var lost = counting(losses(answers, goals));
    // Classes share one loss a row, targets have one each.
    const std::int64_t rows =
        drawn ? lost.shape().elements() / lost.shape()[-1] : total_rows(data_->series(phase));
    const std::int64_t width = classifies() ? 1 : outputs();
    const Var sum = sum_all(lost);
    Objective result{.fitness = sum * (-1.0 / static_cast<double>(rows * width)),
                     .env_steps = {},
                     .per_sample = {}};
    if (classifies()) {
        const Var right = equal(reshape(argmax(answers, -1), goals.shape()), goals);
        result.accuracy =
            sum_all(counting(cast(right, ValueType::real))) * (1.0 / static_cast<double>(rows));
    }
    return result;
}

}  // namespace

/// `{"type": "table", ...}`, see TableSettings.
TaskKind table_task() {
    const auto make = [](const nlohmann::json& settings, const TaskContext& context) {
        return std::make_unique<TableTask>(table_settings(settings, context));
    };
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<TableSettings>(schema["properties"]);
        field_json::describe_fields<ValidationSettings>(
            schema["properties"]["validation"]["properties"]);
        for (const char* key : {"train", "targets"}) field_json::require(schema, key);
    };
    return {"table", {}, make, describe};
}

}  // namespace cambrian::evolve
