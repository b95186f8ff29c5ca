#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "cambrian/engine/backend/backend.hpp"

// What derives from these overrides what it does differently.
namespace cambrian::test {

/// Another program.
class ForwardingProgram : public Program {
  public:
    explicit ForwardingProgram(std::unique_ptr<Program> own) : own_(std::move(own)) {}
    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs) override {
        own_->run(population, inputs, outputs);
    }
    [[nodiscard]] std::int64_t peak_bytes(std::int64_t population) const override {
        return own_->peak_bytes(population);
    }
    [[nodiscard]] std::int64_t max_population() const override { return own_->max_population(); }

  private:
    std::unique_ptr<Program> own_;
};

/// Another backend as a device, whose memory no host sees: what not every backend can do, it cannot
/// either.
class ForwardingBackend : public Backend {
  public:
    explicit ForwardingBackend(std::unique_ptr<Backend> own) : own_(std::move(own)) {}
    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return own_->compile(graph);
    }
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t count) override {
        return own_->allocate(type, count);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const float> values) override {
        own_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const double> values) override {
        own_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const std::int32_t> values) override {
        own_->upload(to, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<float> values) override {
        own_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<double> values) override {
        own_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<std::int32_t> values) override {
        own_->download(from, first, values);
    }
    [[nodiscard]] Memory memory() const override { return own_->memory(); }
    void trim() override { own_->trim(); }
    void forget_errors() override { own_->forget_errors(); }
    [[nodiscard]] ArithmeticFingerprint describe() const override { return own_->describe(); }
    [[nodiscard]] ThreadPool& threads() override { return own_->threads(); }

  protected:
    [[nodiscard]] Backend& own() const { return *own_; }

  private:
    std::unique_ptr<Backend> own_;
};

}  // namespace cambrian::test
