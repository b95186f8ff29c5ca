#include "cambrian/engine/reference/reference.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/kernels.hpp"

namespace cambrian {
namespace {

using reference::Elements;

constexpr std::int64_t bytes_per_element = sizeof(double);

class ReferenceBuffer final : public Buffer {
  public:
    ReferenceBuffer(ValueType type, std::int64_t elements, Backend::Memory& memory)
        : type_(type), elements_(static_cast<std::size_t>(elements)), memory_(memory) {
        memory_.used += elements * bytes_per_element;
        ++memory_.buffers;
    }
    ~ReferenceBuffer() override {
        memory_.used -= elements() * bytes_per_element;
        --memory_.buffers;
    }
    ReferenceBuffer(const ReferenceBuffer&) = delete;
    ReferenceBuffer& operator=(const ReferenceBuffer&) = delete;

    [[nodiscard]] ValueType type() const override { return type_; }
    [[nodiscard]] std::int64_t elements() const override {
        return static_cast<std::int64_t>(elements_.size());
    }
    /// The elements [first, first + count).
    [[nodiscard]] std::span<double> range(std::int64_t first, std::int64_t count) {
        CAMBRIAN_ASSERT(first >= 0 && count >= 0 && first <= elements() - count);
        return std::span(elements_).subspan(static_cast<std::size_t>(first),
                                            static_cast<std::size_t>(count));
    }
    [[nodiscard]] std::span<const double> range(std::int64_t first, std::int64_t count) const {
        CAMBRIAN_ASSERT(first >= 0 && count >= 0 && first <= elements() - count);
        return std::span(elements_).subspan(static_cast<std::size_t>(first),
                                            static_cast<std::size_t>(count));
    }

  private:
    ValueType type_;
    Elements elements_;
    Backend::Memory& memory_;
};

class ReferenceProgram final : public Program {
  public:
    ReferenceProgram(Graph graph, Precision precision, Backend::Memory& memory)
        : graph_(std::move(graph)), precision_(precision), memory_(memory) {
        ++memory_.programs;
    }
    ~ReferenceProgram() override { --memory_.programs; }
    ReferenceProgram(const ReferenceProgram&) = delete;
    ReferenceProgram& operator=(const ReferenceProgram&) = delete;

    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs) override {
        CAMBRIAN_ASSERT(population >= 1);
        CAMBRIAN_ASSERT(inputs.size() == graph_.inputs().size() &&
                        outputs.size() == graph_.outputs().size());
        require_apart(ranges(population, inputs, graph_.inputs()),
                      ranges(population, outputs, graph_.outputs()), graph_.updates());
        // Every individual reads its inputs as they were before the run.
        std::vector<std::vector<Elements>> results;
        for (std::int64_t individual = 0; individual < population; ++individual) {
            std::vector<Elements> values;
            for (std::size_t i = 0; i < inputs.size(); ++i) {
                const auto part = bound(inputs[i], graph_.inputs()[i], individual);
                values.emplace_back(part.begin(), part.end());
            }
            std::vector<const Elements*> pointers;
            for (const Elements& value : values) pointers.push_back(&value);
            results.push_back(reference::evaluate(graph_, precision_, pointers));
        }
        for (std::size_t individual = 0; individual < results.size(); ++individual)
            for (std::size_t i = 0; i < outputs.size(); ++i)
                std::ranges::copy(
                    results[individual][i],
                    bound(outputs[i], graph_.outputs()[i], static_cast<std::int64_t>(individual))
                        .begin());
    }

    [[nodiscard]] std::int64_t peak_bytes(std::int64_t) const override {
        std::int64_t elements = 0;
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id)
            elements += graph_.value(ValueId{id}).shape.elements();
        return elements * bytes_per_element;
    }

  private:
    /// The elements of one individual in a binding.
    [[nodiscard]] std::span<double> bound(const Binding& binding, ValueId id,
                                          std::int64_t individual) const {
        const ValueInfo& info = graph_.value(id);
        auto* const buffer = dynamic_cast<ReferenceBuffer*>(binding.buffer);
        CAMBRIAN_ASSERT(buffer != nullptr && buffer->type() == info.type);
        const std::int64_t count = info.shape.elements();
        return buffer->range(binding.first + (info.per_individual ? individual * count : 0), count);
    }

    [[nodiscard]] std::vector<BoundRange> ranges(std::int64_t population,
                                                 std::span<const Binding> bindings,
                                                 std::span<const ValueId> ids) const {
        std::vector<BoundRange> result;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const ValueInfo& info = graph_.value(ids[i]);
            const std::int64_t words = info.shape.elements();
            result.push_back({bindings[i].buffer, bindings[i].first,
                              info.per_individual ? population * words : words});
        }
        return result;
    }

    Graph graph_;
    Precision precision_;
    Backend::Memory& memory_;
};

class ReferenceBackend final : public Backend {
  public:
    explicit ReferenceBackend(Precision precision) : precision_(precision) {}

    [[nodiscard]] ThreadPool& threads() override { return threads_; }

    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        const auto has_kernel = [](Op op) { return reference::kernel(op) != nullptr; };
        return std::make_unique<ReferenceProgram>(lower(graph, has_kernel), precision_, memory_);
    }
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t elements) override {
        CAMBRIAN_ASSERT(elements >= 0);
        return std::make_unique<ReferenceBuffer>(type, elements, memory_);
    }
    void upload(Buffer& buffer, std::int64_t first, std::span<const float> values) override {
        write(buffer, first, values);
    }
    void upload(Buffer& buffer, std::int64_t first, std::span<const double> values) override {
        write(buffer, first, values);
    }
    void upload(Buffer& buffer, std::int64_t first, std::span<const std::int32_t> values) override {
        write(buffer, first, values);
    }
    void download(const Buffer& buffer, std::int64_t first, std::span<float> values) override {
        read(buffer, first, values);
    }
    void download(const Buffer& buffer, std::int64_t first, std::span<double> values) override {
        read(buffer, first, values);
    }
    void download(const Buffer& buffer, std::int64_t first,
                  std::span<std::int32_t> values) override {
        read(buffer, first, values);
    }
    [[nodiscard]] Memory memory() const override { return memory_; }
    [[nodiscard]] ArithmeticFingerprint describe() const override {
        const bool shared = precision_ == Precision::f32;  // Whose bits are those of strict math.
        return {"reference", "", "", "strict", shared ? std::string(arithmetic_version) : "f64"};
    }

  private:
    template <class T>
    void write(Buffer& buffer, std::int64_t first, std::span<const T> values) const {
        auto& target = dynamic_cast<ReferenceBuffer&>(buffer);
        const auto range = target.range(first, static_cast<std::int64_t>(values.size()));
        const bool real = target.type() == ValueType::real;
        std::ranges::transform(values, range.begin(), [&](T value) {
            const auto exact = static_cast<double>(value);
            return real ? reference::rounded(exact, precision_) : exact;
        });
    }
    template <class T>
    void read(const Buffer& buffer, std::int64_t first, std::span<T> values) const {
        const auto& source = dynamic_cast<const ReferenceBuffer&>(buffer);
        const auto range = source.range(first, static_cast<std::int64_t>(values.size()));
        std::ranges::transform(range, values.begin(),
                               [](double value) { return static_cast<T>(value); });
    }

    ThreadPool threads_{1};
    Precision precision_;
    Memory memory_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(Precision precision) {
    return std::make_unique<ReferenceBackend>(precision);
}

}  // namespace cambrian
