#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

class BitsTask final : public Task, public LabelledTask {
  public:
    BitsTask(std::string type, SampleParts parts, double bonus)
        : type_(std::move(type)), parts_(std::move(parts)), bonus_(bonus) {
        const Samples& train = parts_.train;
        if (!sequences())
            learning_ = {.data = {.train = train,
                                  .validation = parts_.validation,
                                  .test = parts_.test,
                                  .outputs = train.targets.shape[-1]},
                         .loss = MeanSquaredError{}};
    }

    std::string_view type() const override { return type_; }
    TaskSignature signature() const override {
        return {.observations = parts_.train.inputs.shape[-1],
                .outputs = parts_.train.targets.shape[-1],
                .time = sequences(),
                .steps = sequences() ? parts_.train.inputs.shape[1] : 0,
                .validates = parts_.validation.rows() > 0,
                .tests = parts_.test.rows() > 0};
    }
    const Samples* held(Phase phase) const override { return &parts_.of(phase); }
    /// Where all answers are right, none of them costs more than 0.5^2.
    std::optional<SolvedTest> solved() const override {
        return SolvedTest{.candidate = 0.75 * highest(), .phase = Phase::champion, .passes = 1.0};
    }
    Objective build(const ObjectiveContext& context, Phase phase) const override;
    const Learning* learning() const override { return learning_ ? &*learning_ : nullptr; }
    std::shared_ptr<const LabelledRows> labelled_rows(Phase phase) const override;

  private:
    [[nodiscard]] bool sequences() const { return parts_.train.inputs.shape.rank() == 3; }
    /// Fitness of perfect answers.
    [[nodiscard]] double highest(Phase phase = Phase::train) const {
        return sequences() ? 1.0 : static_cast<double>(parts_.of(phase).rows());
    }
    /// What the network gives where answers are scored, shaped as they are.
    [[nodiscard]] Var scored(const ObjectiveContext& context) const;

    std::string type_;
    SampleParts parts_;
    double bonus_;
    std::optional<Learning> learning_;  ///< Gradients score every step of a sequence: rows only.
};

Var BitsTask::scored(const ObjectiveContext& context) const {
    if (!sequences()) return context.network.apply(context.data[0], context.operands);
    const Var outputs = context.network.sequence(context.data[0], context.operands);
    const std::int64_t steps = context.data[1].shape()[1];
    return slice(outputs, 1, outputs.shape()[1] - steps, steps);
}

Objective BitsTask::build(const ObjectiveContext& context, Phase phase) const {
    const Var targets = context.data[1];
    const Var outputs = scored(context);
    const std::int64_t elements = targets.shape().elements();
    const std::int64_t answers = elements / targets.shape()[-1];

    const Var errors = sum_all(square(targets - clamp(outputs, 0.0, 1.0)));
    const Var right = reduce_all(equal(less(0.5, outputs), less(0.5, targets)), -1);
    const Var count = sum_all(cast(right, ValueType::real));
    // A quotient, for the share of all of them is exactly 1.
    const Var all = constant(context.graph, static_cast<double>(answers));
    const Var accuracy = count / all;
    // What is no number is not above .5, which may be right: it makes the fitness none, either.
    if (phase == Phase::champion)
        return {.fitness = select(is_finite(errors), accuracy, errors),
                .env_steps = {},
                .per_sample = {},
                .accuracy = accuracy};
    Var fitness = highest(phase) - errors * (highest(phase) / static_cast<double>(elements));
    if (bonus_ > 0.0) fitness = fitness + cast(equal(count, all), ValueType::real) * bonus_;
    return {.fitness = fitness, .env_steps = {}, .per_sample = {}, .accuracy = accuracy};
}

/// One bit is a class of two, several are numbers.
std::shared_ptr<const LabelledRows> BitsTask::labelled_rows(Phase phase) const {
    const Samples& samples = parts_.of(phase);
    if (samples.rows() == 0) return nullptr;
    auto rows = std::make_shared<LabelledRows>();
    rows->inputs = samples.inputs;
    rows->targets = samples.targets.elements;
    if (sequences()) rows->scored_steps = samples.targets.shape[1];
    const auto width = static_cast<std::size_t>(samples.targets.shape[-1]);
    if (width == 1) {
        rows->meaning = OutputMeaning::bit;
        rows->labels = {0.0, 1.0};
    } else {
        rows->outputs.resize(width);
    }
    return rows;
}

}  // namespace

const Samples& SampleParts::of(Phase phase) const {
    if (phase == Phase::test) return test;
    return phase == Phase::train || validation.rows() == 0 ? train : validation;
}

std::unique_ptr<Task> make_bits_task(std::string type, SampleParts parts, double bonus) {
    CAMBRIAN_ASSERT(parts.train.rows() > 0);
    return std::make_unique<BitsTask>(std::move(type), std::move(parts), bonus);
}

}  // namespace cambrian::evolve
