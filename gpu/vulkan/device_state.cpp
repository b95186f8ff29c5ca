#include "cambrian/gpu/vulkan/device_state.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::vulkan {

namespace {

InstanceOptions instance_options(const DeviceOptions& options, std::string& first_message) {
    InstanceOptions result;
    result.validation = options.validation;
    result.on_message = options.on_validation_message;
    if (!result.on_message) {
        result.on_message = [&first_message](std::string_view message) {
            if (first_message.empty()) first_message = message;
        };
    }
    return result;
}

PhysicalDevice find_device(const Instance& instance, const std::string& uuid) {
    std::vector<PhysicalDevice> devices = find_physical_devices(instance);
    const auto found = std::find_if(devices.begin(), devices.end(), [&uuid](const auto& device) {
        return device.info.uuid == uuid;
    });
    if (found == devices.end()) {
        throw DeviceError("there is no Vulkan device " + uuid +
                          " (no driver lists it) run cambrian devices");
    }
    if (!found->info.missing.empty()) {
        throw DeviceError(found->info.name + " cannot be used (" + found->info.missing +
                          ") update its driver or choose another device");
    }
    return std::move(*found);
}

}  // namespace

Device::State::State(const DeviceOptions& options)
    : instance(instance_options(options, validation_message)),
      physical(find_device(instance, options.uuid)) {
    try {
        open(options.queues);
        make_timelines();
        make_layout();
    } catch (...) {
        close();
        throw;
    }
}

Device::State::~State() {
    profile.reset();
    close();
}

void Device::State::open(std::size_t wanted_queues) {
    const std::size_t own_queues = std::min<std::size_t>(physical.queues, max_queues);
    queues.resize(std::min(wanted_queues > 0 ? wanted_queues : own_queues, max_queues));
    std::array<float, max_queues> priorities{};
    priorities.fill(1.0F);
    VkDeviceQueueCreateInfo family{};
    family.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    family.queueFamilyIndex = physical.queue_family;
    family.queueCount = static_cast<std::uint32_t>(std::min(own_queues, queues.size()));
    family.pQueuePriorities = priorities.data();

    const OptionalFeatures& optional = physical.optional;
    VkPhysicalDeviceVulkan12Features v12{};
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.bufferDeviceAddress = VK_TRUE;
    v12.timelineSemaphore = VK_TRUE;
    v12.scalarBlockLayout = VK_TRUE;
    v12.shaderFloat16 = optional.float16 ? VK_TRUE : VK_FALSE;
    v12.vulkanMemoryModel = optional.memory_model ? VK_TRUE : VK_FALSE;
    v12.vulkanMemoryModelDeviceScope = v12.vulkanMemoryModel;
    VkPhysicalDeviceFeatures2 core{};
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    core.pNext = &v12;
    core.features.shaderInt64 = VK_TRUE;

    const char* const cooperative_name = VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME;
    VkPhysicalDeviceCooperativeMatrixFeaturesNV cooperative{};
    cooperative.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
    cooperative.cooperativeMatrix = VK_TRUE;

    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &core;
    if (optional.cooperative_matrix) {
        v12.pNext = &cooperative;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &cooperative_name;
    }
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &family;
    check(vkCreateDevice(physical.handle, &info, nullptr, &device), "vkCreateDevice");
    volkLoadDeviceTable(&functions, device);
    for (std::uint32_t i = 0; i < queues.size(); ++i) {
        functions.vkGetDeviceQueue(device, physical.queue_family, i % family.queueCount,
                                   &queues[i].handle);
    }
}

void Device::State::make_timelines() {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    for (Queue& queue : queues) {
        check(functions.vkCreateSemaphore(device, &info, nullptr, &queue.timeline),
              "vkCreateSemaphore");
    }
}

void Device::State::make_layout() {
    VkPushConstantRange range{};
    range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    range.size = sizeof(Push);
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    check(functions.vkCreatePipelineLayout(device, &info, nullptr, &layout),
          "vkCreatePipelineLayout");
}

void Device::State::close() noexcept {
    if (layout != VK_NULL_HANDLE) functions.vkDestroyPipelineLayout(device, layout, nullptr);
    for (const Queue& queue : queues) {
        if (queue.timeline != VK_NULL_HANDLE)
            functions.vkDestroySemaphore(device, queue.timeline, nullptr);
    }
    if (device != VK_NULL_HANDLE) functions.vkDestroyDevice(device, nullptr);
}

void Device::State::require_alive() const {
    if (lost_in.empty()) return;
    throw DeviceError("the Vulkan device is lost (" + physical.info.name + ": " + lost_in +
                      " said VK_ERROR_DEVICE_LOST) see the kernel log, then start again from the "
                      "checkpoint");
}

void Device::State::check(VkResult result, std::string_view call) {
    if (result == VK_ERROR_DEVICE_LOST && lost_in.empty()) lost_in = call;
    require_alive();
    if (result >= VK_SUCCESS) return;
    const std::string problem = physical.info.name + " failed (" + std::string(call) + ": " +
                                std::string(result_name(result)) + ") ";
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
        throw OutOfMemoryError(problem +
                               "evaluate fewer individuals at once or lower the memory limit");
    throw DeviceError(problem + "update the driver or choose another device");
}

}  // namespace cambrian::vulkan
