#include <exception>

#include "cambrian/gpu/vulkan/instance.hpp"
#include "cambrian/gpu/vulkan/physical_device.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

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

}  // namespace cambrian
