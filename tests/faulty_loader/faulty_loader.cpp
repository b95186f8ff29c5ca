// A Vulkan loader in front of the real one whose calls fail when they are told to. Opened in place
// of libvulkan.so.1 through LD_LIBRARY_PATH, so that a whole program can be tested.
//   CAMBRIAN_FAULT_CALL    a function of a device: vkQueueSubmit, vkWaitSemaphores,
//   vkAllocateMemory ... CAMBRIAN_FAULT_AT      which call of it fails, from 1
//   CAMBRIAN_FAULT_COUNT   how many calls fail from there on, 1 unless it is set
//   CAMBRIAN_FAULT_RESULT  what it returns: -4 is VK_ERROR_DEVICE_LOST, and every later call fails
//   too
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

long number(const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

/// Calls that have failed.
std::atomic<int> fired{0};

/// Whether this call is one of those that fail; the environment is read anew, so that a test may
/// change it.
VkResult fault(const char* name) {
    static std::atomic<long> calls{0};
    static std::atomic<bool> lost{false};
    const char* chosen = std::getenv("CAMBRIAN_FAULT_CALL");
    if (chosen == nullptr) {
        lost = false;
        calls = 0;
        return VK_SUCCESS;
    }
    if (lost) return VK_ERROR_DEVICE_LOST;
    if (std::strcmp(chosen, name) != 0) return VK_SUCCESS;
    const long behind = ++calls - number("CAMBRIAN_FAULT_AT", 1);
    if (behind < 0 || behind >= number("CAMBRIAN_FAULT_COUNT", 1)) return VK_SUCCESS;
    ++fired;
    const auto result =
        static_cast<VkResult>(number("CAMBRIAN_FAULT_RESULT", VK_ERROR_DEVICE_LOST));
    lost = result == VK_ERROR_DEVICE_LOST;
    return result;
}

/// The next function of a chain, and one in front of it that may fail.
template <class Function>
struct Guard;

template <class... Arguments>
struct Guard<VkResult(VKAPI_PTR*)(Arguments...)> {
    template <class Name>
    struct Of {
        static inline VkResult(VKAPI_PTR* next)(Arguments...) = nullptr;
        static VKAPI_ATTR VkResult VKAPI_CALL call(Arguments... arguments) {
            const VkResult result = fault(Name::text);
            return result == VK_SUCCESS ? next(arguments...) : result;
        }
    };
};

#define CAMBRIAN_GUARDED(X)       \
    X(vkAllocateCommandBuffers)   \
    X(vkAllocateMemory)           \
    X(vkBeginCommandBuffer)       \
    X(vkBindBufferMemory)         \
    X(vkCreateBuffer)             \
    X(vkCreateCommandPool)        \
    X(vkCreateComputePipelines)   \
    X(vkCreatePipelineCache)      \
    X(vkCreateShaderModule)       \
    X(vkEndCommandBuffer)         \
    X(vkGetPipelineCacheData)     \
    X(vkGetSemaphoreCounterValue) \
    X(vkMapMemory)                \
    X(vkMergePipelineCaches)      \
    X(vkQueueSubmit)              \
    X(vkResetCommandPool)         \
    X(vkWaitSemaphores)

#define CAMBRIAN_NAME(name)                        \
    struct Name_##name {                           \
        static constexpr const char* text = #name; \
    };
CAMBRIAN_GUARDED(CAMBRIAN_NAME)

PFN_vkGetDeviceProcAddr next_device_function = nullptr;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction next = next_device_function(device, name);
#define CAMBRIAN_PUT(guarded)                                    \
    if (std::strcmp(name, #guarded) == 0) {                      \
        using Put = Guard<PFN_##guarded>::Of<Name_##guarded>;    \
        Put::next = reinterpret_cast<PFN_##guarded>(next);       \
        return reinterpret_cast<PFN_vkVoidFunction>(&Put::call); \
    }
    CAMBRIAN_GUARDED(CAMBRIAN_PUT)
    return next;
}

}  // namespace

/// How many calls have failed since this was asked last.
extern "C" __attribute__((visibility("default"))) int cambrian_faults_fired() {
    return fired.exchange(0);
}

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(
    VkInstance instance, const char* name) {
    static const auto next = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        dlsym(dlopen(CAMBRIAN_REAL_LOADER, RTLD_NOW | RTLD_LOCAL), "vkGetInstanceProcAddr"));
    const PFN_vkVoidFunction found = next(instance, name);
    if (std::strcmp(name, "vkGetDeviceProcAddr") != 0 || found == nullptr) return found;
    next_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
}
