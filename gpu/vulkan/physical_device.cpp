#include "cambrian/gpu/vulkan/physical_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace cambrian::vulkan {

namespace {

constexpr std::uint32_t cooperative_lanes = 32;

/// What a device is asked about its limits, as one list. Not movable: the parts point to each
/// other.
struct Properties {
    VkPhysicalDeviceProperties2 core{};
    VkPhysicalDeviceIDProperties id{};
    VkPhysicalDeviceDriverProperties driver{};
    VkPhysicalDeviceSubgroupProperties subgroup{};
    VkPhysicalDeviceFloatControlsProperties float_controls{};
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};

    explicit Properties(bool has_pci) {
        core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
        driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
        subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
        float_controls.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
        pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
        core.pNext = &id;
        id.pNext = &driver;
        driver.pNext = &subgroup;
        subgroup.pNext = &float_controls;
        if (has_pci) float_controls.pNext = &pci;
    }
    Properties(const Properties&) = delete;
    Properties& operator=(const Properties&) = delete;
};

/// What a device is asked about its features, in the same way.
struct Features {
    VkPhysicalDeviceFeatures2 core{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceCooperativeMatrixFeaturesNV cooperative{};

    explicit Features(bool has_cooperative_matrix) {
        core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        core.pNext = &v12;
        cooperative.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
        if (has_cooperative_matrix) v12.pNext = &cooperative;
    }
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;
};

bool has_extension(VkPhysicalDevice device, const char* name) {
    std::uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> extensions(count);
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
    return std::any_of(extensions.begin(), extensions.end(), [name](const auto& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

std::string kind_name(VkPhysicalDeviceType type) {
    if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return "discrete";
    if (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU) return "integrated";
    if (type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU) return "virtual";
    if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) return "software";
    return "other";
}

std::string uuid_text(std::span<const std::uint8_t, VK_UUID_SIZE> bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

std::int64_t device_memory(VkPhysicalDevice device) {
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    std::int64_t bytes = 0;
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            bytes += static_cast<std::int64_t>(memory.memoryHeaps[i].size);
    }
    return bytes;
}

struct ComputeQueue {
    std::uint32_t family = 0;
    std::uint32_t count = 0;
    bool timestamps = false;
};

std::optional<ComputeQueue> find_queue(VkPhysicalDevice device) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    std::optional<ComputeQueue> best;
    for (std::uint32_t i = 0; i < count; ++i) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0)
            continue;
        const bool graphics = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if (!best || !graphics) {
            best = ComputeQueue{i, families[i].queueCount, families[i].timestampValidBits >= 64};
        }
        if (!graphics) break;
    }
    return best;
}

void fill_limits(PhysicalDevice& device, const Properties& properties, bool timestamps) {
    const VkPhysicalDeviceLimits& core = properties.core.properties.limits;
    DeviceLimits& limits = device.limits;
    limits.subgroup_width = properties.subgroup.subgroupSize;
    constexpr VkSubgroupFeatureFlags scans = VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
                                             VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                             VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    limits.subgroup_scans = (properties.subgroup.supportedOperations & scans) == scans;
    limits.shared_bytes = core.maxComputeSharedMemorySize;
    limits.max_group_threads =
        std::min(core.maxComputeWorkGroupInvocations, core.maxComputeWorkGroupSize[0]);
    limits.max_groups = core.maxComputeWorkGroupCount[0];
    limits.memory_bytes = device.info.memory;
    limits.timestamp_nanoseconds = timestamps ? static_cast<double>(core.timestampPeriod) : 0.0;
    limits.software = device.info.software();
    limits.known_driver = properties.driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE ||
                          properties.driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    // The kernel's lanes are those of a subgroup of 32.
    limits.cooperative_matrix =
        device.optional.cooperative_matrix && limits.subgroup_width == cooperative_lanes;
    limits.float_controls.round_to_nearest_even =
        properties.float_controls.shaderRoundingModeRTEFloat32 != VK_FALSE;
    limits.float_controls.keep_special_values =
        properties.float_controls.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
    limits.float_controls.keep_subnormals =
        properties.float_controls.shaderDenormPreserveFloat32 != VK_FALSE;
    limits.device_name = device.info.name;
    limits.driver = device.info.driver;
    limits.uuid = device.info.uuid;
}

std::string missing_features(const Features& features) {
    std::string missing;
    const auto require = [&missing](VkBool32 present, const char* name) {
        if (present != VK_FALSE) return;
        missing += (missing.empty() ? "it lacks " : ", ") + std::string(name);
    };
    require(features.v12.bufferDeviceAddress, "bufferDeviceAddress");
    require(features.v12.timelineSemaphore, "timelineSemaphore");
    require(features.v12.scalarBlockLayout, "scalarBlockLayout");
    require(features.core.features.shaderInt64, "shaderInt64");
    return missing;
}

void fill_features(PhysicalDevice& device, const Features& features) {
    OptionalFeatures& optional = device.optional;
    optional.float16 = features.v12.shaderFloat16 != VK_FALSE;
    // Without it, atomics of the whole device need no feature; with it, they need the scope's.
    optional.memory_model = features.v12.vulkanMemoryModel != VK_FALSE &&
                            features.v12.vulkanMemoryModelDeviceScope != VK_FALSE;
}

