#include "cambrian/engine/cpu/cpu_backend.hpp"

#include <fmt/core.h>
#include <algorithm>
#include <fstream>
#include <string>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/cpu/cpu_program.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {

namespace cpu {
namespace {

/// Refuses a processor that lacks what the compiler was allowed to use.
void require_instructions() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    std::string missing;
    [[maybe_unused]] const auto require = [&](bool present, const char* name) {
        if (!present) missing += (missing.empty() ? "" : ", ") + std::string(name);
    };
#ifdef __SSE4_2__
    require(__builtin_cpu_supports("sse4.2") != 0, "SSE4.2");
#endif
#ifdef __AVX2__
    require(__builtin_cpu_supports("avx2") != 0, "AVX2");
#endif
#ifdef __FMA__
    require(__builtin_cpu_supports("fma") != 0, "FMA");
#endif
#ifdef __BMI__
    require(__builtin_cpu_supports("bmi") != 0, "BMI");
#endif
#ifdef __BMI2__
    require(__builtin_cpu_supports("bmi2") != 0, "BMI2");
#endif
#ifdef __AVX512F__
    require(__builtin_cpu_supports("avx512f") != 0, "AVX-512");
#endif
    if (!missing.empty())
        throw DeviceError(fmt::format(
            "this processor cannot run the CPU backend (it lacks {}, which this program was built "
            "with) build with -DCAMBRIAN_ARCHITECTURE=x86-64, or use a processor made after 2015",
            missing));
#endif
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown processor";
}

/// The elements of a buffer as a type, checked.
template <class Element>
Element* elements_of(const CpuBuffer& buffer, std::int64_t first, std::size_t count) {
    CAMBRIAN_ASSERT(first >= 0 && static_cast<std::int64_t>(count) <= buffer.elements() - first);
    return reinterpret_cast<Element*>(buffer.data()) + first;
}

template <class Element>
std::span<Element> all_elements(Buffer& target) {
    const auto& buffer = dynamic_cast<const CpuBuffer&>(target);
    const auto count = static_cast<std::size_t>(buffer.elements());
    return {elements_of<Element>(buffer, 0, count), count};
}

template <class Value>
void write(Buffer& target, std::int64_t first, std::span<const Value> values) {
    const FloatGuard rules;
    const auto& buffer = dynamic_cast<const CpuBuffer&>(target);
    if (buffer.type() == ValueType::real) {
        std::ranges::transform(values, elements_of<float>(buffer, first, values.size()),
                               [](Value x) { return static_cast<float>(x); });
    } else {
        std::ranges::transform(values, elements_of<std::int32_t>(buffer, first, values.size()),
                               [](Value x) { return static_cast<std::int32_t>(x); });
    }
}

template <class Value>
void read(const Buffer& source, std::int64_t first, std::span<Value> values) {
    const FloatGuard rules;
    const auto& buffer = dynamic_cast<const CpuBuffer&>(source);
    if (buffer.type() == ValueType::real) {
        const float* elements = elements_of<float>(buffer, first, values.size());
        std::transform(elements, elements + values.size(), values.begin(),
                       [](float x) { return static_cast<Value>(x); });
    } else {
        const std::int32_t* elements = elements_of<std::int32_t>(buffer, first, values.size());
        std::transform(elements, elements + values.size(), values.begin(),
                       [](std::int32_t x) { return static_cast<Value>(x); });
    }
}

// Below so many elements a chain costs more to make than it saves.
constexpr FusionRules fusion_rules{
    .reductions = true, .max_operands = 12, .longest_row = 16384, .min_elements = 1024};

class CpuBackend : public Backend {
  public:
    explicit CpuBackend(const CpuOptions& options)
        : math_(options.math), dump_directory_(options.dump_directory), resources_(options) {}

    std::unique_ptr<Program> compile(const Graph& graph) override {
        return retry_once([&] { return compile_once(graph); }, [this] { trim(); });
    }
    std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t elements) override {
        return retry_once(
            [&] { return std::make_unique<CpuBuffer>(resources_.account, type, elements); },
            [this] { trim(); });
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

    [[nodiscard]] std::span<float> reals_on_host(Buffer& buffer) override {
        CAMBRIAN_EXPECT(buffer.type() == ValueType::real);
        return all_elements<float>(buffer);
    }
    [[nodiscard]] std::span<std::int32_t> integers_on_host(Buffer& buffer) override {
        CAMBRIAN_EXPECT(buffer.type() == ValueType::integer);
        return all_elements<std::int32_t>(buffer);
    }
    [[nodiscard]] std::span<float> reals_to_write(Buffer& buffer, std::int64_t first,
                                                  std::int64_t count) override {
        return reals_on_host(buffer).subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(count));
    }
    [[nodiscard]] std::span<std::int32_t> integers_to_write(Buffer& buffer, std::int64_t first,
                                                            std::int64_t count) override {
        return integers_on_host(buffer).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(count));
    }

    [[nodiscard]] ThreadPool& threads() override { return resources_.pool; }
    [[nodiscard]] Memory memory() const override {
        const MemoryAccount& account = resources_.account;
        return {.used = account.used,
                .limit = account.limit,
                .temporaries = resources_.scratch.bytes(),
                .pooled = account.pool.pooled(),
                .buffers = account.buffers,
                .programs = account.programs,
                .allocations = account.pool.allocations()};
    }
    void trim() override { resources_.trim(); }
    [[nodiscard]] std::vector<KernelTime> take_profile() override {
        return resources_.profile ? resources_.profile->take() : std::vector<KernelTime>();
    }

    [[nodiscard]] ArithmeticFingerprint describe() const override {
        ArithmeticFingerprint fingerprint{.kind = "cpu",
                                          .device = "",
                                          .library = "",
                                          .math = math_ == Math::fast ? "fast" : "strict",
                                          .build = std::string(arithmetic_version)};
        if (math_ == Math::fast) {
            fingerprint.device = processor_name();
            fingerprint.library = Gemm::name;
        }
        return fingerprint;
    }

  private:
    std::unique_ptr<Program> compile_once(const Graph& graph) {
        OptimizeOptions options;
        options.has_kernel = [this](Op op) { return has_kernel(op, math_); };
        options.evaluate = evaluate_node;
        options.groups = fusion_rules;
        // One individual at least has to fit.
        options.max_bytes_per_individual = resources_.account.limit;
        const Graph optimized = optimize(graph, options);
        auto program = std::make_unique<CpuProgram>(optimized, math_, resources_);
        write_program_dump(
            dump_directory_, programs_++, optimized,
            std::to_string(program->peak_bytes(1)) + " bytes of temporaries for one individual");
        return program;
    }

    Math math_;
    std::string dump_directory_;
    std::int64_t programs_ = 0;  ///< Compiled.
    Resources resources_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
    CAMBRIAN_ASSERT(options.threads >= 1 && options.memory_limit >= 0);
    cpu::require_instructions();
    return std::make_unique<cpu::CpuBackend>(options);
}

}  // namespace cambrian
