#include "cambrian/gpu/vulkan_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/codegen/rows/row_source.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/inheritance.hpp"
#include "cambrian/gpu/program.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/instance.hpp"
#include "cambrian/gpu/vulkan/memory.hpp"
#include "cambrian/gpu/vulkan/physical_device.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"
#include "cambrian/gpu/vulkan/profile.hpp"

namespace cambrian {

namespace gpu {
namespace {

/// Follows the driver in a fingerprint: changes when bits change that fast math alone has.
constexpr std::string_view fast_kernels = ", kernels 7";

/// Without a limit of the user: what the device has, less what the driver keeps for itself.
std::int64_t memory_limit(const VulkanOptions& options, const vulkan::DeviceLimits& limits) {
    return options.memory_limit > 0 ? options.memory_limit
                                    : limits.memory_bytes - limits.memory_bytes / 16;
}

void require_math(Math math, const vulkan::DeviceLimits& limits) {
    const std::string_view fault = math == Math::strict ? limits.strict_fault() : "";
    if (!fault.empty())
        throw DeviceError(fmt::format(
            "{} has no strict math ({}) set engine.math to fast, or engine.device to another",
            limits.device_name, fault));
}

class VulkanBackend : public Backend {
  public:
    explicit VulkanBackend(const VulkanOptions& options)
        : device_({.uuid = options.uuid,
                   .queues = options.queues,
                   .validation = options.validation,
                   .profile = options.profile,
                   .on_validation_message = options.on_validation_message}),
          heap_(device_, memory_limit(options, device_.limits())),
          pipelines_(device_, options.cache_directory),
          compiler_(options.cache_directory, options.dump_directory),
          transfer_(device_, heap_, pipelines_,
                    {.threads = options.threads, .poison = options.poison}),
          state_(transfer_),
          resources_{.device = device_,
                     .heap = heap_,
                     .pipelines = pipelines_,
                     .compiler = compiler_,
                     .transfer = transfer_,
                     .math = options.math,
                     .fuse = options.fuse,
                     .dump_directory = options.dump_directory,
                     .longest_dispatch = options.longest_dispatch,
                     .max_turns = options.max_turns,
                     .matmul_tile = options.matmul_tile,
                     .row_team = options.row_team},
          inheritance_(resources_) {
        require_math(options.math, device_.limits());
    }

