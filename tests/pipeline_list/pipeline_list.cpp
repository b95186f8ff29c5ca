// A Vulkan layer that writes down which compute pipelines a process makes: for each one a line in
// the file that CAMBRIAN_PIPELINE_LIST names, a hash of its code and constants and the process's
// arguments. Any number of processes may share the file. Without the variable it does nothing.
#define VK_NO_PROTOTYPES
#include <fcntl.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

/// What stands after this layer, for one device.
struct NextDevice {
    PFN_vkGetDeviceProcAddr find = nullptr;
    PFN_vkDestroyDevice destroy = nullptr;
    PFN_vkCreateShaderModule create_module = nullptr;
    PFN_vkCreateComputePipelines create_pipelines = nullptr;
};

struct State {
    std::mutex mutex;
    /// By dispatch table, which all objects of an instance or device share.
    std::map<void*, PFN_vkGetInstanceProcAddr> instances;
    std::map<void*, NextDevice> devices;
    std::map<VkShaderModule, std::uint64_t> modules;  ///< Hash of their code.
    std::set<std::uint64_t> listed;
};

State& state() {
    static State made;
    return made;
}

template <class Handle>
void* table_of(Handle handle) {
    void* table = nullptr;
    std::memcpy(&table, reinterpret_cast<const void*>(handle), sizeof table);
    return table;
}

/// FNV-1a.
std::uint64_t hash(const void* data, std::size_t bytes, std::uint64_t seed = 0xCBF29CE484222325U) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ byte[i]) * 0x100000001B3U;
    return seed;
}

std::uint64_t hash_of(const VkComputePipelineCreateInfo& info) {
    std::uint64_t result = state().modules[info.stage.module];
    const VkSpecializationInfo* constants = info.stage.pSpecializationInfo;
    return constants == nullptr ? result : hash(constants->pData, constants->dataSize, result);
}

std::string arguments() {
    std::ifstream stream("/proc/self/cmdline", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(stream), {});
    text.resize(std::min<std::size_t>(text.size(), 300));
    for (char& c : text)
        if (std::strchr("\n\t;[]", c) != nullptr) c = ' ';  // strchr finds the final zero too.
    return text;
}

/// Appended by one write, so that lines of several processes stay whole.
void list(std::uint64_t key) {
    const char* path = std::getenv("CAMBRIAN_PIPELINE_LIST");
    if (path == nullptr || !state().listed.insert(key).second) return;
    const std::string line = std::to_string(key) + "\t" + arguments() + "\n";
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        std::abort();
    ::close(file);
}

/// The link to the next layer, which the loader puts into a chain of structures; it is moved on for
/// the layer after this one.
template <class Link, VkStructureType Type, class Info>
auto take_link(const Info* info) {
    auto* link = const_cast<Link*>(static_cast<const Link*>(info->pNext));
    while (link->sType != Type || link->function != VK_LAYER_LINK_INFO)
        link = const_cast<Link*>(static_cast<const Link*>(link->pNext));
    auto* next = link->u.pLayerInfo;
    link->u.pLayerInfo = next->pNext;
    return next;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
    const auto find =
        take_link<VkLayerInstanceCreateInfo, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO>(info)
            ->pfnNextGetInstanceProcAddr;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance"));
    const VkResult result = create(info, allocator, instance);
    const std::lock_guard lock(state().mutex);
    if (result == VK_SUCCESS) state().instances[table_of(*instance)] = find;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
    const auto* next =
        take_link<VkLayerDeviceCreateInfo, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO>(info);
    const auto create = reinterpret_cast<PFN_vkCreateDevice>(
        next->pfnNextGetInstanceProcAddr(nullptr, "vkCreateDevice"));
    const VkResult result = create(physical, info, allocator, device);
    if (result != VK_SUCCESS) return result;
    const PFN_vkGetDeviceProcAddr find = next->pfnNextGetDeviceProcAddr;
    const std::lock_guard lock(state().mutex);
    state().devices[table_of(*device)] = {
        find, reinterpret_cast<PFN_vkDestroyDevice>(find(*device, "vkDestroyDevice")),
        reinterpret_cast<PFN_vkCreateShaderModule>(find(*device, "vkCreateShaderModule")),
        reinterpret_cast<PFN_vkCreateComputePipelines>(find(*device, "vkCreateComputePipelines"))};
    return result;
}

NextDevice next_of(VkDevice device) {
    const std::lock_guard lock(state().mutex);
    return state().devices.at(table_of(device));
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
    if (device == VK_NULL_HANDLE) return;
    const NextDevice next = next_of(device);
    {
        const std::lock_guard lock(state().mutex);
        state().devices.erase(table_of(device));
    }
    next.destroy(device, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkShaderModule* module) {
    const VkResult result = next_of(device).create_module(device, info, allocator, module);
    const std::lock_guard lock(state().mutex);
    if (result == VK_SUCCESS) state().modules[*module] = hash(info->pCode, info->codeSize);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache,
                                                std::uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* allocator,
                                                VkPipeline* pipelines) {
    {
        const std::lock_guard lock(state().mutex);
        for (std::uint32_t i = 0; i < count; ++i) list(hash_of(infos[i]));
    }
    return next_of(device).create_pipelines(device, cache, count, infos, allocator, pipelines);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_of_device(VkDevice device, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_of_instance(VkInstance instance, const char* name);

PFN_vkVoidFunction own(const char* name) {
    const std::map<std::string, PFN_vkVoidFunction> functions{
        {"vkGetInstanceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(&find_of_instance)},
        {"vkGetDeviceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(&find_of_device)},
        {"vkCreateInstance", reinterpret_cast<PFN_vkVoidFunction>(&create_instance)},
        {"vkCreateDevice", reinterpret_cast<PFN_vkVoidFunction>(&create_device)},
        {"vkDestroyDevice", reinterpret_cast<PFN_vkVoidFunction>(&destroy_device)},
        {"vkCreateShaderModule", reinterpret_cast<PFN_vkVoidFunction>(&create_module)},
        {"vkCreateComputePipelines", reinterpret_cast<PFN_vkVoidFunction>(&create_pipelines)}};
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
}

PFN_vkVoidFunction find_of_device(VkDevice device, const char* name) {
    if (const PFN_vkVoidFunction function = own(name)) return function;
    return next_of(device).find(device, name);
}

PFN_vkVoidFunction find_of_instance(VkInstance instance, const char* name) {
    if (const PFN_vkVoidFunction function = own(name)) return function;
    if (instance == VK_NULL_HANDLE) return nullptr;
    PFN_vkGetInstanceProcAddr next = nullptr;
    {
        const std::lock_guard lock(state().mutex);
        next = state().instances.at(table_of(instance));
    }
    return next(instance, name);
}

}  // namespace

extern "C" VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
    interface->loaderLayerInterfaceVersion = 2;
    interface->pfnGetInstanceProcAddr = find_of_instance;
    interface->pfnGetDeviceProcAddr = find_of_device;
    interface->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}
