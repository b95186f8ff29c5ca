#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/evolve/tasks/dataset/class_coverage.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {
namespace {

enum class DatasetFitness : std::uint8_t { loss, accuracy };
constexpr std::array<std::string_view, 2> dataset_fitness_names{"loss", "accuracy"};
constexpr std::span<const std::string_view> choice_names(DatasetFitness) {
    return dataset_fitness_names;
}

/// The keys of its config beside the source and the loss.
struct DatasetSettings {
    Split split{};
    std::int64_t rows_per_evaluation = 0;
    DatasetFitness fitness = DatasetFitness::loss;
    std::uint64_t seed = SourceContext{}.seed;
    ValidationSettings validation{};
    std::int64_t steps = 1;

    static constexpr auto fields = FieldTable{
        Field{"split", &DatasetSettings::split},
        Field{"rows_per_evaluation", &DatasetSettings::rows_per_evaluation, FieldRange{0.0, 1e9},
              "Rows or sequences of the train part, drawn anew for every generation and common to "
              "all individuals; 0: all."},
        Field{"fitness", &DatasetSettings::fitness,
              "loss: minus the loss; accuracy: the share of right answers, with losses of "
              "classes."},
        Field{"seed", &DatasetSettings::seed},
        Field{"validation", &DatasetSettings::validation},
        Field{"steps", &DatasetSettings::steps, FieldRange{1.0, 4096.0},
              "Steps that every row is shown for, where rows are no sequences: what a mesh or "
              "another network with a state answers at the last one counts. 1 (left out): rows "
              "have no time."},
    };
};

/// Every row [features] as a sequence [steps, features] of itself.
void show_for(std::int64_t steps, Samples& samples) {
    const std::int64_t rows = samples.rows();
    if (rows == 0) return;
    const std::int64_t features = samples.inputs.shape[1];
    Tensor shown(samples.inputs.type, Shape{rows, steps, features});
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t step = 0; step < steps; ++step)
            std::copy_n(samples.inputs.elements.begin() + row * features, features,
                        shown.elements.begin() + (row * steps + step) * features);
    samples.inputs = std::move(shown);
}

class DatasetTask final : public Task, public LabelledTask {
  public:
    DatasetTask(Learning learning, const DatasetSettings& settings, Preparation preparation,
                std::vector<std::string> notes)
        : learning_(std::make_shared<const Learning>(std::move(learning))),
          rows_drawn_(settings.rows_per_evaluation < learning_->data.train.rows()
                          ? settings.rows_per_evaluation
                          : 0),
          fitness_(settings.fitness),
          preparation_(std::move(preparation)),
          notes_(std::move(notes)) {}

    std::string_view type() const override { return "dataset"; }
    TaskSignature signature() const override {
        const Shape& inputs = learning_->data.train.inputs.shape;
        return {.observations = inputs[-1],
                .outputs = learning_->data.outputs,
                .time = inputs.rank() == 3,
                .steps = inputs.rank() == 3 ? inputs[1] : 0,
                .stochastic = rows_drawn_ > 0,
                .validates = learning_->data.validation.rows() > 0,
                .tests = learning_->data.test.rows() > 0,
                .loss = fitness_ == DatasetFitness::loss};
    }

    const Samples* held(Phase phase) const override { return &part(phase); }

    std::vector<Tensor> draws(Phase phase, std::uint64_t seed, std::uint64_t round) const override {
        if (!draws_rows(phase)) return {};
        RandomStream rng(random_key(seed, fmt::format("rows/{}/{}", name(phase), round)), 0);
        Tensor rows(ValueType::integer, Shape{rows_drawn_});
        for (double& row : rows.elements)
            row = rng.index(static_cast<std::uint32_t>(learning_->data.train.rows()));
        return {rows};
    }

    Objective build(const ObjectiveContext& context, Phase phase) const override {
        const auto chosen = [&](Var rows) {
            return draws_rows(phase) ? gather(rows, context.draws[0]) : rows;
        };
        const Var targets = chosen(context.data[1]);
        const Var outputs = training_graphs::answers(
            context.network, context.operands, chosen(context.data[0]), targets, learning_->loss);
        const LossTerms terms = measure(learning_->loss, outputs, targets);
        Objective result{.fitness = -terms.mean, .env_steps = {}, .per_sample = {}};
        if (has_accuracy(learning_->loss))
            result.accuracy = terms.right / max(terms.count, constant(context.graph, 1.0));
        // Answers that are no numbers have a largest one, too: their fitness is none, either.
        if (fitness_ == DatasetFitness::accuracy) {
            const Var shown = sum_all(clamp(outputs, -1.0, 1.0));
            result.fitness = select(is_finite(shown), *result.accuracy, shown);
        }
        return result;
    }

