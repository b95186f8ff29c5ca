#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

struct InstanceOptions {
    bool validation = false;  ///< The Khronos layer, with a messenger.
    /// Every warning and error of the layer; called inside calls of Vulkan.
    std::function<void(std::string_view)> on_message;
};

/// A VkInstance; any number of them may live in one process, one after another or side by side.
class Instance {
  public:
    /// Throws DeviceError without a loader, without a driver, or without the layer it asks for.
    explicit Instance(InstanceOptions options);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    [[nodiscard]] VkInstance handle() const { return instance_; }
    /// A function of an extension, by its name; null where this instance or its drivers lack it.
    /// (volk's globals would hold those of another instance.)
    template <class Function>
    [[nodiscard]] Function extension(const char* name) const {
        return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance_, name));
    }
    /// In the order of the loader. Empty when a driver is installed that finds no device.
    [[nodiscard]] std::vector<VkPhysicalDevice> physical_devices() const;

  private:
    void create_messenger();
    void require_validation_layer() const;

    InstanceOptions options_;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace cambrian::vulkan
