#include "cambrian/launch/devices/gpu_devices.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

VulkanDeviceInfo device(int index, std::string name, std::string vendor, std::string kind,
                        std::string pci, std::string uuid) {
    VulkanDeviceInfo info;
    info.index = index;
    info.name = std::move(name);
    info.vendor = std::move(vendor);
    info.kind = std::move(kind);
    info.pci = std::move(pci);
    info.uuid = std::move(uuid);
    info.memory = 100 * gibibyte;
    return info;
}

/// Three cards, not in the order of their addresses, an integrated GPU and a software device.
std::vector<VulkanDeviceInfo> some_devices() {
    return {device(0, "H200", "10de", "discrete", "0000:2a:00.0", "bbbb"),
            device(1, "H200", "10de", "discrete", "0000:1a:00.0", "aaaa"),
            device(2, "MI300", "1002", "discrete", "0000:3a:00.0", "cccc"),
            device(3, "Iris", "8086", "integrated", "0000:00:02.0", "dddd"),
            device(4, "llvmpipe", "10005", "software", "", "eeee")};
}

std::vector<PciGpu> some_bus() {
    return {{"0000:3a:00.0", "AMD", "1002", "74a1", "deadbeef"}};
}

std::vector<std::string> uuids(const std::vector<VulkanDeviceInfo>& devices) {
    std::vector<std::string> result;
    for (const VulkanDeviceInfo& entry : devices) result.push_back(entry.uuid);
    return result;
}

HostDevices host_with(std::vector<VulkanDeviceInfo> devices, const Visibility& visibility = {}) {
    HostDevices host;
    host.gpus = visible_gpus(devices, visibility, some_bus());
    host.all.devices = std::move(devices);
    return host;
}

HostDevices software_host() {
    return host_with({some_devices().back()});
}

Json engine(const Json& backend, const Json& chosen = "local_rank", const Json& limit = "50%") {
    return {{"backend", backend}, {"device", chosen},      {"threads", 1},
            {"math", "strict"},   {"memory_limit", limit}, {"cache_directory", "/cache"}};
}

std::string refusal(const Json& section, const HostDevices& host) {
    try {
        static_cast<void>(device_settings(section, {}, host));
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST(VisibleGpus, AreCardsInTheOrderOfTheDriver) {
    EXPECT_THAT(uuids(visible_gpus(some_devices(), {}, {})), ElementsAre("bbbb", "aaaa", "cccc"));
}

TEST(VisibleGpus, IntegratedOnesCountWhereThereIsNoCard) {
    const auto devices = some_devices();
    EXPECT_THAT(uuids(visible_gpus({devices[3], devices[4]}, {}, {})), ElementsAre("dddd"));
}

TEST(VisibleGpus, LeaveOutWhatCannotBeUsed) {
    auto devices = some_devices();
    devices[0].missing = "it lacks shaderInt64";
    EXPECT_THAT(uuids(visible_gpus(devices, {}, {})), ElementsAre("aaaa", "cccc"));
}

TEST(VisibleGpus, HeedTheVariablesOfTheirMakers) {
    const auto visible = [](std::optional<std::string> cuda, std::optional<std::string> rocr) {
        return uuids(visible_gpus(some_devices(), {std::move(cuda), std::move(rocr)}, some_bus()));
    };
    // Positions follow the addresses.
    EXPECT_THAT(visible("0", {}), ElementsAre("aaaa", "cccc"));
    EXPECT_THAT(visible("1,0", {}), ElementsAre("bbbb", "aaaa", "cccc"));
    EXPECT_THAT(visible("GPU-bb", {}), ElementsAre("bbbb", "cccc"));
    EXPECT_THAT(visible(" 1 , GPU-aaaa", {}), ElementsAre("bbbb", "aaaa", "cccc"));
    EXPECT_THAT(visible("0,7,1", {}), ElementsAre("aaaa", "cccc")) << "what follows 7 is lost";
    EXPECT_THAT(visible("GPU-", {}), ElementsAre("cccc"));
    EXPECT_THAT(visible({}, ""), ElementsAre("bbbb", "aaaa"));
    EXPECT_THAT(visible("-1", "GPU-deadbeef"), ElementsAre("cccc"));
    // Without a card, what is left is integrated.
    EXPECT_THAT(visible("", ""), ElementsAre("dddd"));
}

TEST(PciGpus, AreFoundByClassAndMaker) {
    const test::TemporaryDirectory directory;
    const auto add = [&directory](const std::string& address, const char* type, const char* vendor,
                                  const char* number) {
        static_cast<void>(directory.write(address + "/class", type));
        static_cast<void>(directory.write(address + "/vendor", vendor));
        static_cast<void>(directory.write(address + "/device", number));
    };
    add("0000:4a:00.0", "0x030200\n", "0x10de\n", "0x2335\n");
    add("0000:1a:00.0", "0x030000\n", "0x1002\n", "0x74a1\n");
    add("0000:00:01.0", "0x030000\n", "0x1a03\n", "0x2000\n");  // The screen of a board.
    add("0000:00:02.0", "0x020000\n", "0x10de\n", "0x0001\n");  // No display.
    const std::vector<PciGpu> gpus = find_pci_gpus(directory.path());
    ASSERT_EQ(gpus.size(), 2U);
    EXPECT_EQ(gpus[0].address, "0000:1a:00.0");
    EXPECT_EQ(gpus[0].vendor, "AMD");
    EXPECT_EQ(gpus[1].device_id, "2335");
    const std::vector<PciGpu> left = without_driver(gpus, some_devices());
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].address, "0000:4a:00.0");
}

