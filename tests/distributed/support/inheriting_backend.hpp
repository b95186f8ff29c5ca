#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::distributed {

/// The CPU, under strict math, as a device on which weights of individuals lie, and which fails
/// where a test wants it to. What is asked before a call throws what the device would throw.
class InheritingBackend : public Backend {
  public:
    std::function<void(std::int64_t elements)> before_allocation;
    /// Before children are written, and before weights are copied to where programs read them.
    std::function<void()> before_inheritance;
};

[[nodiscard]] std::unique_ptr<InheritingBackend> make_inheriting_backend(int threads);

/// Throws such an error in call number `call`, counted from 1, and in no other.
template <class Error>
[[nodiscard]] std::function<void()> fails_in_call(int call, std::string text) {
    return [left = call, text = std::move(text)]() mutable {
        if (--left == 0) throw Error(text);
    };
}

}  // namespace cambrian::distributed
