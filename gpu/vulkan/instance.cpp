#include "cambrian/gpu/vulkan/instance.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/version.hpp"

namespace cambrian::vulkan {

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL receive(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                       VkDebugUtilsMessageTypeFlagsEXT,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data,
                                       void* user) {
    const auto& options = *static_cast<const InstanceOptions*>(user);
    try {
        if (options.on_message && data->pMessage != nullptr) options.on_message(data->pMessage);
    } catch (...) {
        // Nothing may be thrown through the driver's frames.
    }
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(InstanceOptions& options) {
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = receive;
    info.pUserData = &options;
    return info;
}

/// Keeps the drivers loaded as long as the process lives: NVIDIA's cannot be loaded again and again
/// after its last instance has gone.
void keep_drivers(const Functions& functions, const VkInstanceCreateInfo& like) {
    [[maybe_unused]] static const VkInstance kept = [&] {
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pApplicationInfo = like.pApplicationInfo;
        VkInstance instance = VK_NULL_HANDLE;
        const bool made = functions.vkCreateInstance(&info, nullptr, &instance) == VK_SUCCESS;
        return made ? instance : VkInstance{};
    }();
}

}  // namespace

Instance::Instance(InstanceOptions options)
    : options_(std::move(options)), loader_(options_.library), functions_(loader_.functions()) {
    if (options_.validation) require_validation_layer();
    create();
    try {
        load_instance_functions(functions_, instance_);
        if (options_.validation) create_messenger();
    } catch (...) {
        if (functions_.vkDestroyInstance != nullptr)
            functions_.vkDestroyInstance(instance_, nullptr);
        throw;
    }
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE)
        functions_.vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
    functions_.vkDestroyInstance(instance_, nullptr);
}

void Instance::require_validation_layer() const {
    std::uint32_t count = 0;
    functions_.vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    functions_.vkEnumerateInstanceLayerProperties(&count, layers.data());
    const bool found = std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
        return std::strcmp(layer.layerName, validation_layer) == 0;
    });
    if (!found) {
        throw DeviceError(std::string("Vulkan cannot be validated (the layer ") + validation_layer +
                          " was not found) install the package vulkan-validationlayers");
    }
}

void Instance::create() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "cambrian";
    application.applicationVersion = VK_MAKE_API_VERSION(
        0, CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH);
    application.apiVersion = api_version;
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(options_);
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;

    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (options_.validation) {
        info.pNext = &messenger;  // Also for what happens in vkCreateInstance itself.
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &validation_layer;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &extension;
    }
    const VkResult result = functions_.vkCreateInstance(&info, nullptr, &instance_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        throw DeviceError(
            "Vulkan cannot be used (no driver is installed) install the driver of your GPU, or "
            "mesa-vulkan-drivers, or set engine.backend to cpu");
    }
    if (result != VK_SUCCESS) {
        throw DeviceError("Vulkan cannot be used (vkCreateInstance: " + result_name(result) +
                          ") check the driver with vulkaninfo");
    }
    keep_drivers(functions_, info);
}

void Instance::create_messenger() {
    const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(options_);
    const VkResult result =
        functions_.vkCreateDebugUtilsMessengerEXT == nullptr
            ? VK_ERROR_EXTENSION_NOT_PRESENT
            : functions_.vkCreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_);
    if (result != VK_SUCCESS) {
        throw DeviceError("Vulkan cannot be validated (vkCreateDebugUtilsMessengerEXT: " +
                          result_name(result) + ") update the package vulkan-validationlayers");
    }
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    std::uint32_t count = 0;
    VkResult result = functions_.vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    if (result == VK_SUCCESS && count > 0)
        result = functions_.vkEnumeratePhysicalDevices(instance_, &count, devices.data());
    // A driver whose GPU is not there fails; others have told their devices all the same.
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) count = 0;
    devices.resize(count);
    return devices;
}

}  // namespace cambrian::vulkan