TEST(PciGpus, AreNoneWithoutABus) {
    EXPECT_THAT(find_pci_gpus("/nonexistent"), IsEmpty());
}

TEST(ChooseGpu, TakesIndexUuidAddressAndRank) {
    const HostDevices host = host_with(some_devices());
    const auto chosen = [&host](const Json& name, int local_rank = 0) {
        return choose_gpu(name, local_rank, host).uuid;
    };
    EXPECT_EQ(chosen(2), "cccc");
    EXPECT_EQ(chosen("2"), "cccc");
    EXPECT_EQ(chosen("dddd"), "dddd");
    EXPECT_EQ(chosen("0000:1a:00.0"), "aaaa");
    EXPECT_EQ(chosen("software"), "eeee");
    EXPECT_EQ(chosen(4), "eeee") << "named, if only by its number";
    EXPECT_EQ(chosen("local_rank", 1), "aaaa");
    EXPECT_EQ(chosen("local_rank", 3), "bbbb");
}

TEST(ChooseGpu, NeverTakesASoftwareDeviceUnasked) {
    EXPECT_EQ(device_settings(engine("auto"), {}, software_host()).backend, "cpu");
    EXPECT_EQ(device_settings(engine("auto", "software"), {}, software_host()).backend, "vulkan");
    EXPECT_THROW(static_cast<void>(device_settings(engine("vulkan"), {}, software_host())),
                 DeviceError);
    EXPECT_THAT(refusal(engine("vulkan"), software_host()), HasSubstr("llvmpipe, a software"));
}

TEST(ChooseGpu, NamesTheDevicesWhenTheNameIsWrong) {
    const HostDevices host = host_with(some_devices());
    EXPECT_THROW(static_cast<void>(device_settings(engine("vulkan", "H100"), {}, host)),
                 DeviceError);
    EXPECT_THAT(refusal(engine("vulkan", "H100"), host),
                HasSubstr("0 H200 (pci 0000:2a:00.0, uuid bbbb)"));
}

TEST(ChooseGpu, RefusesWhatTheEnvironmentHides) {
    const HostDevices host = host_with(some_devices(), {"0", {}});
    EXPECT_EQ(choose_gpu("aaaa", 0, host).uuid, "aaaa");
    EXPECT_THROW(static_cast<void>(choose_gpu("bbbb", 0, host)), DeviceError);
}

TEST(ChooseGpu, SaysWhyThereIsNone) {
    HostDevices none;
    none.all.problem = "Vulkan cannot be used (no driver is installed)";
    EXPECT_EQ(refusal(engine("vulkan"), none), none.all.problem);
    EXPECT_EQ(refusal(engine("vulkan", 0), none), none.all.problem);

    HostDevices bare = software_host();
    bare.gpus_without_driver = some_bus();
    EXPECT_THAT(refusal(engine("vulkan"), bare),
                HasSubstr("the GPU of AMD at 0000:3a:00.0 has no"));

    HostDevices old = host_with({some_devices()[0]});
    old.all.devices[0].missing = "it lacks timelineSemaphore";
    old.gpus.clear();
    EXPECT_THAT(refusal(engine("vulkan"), old), HasSubstr("it lacks timelineSemaphore"));
    EXPECT_THAT(refusal(engine("vulkan", 0), old), HasSubstr("H200 cannot be used"));
}

