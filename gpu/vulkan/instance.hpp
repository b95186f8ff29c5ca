#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/gpu/vulkan/functions.hpp"
#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

/// The version that everything here is written for.
inline constexpr std::uint32_t api_version = VK_API_VERSION_1_2;

struct InstanceOptions {
    bool validation = false;  ///< The Khronos layer, with a messenger.
    /// Every warning and error of the layer; called inside calls of Vulkan.
    std::function<void(std::string_view)> on_message;
    std::string library = loader_library;
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
    /// With the functions of the instance.
    [[nodiscard]] const Functions& functions() const { return functions_; }
    /// In the order of the loader. Empty when a driver is installed that finds no device.
    [[nodiscard]] std::vector<VkPhysicalDevice> physical_devices() const;

  private:
    void create();
    void create_messenger();
    void require_validation_layer() const;

    InstanceOptions options_;
    Loader loader_;
    Functions functions_;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace cambrian::vulkan
