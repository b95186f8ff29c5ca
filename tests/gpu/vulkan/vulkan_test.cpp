#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/instance.hpp"
#include "cambrian/gpu/vulkan/physical_device.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(VulkanLoader, SaysWhatToInstallWhenThereIsNone) {
    try {
        vulkan::open_loader("libvulkan_that_is_not_there.so.1");
        FAIL() << "a loader that is not there";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("libvulkan_that_is_not_there.so.1 was not found"));
        EXPECT_THAT(error.what(), HasSubstr("install the package libvulkan1"));
    }
}

TEST(VulkanLoader, RefusesALibraryThatIsNoLoader) {
    EXPECT_THROW(vulkan::open_loader("libm.so.6"), DeviceError);
}

TEST(VulkanDeviceList, DescribesTheTestDevice) {
    const VulkanDeviceInfo device = test::test_vulkan_device();
    EXPECT_FALSE(device.name.empty());
    EXPECT_EQ(device.uuid.size(), 36U);
    EXPECT_FALSE(device.driver.empty());
    EXPECT_GT(device.memory, 0);
    EXPECT_EQ(device.missing, "");
}

TEST(VulkanLimits, StrictMathIsForDriversThatKeepBits) {
    vulkan::DeviceLimits limits;
    EXPECT_NE(limits.strict_fault(), "");
    limits.float_controls.keep_subnormals = true;
    EXPECT_NE(limits.strict_fault(), "") << "it may round otherwise";
    limits.float_controls.round_to_nearest_even = true;
    EXPECT_EQ(limits.strict_fault(), "");
    limits.float_controls = {};
    limits.known_driver = true;
    EXPECT_EQ(limits.strict_fault(), "") << "tests have seen it keep them";
}

TEST(VulkanLimits, WorkgroupsAreAsLargeAsKernelsNeed) {
    vulkan::DeviceLimits limits;
    limits.max_group_threads = 256;
    EXPECT_EQ(vulkan::missing_limits(limits),
              "its workgroups have 256 threads, and 512 are needed");
    limits.max_group_threads = 512;
    EXPECT_EQ(vulkan::missing_limits(limits), "");
}

TEST(VulkanDeviceList, HasSoftwareDevicesLastAndIndicesInOrder) {
    const VulkanDeviceList list = list_vulkan_devices();
    ASSERT_FALSE(list.devices.empty()) << list.problem;
    EXPECT_EQ(list.problem, "");
    EXPECT_TRUE(
        std::is_sorted(list.devices.begin(), list.devices.end(),
                       [](const auto& a, const auto& b) { return !a.software() && b.software(); }));
    for (std::size_t i = 0; i < list.devices.size(); ++i)
        EXPECT_EQ(list.devices[i].index, static_cast<int>(i));
}

/// Sets a variable of the environment for one scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        ::setenv(name, value, 1);
    }
    ~Variable() {
        if (old_.empty()) {
            ::unsetenv(name_);
        } else {
            ::setenv(name_, old_.c_str(), 1);
        }
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::string old_;
};

TEST(VulkanDeviceList, SaysThatNoDriverIsInstalled) {
    const Variable old_drivers("VK_ICD_FILENAMES", "/nonexistent");
    const Variable drivers("VK_DRIVER_FILES", "/nonexistent");
    const VulkanDeviceList list = list_vulkan_devices();
    EXPECT_TRUE(list.devices.empty());
    EXPECT_THAT(list.problem, HasSubstr("no driver is installed"));
}

TEST(VulkanDevice, IsRefusedByAnUnknownUuid) {
    vulkan::DeviceOptions options = test::test_device_options();
    options.uuid = "00000000-0000-0000-0000-00000000beef";
    try {
        const vulkan::Device device(options);
        FAIL() << "a device that does not exist";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("cambrian devices"));
    }
}

TEST(VulkanDevice, OpensSeveralTimesInOneProcess) {
    for (int i = 0; i < 3; ++i) {
        const vulkan::Device device(test::test_device_options());
        EXPECT_GT(device.limits().max_groups, 0U);
        EXPECT_GE(device.limits().shared_bytes, 16384);
        EXPECT_EQ(device.last(), 0U);
    }
}