    std::unique_ptr<Task> whole() const override {
        if (rows_drawn_ == 0) return nullptr;
        auto task = std::make_unique<DatasetTask>(*this);
        task->rows_drawn_ = 0;
        return task;
    }

    const Learning* learning() const override { return learning_.get(); }
    std::optional<Preparation> preparation() const override { return preparation_; }
    std::vector<std::string> notes() const override { return notes_; }
    std::shared_ptr<const LabelledRows> labelled_rows(Phase phase) const override;

  private:
    [[nodiscard]] const Samples& part(Phase phase) const {
        return phase == Phase::train        ? learning_->data.train
               : phase == Phase::validation ? learning_->data.validation
                                            : learning_->data.test;
    }
    [[nodiscard]] bool draws_rows(Phase phase) const {
        return phase == Phase::train && rows_drawn_ > 0;
    }

    std::shared_ptr<const Learning> learning_;  ///< Shared with the whole task.
    std::int64_t rows_drawn_;  ///< Of the train part, with repetition; 0: all rows.
    DatasetFitness fitness_;
    Preparation preparation_;
    std::vector<std::string> notes_;
};

std::shared_ptr<const LabelledRows> DatasetTask::labelled_rows(Phase phase) const {
    const Samples& samples = part(phase);
    if (samples.rows() == 0) return nullptr;
    auto rows = std::make_shared<LabelledRows>();
    rows->inputs = samples.inputs;
    rows->targets = samples.targets.elements;
    const Loss& loss = learning_->loss;
    rows->label_names = preparation_.labels;
    const bool sequences = samples.inputs.shape.rank() == 3;
    if (sequences && samples.targets.shape.rank() == (wants_classes(loss) ? 1 : 2))
        rows->scored_steps = 1;
    if (wants_classes(loss)) {
        rows->meaning = OutputMeaning::class_scores;
        rows->labels = preparation_.classes;
        const std::int64_t ignored = std::get<CrossEntropy>(loss).ignore_index;
        for (const double target : rows->targets)
            rows->counted.push_back(target == static_cast<double>(ignored) ? 0 : 1);
        return rows;
    }
    rows->labels = preparation_.classes;
    if (has_accuracy(loss) && rows->labels.size() == 2) {
        rows->meaning = OutputMeaning::class_score;
        return rows;
    }
    if (preparation_.logits) rows->meaning = OutputMeaning::probability;
    for (const PreparedOutput& output : preparation_.outputs)
        rows->outputs.push_back(output.scaling);
    const std::size_t width = rows->outputs.size();
    for (std::size_t i = 0; i < rows->targets.size(); ++i)
        rows->targets[i] = preparation_.outputs[i % width].answer(rows->targets[i]);
    return rows;
}

/// The labels of all classes.
std::vector<double> classes_of(const SourceRows& rows) {
    if (!rows.class_values.empty()) return rows.class_values;
    std::vector<double> indices(static_cast<std::size_t>(rows.classes));
    std::iota(indices.begin(), indices.end(), 0.0);
    return indices;
}

/// Outputs that are scores of classes: all of them, or of the second of two.
void prepare_scores(Preparation& preparation, const SourceRows& rows, bool single) {
    preparation.classes = classes_of(rows);
    preparation.labels = rows.class_names;
    const std::vector<std::string> names = preparation.class_names();
    const std::vector<std::string>& target = rows.target_names;
    for (std::size_t i = single ? 1 : 0; i < names.size(); ++i)
        preparation.outputs.push_back(
            {.name = target.empty() ? "" : fmt::format("{}={}", target.front(), names[i])});
}

/// How the rows of a source reach the networks of a task. With a loss of numbers two classes are
/// the numbers 0 and 1.
Preparation preparation_of(const SourceRows& rows, const Loss& loss) {
    Preparation preparation;
    const std::vector<std::string>& columns = rows.input_names;
    for (std::int64_t i = 0; i < rows.inputs.shape[-1]; ++i)
        preparation.inputs.push_back(
            {.column = columns.empty() ? "" : columns[static_cast<std::size_t>(i)],
             .factor = rows.scale});
    preparation.missing_values = rows.missing_values;
    preparation.tokenizer = rows.tokenizer;
    if (rows.inputs.shape.rank() == 3) preparation.sequence_rows = rows.inputs.shape[1];
    const std::vector<double> classes = classes_of(rows);
    if (wants_classes(loss) || (classes.size() == 2 && has_accuracy(loss))) {
        prepare_scores(preparation, rows, !wants_classes(loss));
        return preparation;
    }
    preparation.logits = has_accuracy(loss);
    const std::int64_t numbers = classes.empty() ? rows.targets.shape[-1] : 1;
    for (std::int64_t i = 0; i < numbers; ++i) {
        PreparedOutput output;
        if (!rows.target_names.empty())
            output.name = rows.target_names[static_cast<std::size_t>(i)];
        if (classes.size() == 2)
            output.scaling = {.shift = classes[0], .scale = classes[1] - classes[0]};
        preparation.outputs.push_back(std::move(output));
    }
    return preparation;
}

