#pragma once

#include <volk.h>

#include <cstdint>
#include <string>

// Every function of Vulkan comes from volk, at run time: nothing links against libvulkan. Those of
// the loader and of instances are its globals, and each device has a table of its own.
namespace cambrian::vulkan {

/// The functions of one device.
using Functions = VolkDeviceTable;

/// The version that everything here is written for.
inline constexpr std::uint32_t api_version = VK_API_VERSION_1_2;

/// Opens the Vulkan loader, so that instances can be made. Throws DeviceError when the library is
/// not there or is no Vulkan loader; then nothing has changed.
void open_loader(const std::string& library = "libvulkan.so.1");

/// "VK_ERROR_OUT_OF_DEVICE_MEMORY", or the number of one that is not known.
[[nodiscard]] std::string result_name(VkResult result);

}  // namespace cambrian::vulkan
