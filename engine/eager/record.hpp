#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/graph.hpp"

// What an eager session remembers: values, and the records of how those that wait are computed.
namespace cambrian {

struct EagerValue;

/// A function of the host: tensors in, tensors out. It may throw; then nothing was computed.
using HostFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// An operation that was asked for: a graph, or a function of the host, of operands.
struct EagerRecord {
    std::shared_ptr<const Graph> body;  ///< An input for each operand; null: `host` computes it.
    HostFunction host;
    std::vector<std::shared_ptr<EagerValue>> operands;
    std::vector<std::weak_ptr<EagerValue>> results;
};

/// Held as long as a tensor of the user's stands for the value.
struct EagerHandle {
    std::shared_ptr<EagerValue> value;
};

/// A value of a session: computed, and then it has a buffer, or recorded.
struct EagerValue {
    ValueType type = ValueType::real;
    Shape shape;
    std::shared_ptr<Buffer> buffer;
    std::shared_ptr<const EagerRecord> record;  ///< Of a value without a buffer.
    std::weak_ptr<EagerHandle> handle;

    EagerValue() = default;
    EagerValue(const EagerValue&) = delete;
    EagerValue& operator=(const EagerValue&) = delete;
    /// Ends a chain of records one by one: a long one would need a deep stack.
    ~EagerValue();
};

/// The records that values without buffers depend on, operands before what reads them.
[[nodiscard]] std::vector<std::shared_ptr<const EagerRecord>> pending_records(
    std::span<const std::shared_ptr<EagerValue>> values);

}  // namespace cambrian
