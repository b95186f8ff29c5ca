#pragma once

#include "cambrian/gpu/vulkan/functions.hpp"

namespace cambrian::vulkan {

/// What a device is asked about its limits, as one chain. Not movable: the parts point to each
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
    VkPhysicalDeviceVulkan11Features v11{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceCooperativeMatrixFeaturesNV cooperative{};

    explicit Features(bool has_cooperative_matrix) {
        core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        core.pNext = &v11;
        v11.pNext = &v12;
        cooperative.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
        if (has_cooperative_matrix) v12.pNext = &cooperative;
    }
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;
};

}  // namespace cambrian::vulkan
