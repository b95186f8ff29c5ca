#include <algorithm>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/static_shaders.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"

namespace cambrian::gpu {

namespace {

const StaticShader* find(std::string_view name, bool strict) {
    const auto shaders = static_shaders();
    const auto found = std::ranges::find_if(shaders, [&](const StaticShader& shader) {
        return shader.name == name && shader.strict == strict;
    });
    return found == shaders.end() ? nullptr : &*found;
}

}  // namespace

const vulkan::Pipeline& static_pipeline(Resources& resources, std::string_view shader,
                                        std::span<const std::uint32_t> constants) {
    const bool strict = resources.math == Math::strict;
    const StaticShader* found = strict ? find(shader, true) : nullptr;
    if (found == nullptr) {
        found = find(shader, false);
    }
    CAMBRIAN_ASSERT(found != nullptr);
    return resources.pipelines.get(shader, found->code, constants);
}

}  // namespace cambrian::gpu
