#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

std::string line_of(const VulkanDeviceInfo& device) {
    return fmt::format("{} {} ({}uuid {})", device.index, device.name,
                       device.pci.empty() ? "" : "pci " + device.pci + ", ", device.uuid);
}

std::string lines_of(const std::vector<VulkanDeviceInfo>& devices) {
    std::string text;
    for (const VulkanDeviceInfo& device : devices)
        text += (text.empty() ? "" : "; ") + line_of(device);
    return text;
}

/// Why no rank gets a GPU here.
std::string why_no_gpu(const HostDevices& devices) {
    if (!devices.gpus_without_driver.empty()) {
        const PciGpu& gpu = devices.gpus_without_driver.front();
        return fmt::format("the GPU of {} at {} has no Vulkan driver", gpu.vendor, gpu.address);
    }
    const Visibility visibility = visibility_of_environment();
    for (const VulkanDeviceInfo& device : devices.all.devices) {
        if (device.software()) continue;
        if (!device.missing.empty()) return device.name + ": " + device.missing;
        if (visibility.cuda || visibility.rocr)
            return "CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES hides what is there";
    }
    return "Vulkan finds only " + devices.all.devices.front().name + ", a software device";
}

[[noreturn]] void fail_without_gpu(const HostDevices& devices) {
    throw DeviceError(
        fmt::format("there is no GPU for engine.backend \"vulkan\" ({}) install its driver, set "
                    "engine.device to \"software\", or set engine.backend to \"cpu\"",
                    why_no_gpu(devices)));
}

bool is_named(const VulkanDeviceInfo& device, const Json& name) {
    if (name.is_number()) return device.index == name.get<std::int64_t>();
    const std::string text = name.get<std::string>();
    if (text == "software") return device.software();
    return text == std::to_string(device.index) || text == device.uuid ||
           (!device.pci.empty() && text == device.pci);
}

bool is_hidden(const VulkanDeviceInfo& device, const HostDevices& devices) {
    // Integrated ones are left out of the ranks' list, but may be named.
    if (device.software() || !device.missing.empty() || device.kind != "discrete") return false;
    return std::none_of(devices.gpus.begin(), devices.gpus.end(),
                        [&device](const auto& gpu) { return gpu.uuid == device.uuid; });
}

}  // namespace

VulkanDeviceInfo choose_gpu(const Json& device, int local_rank, const HostDevices& devices) {
    if (devices.all.devices.empty()) throw DeviceError(devices.all.problem);
    if (device == "local_rank") {
        if (devices.gpus.empty()) fail_without_gpu(devices);
        return devices.gpus[static_cast<std::size_t>(local_rank) % devices.gpus.size()];
    }
    const auto& all = devices.all.devices;
    const auto found = std::find_if(all.begin(), all.end(), [&](const VulkanDeviceInfo& entry) {
        return is_named(entry, device) && !is_hidden(entry, devices);
    });
    if (found == all.end()) {
        throw DeviceError(fmt::format(
            "engine.device is {} (the devices of this host are: {}) name one by its index, uuid "
            "or pci address, or write \"local_rank\" or \"software\"",
            quoted(device), lines_of(all)));
    }
    if (!found->missing.empty()) {
        throw DeviceError(fmt::format(
            "{} cannot be used ({}) update its driver or name another device with engine.device",
            found->name, found->missing));
    }
    return *found;
}

}  // namespace cambrian::launch
