#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/devices/gpu_devices.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

std::string memory_text(std::int64_t bytes) {
    constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gibibyte);
}

void print_device(std::ostream& out, const VulkanDeviceInfo& device) {
    out << fmt::format("{:>3}  {} ({}, {})\n", device.index, device.name, device.kind,
                       memory_text(device.memory));
    out << fmt::format("     uuid {}{}\n", device.uuid,
                       device.pci.empty() ? "" : ", pci " + device.pci);
    out << fmt::format("     driver {}\n", device.driver);
    if (!device.features.empty())
        out << fmt::format("     features {}\n", fmt::join(device.features, " "));
    if (!device.missing.empty()) out << fmt::format("     cannot be used: {}\n", device.missing);
    if (device.software())
        out << "     a software device: used only where engine.device names it\n";
}

void print_text(std::ostream& out, const HostDevices& host) {
    out << "Vulkan devices\n";
    for (const VulkanDeviceInfo& device : host.all.devices) print_device(out, device);
    if (!host.all.problem.empty()) out << "     none: " << host.all.problem << '\n';
    if (!host.gpus_without_driver.empty()) out << "GPUs without a Vulkan driver\n";
    for (const PciGpu& gpu : host.gpus_without_driver)
        out << fmt::format("     {} {} {}:{}\n", gpu.address, gpu.vendor, gpu.vendor_id,
                           gpu.device_id);
    out << "Ranks of this host use, one after another (engine.device \"local_rank\")\n";
    for (const VulkanDeviceInfo& gpu : host.gpus)
        out << fmt::format("{:>3}  {}\n", gpu.index, gpu.name);
    if (host.gpus.empty()) out << "     no GPU: engine.backend \"auto\" is the CPU\n";
}

Json json_of(const VulkanDeviceInfo& device) {
    return {{"index", device.index},    {"name", device.name},     {"uuid", device.uuid},
            {"pci", device.pci},        {"kind", device.kind},     {"vendor", device.vendor},
            {"driver", device.driver},  {"memory", device.memory}, {"features", device.features},
            {"missing", device.missing}};
}

void print_json(std::ostream& out, const HostDevices& host) {
    Json json = {{"devices", Json::array()},
                 {"problem", host.all.problem},
                 {"gpus_without_driver", Json::array()},
                 {"ranks", Json::array()}};
    for (const VulkanDeviceInfo& device : host.all.devices)
        json["devices"].push_back(json_of(device));
    for (const PciGpu& gpu : host.gpus_without_driver)
        json["gpus_without_driver"].push_back({{"pci", gpu.address},
                                               {"vendor", gpu.vendor},
                                               {"vendor_id", gpu.vendor_id},
                                               {"device_id", gpu.device_id}});
    for (const VulkanDeviceInfo& gpu : host.gpus) json["ranks"].push_back(gpu.index);
    out << json.dump(2) << '\n';
}

}  // namespace

int devices_command(const CommandContext& context, bool json) {
    const HostDevices host = find_host_devices();
    if (json) {
        print_json(context.out, host);
    } else {
        print_text(context.out, host);
    }
    return exit_done;
}

}  // namespace cambrian::launch
