#include "cambrian/engine/cpu/conv/window_taps.hpp"

#include <algorithm>

#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

/// Rows of images are short: a call would take longer than the copy.
void copy_neighbours(const float* __restrict__ from, std::int64_t count, float* __restrict__ to) {
    if (count < lanes) {
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] = from[i];
        }
        return;
    }
    for (std::int64_t i = 0; i < count - lanes; i += lanes) {
        store(to + i, load(from + i));
    }
    store(to + count - lanes, load(from + count - lanes));
}

void copy_run(const float* from, std::int64_t step, std::int64_t count, float* to) {
    if (step == 1) {
        copy_neighbours(from, count, to);
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        to[i] = from[i * step];
    }
}

void add_run(const float* __restrict__ from, std::int64_t step, std::int64_t count,
             float* __restrict__ to) {
    if (step == 1) {
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] += from[i];
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        to[i * step] += from[i];
    }
}

}  // namespace

WindowTaps::WindowTaps(const WindowGeometry& geometry) : geometry_(geometry) {
    const Window::Extents& inside = geometry.inside;
    const Window::Extents strides{inside[1] * inside[2], inside[2], 1};
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        step_[axis] = geometry.stride[axis] * strides[axis];
    }
    taps_.resize(static_cast<std::size_t>(geometry.taps()));
    const Window::Extents& kernel = geometry.kernel;
    for (std::size_t i = 0; i < taps_.size(); ++i) {
        const auto tap = static_cast<std::int64_t>(i);
        const Window::Extents at{tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1],
                                 tap % kernel[2]};
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
            taps_[i].first += geometry.element(axis, 0, at[axis]) * strides[axis];
            taps_[i].inside[axis] = geometry.inside_windows(axis, at[axis]);
        }
    }
}

void WindowTaps::read(const float* plane, std::int64_t tap, float outside, float* to) const {
    const auto& [first, inside] = taps_[static_cast<std::size_t>(tap)];
    const auto& [depth, height, width] = geometry_.positions;
    const std::int64_t low = inside[2].begin;
    const std::int64_t high = inside[2].end;
    for (std::int64_t z = 0; z < depth; ++z, to += height * width) {
        if (z < inside[0].begin || z >= inside[0].end || low == high) {
            std::fill_n(to, height * width, outside);
            continue;
        }
        const std::int64_t top = inside[1].begin * width;
        const std::int64_t bottom = inside[1].end * width;
        std::fill(to, to + top, outside);
        const float* from = plane + first + z * step_[0] + inside[1].begin * step_[1];
        if (high - low == width && step_[2] == 1 && step_[1] == width) {
            std::copy_n(from, bottom - top, to + top);
        } else {
            for (float* row = to + top; row != to + bottom; row += width, from += step_[1]) {
                std::fill(row, row + low, outside);
                copy_run(from + low * step_[2], step_[2], high - low, row + low);
                std::fill(row + high, row + width, outside);
            }
        }
        std::fill(to + bottom, to + height * width, outside);
    }
}

void WindowTaps::add(float* plane, std::int64_t tap, const float* from) const {
    const auto& [first, inside] = taps_[static_cast<std::size_t>(tap)];
    const std::int64_t low = inside[2].begin;
    const std::int64_t count = inside[2].end - low;
    if (count <= 0) {
        return;
    }
    for (std::int64_t z = inside[0].begin; z < inside[0].end; ++z) {
        for (std::int64_t y = inside[1].begin; y < inside[1].end; ++y) {
            const std::int64_t window = (z * geometry_.positions[1] + y) * geometry_.positions[2];
            add_run(from + window + low, step_[2], count,
                    plane + (first + z * step_[0] + y * step_[1] + low * step_[2]));
        }
    }
}

}  // namespace cambrian::cpu
