#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/evolve/tasks/settings.hpp"
#include "cambrian/evolve/tasks/standard.hpp"

namespace cambrian::evolve {
namespace {

class DatasetTask final : public Task {
  public:
    explicit DatasetTask(Learning learning) : learning_(std::move(learning)) {}

    std::string_view type() const override { return "dataset"; }
    TaskSignature signature() const override {
        const Shape& inputs = learning_.data.train.inputs.shape;
        return {.observations = inputs[-1],
                .outputs = learning_.data.outputs,
                .time = inputs.rank() == 3,
                .validates = learning_.data.validation.rows() > 0,
                .tests = learning_.data.test.rows() > 0};
    }

    std::vector<Tensor> data(Phase phase) const override {
        const Samples& samples = phase == Phase::train        ? learning_.data.train
                                 : phase == Phase::validation ? learning_.data.validation
                                                              : learning_.data.test;
        return {samples.inputs, samples.targets};
    }

    Objective build(const ObjectiveContext& context, Phase) const override {
        const Var outputs = training_graphs::answers(
            context.network, context.operands, context.data[0], context.data[1], learning_.loss);
        const LossTerms terms = measure(learning_.loss, outputs, context.data[1]);
        Objective result{.fitness = -terms.mean, .env_steps = {}, .per_sample = {}};
        if (has_accuracy(learning_.loss)) result.accuracy = terms.right / terms.count;
        return result;
    }

    const Learning* learning() const override { return &learning_; }

  private:
    Learning learning_;
};

}  // namespace

std::unique_ptr<Task> make_dataset_task(const nlohmann::json& json, const TaskContext& context) {
    static constexpr std::array<std::string_view, 6> keys{"type", "source", "split",
                                                          "loss", "seed",   "validation"};
    const Settings settings(json, "task", keys);
    const nlohmann::json* source = settings.find("source");
    if (source == nullptr) settings.fail("source", "is missing (nothing to learn from) add it");
    if (const nlohmann::json* validation = settings.find("validation")) {
        static constexpr std::array<std::string_view, 1> validation_keys{"every"};
        const Settings inner(*validation, settings.path("validation"), validation_keys);
        // How often is the coordinator's business; here it is only checked.
        (void)inner.integer("every", 1, 1, 1'000'000'000);
    }
    const nlohmann::json* loss_json = settings.find("loss");
    const nlohmann::json* split_json = settings.find("split");
    const Loss loss =
        loss_json == nullptr ? Loss{} : loss_from_json(*loss_json, settings.path("loss"));
    const Split split =
        split_json == nullptr ? Split{} : split_from_json(*split_json, settings.path("split"));
    const auto seed = static_cast<std::uint64_t>(settings.integer("seed", 1, 0, INT64_MAX));
    SourceContext source_context{context.base_directory, seed};
    if (const auto* entropy = std::get_if<CrossEntropy>(&loss))
        source_context.ignored = entropy->ignore_index;
    SourceRows rows = read_source(*source, settings.path("source"), source_context);
    return std::make_unique<DatasetTask>(
        Learning{make_data_set(std::move(rows), split, loss, seed), loss});
}

}  // namespace cambrian::evolve
