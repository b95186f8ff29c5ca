#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian::launch {

/// A GPU on the PCI bus, whether or not a driver knows it.
struct PciGpu {
    std::string address;    ///< "0000:17:00.0"
    std::string vendor;     ///< "NVIDIA", "AMD" or "Intel"
    std::string vendor_id;  ///< 4 hexadecimal digits
    std::string device_id;  ///< 4 hexadecimal digits
    std::string serial;     ///< What AMD's driver tells apart cards by; empty elsewhere.
};

/// Display and 3D controllers of the makers of GPUs, by address.
/// @param bus one folder for each device, as Linux shows them.
[[nodiscard]] std::vector<PciGpu> find_pci_gpus(
    const std::filesystem::path& bus = "/sys/bus/pci/devices");

/// Those that no Vulkan device of the list stands for.
[[nodiscard]] std::vector<PciGpu> without_driver(const std::vector<PciGpu>& gpus,
                                                 const std::vector<VulkanDeviceInfo>& devices);

/// What the environment lets this process use; nothing means all.
struct Visibility {
    std::optional<std::string> cuda;  ///< CUDA_VISIBLE_DEVICES, for NVIDIA.
    std::optional<std::string> rocr;  ///< ROCR_VISIBLE_DEVICES, for AMD.
};
[[nodiscard]] Visibility visibility_of_environment();

/// The GPUs that ranks may be given, in their order: usable, no software, visible, and no
/// integrated ones beside cards. The
/// variables list positions in the order of PCI addresses, or "GPU-" and the beginning of a uuid
/// (AMD: a serial number); as in CUDA, what follows an entry that names nothing does not count.
[[nodiscard]] std::vector<VulkanDeviceInfo> visible_gpus(
    const std::vector<VulkanDeviceInfo>& devices, const Visibility& visibility,
    const std::vector<PciGpu>& bus);

/// The devices of this host.
struct HostDevices {
    VulkanDeviceList all;
    std::vector<VulkanDeviceInfo> gpus;  ///< Of visible_gpus().
    std::vector<PciGpu> gpus_without_driver;
};
[[nodiscard]] HostDevices find_host_devices();

/// Whether this host may have a GPU: looked up without Vulkan, which takes tens of milliseconds.
[[nodiscard]] bool may_have_gpu();

}  // namespace cambrian::launch
