#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::evolve {

/// A buffer that only grows, geometrically, so that steady work allocates nothing.
class GrowingBuffer {
  public:
    explicit GrowingBuffer(ValueType type) : type_(type) {}
    /// Room for that many elements; what it held is lost when it grows.
    Buffer& hold(Backend& backend, std::int64_t elements);
    [[nodiscard]] Buffer* get() const { return buffer_.get(); }
    [[nodiscard]] ValueType type() const { return type_; }

  private:
    ValueType type_;
    std::unique_ptr<Buffer> buffer_;
};

}  // namespace cambrian::evolve
