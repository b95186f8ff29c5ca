#include "cambrian/engine/eager/eager_batch.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/eager/record_graph.hpp"

namespace cambrian {
namespace {

using Records = std::vector<std::shared_ptr<const EagerRecord>>;
using Values = std::vector<std::shared_ptr<EagerValue>>;

/// Records by the number of host functions that stand before them.
class Stages {
  public:
    explicit Stages(const Records& records) {
        for (const auto& record : records) {
            std::size_t stage = 0;
            for (const auto& operand : record->operands)
                stage = std::max(stage, stage_of(*operand));
            if (stage >= stages_.size()) stages_.resize(stage + 1);
            (record->body ? stages_[stage].graphs : stages_[stage].hosts).push_back(record);
            for (const auto& result : record->results)
                if (const auto value = result.lock())
                    stage_of_[value.get()] = stage + (record->body ? 0 : 1);
        }
    }

    struct Stage {
        Records graphs;
        Records hosts;  ///< After the graphs.
    };
    [[nodiscard]] const std::vector<Stage>& list() const { return stages_; }
    /// Of a value that has a buffer: 0.
    [[nodiscard]] std::size_t stage_of(const EagerValue& value) const {
        const auto found = stage_of_.find(&value);
        return found == stage_of_.end() ? 0 : found->second;
    }

  private:
    std::vector<Stage> stages_;
    std::unordered_map<const EagerValue*, std::size_t> stage_of_;
};

/// What the graphs of each stage must store: what was asked for, and what host functions and later
/// stages read. No value twice.
std::vector<Values> stored_values(const Stages& stages,
                                  std::span<const std::shared_ptr<EagerValue>> asked) {
    std::vector<Values> stored(stages.list().size());
    std::unordered_set<const EagerValue*> seen;
    const auto store = [&](const std::shared_ptr<EagerValue>& value) {
        if (!value->buffer && value->record->body && seen.insert(value.get()).second)
            stored[stages.stage_of(*value)].push_back(value);
    };
    std::ranges::for_each(asked, store);
    for (std::size_t i = 0; i < stages.list().size(); ++i) {
        for (const auto& host : stages.list()[i].hosts)
            std::ranges::for_each(host->operands, store);
        for (const auto& record : stages.list()[i].graphs)
            for (const auto& operand : record->operands)
                if (!operand->buffer && stages.stage_of(*operand) < i) store(operand);
    }
    return stored;
}

void set_computed(EagerValue& value, std::shared_ptr<Buffer> buffer) {
    value.buffer = std::move(buffer);
    value.record.reset();
}

void run_graphs(const BatchTools& tools, const Records& records, const Values& stored) {
    if (stored.empty()) return;
    RecordGraph batch;
    for (const auto& record : records) batch.append(*record);
    std::vector<Binding> inputs;
    for (const auto& value : batch.operands) {
        CAMBRIAN_ASSERT(value->buffer != nullptr);
        inputs.push_back({value->buffer.get(), 0});
    }
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<Binding> outputs;
    for (const auto& value : stored) {
        batch.graph.output(batch.vars.at(value.get()));
        buffers.push_back(tools.pool.take(value->type, value->shape.elements()));
        outputs.push_back({buffers.back().get(), 0});
    }
    Program& program = tools.programs.program(batch.graph);
    tools.pool.note_temporaries(program.peak_bytes(1));
    program.run(1, inputs, outputs);
    ++tools.counts.batches;
    for (std::size_t i = 0; i < stored.size(); ++i) set_computed(*stored[i], std::move(buffers[i]));
}

void check_host_results(const EagerRecord& record, std::span<const Tensor> results) {
    if (results.size() != record.results.size())
        throw ShapeError("a function of the host gave " + std::to_string(results.size()) +
                         " results (it was recorded with " + std::to_string(record.results.size()) +
                         ") return one for each");
    for (std::size_t i = 0; i < results.size(); ++i) {
        check_elements(results[i]);
        const auto value = record.results[i].lock();
        if (!value || (value->type == results[i].type && value->shape == results[i].shape))
            continue;
        throw ShapeError("result " + std::to_string(i) + " of a function of the host is " +
                         std::string(name(results[i].type)) + " " + results[i].shape.text() +
                         " (it was recorded as " + std::string(name(value->type)) + " " +
                         value->shape.text() + ") return what was declared");
    }
}

void call_host(const BatchTools& tools, const EagerRecord& record) {
    std::vector<Tensor> operands;
    for (const auto& value : record.operands)
        operands.push_back(download_tensor(tools.backend, *value->buffer, value->shape));
    const std::vector<Tensor> results = record.host(operands);
    ++tools.counts.host_calls;
    check_host_results(record, results);
    // All buffers first: where memory is short, nothing was computed.
    std::vector<std::pair<std::shared_ptr<EagerValue>, std::shared_ptr<Buffer>>> computed;
    for (std::size_t i = 0; i < results.size(); ++i) {
        auto value = record.results[i].lock();
        if (!value) continue;
        auto buffer = tools.pool.take(value->type, value->shape.elements());
        write_tensor(tools.backend, *buffer, results[i]);
        computed.emplace_back(std::move(value), std::move(buffer));
    }
    for (auto& [value, buffer] : computed) set_computed(*value, std::move(buffer));
}

}  // namespace

void check_elements(const Tensor& value) {
    if (static_cast<std::int64_t>(value.elements.size()) != value.shape.elements())
        throw ShapeError("a tensor " + value.shape.text() + " holds " +
                         std::to_string(value.elements.size()) +
                         " elements (its shape has another number) give it as many as it has");
    const auto wrong = std::ranges::find_if_not(
        value.elements, [&](double element) { return is_element(value.type, element); });
    if (wrong != value.elements.end())
        throw ShapeError("a tensor of type " + std::string(name(value.type)) + " holds " +
                         std::to_string(*wrong) +
                         " (no number of that type) make a tensor of another type");
}

void compute_batch(const BatchTools& tools, std::span<const std::shared_ptr<EagerValue>> values) {
    const Records records = pending_records(values);
    const Stages stages(records);
    const std::vector<Values> stored = stored_values(stages, values);
    for (std::size_t i = 0; i < stages.list().size(); ++i) {
        run_graphs(tools, stages.list()[i].graphs, stored[i]);
        for (const auto& host : stages.list()[i].hosts) call_host(tools, *host);
    }
}

}  // namespace cambrian
