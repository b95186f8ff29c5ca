#include "cambrian/tests/distributed/support/late_backend.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::distributed {
namespace {

/// What was asked for and not done yet.
class Queue {
  public:
    explicit Queue(std::size_t refused_run) : refused_run_(refused_run) {}
    void add(std::function<void()> action) { actions_.push_back(std::move(action)); }
    void add_run(std::function<void()> action) {
        if (++all_runs_ == refused_run_) throw OutOfMemoryError("there is no memory for this run");
        add(std::move(action));
        ++runs_;
    }
    void flush() {
        max_waiting_ = std::max(max_waiting_, std::exchange(runs_, 0U));
        for (const auto& action : std::exchange(actions_, {})) action();
    }
    [[nodiscard]] std::size_t max_waiting() const { return max_waiting_; }

  private:
    std::vector<std::function<void()>> actions_;
    std::size_t refused_run_;
    std::size_t all_runs_ = 0;
    std::size_t runs_ = 0;
    std::size_t max_waiting_ = 0;
};

class LateBuffer final : public Buffer {
  public:
    LateBuffer(Queue& queue, std::unique_ptr<Buffer> own) : queue_(queue), own_(std::move(own)) {}
    ~LateBuffer() override { queue_.flush(); }
    LateBuffer(const LateBuffer&) = delete;
    LateBuffer& operator=(const LateBuffer&) = delete;
    [[nodiscard]] ValueType type() const override { return own_->type(); }
    [[nodiscard]] std::int64_t elements() const override { return own_->elements(); }
    [[nodiscard]] Buffer& own() const { return *own_; }

  private:
    Queue& queue_;
    std::unique_ptr<Buffer> own_;
};

class LateProgram final : public test::ForwardingProgram {
  public:
    LateProgram(Queue& queue, std::unique_ptr<Program> own)
        : ForwardingProgram(std::move(own)), queue_(queue) {}
    ~LateProgram() override { queue_.flush(); }
    LateProgram(const LateProgram&) = delete;
    LateProgram& operator=(const LateProgram&) = delete;
    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs) override {
        const auto of_own = [](std::span<const Binding> bindings) {
            std::vector<Binding> own(bindings.begin(), bindings.end());
            for (Binding& binding : own)
                binding.buffer = &dynamic_cast<LateBuffer&>(*binding.buffer).own();
            return own;
        };
        queue_.add_run([this, population, in = of_own(inputs), out = of_own(outputs)] {
            ForwardingProgram::run(population, in, out);
        });
    }

  private:
    Queue& queue_;
};

class LateCpu final : public LateBackend {
  public:
    LateCpu(int threads, std::size_t refused_run)
        : LateBackend(make_cpu_backend({.threads = threads, .math = Math::strict})),
          queue_(refused_run) {}

    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return std::make_unique<LateProgram>(queue_, LateBackend::compile(graph));
    }
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t count) override {
        return std::make_unique<LateBuffer>(queue_, LateBackend::allocate(type, count));
    }
    void upload(Buffer& to, std::int64_t first, std::span<const float> values) override {
        write(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const double> values) override {
        write(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const std::int32_t> values) override {
        write(to, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<float> values) override {
        read(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<double> values) override {
        read(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<std::int32_t> values) override {
        read(from, first, values);
    }
    void trim() override {
        queue_.flush();
        LateBackend::trim();
    }
    [[nodiscard]] std::int64_t lockstep() const override { return 32; }
    [[nodiscard]] bool asynchronous() const override { return true; }
    [[nodiscard]] std::size_t max_waiting() const override { return queue_.max_waiting(); }

  private:
    template <class Value>
    void write(Buffer& to, std::int64_t first, std::span<const Value> values) {
        queue_.add([this, buffer = &dynamic_cast<LateBuffer&>(to).own(), first,
                    copy = std::vector<Value>(values.begin(), values.end())] {
            own().upload(*buffer, first, std::span<const Value>(copy));
        });
    }
    template <class Value>
    void read(const Buffer& from, std::int64_t first, std::span<Value> values) {
        queue_.flush();
        own().download(dynamic_cast<const LateBuffer&>(from).own(), first, values);
    }

    Queue queue_;
};

}  // namespace

std::unique_ptr<LateBackend> make_late_backend(int threads, std::size_t refused_run) {
    return std::make_unique<LateCpu>(threads, refused_run);
}

}  // namespace cambrian::distributed
