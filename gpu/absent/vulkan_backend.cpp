#include "cambrian/gpu/vulkan_backend.hpp"

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

// What a build without Vulkan has instead of the backend.
namespace cambrian {

namespace {

constexpr const char* problem =
    "there is no Vulkan backend (this build was configured with -DCAMBRIAN_VULKAN=OFF) build it "
    "with -DCAMBRIAN_VULKAN=ON, or set engine.backend to cpu";

}  // namespace

VulkanDeviceList list_vulkan_devices() {
    return {{}, problem};
}

std::unique_ptr<Backend> make_vulkan_backend(const VulkanOptions&) {
    throw DeviceError(problem);
}

VulkanStatistics vulkan_statistics(const Backend&) {
    CAMBRIAN_ASSERT(false);
    return {};
}

}  // namespace cambrian
