#include "cambrian/tests/support/vulkan_device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::test {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

bool is_named(const VulkanDeviceInfo& device, const std::string& name) {
    if (name.empty()) return device.software();
    return name == std::to_string(device.index) || name == device.uuid ||
           device.name.find(name) != std::string::npos;
}

bool validated() {
    return environment("CAMBRIAN_TEST_VALIDATION") != "0";
}

void fail_test(std::string_view message) {
    ADD_FAILURE() << "validation layer: " << message;
}

}  // namespace

VulkanDeviceInfo test_vulkan_device() {
    const VulkanDeviceList list = list_vulkan_devices();
    const std::string name = environment("CAMBRIAN_TEST_DEVICE");
    for (const VulkanDeviceInfo& device : list.devices) {
        if (is_named(device, name)) return device;
    }
    throw DeviceError("the Vulkan tests have no device (" +
                      (list.problem.empty()
                           ? "none is " + (name.empty() ? std::string("a software device") : name)
                           : list.problem) +
                      ") install mesa-vulkan-drivers or set CAMBRIAN_TEST_DEVICE");
}

VulkanOptions test_vulkan_options(Math math) {
    VulkanOptions options;
    options.uuid = test_vulkan_device().uuid;
    options.math = math;
    options.validation = validated();
    options.on_validation_message = fail_test;
    const std::string turns = environment("CAMBRIAN_TEST_TURNS");
    if (!turns.empty()) options.max_turns = std::stoll(turns);
    const std::string team = environment("CAMBRIAN_TEST_ROW_TEAM");
    if (!team.empty()) options.row_team = std::stoi(team);
    options.poison = environment("CAMBRIAN_TEST_POISON") == "1";
    const std::string cache = environment("CAMBRIAN_TEST_CACHE");
    options.cache_directory =
        cache.empty() ? (std::filesystem::temp_directory_path() / "cambrian_test_cache").string()
                      : cache;
    return options;
}

vulkan::DeviceOptions test_device_options() {
    vulkan::DeviceOptions options;
    options.uuid = test_vulkan_device().uuid;
    options.validation = validated();
    options.on_validation_message = fail_test;
    return options;
}

}  // namespace cambrian::test
