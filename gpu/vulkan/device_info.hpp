#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cambrian {

/// One Vulkan device of this host.
struct VulkanDeviceInfo {
    int index = 0;            ///< Position in the list, from 0, software devices last.
    std::string name;         ///< "NVIDIA H200"
    std::string vendor;       ///< PCI number of the maker, 4 hexadecimal digits: "10de".
    std::string uuid;         ///< 32 hexadecimal digits in groups of 8-4-4-4-12.
    std::string pci;          ///< "0000:17:00.0", or empty where the driver does not tell.
    std::string kind;         ///< "discrete", "integrated", "virtual", "software" or "other".
    std::string driver;       ///< Name and version.
    std::int64_t memory = 0;  ///< Bytes of device memory.
    std::vector<std::string> features;  ///< Of those Cambrian can use: "float16", "timestamps" ...
    std::string missing;                ///< Why Cambrian cannot use it, or empty.
    [[nodiscard]] bool software() const { return kind == "software"; }
};

}  // namespace cambrian
