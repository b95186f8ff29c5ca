#include "cambrian/gpu/vulkan/loader.hpp"

#include <dlfcn.h>

#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::vulkan {

void open_loader(const std::string& library) {
    // Never closed: drivers leave destructors of threads that must stay mapped.
    void* const loader = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loader == nullptr) {
        throw DeviceError("Vulkan cannot be used (" + library +
                          " was not found) install the package libvulkan1 and a driver of your "
                          "GPU, or set engine.backend to cpu");
    }
    const auto find =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(loader, "vkGetInstanceProcAddr"));
    if (find == nullptr) {
        ::dlclose(loader);
        throw DeviceError("Vulkan cannot be used (" + library +
                          " has no vkGetInstanceProcAddr) update the package libvulkan1");
    }
    volkInitializeCustom(find);
    if (volkGetInstanceVersion() < VK_API_VERSION_1_1) {
        throw DeviceError(
            "Vulkan cannot be used (" + library +
            " is older than Vulkan 1.1) update the package libvulkan1 and the driver");
    }
}

std::string result_name(VkResult result) {
    struct Row {
        VkResult result;
        const char* name;
    };
#define CAMBRIAN_ROW(name) \
    Row {                  \
        name, #name        \
    }
    static constexpr Row rows[] = {
        CAMBRIAN_ROW(VK_SUCCESS),
        CAMBRIAN_ROW(VK_NOT_READY),
        CAMBRIAN_ROW(VK_TIMEOUT),
        CAMBRIAN_ROW(VK_INCOMPLETE),
        CAMBRIAN_ROW(VK_ERROR_OUT_OF_HOST_MEMORY),
        CAMBRIAN_ROW(VK_ERROR_OUT_OF_DEVICE_MEMORY),
        CAMBRIAN_ROW(VK_ERROR_INITIALIZATION_FAILED),
        CAMBRIAN_ROW(VK_ERROR_DEVICE_LOST),
        CAMBRIAN_ROW(VK_ERROR_MEMORY_MAP_FAILED),
        CAMBRIAN_ROW(VK_ERROR_LAYER_NOT_PRESENT),
        CAMBRIAN_ROW(VK_ERROR_EXTENSION_NOT_PRESENT),
        CAMBRIAN_ROW(VK_ERROR_FEATURE_NOT_PRESENT),
        CAMBRIAN_ROW(VK_ERROR_INCOMPATIBLE_DRIVER),
        CAMBRIAN_ROW(VK_ERROR_TOO_MANY_OBJECTS),
        CAMBRIAN_ROW(VK_ERROR_UNKNOWN),
        CAMBRIAN_ROW(VK_ERROR_OUT_OF_POOL_MEMORY),
        CAMBRIAN_ROW(VK_ERROR_INVALID_SHADER_NV),
    };
#undef CAMBRIAN_ROW
    for (const Row& row : rows) {
        if (row.result == result) return row.name;
    }
    return "VkResult " + std::to_string(static_cast<int>(result));
}

}  // namespace cambrian::vulkan
