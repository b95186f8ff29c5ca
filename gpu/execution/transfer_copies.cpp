#include <algorithm>
#include <array>
#include <cstring>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/execution/static_shaders.hpp"
#include "cambrian/gpu/execution/transfer.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"

// How uploads get from staging memory to where they belong.
namespace cambrian::gpu {

namespace {

/// A device starts a copy in microseconds and a workgroup in far less: many small copies are a
/// kernel's work.
constexpr std::size_t many_copies = 64;
constexpr std::uint64_t small_copy = std::uint64_t{64} << 10;
constexpr std::uint32_t copy_threads = 64;
constexpr std::size_t table_words = 5;

const vulkan::Pipeline& spread_pipeline(vulkan::PipelineLibrary& pipelines) {
    const auto shaders = static_shaders();
    const auto found = std::ranges::find(shaders, "spread", &StaticShader::name);
    CAMBRIAN_ASSERT(found != shaders.end());
    return pipelines.get(found->name, found->code, std::array{copy_threads});
}

}  // namespace

// Where no two copies go to one place their order does not matter, and sorted ones are cheap to
// check against each other.
void Transfer::record_copies(Commands& commands) {
    const auto overlap = [](const Copy& a, const Copy& b) { return a.to + a.bytes > b.to; };
    std::vector<Copy> sorted = copies_;
    std::ranges::sort(sorted, {}, &Copy::to);
    if (std::ranges::adjacent_find(sorted, overlap) != sorted.end()) {
        for (const Copy& copy : copies_) {
            commands.recorder->copy(copy.from, copy.to, copy.bytes);
        }
        return;
    }
    const auto large =
        std::ranges::partition(sorted, [](const Copy& copy) { return copy.bytes < small_copy; });
    const std::span<const Copy> small(sorted.begin(), large.begin());
    if (small.size() < many_copies) {
        commands.recorder->copy(sorted);
    } else {
        commands.recorder->copy(large);
        record_small_copies(commands, small);
    }
}

void Transfer::record_small_copies(Commands& commands, std::span<const Copy> copies) {
    std::vector<std::uint32_t> table;
    table.reserve(copies.size() * table_words);
    std::vector<vulkan::Range> written{{copies.front().to, 0}};
    for (const Copy& copy : copies) {
        for (const std::uint64_t address : {copy.from, copy.to}) {
            table.push_back(static_cast<std::uint32_t>(address));
            table.push_back(static_cast<std::uint32_t>(address >> 32U));
        }
        table.push_back(static_cast<std::uint32_t>(copy.bytes / word_bytes));
        written.front().address = std::min(written.front().address, copy.to);
        written.front().bytes = std::max(written.front().bytes, copy.to + copy.bytes);
    }
    written.front().bytes -= written.front().address;
    const auto bytes = static_cast<std::int64_t>(table.size() * word_bytes);
    if (commands.table.bytes() < bytes) {
        commands.table = heap_.allocate(vulkan::MemoryKind::upload, bytes);
    }
    std::memcpy(commands.table.host(), table.data(), static_cast<std::size_t>(bytes));
    vulkan::Push push;
    push.address[0] = commands.table.address();
    commands.recorder->dispatch(spread_pipeline(pipelines_), push, copies.size(), {}, written);
}

}  // namespace cambrian::gpu
