#include "cambrian/engine/eager/gradient_tape.hpp"

#include <algorithm>
#include <ranges>
#include <string>
#include <unordered_set>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/eager/eager_state.hpp"
#include "cambrian/engine/eager/record_graph.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"

namespace cambrian {
namespace {

using ValueSet = std::unordered_set<const EagerValue*>;

bool has_result_in(const EagerRecord& record, const ValueSet& set) {
    return std::ranges::any_of(
        record.results, [&](const auto& result) { return set.contains(result.lock().get()); });
}

/// What of a tape leads from some values, the sources, to another.
struct Path {
    TapeRecords records;  ///< In order.
    ValueSet leading;     ///< Every value that leads to the target, the target included.
};

/// Throws ShapeError where a function of the host stands on the path.
Path path_between(const TapeRecords& tape, const ValueSet& sources, const EagerValue& target) {
    Path path{{}, {&target}};
    TapeRecords leading;
    for (const auto& record : std::views::reverse(tape)) {
        if (!has_result_in(*record, path.leading)) continue;
        for (const auto& operand : record->operands) path.leading.insert(operand.get());
        leading.push_back(record);
    }
    ValueSet dependent = sources;
    for (const auto& record : std::views::reverse(leading)) {
        const bool depends = std::ranges::any_of(record->operands, [&](const auto& operand) {
            return dependent.contains(operand.get());
        });
        if (!depends) continue;
        if (!record->body)
            throw ShapeError(
                "a gradient leads through a function of the host (which has none) record it as an "
                "operation, or read its result and make a tensor of it, which counts as constant");
        for (const auto& result : record->results) dependent.insert(result.lock().get());
        path.records.push_back(record);
    }
    return path;
}

void check_value(const EagerValue& value) {
    if (value.type == ValueType::real && value.shape.rank() == 0) return;
    throw ShapeError(
        "the gradient of a tensor " + std::string(name(value.type)) + " " + value.shape.text() +
        " was asked for (only a real number has one) reduce it by sum_all or mean_all");
}

}  // namespace

GradientTape::GradientTape(EagerSession& session) : state_(session.state_) {
    state_->begin(records_);
}

GradientTape::~GradientTape() {
    stop();
}

void GradientTape::stop() {
    state_->end(records_);
}

std::vector<EagerTensor> GradientTape::gradient(
    const EagerTensor& value, std::span<const EagerTensor> with_respect_to) const {
    const auto targets = state_->values(std::span(&value, 1));
    const auto sources = state_->values(with_respect_to);
    check_value(*targets.front());
    ValueSet source_set;
    for (const auto& source : sources) source_set.insert(source.get());

    const Path path = path_between(records_, source_set, *targets.front());
    RecordGraph steps;
    for (const auto& record : path.records) steps.append(*record);
    std::vector<Var> variables;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (!path.leading.contains(sources[i].get()))
            throw ShapeError("gradient " + std::to_string(i) +
                             " is of a tensor that does not lead to the value (by what the tape "
                             "has recorded) begin the tape before the value is computed");
        variables.push_back(steps.operand(sources[i]));
    }
    const Var target = steps.operand(targets.front());
    std::vector<ValueInfo> results;
    for (const Var result : cambrian::gradient(target, variables)) {
        steps.graph.output(result);
        results.push_back(result.info());
    }
    EagerRecord record;
    record.body = std::make_shared<const Graph>(std::move(steps.graph));
    record.operands = std::move(steps.operands);
    return state_->append(std::move(record), results);
}

}  // namespace cambrian
