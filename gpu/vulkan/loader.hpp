#pragma once

#include <memory>
#include <string>

#include "cambrian/gpu/vulkan/functions.hpp"

namespace cambrian::vulkan {

inline constexpr const char* loader_library = "libvulkan.so.1";

/// The Vulkan loader, opened at run time so that the program also starts where there is none.
class Loader {
  public:
    /// Throws DeviceError when the library is not there or is no Vulkan loader.
    explicit Loader(const std::string& library = loader_library);

    /// With the global functions only.
    [[nodiscard]] const Functions& functions() const { return functions_; }

  private:
    struct Close {
        void operator()(void* library) const noexcept;
    };
    std::unique_ptr<void, Close> library_;
    Functions functions_;
};

/// Fills the functions of an instance; those of debug utils stay null where it lacks them. Throws
/// DeviceError when the loader misses one.
void load_instance_functions(Functions& functions, VkInstance instance);
/// Fills the functions of a device, which skip the loader's dispatch.
void load_device_functions(Functions& functions, VkDevice device);

}  // namespace cambrian::vulkan
