#include "cambrian/launch/devices/gpu_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view nvidia = "10de";
constexpr std::string_view amd = "1002";

struct Maker {
    std::string_view id;
    std::string_view name;
};
constexpr std::array makers{Maker{nvidia, "NVIDIA"}, Maker{amd, "AMD"}, Maker{"8086", "Intel"}};

/// First word of a small file, without a leading 0x; empty when there is none.
std::string word_of(const fs::path& file) {
    std::ifstream stream(file);
    std::string word;
    stream >> word;
    return word.starts_with("0x") ? word.substr(2) : word;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view part = text.substr(0, comma);
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        parts.emplace_back(part);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return parts;
}

std::optional<std::size_t> position(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::string serial_of(const VulkanDeviceInfo& device, const std::vector<PciGpu>& bus) {
    const auto found = std::find_if(bus.begin(), bus.end(), [&device](const PciGpu& gpu) {
        return !device.pci.empty() && gpu.address == device.pci;
    });
    return found == bus.end() ? std::string() : found->serial;
}

/// The devices that a variable lists, in its order.
std::vector<VulkanDeviceInfo> listed(std::vector<VulkanDeviceInfo> devices,
                                     const std::optional<std::string>& variable,
                                     const std::vector<PciGpu>& bus) {
    if (!variable) return devices;
    std::stable_sort(devices.begin(), devices.end(),
                     [](const auto& a, const auto& b) { return a.pci < b.pci; });
    std::vector<VulkanDeviceInfo> result;
    for (const std::string& entry : split(*variable)) {
        const auto named = [&](const VulkanDeviceInfo& device) {
            if (const auto index = position(entry))
                return *index < devices.size() && devices[*index].uuid == device.uuid;
            if (!entry.starts_with("GPU-") || entry.size() == 4) return false;
            const std::string name = entry.substr(4);
            return device.uuid.starts_with(name) || serial_of(device, bus) == name;
        };
        const auto found = std::find_if(devices.begin(), devices.end(), named);
        if (found == devices.end()) break;
        result.push_back(*found);
    }
    return result;
}

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

std::vector<PciGpu> find_pci_gpus(const fs::path& bus) {
    std::vector<PciGpu> gpus;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(bus, error)) {
        // Class 03: display controllers, of which 0302 are those without a screen.
        if (!word_of(entry.path() / "class").starts_with("03")) continue;
        const std::string vendor = word_of(entry.path() / "vendor");
        for (const Maker& maker : makers) {
            if (vendor != maker.id) continue;
            gpus.push_back({entry.path().filename().string(), std::string(maker.name), vendor,
                            word_of(entry.path() / "device"), word_of(entry.path() / "unique_id")});
        }
    }
    std::sort(gpus.begin(), gpus.end(),
              [](const PciGpu& a, const PciGpu& b) { return a.address < b.address; });
    return gpus;
}

std::vector<PciGpu> without_driver(const std::vector<PciGpu>& gpus,
                                   const std::vector<VulkanDeviceInfo>& devices) {
    std::vector<PciGpu> result;
    for (const PciGpu& gpu : gpus) {
        const bool driven = std::any_of(devices.begin(), devices.end(), [&gpu](const auto& device) {
            return device.pci == gpu.address;
        });
        if (!driven) result.push_back(gpu);
    }
    return result;
}

Visibility visibility_of_environment() {
    return {variable("CUDA_VISIBLE_DEVICES"), variable("ROCR_VISIBLE_DEVICES")};
}

std::vector<VulkanDeviceInfo> visible_gpus(const std::vector<VulkanDeviceInfo>& devices,
                                           const Visibility& visibility,
                                           const std::vector<PciGpu>& bus) {
    std::vector<VulkanDeviceInfo> of_nvidia;
    std::vector<VulkanDeviceInfo> of_amd;
    std::vector<VulkanDeviceInfo> others;
    for (const VulkanDeviceInfo& device : devices) {
        if (device.software() || !device.missing.empty()) continue;
        (device.vendor == nvidia ? of_nvidia
         : device.vendor == amd  ? of_amd
                                 : others)
            .push_back(device);
    }
    std::vector<VulkanDeviceInfo> result = listed(std::move(of_nvidia), visibility.cuda, bus);
    for (VulkanDeviceInfo& device : listed(std::move(of_amd), visibility.rocr, bus))
        result.push_back(std::move(device));
    for (VulkanDeviceInfo& device : others) result.push_back(std::move(device));
    // An integrated GPU beside a card is for the screen.
    const auto is_card = [](const auto& device) { return device.kind == "discrete"; };
    if (std::any_of(result.begin(), result.end(), is_card))
        std::erase_if(result, [&](const auto& device) { return !is_card(device); });
    return result;
}

HostDevices find_host_devices() {
    HostDevices host;
    host.all = list_vulkan_devices();
    const std::vector<PciGpu> bus = find_pci_gpus();
    host.gpus = visible_gpus(host.all.devices, visibility_of_environment(), bus);
    host.gpus_without_driver = without_driver(bus, host.all.devices);
    return host;
}

bool may_have_gpu() {
    static constexpr std::array nodes{"/dev/dri",   "/dev/dxg",   "/dev/kfd",     "/dev/nvidiactl",
                                      "/dev/nvmap", "/dev/mali0", "/dev/kgsl-3d0"};
    std::error_code ignored;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const char* node) { return fs::exists(node, ignored); }) ||
           !find_pci_gpus().empty();
}

}  // namespace cambrian::launch
