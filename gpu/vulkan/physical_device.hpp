#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/device_info.hpp"
#include "cambrian/gpu/vulkan/instance.hpp"

namespace cambrian::vulkan {

/// Optional features that a device is opened with where it has them.
struct OptionalFeatures {
    bool float16 = false;
    bool memory_model = false;
    bool cooperative_matrix = false;  ///< VK_NV_cooperative_matrix with products of f16.
};

/// A device as it presents itself, before it is opened.
struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    VulkanDeviceInfo info;
    DeviceLimits limits;
    OptionalFeatures optional;
    std::uint32_t queue_family = 0;  ///< Compute, without graphics where there is one.
    std::uint32_t queues = 0;        ///< Of that family.
};

/// Why kernels cannot run on a device with such limits, or an empty text.
[[nodiscard]] std::string missing_limits(const DeviceLimits& limits);

/// All devices, software devices last, with their indices. Those that Cambrian cannot use say why
/// in info.missing.
[[nodiscard]] std::vector<PhysicalDevice> find_physical_devices(const Instance& instance);

}  // namespace cambrian::vulkan
