#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cambrian/tests/support/forwarding_backend.hpp"

namespace cambrian::distributed {

/// The CPU, under strict math, as a device on which weights of individuals lie, and which fails
/// where a test wants it to. What is asked before a call throws what the device would throw.
class InheritingBackend final : public test::ForwardingBackend {
  public:
    explicit InheritingBackend(int threads);
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t count) override;
    [[nodiscard]] bool inherits() const override { return true; }
    void inherit(std::span<const WeightDraws> children, std::span<const WeightTask> tasks) override;
    using ForwardingBackend::download;
    void download(const Buffer& from, std::int64_t first, std::span<float> values) override;
    void forget_errors() override { untold = nullptr; }

    std::function<void(std::int64_t elements)> before_allocation;
    /// Before children are written, and before weights are copied to where programs read them.
    std::function<void()> before_inheritance;
    /// An error of runs so far: the next call that computes or waits throws it.
    std::exception_ptr untold;

  private:
    void tell();
    /// The vector whose element number `element` is the one that is bound; nothing where none is.
    [[nodiscard]] std::span<float> around(const Binding& bound, std::int64_t element);
    void write(const WeightDraws& draws, const WeightTask& task);
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
