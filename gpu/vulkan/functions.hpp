#pragma once

#include <string>

// The functions of Vulkan that are used, loaded at run time: nothing links against libvulkan.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#define CAMBRIAN_VULKAN_GLOBAL_FUNCTIONS(X)   \
    X(vkCreateInstance)                       \
    X(vkEnumerateInstanceExtensionProperties) \
    X(vkEnumerateInstanceLayerProperties)     \
    X(vkEnumerateInstanceVersion)

#define CAMBRIAN_VULKAN_INSTANCE_FUNCTIONS(X) \
    X(vkCreateDevice)                         \
    X(vkDestroyInstance)                      \
    X(vkEnumerateDeviceExtensionProperties)   \
    X(vkEnumeratePhysicalDevices)             \
    X(vkGetDeviceProcAddr)                    \
    X(vkGetPhysicalDeviceFeatures2)           \
    X(vkGetPhysicalDeviceMemoryProperties)    \
    X(vkGetPhysicalDeviceProperties)          \
    X(vkGetPhysicalDeviceProperties2)         \
    X(vkGetPhysicalDeviceQueueFamilyProperties)

/// Null where there is no VK_EXT_debug_utils, or no driver with VK_NV_cooperative_matrix.
#define CAMBRIAN_VULKAN_OPTIONAL_FUNCTIONS(X) \
    X(vkCreateDebugUtilsMessengerEXT)         \
    X(vkDestroyDebugUtilsMessengerEXT)        \
    X(vkGetPhysicalDeviceCooperativeMatrixPropertiesNV)

#define CAMBRIAN_VULKAN_DEVICE_FUNCTIONS(X) \
    X(vkAllocateCommandBuffers)             \
    X(vkAllocateMemory)                     \
    X(vkBeginCommandBuffer)                 \
    X(vkBindBufferMemory)                   \
    X(vkCmdBindPipeline)                    \
    X(vkCmdCopyBuffer)                      \
    X(vkCmdDispatch)                        \
    X(vkCmdFillBuffer)                      \
    X(vkCmdPipelineBarrier)                 \
    X(vkCmdPushConstants)                   \
    X(vkCmdResetQueryPool)                  \
    X(vkCmdWriteTimestamp)                  \
    X(vkCreateBuffer)                       \
    X(vkCreateCommandPool)                  \
    X(vkCreateComputePipelines)             \
    X(vkCreatePipelineCache)                \
    X(vkCreatePipelineLayout)               \
    X(vkCreateQueryPool)                    \
    X(vkCreateSemaphore)                    \
    X(vkCreateShaderModule)                 \
    X(vkDestroyBuffer)                      \
    X(vkDestroyCommandPool)                 \
    X(vkDestroyDevice)                      \
    X(vkDestroyPipeline)                    \
    X(vkDestroyPipelineCache)               \
    X(vkDestroyPipelineLayout)              \
    X(vkDestroyQueryPool)                   \
    X(vkDestroySemaphore)                   \
    X(vkDestroyShaderModule)                \
    X(vkDeviceWaitIdle)                     \
    X(vkEndCommandBuffer)                   \
    X(vkFreeMemory)                         \
    X(vkGetBufferDeviceAddress)             \
    X(vkGetBufferMemoryRequirements)        \
    X(vkGetDeviceQueue)                     \
    X(vkGetPipelineCacheData)               \
    X(vkGetQueryPoolResults)                \
    X(vkGetSemaphoreCounterValue)           \
    X(vkMapMemory)                          \
    X(vkMergePipelineCaches)                \
    X(vkQueueSubmit)                        \
    X(vkResetCommandPool)                   \
    X(vkWaitSemaphores)

namespace cambrian::vulkan {

/// Null until the loader, the instance or the device has filled its part.
struct Functions {
    PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
#define CAMBRIAN_DECLARE(name) PFN_##name name = nullptr;
    CAMBRIAN_VULKAN_GLOBAL_FUNCTIONS(CAMBRIAN_DECLARE)
    CAMBRIAN_VULKAN_INSTANCE_FUNCTIONS(CAMBRIAN_DECLARE)
    CAMBRIAN_VULKAN_OPTIONAL_FUNCTIONS(CAMBRIAN_DECLARE)
    CAMBRIAN_VULKAN_DEVICE_FUNCTIONS(CAMBRIAN_DECLARE)
#undef CAMBRIAN_DECLARE
};

/// "VK_ERROR_OUT_OF_DEVICE_MEMORY", or the number of one that is not known.
[[nodiscard]] std::string result_name(VkResult result);

}  // namespace cambrian::vulkan
