#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/eager/eager_operations.hpp"
#include "cambrian/engine/eager/gradient_tape.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// The eager face on a GPU: what is recorded there has the bits of the CPU in strict math.
namespace cambrian {
namespace {

/// Weights of two layers after some steps down the loss of eight rows, which a tape differentiates.
std::vector<Tensor> descended(Backend& backend) {
    EagerSession session(backend);
    const auto numbers = [](Shape shape, double first) {
        Tensor tensor(ValueType::real, shape);
        for (std::size_t i = 0; i < tensor.elements.size(); ++i)
            tensor.elements[i] = first + 0.125 * static_cast<double>(i % 11);
        return tensor;
    };
    const EagerTensor x = session.tensor(numbers({8, 3}, -0.5));
    const EagerTensor y = session.tensor(numbers({8, 2}, -0.25));
    std::array parameters{session.tensor(numbers({3, 5}, -0.625)),
                          session.tensor(numbers({5, 2}, -0.375))};
    for (int step = 0; step < 5; ++step) {
        GradientTape tape(session);
        const EagerTensor hidden = tanh(matmul(x, parameters[0]));
        const EagerTensor loss = mean_all(square(matmul(hidden, parameters[1]) - y));
        const auto gradients = tape.gradient(loss, parameters);
        for (std::size_t i = 0; i < parameters.size(); ++i)
            parameters[i] = parameters[i] - 0.25 * gradients[i];
        session.run();
    }
    EXPECT_EQ(session.statistics().program_misses, 1);
    return {parameters[0].read(), parameters[1].read()};
}

TEST(VulkanEager, DescendsToTheBitsOfTheCpu) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const std::vector<Tensor> expected = descended(*cpu);
    const std::vector<Tensor> found = descended(*vulkan);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(found[i].elements, expected[i].elements);
}

}  // namespace
}  // namespace cambrian
