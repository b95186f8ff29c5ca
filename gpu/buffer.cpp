#include "cambrian/gpu/buffer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

namespace {

std::int64_t bytes_of(std::int64_t elements) {
    CAMBRIAN_ASSERT(elements >= 0);
    constexpr auto bytes = static_cast<std::int64_t>(word_bytes);
    if (elements > std::numeric_limits<std::int64_t>::max() / (2 * bytes)) {
        throw DeviceError("cannot allocate " + std::to_string(elements) +
                          " elements (more than memory can address) use a smaller population");
    }
    return elements * bytes;
}

}  // namespace

DeviceBuffer::DeviceBuffer(Transfer& transfer, ValueType type, std::int64_t elements)
    : transfer_(transfer), memory_(transfer, bytes_of(elements)), type_(type), elements_(elements) {
    transfer.clear(memory_);
    ++transfer.live().buffers;
}

std::uint64_t DeviceBuffer::address(std::int64_t first) const {
    return memory_.address() + static_cast<std::uint64_t>(first) * word_bytes;
}

void DeviceBuffer::require_inside(std::int64_t first, std::int64_t count) const {
    CAMBRIAN_ASSERT(first >= 0 && first <= elements_ && count <= elements_ - first);
}

void DeviceBuffer::written(std::int64_t first, std::int64_t count) {
    std::erase_if(mirrors_, [&](const Mirror& mirror) {
        return mirror.first < first + count && first < mirror.first + mirror.count;
    });
}

void DeviceBuffer::mirror(Mirror added) {
    const auto after = std::ranges::upper_bound(mirrors_, added.first, {}, &Mirror::first);
    mirrors_.insert(after, std::move(added));
}

std::span<const DeviceBuffer::Mirror> DeviceBuffer::mirrors(std::int64_t first,
                                                            std::int64_t count) const {
    auto from = std::ranges::upper_bound(mirrors_, first, {}, &Mirror::first);
    if (count == 0 || from == mirrors_.begin()) {
        return {};
    }
    --from;
    std::int64_t held = first;
    for (auto to = from; to != mirrors_.end() && to->first <= held; ++to) {
        held = std::max(held, to->first + to->count);
        if (held >= first + count) {
            return {from, to + 1};
        }
    }
    return {};
}

}  // namespace cambrian::gpu
