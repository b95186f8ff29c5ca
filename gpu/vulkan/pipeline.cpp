#include "cambrian/gpu/vulkan/pipeline.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

namespace {

/// Pipelines made between two writes of the cache file: a run that is killed loses few.
constexpr std::size_t save_every = 16;

Hash128 key_of(std::span<const std::uint32_t> code, std::span<const std::uint32_t> constants) {
    Hasher hasher;
    const Hash128 text = hash128(std::as_bytes(code));
    hasher.add(text).add(static_cast<std::uint64_t>(constants.size()));
    for (std::uint32_t constant : constants) hasher.add(constant);
    return hasher.hash128();
}

/// A shader module, needed only while a pipeline is made of it.
class Module {
  public:
    Module(Device& device, std::span<const std::uint32_t> code) : device_(device) {
        VkShaderModuleCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = code.size_bytes();
        info.pCode = code.data();
        device_.check(
            device_.functions().vkCreateShaderModule(device_.handle(), &info, nullptr, &handle_),
            "vkCreateShaderModule");
    }
    ~Module() { device_.functions().vkDestroyShaderModule(device_.handle(), handle_, nullptr); }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    [[nodiscard]] VkShaderModule handle() const { return handle_; }

  private:
    Device& device_;
    VkShaderModule handle_ = VK_NULL_HANDLE;
};

std::string full_name(std::string_view name, std::span<const std::uint32_t> constants) {
    std::string text(name);
    text += '(';
    for (std::size_t i = 0; i < constants.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(constants[i]);
    return text + ')';
}

}  // namespace

Pipeline::~Pipeline() {
    device_.functions().vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
}

PipelineLibrary::PipelineLibrary(Device& device, const std::string& cache_directory)
    : device_(device), cache_(device, cache_directory) {}

PipelineLibrary::~PipelineLibrary() = default;

const Pipeline& PipelineLibrary::get(std::string_view name, std::span<const std::uint32_t> code,
                                     std::span<const std::uint32_t> constants) {
    const Hash128 key = key_of(code, constants);
    if (const auto found = made_.find(key); found != made_.end()) return *found->second;
    const auto made =
        made_.emplace(key, std::make_unique<Pipeline>(device_, full_name(name, constants),
                                                      make(name, code, constants)));
    if (++unsaved_ >= save_every) save();
    return *made.first->second;
}

VkPipeline PipelineLibrary::make(std::string_view name, std::span<const std::uint32_t> code,
                                 std::span<const std::uint32_t> constants) {
    CAMBRIAN_EXPECT(!constants.empty());
    const std::vector<std::uint32_t> controlled =
        with_float_controls(code, device_.limits().float_controls);
    const Module module(device_, controlled);
    std::vector<VkSpecializationMapEntry> entries(constants.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto id = static_cast<std::uint32_t>(i);
        entries[i] = {id, id * std::uint32_t{sizeof(std::uint32_t)}, sizeof(std::uint32_t)};
    }
    VkSpecializationInfo specialization{};
    specialization.mapEntryCount = static_cast<std::uint32_t>(entries.size());
    specialization.pMapEntries = entries.data();
    specialization.dataSize = constants.size_bytes();
    specialization.pData = constants.data();
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.handle();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = device_.layout();
    VkPipeline pipeline = VK_NULL_HANDLE;
    device_.check(device_.functions().vkCreateComputePipelines(device_.handle(), cache_.handle(), 1,
                                                               &info, nullptr, &pipeline),
                  "vkCreateComputePipelines of " + full_name(name, constants));
    device_.check_validation();
    return pipeline;
}

void PipelineLibrary::save() {
    cache_.save();
    unsaved_ = 0;
}

}  // namespace cambrian::vulkan
