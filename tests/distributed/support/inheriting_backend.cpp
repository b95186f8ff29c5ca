#include "cambrian/tests/distributed/support/inheriting_backend.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::distributed {
namespace {

class InheritingCpu final : public InheritingBackend {
  public:
    explicit InheritingCpu(int threads)
        : cpu_(make_cpu_backend({.threads = threads, .math = Math::strict})) {}

    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return cpu_->compile(graph);
    }
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t count) override {
        if (before_allocation) before_allocation(count);
        return cpu_->allocate(type, count);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const float> values) override {
        cpu_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const double> values) override {
        cpu_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const std::int32_t> values) override {
        cpu_->upload(to, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<float> values) override {
        cpu_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<double> values) override {
        cpu_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<std::int32_t> values) override {
        cpu_->download(from, first, values);
    }
    [[nodiscard]] bool inherits() const override { return true; }
    void inherit(std::span<const WeightDraws> children,
                 std::span<const WeightTask> tasks) override {
        if (before_inheritance) before_inheritance();
        for (const WeightTask& task : tasks) write(children[task.child], task);
    }
    void trim() override { cpu_->trim(); }
    [[nodiscard]] Memory memory() const override { return cpu_->memory(); }
    [[nodiscard]] ArithmeticFingerprint describe() const override { return cpu_->describe(); }
    [[nodiscard]] ThreadPool& threads() override { return cpu_->threads(); }

  private:
    /// The vector whose element number `element` is the one that is bound; nothing where none is.
    [[nodiscard]] std::span<float> around(const Binding& bound, std::int64_t element) {
        if (bound.buffer == nullptr) return {};
        CAMBRIAN_EXPECT(bound.first >= element);
        return cpu_->reals_on_host(*bound.buffer)
            .subspan(static_cast<std::size_t>(bound.first - element));
    }
    void write(const WeightDraws& draws, const WeightTask& task) {
        const std::span<const float> first = around(task.first, task.piece.from);
        write_weights(draws, std::span(&task.piece, 1),
                      {first, around(task.second, task.piece.other), first},
                      around(task.to, task.piece.to));
    }

    std::unique_ptr<Backend> cpu_;
};

}  // namespace

std::unique_ptr<InheritingBackend> make_inheriting_backend(int threads) {
    return std::make_unique<InheritingCpu>(threads);
}

}  // namespace cambrian::distributed