TEST(VulkanDevice, RemembersThatItIsLost) {
    vulkan::Device device(test::test_device_options());
    EXPECT_THROW(device.check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit"), DeviceError);
    try {
        device.submit({});
        FAIL() << "a lost device took a submission";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the Vulkan device is lost"));
        EXPECT_THAT(error.what(), HasSubstr("vkQueueSubmit"));
    }
    EXPECT_THROW(device.check(VK_SUCCESS, "vkMapMemory"), DeviceError);
}

TEST(VulkanDevice, NamesTheCallAndTheResultOfAFailure) {
    vulkan::Device device(test::test_device_options());
    try {
        device.check(VK_ERROR_FEATURE_NOT_PRESENT, "vkCreateDevice");
        FAIL() << "a failure passed";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("vkCreateDevice: VK_ERROR_FEATURE_NOT_PRESENT"));
    }
    EXPECT_NO_THROW(device.check(VK_SUCCESS, "vkMapMemory"));
}

/// Breaks a rule of Vulkan that no driver minds: a buffer of no bytes.
void make_empty_buffer(vulkan::Device& device) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    VkBuffer buffer = VK_NULL_HANDLE;
    device.functions().vkCreateBuffer(device.handle(), &info, nullptr, &buffer);
    device.functions().vkDestroyBuffer(device.handle(), buffer, nullptr);
}

TEST(VulkanValidation, TellsTheListener) {
    vulkan::DeviceOptions options = test::test_device_options();
    options.validation = true;
    std::string heard;
    options.on_validation_message = [&heard](std::string_view message) { heard += message; };
    vulkan::Device device(options);
    make_empty_buffer(device);
    EXPECT_THAT(heard, HasSubstr("VUID-VkBufferCreateInfo-size-00912"));
    EXPECT_NO_THROW(device.check_validation());
}

TEST(VulkanValidation, IsAnErrorWhereNobodyListens) {
    vulkan::DeviceOptions options = test::test_device_options();
    options.validation = true;
    options.on_validation_message = nullptr;
    vulkan::Device device(options);
    make_empty_buffer(device);
    try {
        device.check_validation();
        FAIL() << "a message of the layer passed";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("VUID-VkBufferCreateInfo-size-00912"));
    }
}

TEST(VulkanDevice, CountsSubmissionsOnItsTimeline) {
    vulkan::Device device(test::test_device_options());
    EXPECT_TRUE(device.done(0));
    device.wait(0);
    const vulkan::Ticket first = device.submit({});
    const vulkan::Ticket second = device.submit({});
    EXPECT_LT(first, second);
    EXPECT_EQ(device.last(), second);
    device.wait(second);
    EXPECT_TRUE(device.done(first));
    EXPECT_TRUE(device.done(second));
    EXPECT_EQ(device.submits(), 2);
}

TEST(VulkanDevice, CountsSubmissionsOfEachQueueOnATimelineOfItsOwn) {
    vulkan::DeviceOptions options = test::test_device_options();
    options.queues = 3;
    vulkan::Device device(options);
    ASSERT_EQ(device.queues(), 3U);
    vulkan::Tickets all;
    vulkan::Ticket last = 0;
    for (const std::size_t queue : {2U, 0U, 1U, 1U, 2U}) {
        const vulkan::Ticket ticket = device.submit({}, queue, all);
        EXPECT_GT(ticket, last);
        EXPECT_EQ(vulkan::queue_of(ticket), queue);
        all.add(last = ticket);
    }
    EXPECT_EQ(device.last(), last);
    EXPECT_EQ(vulkan::queue_of(all.latest()[1]), 1U);
    EXPECT_EQ(all.latest()[3], 0U);
    device.wait(all);
    for (const vulkan::Ticket ticket : all.latest()) EXPECT_TRUE(device.done(ticket));
    device.wait_for_all();
    device.submit({}, 1, all);
    EXPECT_EQ(device.waits(), 6) << "each queue waits once for what another one has done";
}

}  // namespace
}  // namespace cambrian
