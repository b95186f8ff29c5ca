#pragma once

#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian::test {

/// The device that tests run on: the software device, or the one that CAMBRIAN_TEST_DEVICE names by
/// index, uuid or a part of its name. Throws DeviceError when there is none.
[[nodiscard]] VulkanDeviceInfo test_vulkan_device();

/// Options for a backend on that device. The validation layer is on unless
/// CAMBRIAN_TEST_VALIDATION is 0, and each of its messages fails the test. Pipelines are kept under
/// CAMBRIAN_TEST_CACHE, or in the system's folder for temporary files. CAMBRIAN_TEST_TURNS limits
/// the loops of an invocation (VulkanOptions::max_turns), CAMBRIAN_TEST_ROW_TEAM sets how many
/// lanes walk a row of interpreted networks (VulkanOptions::row_team), CAMBRIAN_TEST_POISON=1
/// poisons memory.
[[nodiscard]] VulkanOptions test_vulkan_options(Math math = Math::fast);

/// The same for a bare device.
[[nodiscard]] vulkan::DeviceOptions test_device_options();

}  // namespace cambrian::test