    [[nodiscard]] ThreadPool& threads() override { return transfer_.threads(); }
    std::unique_ptr<Program> compile(const Graph& graph) override {
        device_.require_alive();
        return retried([&] { return std::make_unique<GpuProgram>(graph, resources_, state_); });
    }
    std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t elements) override {
        device_.require_alive();
        return retried([&] { return std::make_unique<DeviceBuffer>(transfer_, type, elements); });
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

    [[nodiscard]] std::span<float> reals_to_write(Buffer& buffer, std::int64_t first,
                                                  std::int64_t count) override {
        return to_write<float>(buffer, first, count);
    }
    [[nodiscard]] std::span<std::int32_t> integers_to_write(Buffer& buffer, std::int64_t first,
                                                            std::int64_t count) override {
        return to_write<std::int32_t>(buffer, first, count);
    }

    [[nodiscard]] bool inherits() const override { return true; }
    void inherit(std::span<const WeightDraws> children,
                 std::span<const WeightTask> tasks) override {
        device_.require_alive();
        retried([&] { inheritance_.run(children, tasks); });
    }

    [[nodiscard]] Memory memory() const override {
        // Temporaries of other queues make room where a run has none.
        return {.used = heap_.used() - state_.idle_bytes(),
                .limit = heap_.limit(),
                .temporaries = state_.scratch().bytes(),
                .pooled = heap_.pooled(),
                .buffers = transfer_.live().buffers,
                .programs = transfer_.live().programs,
                .allocations = heap_.driver_allocations()};
    }
    void forget_errors() override { state_.errors.forget(); }
    void trim() override {
        device_.require_alive();
        trim_all();
    }

    [[nodiscard]] ArithmeticFingerprint describe() const override {
        const bool fast = resources_.math == Math::fast;
        return {.kind = "vulkan",
                .device = fast ? device_.limits().device_name : "",
                .library = fast ? device_.limits().driver + std::string(fast_kernels) : "",
                .math = fast ? "fast" : "strict",
                .build = std::string(arithmetic_version)};
    }

    [[nodiscard]] std::int64_t lockstep() const override { return row_group_width; }
    [[nodiscard]] bool asynchronous() const override { return true; }
    [[nodiscard]] std::size_t queues() const override { return device_.queues(); }
    void use_queue(std::size_t queue, std::size_t of) override { transfer_.use_queue(queue, of); }

    [[nodiscard]] VulkanStatistics statistics() const {
        return {.submits = device_.submits(),
                .waits = device_.waits(),
                .dispatches = state_.dispatches,
                .recordings = state_.recordings,
                .allocations = heap_.driver_allocations(),
                .pipelines = pipelines_.made(),
                .compilations = compiler_.compilations()};
    }
    [[nodiscard]] std::vector<KernelTime> take_profile() override {
        return device_.profile() == nullptr ? std::vector<KernelTime>() : device_.profile()->take();
    }

  private:
    void trim_all() {
        inheritance_.release();
        state_.trim();
    }

    template <class Action>
    std::invoke_result_t<Action> retried(const Action& action) {
        return retry_once(action, [this] { trim_all(); });
    }

    template <class Value>
    void write(Buffer& target, std::int64_t first, std::span<const Value> values) {
        device_.require_alive();
        auto& buffer = dynamic_cast<DeviceBuffer&>(target);
        const auto count = static_cast<std::int64_t>(values.size());
        buffer.require_inside(first, count);
        buffer.written(first, count);
        retried([&] { transfer_.upload(buffer.memory(), first, buffer.type(), values); });
    }

    template <class Word>
    std::span<Word> to_write(Buffer& target, std::int64_t first, std::int64_t count) {
        static_assert(sizeof(Word) == word_bytes);
        device_.require_alive();
        auto& buffer = dynamic_cast<DeviceBuffer&>(target);
        constexpr bool real = std::is_same_v<Word, float>;
        CAMBRIAN_EXPECT((buffer.type() == ValueType::real) == real);
        buffer.require_inside(first, count);
        buffer.written(first, count);
        try {
            // Not once more: a retry gives away what was lent before and is not written yet.
            if (std::byte* words = transfer_.lend(buffer.memory(), first, count))
                return {reinterpret_cast<Word*>(words), static_cast<std::size_t>(count)};
        } catch (const OutOfMemoryError&) {
            // An upload does as well, and may.
        }
        return {};
    }

    template <class Value>
    void read(const Buffer& source, std::int64_t first, std::span<Value> values) {
        device_.require_alive();
        const auto& buffer = dynamic_cast<const DeviceBuffer&>(source);
        const auto count = static_cast<std::int64_t>(values.size());
        buffer.require_inside(first, count);
        retried([&] { read_words(buffer, first, values); });
        state_.errors.check();
    }

    template <class Value>
    void read_words(const DeviceBuffer& buffer, std::int64_t first, std::span<Value> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        const auto mirrors = buffer.mirrors(first, count);
        for (const DeviceBuffer::Mirror& mirror : mirrors) {
            device_.wait(mirror.ticket);
            const std::int64_t from = std::max(first, mirror.first);
            const std::int64_t to = std::min(first + count, mirror.first + mirror.count);
            from_words(buffer.type(),
                       mirror.host + (from - mirror.first) * static_cast<std::int64_t>(word_bytes),
                       values.subspan(static_cast<std::size_t>(from - first),
                                      static_cast<std::size_t>(to - from)));
        }
        if (mirrors.empty()) {
            transfer_.download(buffer.memory(), first, buffer.type(), values);
        }
    }

    vulkan::Device device_;
    vulkan::Heap heap_;
    vulkan::PipelineLibrary pipelines_;
    ShaderCompiler compiler_;
    Transfer transfer_;
    RunState state_;
    Resources resources_;
    Inheritance inheritance_;
};

}  // namespace
}  // namespace gpu

VulkanDeviceList list_vulkan_devices() {
    VulkanDeviceList list;
    try {
        const vulkan::Instance instance({});
        for (vulkan::PhysicalDevice& device : vulkan::find_physical_devices(instance)) {
            list.devices.push_back(std::move(device.info));
        }
        if (list.devices.empty()) {
            list.problem =
                "Vulkan has no device (the installed drivers find none) install the driver of "
                "your GPU, or set engine.backend to cpu";
        }
    } catch (const std::exception& error) {
        list.problem = error.what();
    }
    return list;
}

std::unique_ptr<Backend> make_vulkan_backend(const VulkanOptions& options) {
    CAMBRIAN_ASSERT(options.memory_limit >= 0 && options.threads >= 1);
    CAMBRIAN_ASSERT(options.queues <= vulkan::max_queues);
    CAMBRIAN_ASSERT(options.row_team >= -1 && options.row_team <= 4 && options.row_team != 3);
    return std::make_unique<gpu::VulkanBackend>(options);
}

VulkanStatistics vulkan_statistics(const Backend& backend) {
    return dynamic_cast<const gpu::VulkanBackend&>(backend).statistics();
}

}  // namespace cambrian
