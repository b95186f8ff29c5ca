#include "cambrian/engine/eager/eager_state.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/eager/eager_batch.hpp"

namespace cambrian {
namespace {

/// Whether a batch runs, for as long as it does.
class Running {
  public:
    explicit Running(bool& running) : running_(running) {
        if (running_)
            throw ShapeError(
                "a function of the host read a tensor that waits (the batch that calls the "
                "function is running) pass the tensor to record_host as an operand");
        running_ = true;
    }
    ~Running() { running_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    bool& running_;
};

}  // namespace

EagerState::EagerState(Backend& backend, const EagerOptions& options)
    : backend_(backend),
      options_(options),
      pool_(std::make_shared<BufferPool>(backend, options.max_pooled_bytes)),
      programs_(backend, options.max_programs) {
    if (options.max_pending < 1 || options.max_programs < 1 || options.max_pooled_bytes < 0)
        throw ConfigError(
            "the options of an eager session are out of range (max_pending and max_programs are at "
            "least 1, max_pooled_bytes at least 0) leave them at their defaults");
}

EagerTensor EagerState::tensor(const Tensor& value) {
    check_elements(value);
    auto computed = std::make_shared<EagerValue>();
    computed->type = value.type;
    computed->shape = value.shape;
    computed->buffer = pool_->take(value.type, value.shape.elements());
    write_tensor(backend_, *computed->buffer, value);
    auto handle = std::make_shared<EagerHandle>(computed);
    computed->handle = handle;
    return {weak_from_this(), std::move(handle)};
}

std::vector<EagerTensor> EagerState::record(std::span<const EagerTensor> operands,
                                            const EagerBuild& build) {
    EagerRecord record;
    record.operands = values(operands);
    Graph body;
    std::vector<Var> inputs;
    for (const auto& operand : record.operands)
        inputs.push_back(body.input("operand", operand->type, operand->shape));
    std::vector<ValueInfo> results;
    for (const Var result : build(inputs)) {
        CAMBRIAN_EXPECT(result.graph == &body);
        body.output(result);
        results.push_back(result.info());
    }
    record.body = std::make_shared<const Graph>(std::move(body));
    return append(std::move(record), results);
}

std::vector<EagerTensor> EagerState::append(EagerRecord record,
                                            std::span<const ValueInfo> results) {
    std::vector<EagerTensor> tensors;
    std::vector<std::shared_ptr<EagerValue>> values;
    for (const ValueInfo& info : results) {
        values.push_back(std::make_shared<EagerValue>());
        values.back()->type = info.type;
        values.back()->shape = info.shape;
        auto handle = std::make_shared<EagerHandle>(values.back());
        values.back()->handle = handle;
        tensors.push_back({weak_from_this(), std::move(handle)});
        record.results.push_back(values.back());
    }
    const auto shared = std::make_shared<const EagerRecord>(std::move(record));
    for (const auto& value : values) value->record = shared;
    for (TapeRecords* tape : tapes_) tape->push_back(shared);
    recorded_.insert(recorded_.end(), values.begin(), values.end());
    ++counts_.recorded;
    if (!running_ && recorded_.size() > options_.max_pending) run();
    return tensors;
}

std::vector<std::shared_ptr<EagerValue>> EagerState::values(
    std::span<const EagerTensor> tensors) const {
    std::vector<std::shared_ptr<EagerValue>> values;
    for (const EagerTensor& tensor : tensors) {
        if (&tensor.state() != this)
            throw ShapeError(
                "an operand belongs to another session (sessions share no memory) read it, and "
                "make "
                "a tensor of this session of it");
        values.push_back(tensor.value());
    }
    return values;
}

std::vector<std::shared_ptr<EagerValue>> EagerState::wanted() const {
    std::vector<std::shared_ptr<EagerValue>> values;
    for (const auto& recorded : recorded_)
        if (auto value = recorded.lock(); value && !value->buffer && !value->handle.expired())
            values.push_back(std::move(value));
    return values;
}

void EagerState::run() {
    const Running running(running_);
    const auto values = wanted();
    compute_batch({backend_, *pool_, programs_, counts_}, values);
    // What a function of the host has recorded meanwhile waits for the next batch.
    std::erase_if(recorded_, [](const auto& recorded) {
        const auto value = recorded.lock();
        return !value || value->buffer || value->handle.expired();
    });
}

Tensor EagerState::read(const EagerValue& value) {
    if (!value.buffer) run();
    return download_tensor(backend_, *value.buffer, value.shape);
}

EagerStatistics EagerState::statistics() const {
    EagerStatistics statistics = counts_;
    statistics.pending = static_cast<std::int64_t>(wanted().size());
    pool_->count(statistics);
    programs_.count(statistics);
    return statistics;
}

void EagerState::trim() {
    programs_.clear();
    pool_->clear();
    backend_.trim();
}

}  // namespace cambrian
