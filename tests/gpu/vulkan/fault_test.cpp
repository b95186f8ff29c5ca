#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/engine/train/training_support.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/fault_support.hpp"

namespace cambrian::test {
namespace {

/// What tests/faulty_loader makes of one call while this lives. The tests are skipped where that
/// library does not stand before the real one.
class Fault {
  public:
    Fault(const char* call, int at, VkResult result, int count = 1) {
        ::setenv("CAMBRIAN_FAULT_COUNT", std::to_string(count).c_str(), 1);
        ::setenv("CAMBRIAN_FAULT_CALL", call, 1);
        ::setenv("CAMBRIAN_FAULT_AT", std::to_string(at).c_str(), 1);
        ::setenv("CAMBRIAN_FAULT_RESULT", std::to_string(result).c_str(), 1);
    }
    ~Fault() { ::unsetenv("CAMBRIAN_FAULT_CALL"); }
    Fault(const Fault&) = delete;
    Fault& operator=(const Fault&) = delete;
};

/// Calls that have failed since this was asked last.
int faults_fired() {
    void* const loader = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto fired = reinterpret_cast<int (*)()>(::dlsym(loader, "cambrian_faults_fired"));
    const int count = fired();
    ::dlclose(loader);
    return count;
}

/// One whole use of a backend: buffers, a program whose kernel is generated, a run, a download.
std::vector<float> use(Backend& backend, std::int64_t population) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5}, true);
    const Var w = graph.input("w", ValueType::real, {5, 3});
    graph.output(tanh(matmul(reshape(x, {1, 5}), w)) * 2.0 + 1.0);
    const auto program = backend.compile(graph);
    const auto inputs = std::pair(backend.allocate(ValueType::real, 5 * population),
                                  backend.allocate(ValueType::real, 15));
    backend.upload(*inputs.first, 0, std::span<const float>(numbers(5 * population)));
    for (std::int64_t i = 0; i < 15; ++i)
        backend.upload(*inputs.second, i, std::span<const float>(numbers(1, 0.1F)));
    const auto output = backend.allocate(ValueType::real, 3 * population);
    program->run(population, std::vector<Binding>{{inputs.first.get()}, {inputs.second.get()}},
                 std::vector<Binding>{{output.get()}});
    std::vector<float> values(static_cast<std::size_t>(3 * population));
    backend.download(*output, 0, std::span<float>(values));
    return values;
}

class FaultTest : public testing::Test {
  protected:
    void SetUp() override {
        if (std::getenv("CAMBRIAN_FAULTY_LOADER") == nullptr)
            GTEST_SKIP() << "the faulty loader stands only before the tests of its own";
        options_ = test_vulkan_options(Math::strict);
        options_.cache_directory.clear();
        expected_ = use(*make_vulkan_backend(options_), population);
    }

    static constexpr std::int64_t population = 40;
    static constexpr const char* calls[] = {"vkAllocateMemory",
                                            "vkCreateBuffer",
                                            "vkAllocateCommandBuffers",
                                            "vkCreateComputePipelines",
                                            "vkCreateShaderModule",
                                            "vkCreateCommandPool",
                                            "vkBeginCommandBuffer",
                                            "vkEndCommandBuffer",
                                            "vkQueueSubmit",
                                            "vkMapMemory",
                                            "vkBindBufferMemory",
                                            "vkResetCommandPool"};
    VulkanOptions options_;
    std::vector<float> expected_;
};

/// A training step and a question.
std::vector<float> train(Backend& backend) {
    Training training(backend, 3);
    training.step();
    training.infer();
    return training.answer();
}

/// Two lots that are lent before the first is written, or uploaded where nothing is lent.
std::vector<float> write_where_lent(Backend& backend) {
    constexpr std::int64_t count = 5'000'000;
    const auto a = backend.allocate(ValueType::real, count);
    const auto b = backend.allocate(ValueType::real, count);
    const std::array lent{backend.reals_to_write(*a, 0, count),
                          backend.reals_to_write(*b, 0, count)};
    std::vector<float> values;
    for (std::size_t i = 0; i < 2; ++i) {
        Buffer& buffer = i == 0 ? *a : *b;
        std::vector<float> own(lent.at(i).empty() ? count : 0);
        const std::span<float> room = lent.at(i).empty() ? std::span(own) : lent.at(i);
        std::iota(room.begin(), room.end(), static_cast<float>(i));
        if (!own.empty()) backend.upload(buffer, 0, std::span<const float>(own));
    }
    for (const Buffer* buffer : {a.get(), b.get()}) {
        std::vector<float> found(count);
        backend.download(*buffer, 0, std::span(found));
        values.insert(values.end(), {found.front(), found[count / 2], found.back()});
    }
    return values;
}

TEST_F(FaultTest, NoCallThatFindsNoMemoryHurts) {
    std::optional<Fault> fault;
    const auto expect = [&](const char* call, const auto& one_use) {
        const Faults faults{.arm =
                                [&](int at, int count) {
                                    static_cast<void>(faults_fired());
                                    fault.emplace(call, at, VK_ERROR_OUT_OF_DEVICE_MEMORY, count);
                                },
                            .disarm = [&] { return fault.reset(), faults_fired(); }};
        const auto make = [&] { return make_vulkan_backend(options_); };
        EXPECT_GT(expect_no_fault_hurts(make, faults, one_use, call), 0) << call;
    };
    for (const char* call : calls)
        expect(call, [](Backend& backend) { return use(backend, population); });
    expect("vkAllocateMemory", write_where_lent);
    // A training has many calls: of one kind, or at night of three.
    for (const char* call : {"vkQueueSubmit", "vkAllocateMemory", "vkCreateBuffer"}) {
        expect(call, train);
        if (!all_cases()) break;
    }
}

TEST_F(FaultTest, ALostDeviceIsADeviceErrorOfEveryLaterCall) {
    for (const char* call : {"vkQueueSubmit", "vkWaitSemaphores", "vkGetSemaphoreCounterValue"})
        for (int at = 1; at <= 4; ++at) {
            std::optional<Fault> fault;
            const auto backend = make_vulkan_backend(options_);
            const auto kept = backend->allocate(ValueType::real, 100);
            const auto result = backend->allocate(ValueType::real, 100);
            Graph graph;
            graph.output(tanh(graph.input("x", ValueType::real, {100})) + 1.0);
            const auto program = backend->compile(graph);
            fault.emplace(call, at, VK_ERROR_DEVICE_LOST);
            bool lost = false;
            for (int run = 0; run < 6 && !lost; ++run) {
                try {
                    EXPECT_EQ(use(*backend, population), expected_) << call << " " << at;
                } catch (const DeviceError& error) {
                    lost = true;
                    EXPECT_NE(std::string(error.what()).find("lost"), std::string::npos)
                        << error.what();
                }
            }
            if (std::string(call) == "vkWaitSemaphores" && !lost) continue;
            EXPECT_TRUE(lost) << call << " " << at;
            std::vector<float> values(100);
            EXPECT_THROW((void)backend->compile(graph), DeviceError);
            EXPECT_THROW((void)backend->allocate(ValueType::real, 1), DeviceError);
            EXPECT_THROW(backend->upload(*kept, 0, std::span<const float>(values)), DeviceError);
            EXPECT_THROW(backend->download(*kept, 0, std::span<float>(values)), DeviceError);
            EXPECT_THROW(program->run(1, std::vector<Binding>{{kept.get()}},
                                      std::vector<Binding>{{result.get()}}),
                         DeviceError);
        }
}

}  // namespace
}  // namespace cambrian::test
