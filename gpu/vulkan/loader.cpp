#include "cambrian/gpu/vulkan/loader.hpp"

#include <dlfcn.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::vulkan {

namespace {

[[noreturn]] void fail_missing(const char* name) {
    throw DeviceError(std::string("Vulkan cannot be used (the loader or driver has no ") + name +
                      ") update the package libvulkan1 and the driver");
}

/// A function by its name, in its own type.
template <class Function>
Function as(PFN_vkVoidFunction function) {
    return reinterpret_cast<Function>(function);
}

}  // namespace

void Loader::Close::operator()(void* library) const noexcept {
    ::dlclose(library);
}

Loader::Loader(const std::string& library) {
    // NODELETE: drivers leave destructors of threads that must stay mapped.
    library_.reset(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    if (!library_) {
        throw DeviceError("Vulkan cannot be used (" + library +
                          " was not found) install the package libvulkan1 and a driver of your "
                          "GPU, or set engine.backend to cpu");
    }
    functions_.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        ::dlsym(library_.get(), "vkGetInstanceProcAddr"));
    if (functions_.vkGetInstanceProcAddr == nullptr) fail_missing("vkGetInstanceProcAddr");
#define CAMBRIAN_LOAD(name)                                                                    \
    functions_.name = as<PFN_##name>(functions_.vkGetInstanceProcAddr(VK_NULL_HANDLE, #name)); \
    if (functions_.name == nullptr) fail_missing(#name);
    CAMBRIAN_VULKAN_GLOBAL_FUNCTIONS(CAMBRIAN_LOAD)
#undef CAMBRIAN_LOAD
}

void load_instance_functions(Functions& functions, VkInstance instance) {
#define CAMBRIAN_LOAD(name) \
    functions.name = as<PFN_##name>(functions.vkGetInstanceProcAddr(instance, #name));
    CAMBRIAN_VULKAN_OPTIONAL_FUNCTIONS(CAMBRIAN_LOAD)
#undef CAMBRIAN_LOAD
#define CAMBRIAN_LOAD(name)                                                            \
    functions.name = as<PFN_##name>(functions.vkGetInstanceProcAddr(instance, #name)); \
    if (functions.name == nullptr) fail_missing(#name);
    CAMBRIAN_VULKAN_INSTANCE_FUNCTIONS(CAMBRIAN_LOAD)
#undef CAMBRIAN_LOAD
}

void load_device_functions(Functions& functions, VkDevice device) {
#define CAMBRIAN_LOAD(name)                                                        \
    functions.name = as<PFN_##name>(functions.vkGetDeviceProcAddr(device, #name)); \
    if (functions.name == nullptr) fail_missing(#name);
    CAMBRIAN_VULKAN_DEVICE_FUNCTIONS(CAMBRIAN_LOAD)
#undef CAMBRIAN_LOAD
}

}  // namespace cambrian::vulkan