TEST(DeviceSettings, BackendsOfAListGoRoundTheRanksOfAHost) {
    const Json section = engine({"cpu", "vulkan"}, "software");
    const HostDevices host = software_host();
    EXPECT_EQ(device_settings(section, {0, 3}, host).backend, "cpu");
    EXPECT_EQ(device_settings(section, {1, 3}, host).backend, "vulkan");
    EXPECT_EQ(device_settings(section, {2, 3}, host).backend, "cpu");
}

TEST(DeviceSettings, AShareOfMemoryIsDividedByTheRanksOnTheGpu) {
    const HostDevices host = host_with({some_devices()[0], some_devices()[1]});
    const auto limit = [&host](const Json& section, RankPlace place) {
        return device_settings(section, place, host).memory_limit;
    };
    EXPECT_EQ(limit(engine("vulkan"), {0, 1}), 50 * gibibyte);
    EXPECT_EQ(limit(engine("vulkan"), {0, 2}), 50 * gibibyte) << "one GPU each";
    EXPECT_EQ(limit(engine("auto"), {0, 3}), 25 * gibibyte) << "ranks 0 and 2";
    EXPECT_EQ(limit(engine("auto"), {1, 3}), 50 * gibibyte);
    EXPECT_EQ(limit(engine("vulkan", "aaaa"), {0, 4}), 50 * gibibyte / 4);
    EXPECT_EQ(limit(engine({"cpu", "vulkan"}), {1, 4}), 25 * gibibyte) << "ranks 1 and 3";
    EXPECT_EQ(limit(engine("vulkan", 0, 12345), {0, 4}), 12345);
}

TEST(DeviceSettings, DumpAndProfileNeedABackendThatCan) {
    DeviceSettings settings;
    settings.backend = "cpu";
    EXPECT_NO_THROW(require_backend_for(settings, "", false));
    EXPECT_NO_THROW(require_backend_for(settings, "programs", true));
    EXPECT_EQ(settings.dump_directory, "programs");
    EXPECT_TRUE(settings.profile);
    settings.backend = "reference";
    EXPECT_THROW(require_backend_for(settings, "", true), ConfigError);
    EXPECT_THROW(require_backend_for(settings, "programs", false), ConfigError);
    settings.backend = "vulkan";
    require_backend_for(settings, "shaders", true);
    EXPECT_EQ(settings.dump_directory, "shaders");
    EXPECT_TRUE(settings.profile);
}

TEST(DeviceSettings, AFallbackIsOfGpusAndChangesNoResult) {
    const auto fallback = [](const char* chosen, Math math, bool mixed, const char* backend) {
        DeviceSettings settings;
        settings.backend = backend;
        settings.math = math;
        return fallback_of({{"fallback", chosen}, {"mixed", mixed}}, settings, {});
    };
    EXPECT_FALSE(fallback("none", Math::fast, false, "vulkan"));
    EXPECT_FALSE(fallback("cpu", Math::strict, false, "cpu"));
    EXPECT_THROW(fallback("cpu", Math::fast, false, "vulkan"), ConfigError);
    EXPECT_TRUE(fallback("cpu", Math::fast, true, "vulkan"));
    const auto made = fallback("cpu", Math::strict, false, "vulkan")();
    EXPECT_EQ(made->describe().kind, "cpu");
    EXPECT_EQ(made->describe().math, "strict");
}

TEST(DeviceSettings, FoldersThatAreNamedMustTakeFiles) {
    // A file is no folder, for root neither.
    const std::string file = CAMBRIAN_PROGRAM;
    const auto complaint = [](const DeviceSettings& settings) -> std::string {
        try {
            (void)make_backend(settings);
        } catch (const OutputError& error) {
            return error.what();
        }
        return {};
    };
    DeviceSettings dumping;
    dumping.backend = "vulkan";
    dumping.dump_directory = file + "/shaders";
    EXPECT_THAT(complaint(dumping), HasSubstr("--dump is " + dumping.dump_directory));
    const DeviceSettings caching = [&] {
        Json section = engine("vulkan");
        section["cache_directory"] = file;
        return device_settings(section, {}, host_with(some_devices()));
    }();
    EXPECT_THAT(complaint(caching), HasSubstr("engine.cache_directory is " + file));
}

}  // namespace
}  // namespace cambrian::launch
