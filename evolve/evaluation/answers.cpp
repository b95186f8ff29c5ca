#include "cambrian/evolve/evaluation/answers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluation/host_population.hpp"
#include "cambrian/evolve/evaluation/population_runner.hpp"

namespace cambrian::evolve {
namespace {

bool of_classes(const LabelledRows& rows) {
    return rows.meaning == OutputMeaning::class_scores ||
           rows.meaning == OutputMeaning::class_score || rows.meaning == OutputMeaning::bit;
}

bool counts(const LabelledRows& rows, std::size_t answer) {
    return rows.counted.empty() || rows.counted[answer] != 0;
}

/// Numbers of the answers that count, in the units of the data.
Answers number_answers(const LabelledRows& rows, std::span<const float> outputs) {
    const std::size_t width = rows.outputs.size();
    CAMBRIAN_EXPECT(width > 0);
    Answers result;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!counts(rows, i / width)) continue;
        const double output = double{outputs[i]};
        const double value = rows.meaning == OutputMeaning::probability ? logistic(output) : output;
        const Scaling& scaling = rows.outputs[i % width];
        const double number = value * scaling.scale + scaling.shift;
        result.values.push_back(rows.current.empty() ? number : number + rows.current[i]);
    }
    return result;
}

/// Of single outputs that are bits.
Answers bit_answers(std::span<const float> outputs) {
    Answers result;
    for (const float output : outputs) {
        const double second = std::clamp(double{output}, 0.0, 1.0);
        result.chosen.push_back(output > 0.5F ? 1U : 0U);
        result.values.insert(result.values.end(), {1.0 - second, second});
    }
    return result;
}

Answers read_answers(const LabelledRows& rows, std::span<const float> outputs) {
    if (!of_classes(rows)) return number_answers(rows, outputs);
    const std::size_t answers = rows.targets.size();
    const std::size_t width = outputs.size() / answers;
    std::vector<float> counted;
    for (std::size_t answer = 0; answer < answers; ++answer)
        if (counts(rows, answer)) {
            const auto own = outputs.subspan(answer * width, width);
            counted.insert(counted.end(), own.begin(), own.end());
        }
    return rows.meaning == OutputMeaning::bit ? bit_answers(counted)
                                              : class_answers(counted, width, rows.labels.size());
}

/// The rows on a backend, and the graph of what a network answers to them.
class AnswerProgram {
  public:
    AnswerProgram(Backend& backend, const LabelledRows& rows)
        : rows_(rows),
          buffer_(backend.allocate(ValueType::real,
                                   std::max<std::int64_t>(1, rows.inputs.shape.elements()))) {
        backend.upload(*buffer_, 0, std::span<const double>(rows.inputs.elements));
    }

    [[nodiscard]] std::vector<Var> build(Graph& graph, const ForwardModel& network,
                                         const NetworkOperands& operands) const {
        const Var inputs = graph.input("rows", ValueType::real, rows_.inputs.shape);
        if (inputs.rank() == 2) return {stateless_outputs(network, inputs, operands)};
        const Var outputs = network.sequence(inputs, operands);
        const std::int64_t steps = outputs.shape()[1];
        if (rows_.scored_steps == 0) return {outputs};
        return {slice(outputs, 1, steps - rows_.scored_steps, rows_.scored_steps)};
    }
    [[nodiscard]] Binding binding() const { return {buffer_.get(), 0}; }

  private:
    const LabelledRows& rows_;
    std::unique_ptr<Buffer> buffer_;
};

std::vector<Answers> answered(PopulationRunner& runner, const AnswerProgram& program,
                              const LabelledRows& rows,
                              std::span<const Individual* const> networks) {
    const auto build = [&](Graph& graph, const ForwardModel& network,
                           const NetworkOperands& operands) {
        return program.build(graph, network, operands);
    };
    const std::array<Binding, 1> shared{program.binding()};
    const PopulationOutput& output = runner.run(networks, {.build = build, .shared = shared})[0];
    const auto width = static_cast<std::size_t>(output.elements);
    std::vector<Answers> result;
    for (std::size_t i = 0; i < networks.size(); ++i)
        result.push_back(read_answers(rows, std::span(output.reals).subspan(i * width, width)));
    return result;
}

}  // namespace

Truth truth_of(const LabelledRows& rows) {
    Truth truth;
    truth.classes = of_classes(rows);
    truth.labels = rows.labels;
    truth.names = rows.label_names;
    truth.width = truth.classes ? rows.labels.size() : rows.outputs.size();
    const std::size_t in_row = truth.classes ? 1 : truth.width;
    for (std::size_t i = 0; i < rows.targets.size(); ++i)
        if (counts(rows, i / in_row))
            truth.targets.push_back(rows.current.empty() ? rows.targets[i]
                                                         : rows.targets[i] + rows.current[i]);
    return truth;
}

std::vector<Answers> answers_of(Backend& backend, Family family, const LabelledRows& rows,
                                std::span<const Genome* const> genomes) {
    if (genomes.empty()) return {};
    const AnswerProgram program(backend, rows);
    PopulationRunner runner(backend, family);
    const Individuals networks(genomes);
    // No answer depends on how many are asked together.
    return in_halves(
        0, genomes.size(),
        [&](std::size_t first, std::size_t count) {
            return answered(runner, program, rows,
                            std::span(networks.pointers).subspan(first, count));
        },
        [] {});
}

Answers class_answers(std::span<const float> scores, std::size_t width, std::size_t classes) {
    CAMBRIAN_EXPECT(width == classes || (width == 1 && classes == 2));
    Answers result;
    for (std::size_t first = 0; first < scores.size(); first += width) {
        if (width < classes) {
            const double score = double{scores[first]};
            result.chosen.push_back(score > 0.0 ? 1U : 0U);
            result.values.insert(result.values.end(), {logistic(-score), logistic(score)});
            continue;
        }
        const auto own = scores.subspan(first, width);
        const auto largest = std::ranges::max_element(own);
        result.chosen.push_back(static_cast<std::uint32_t>(largest - own.begin()));
        double sum = 0.0;
        for (const float score : own) sum += std::exp(double{score} - double{*largest});
        for (const float score : own)
            result.values.push_back(std::exp(double{score} - double{*largest}) / sum);
    }
    return result;
}

}  // namespace cambrian::evolve
