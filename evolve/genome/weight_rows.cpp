#include "cambrian/evolve/genome/weight_rows.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::evolve {

namespace {

/// Elements of a slab of small rows.
constexpr std::int64_t slab_elements = std::int64_t{1} << 24;
constexpr std::int64_t min_row = 256;
/// Parts of a power of two that sizes are rounded to, so that networks that grow share rows.
constexpr int steps = 16;

std::int64_t rounded(std::int64_t elements) {
    const std::int64_t wanted = std::max(elements, min_row);
    const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)) /
                                                static_cast<std::uint64_t>(steps));
    return (wanted + step - 1) / step * step;
}

}  // namespace

WeightRows::~WeightRows() {
    for (auto& [size, rows] : sizes_) {
        std::int64_t room = 0;
        for (const auto& slab : rows.slabs) {
            room += slab->elements() / size;
        }
        CAMBRIAN_EXPECT(room == static_cast<std::int64_t>(rows.free.size()));
    }
}

std::vector<SharedRow> WeightRows::take(const std::vector<std::int64_t>& elements) {
    Wanted wanted;
    for (const std::int64_t count : elements) {
        ++wanted[rounded(count)];
    }
    for (const auto& [size, rows] : wanted) {
        if (!grow(size, wanted)) {
            trim();
            return {};
        }
    }
    std::vector<SharedRow> taken;
    taken.reserve(elements.size());
    const std::lock_guard lock(mutex_);
    for (const std::int64_t count : elements) {
        const std::int64_t size = rounded(count);
        std::vector<Binding>& free = sizes_[size].free;
        CAMBRIAN_EXPECT(!free.empty());
        taken.push_back(std::make_shared<const Row>(*this, size, free.back()));
        free.pop_back();
    }
    return taken;
}

bool WeightRows::grow(std::int64_t size, const Wanted& wanted) {
    const std::int64_t rows = wanted.at(size);
    const auto missing = [&] {
        const std::lock_guard lock(mutex_);
        return rows - static_cast<std::int64_t>(sizes_[size].free.size());
    };
    for (bool trimmed = false; missing() > 0;) {
        const std::int64_t at_once =
            std::max<std::int64_t>(1, std::min(missing(), slab_elements / size));
        const std::int64_t limit = backend_.memory().limit;
        // Half is for what programs need: operands, outputs and temporaries.
        const bool fits = limit == 0 || (held_ + at_once * size) * word_bytes <= limit / 2;
        std::unique_ptr<Buffer> slab;
        try {
            slab = fits ? backend_.allocate(ValueType::real, at_once * size) : nullptr;
        } catch (const OutOfMemoryError&) {
        }
        if (!slab && trimmed) {
            return false;
        }
        if (!slab) {
            trim(wanted);
            trimmed = true;
            continue;
        }
        held_ += slab->elements();
        const std::lock_guard lock(mutex_);
        for (std::int64_t row = 0; row < at_once; ++row) {
            sizes_[size].free.push_back({slab.get(), row * size});
        }
        sizes_[size].slabs.push_back(std::move(slab));
    }
    return true;
}

void WeightRows::trim(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto& [size, rows] : sizes_) {
        if (wanted.contains(size)) {
            continue;
        }
        std::map<const Buffer*, std::int64_t> idle;
        for (const Binding& place : rows.free) {
            ++idle[place.buffer];
        }
        std::erase_if(rows.slabs, [&](const std::unique_ptr<Buffer>& slab) {
            if (idle[slab.get()] != slab->elements() / size) {
                return false;
            }
            std::erase_if(rows.free,
                          [&](const Binding& place) { return place.buffer == slab.get(); });
            held_ -= slab->elements();
            return true;
        });
    }
}

void WeightRows::give_back(std::int64_t size, Binding place) noexcept {
    const std::lock_guard lock(mutex_);
    sizes_[size].free.push_back(place);
}

}  // namespace cambrian::evolve
