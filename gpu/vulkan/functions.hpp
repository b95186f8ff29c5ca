#pragma once

// The functions of Vulkan that are used, loaded at run time: nothing links against libvulkan.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace cambrian::vulkan {

struct Functions;

}  // namespace cambrian::vulkan