/// What the parts of a split lack of the classes.
std::vector<std::string> coverage_of(const DataSet& data, const std::vector<std::string>& classes) {
    std::vector<ClassRows> parts;
    for (const auto& [part, samples] : {std::pair{Phase::train, &data.train},
                                        {Phase::validation, &data.validation},
                                        {Phase::test, &data.test}}) {
        ClassRows found{name(part), std::vector<std::int64_t>(classes.size(), 0)};
        for (const double target : samples->targets.elements)
            if (target >= 0.0 && target < static_cast<double>(classes.size()))
                ++found.rows[static_cast<std::size_t>(target)];
        parts.push_back(std::move(found));
    }
    return coverage_notes(parts, classes);
}

std::unique_ptr<Task> make_dataset(const nlohmann::json& json, const TaskContext& context) {
    static constexpr std::array<std::string_view, 3> others{"type", "source", "loss"};
    DatasetSettings settings;
    field_json::read_fields(settings, json, "task", others);
    const nlohmann::json* source = json_read::find(json, "source");
    if (source == nullptr)
        json_read::fail("task.source", "is missing", "nothing to learn from", "add it");
    const nlohmann::json* loss_json = json_read::find(json, "loss");
    Loss loss = loss_json == nullptr ? Loss{} : loss_from_json(*loss_json, "task.loss");
    if (settings.fitness == DatasetFitness::accuracy && !has_accuracy(loss))
        json_read::fail("task.fitness", "is \"accuracy\"",
                        fmt::format("answers are right or wrong with losses of classes, not with "
                                    "{}",
                                    name(loss)),
                        "use the loss cross_entropy or bce_with_logits, or leave it out");
    const Split& split = settings.split;
    const std::uint64_t seed = settings.seed;
    SourceContext source_context{context.base_directory, seed};
    auto* entropy = std::get_if<CrossEntropy>(&loss);
    if (entropy != nullptr) source_context.ignored = entropy->ignore_index;
    SourceRows rows = read_source(*source, "task.source", source_context);
    if (entropy != nullptr && rows.ignored) entropy->ignore_index = *rows.ignored;
    if (settings.steps > 1 && rows.inputs.shape.rank() != 2)
        json_read::fail("task.steps", fmt::format("is {}", settings.steps),
                        "the rows are sequences already", "leave it out");
    std::vector<std::string> notes = rows.notes;
    const std::vector<std::string> values = class_names(rows.class_values, rows.class_names);
    Preparation preparation = preparation_of(rows, loss);
    // Throws where rows and loss do not fit.
    DataSet data = make_data_set(std::move(rows), split, loss, seed);
    for (std::size_t i = 0; i < data.fills.size(); ++i) preparation.inputs[i].fill = data.fills[i];
    notes.insert(notes.end(), data.notes.begin(), data.notes.end());
    if (settings.steps > 1) {
        preparation.sequence_rows = settings.steps;
        preparation.shown = true;
        for (Samples* part : {&data.train, &data.validation, &data.test})
            show_for(settings.steps, *part);
    }
    if (std::string text = classes_text(values, preparation.outputs.size()); !text.empty())
        notes.push_back(std::move(text));
    for (std::string& text : coverage_of(data, preparation.class_names()))
        notes.push_back(std::move(text));
    return std::make_unique<DatasetTask>(Learning{std::move(data), loss}, settings,
                                         std::move(preparation), std::move(notes));
}

}  // namespace

/// `{"type": "dataset", "source": {..}, "split": {..}, "loss": {..}, "seed": 1}`: samples of a file
/// or a formula (engine/train/source.hpp), fitness = −loss, or the accuracy, over the rows of a
/// part.
TaskKind dataset_task() {
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<DatasetSettings>(schema["properties"]);
        // Later than runs that do not know it: what leaves it out keeps its bytes.
        nlohmann::ordered_json& keys = schema["properties"];
        for (nlohmann::ordered_json* key :
             {&keys["steps"], &keys["split"]["properties"]["stratify"]}) {
            key->erase("default");
            (*key)["x-optional"] = true;
        }
    };
    return {"dataset", {}, make_dataset, describe};
}

}  // namespace cambrian::evolve