/// Whether subgroups multiply matrices of f16, 16 by 16 by 16, and add in f32.
bool multiplies_halves(const Instance& instance, VkPhysicalDevice device) {
    const auto query = instance.extension<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV>(
        "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
    std::uint32_t count = 0;
    if (query == nullptr || query(device, &count, nullptr) != VK_SUCCESS) return false;
    VkCooperativeMatrixPropertiesNV empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV;
    std::vector<VkCooperativeMatrixPropertiesNV> kinds(count, empty);
    if (query(device, &count, kinds.data()) != VK_SUCCESS) return false;
    return std::ranges::any_of(kinds, [](const VkCooperativeMatrixPropertiesNV& kind) {
        constexpr std::uint32_t size = 16;
        return kind.MSize == size && kind.NSize == size && kind.KSize == size &&
               kind.AType == VK_COMPONENT_TYPE_FLOAT16_NV &&
               kind.BType == VK_COMPONENT_TYPE_FLOAT16_NV &&
               kind.CType == VK_COMPONENT_TYPE_FLOAT32_NV &&
               kind.DType == VK_COMPONENT_TYPE_FLOAT32_NV && kind.scope == VK_SCOPE_SUBGROUP_NV;
    });
}

void name_features(PhysicalDevice& device) {
    const auto name = [&device](bool present, const char* text) {
        if (present) device.info.features.emplace_back(text);
    };
    name(device.optional.float16, "float16");
    name(device.optional.memory_model, "memory_model");
    name(device.limits.cooperative_matrix, "cooperative_matrix");
    name(device.limits.float_controls.round_to_nearest_even, "round_to_nearest_even");
    name(device.limits.float_controls.keep_special_values, "keep_special_values");
    name(device.limits.float_controls.keep_subnormals, "keep_subnormals");
    name(device.limits.timestamp_nanoseconds > 0.0, "timestamps");
}

/// What only a device of Vulkan 1.2 can be asked.
void describe_modern(const Instance& instance, PhysicalDevice& device) {
    const bool has_pci = has_extension(device.handle, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    Properties properties(has_pci);
    vkGetPhysicalDeviceProperties2(device.handle, &properties.core);
    const bool has_cooperative_matrix =
        has_extension(device.handle, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    Features features(has_cooperative_matrix);
    vkGetPhysicalDeviceFeatures2(device.handle, &features.core);

    device.info.uuid =
        uuid_text(std::span<const std::uint8_t, VK_UUID_SIZE>(properties.id.deviceUUID));
    device.info.driver =
        fmt::format("{} {}", properties.driver.driverName, properties.driver.driverInfo);
    if (has_pci) {
        device.info.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", properties.pci.pciDomain,
                                      properties.pci.pciBus, properties.pci.pciDevice,
                                      properties.pci.pciFunction);
    }
    device.info.missing = missing_features(features);
    fill_features(device, features);
    device.optional.cooperative_matrix = features.cooperative.cooperativeMatrix != VK_FALSE &&
                                         device.optional.float16 && device.optional.memory_model &&
                                         multiplies_halves(instance, device.handle);
    const std::optional<ComputeQueue> queue = find_queue(device.handle);
    if (queue) device.queue_family = queue->family;
    if (queue) device.queues = queue->count;
    if (!queue && device.info.missing.empty()) device.info.missing = "it has no compute queue";
    fill_limits(device, properties, queue && queue->timestamps);
    if (device.info.missing.empty()) device.info.missing = missing_limits(device.limits);
    name_features(device);
}

PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle) {
    PhysicalDevice device;
    device.handle = handle;
    VkPhysicalDeviceProperties core{};
    vkGetPhysicalDeviceProperties(handle, &core);
    device.info.name = core.deviceName;
    device.info.vendor = fmt::format("{:04x}", core.vendorID);
    device.info.kind = kind_name(core.deviceType);
    device.info.memory = device_memory(handle);
    if (core.apiVersion >= api_version) {
        describe_modern(instance, device);
    } else {
        device.info.missing = fmt::format("it has Vulkan {}.{}, and 1.2 is needed",
                                          VK_API_VERSION_MAJOR(core.apiVersion),
                                          VK_API_VERSION_MINOR(core.apiVersion));
    }
    return device;
}

}  // namespace

// Kernels that would take more shared memory than the 16 KiB of every device choose by what there
// is.
std::string missing_limits(const DeviceLimits& limits) {
    if (limits.max_group_threads >= needed_group_threads) return "";
    return fmt::format("its workgroups have {} threads, and {} are needed",
                       limits.max_group_threads, needed_group_threads);
}

std::vector<PhysicalDevice> find_physical_devices(const Instance& instance) {
    std::vector<PhysicalDevice> devices;
    for (VkPhysicalDevice handle : instance.physical_devices()) {
        devices.push_back(describe(instance, handle));
    }
    std::stable_partition(devices.begin(), devices.end(),
                          [](const PhysicalDevice& device) { return !device.info.software(); });
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].info.index = static_cast<int>(i);
    return devices;
}

}  // namespace cambrian::vulkan
