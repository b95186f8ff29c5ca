#include "cambrian/engine/eager/eager_session.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/eager/eager_state.hpp"

namespace cambrian {

EagerSession::EagerSession(Backend& backend, const EagerOptions& options)
    : state_(std::make_shared<EagerState>(backend, options)) {}

EagerTensor EagerSession::tensor(const Tensor& value) {
    return state_->tensor(value);
}

std::vector<EagerTensor> EagerSession::record(std::span<const EagerTensor> operands,
                                              const EagerBuild& build) {
    return state_->record(operands, build);
}

std::vector<EagerTensor> EagerSession::record_host(std::span<const EagerTensor> operands,
                                                   std::span<const ValueInfo> results,
                                                   HostFunction function) {
    CAMBRIAN_EXPECT(function != nullptr);
    EagerRecord record;
    record.host = std::move(function);
    record.operands = state_->values(operands);
    return state_->append(std::move(record), results);
}

void EagerSession::run() {
    state_->run();
}

EagerStatistics EagerSession::statistics() const {
    return state_->statistics();
}

void EagerSession::trim() {
    state_->trim();
}

const Shape& EagerTensor::shape() const {
    CAMBRIAN_EXPECT(handle_ != nullptr);
    return value()->shape;
}

ValueType EagerTensor::type() const {
    CAMBRIAN_EXPECT(handle_ != nullptr);
    return value()->type;
}

bool EagerTensor::computed() const {
    CAMBRIAN_EXPECT(handle_ != nullptr);
    return value()->buffer != nullptr;
}

EagerState& EagerTensor::state() const {
    const auto state = state_.lock();
    if (!state)
        throw ShapeError(
            "a tensor has no session (it was never assigned, or its session has ended) keep the "
            "session for as long as its tensors are used");
    return *state;
}

Tensor EagerTensor::read() const {
    return state().read(*value());
}

double EagerTensor::number(std::source_location where) const {
    const Tensor tensor = read();
    if (tensor.elements.size() == 1) return tensor.elements.front();
    throw ShapeError("a number was read from a tensor " + tensor.shape.text() + " at " +
                     where.file_name() + ":" + std::to_string(where.line()) +
                     " (it has another count of elements than one) use read()");
}

std::vector<EagerTensor> record(std::span<const EagerTensor> operands, const EagerBuild& build) {
    CAMBRIAN_EXPECT(!operands.empty());
    return operands.front().state().record(operands, build);
}

}  // namespace cambrian
