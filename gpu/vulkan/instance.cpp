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

/// Throws DeviceError where there is no instance to be had.
VkInstance make_instance(VkInstanceCreateInfo info) {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "cambrian";
    application.applicationVersion = VK_MAKE_API_VERSION(
        0, CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH);
    application.apiVersion = api_version;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    VkInstance instance = VK_NULL_HANDLE;
    const VkResult result = vkCreateInstance(&info, nullptr, &instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        throw DeviceError(
            "Vulkan cannot be used (no driver is installed) install the driver of your GPU, or "
            "mesa-vulkan-drivers, or set engine.backend to cpu");
    }
    if (result != VK_SUCCESS) {
        throw DeviceError("Vulkan cannot be used (vkCreateInstance: " + result_name(result) +
                          ") check the driver with vulkaninfo");
    }
    return instance;
}

/// Opens the loader, and makes an instance that lives as long as the process: NVIDIA's driver
/// cannot be loaded again and again after its last instance has gone. Functions of instances are
/// loaded from this one, once, so that no thread sees them change; those of the core do the same
/// for every instance.
void prepare_process() {
    [[maybe_unused]] static const VkInstance kept = [] {
        open_loader();
        const VkInstance instance = make_instance({});
        volkLoadInstanceOnly(instance);
        return instance;
    }();
}

}  // namespace

Instance::Instance(InstanceOptions options) : options_(std::move(options)) {
    prepare_process();
    if (!options_.validation) {
        instance_ = make_instance({});
        return;
    }
    require_validation_layer();
    const char* const extension_name = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(options_);
    VkInstanceCreateInfo info{};
    info.pNext = &messenger;  // Also for what happens in vkCreateInstance itself.
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension_name;
    instance_ = make_instance(info);
    try {
        create_messenger();
    } catch (...) {
        vkDestroyInstance(instance_, nullptr);
        throw;
    }
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE) {
        extension<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(
            instance_, messenger_, nullptr);
    }
    vkDestroyInstance(instance_, nullptr);
}

void Instance::require_validation_layer() const {
    std::uint32_t count = 0;
    vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    vkEnumerateInstanceLayerProperties(&count, layers.data());
    const bool found = std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
        return std::strcmp(layer.layerName, validation_layer) == 0;
    });
    if (!found) {
        throw DeviceError(std::string("Vulkan cannot be validated (the layer ") + validation_layer +
                          " was not found) install the package vulkan-validationlayers");
    }
}

void Instance::create_messenger() {
    const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(options_);
    const auto create =
        extension<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT");
    const VkResult result = create == nullptr ? VK_ERROR_EXTENSION_NOT_PRESENT
                                              : create(instance_, &info, nullptr, &messenger_);
    if (result != VK_SUCCESS) {
        throw DeviceError("Vulkan cannot be validated (vkCreateDebugUtilsMessengerEXT: " +
                          result_name(result) + ") update the package vulkan-validationlayers");
    }
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    std::uint32_t count = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    if (result == VK_SUCCESS && count > 0)
        result = vkEnumeratePhysicalDevices(instance_, &count, devices.data());
    // A driver whose GPU is not there fails; others have told their devices all the same.
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) count = 0;
    devices.resize(count);
    return devices;
}

}  // namespace cambrian::vulkan
