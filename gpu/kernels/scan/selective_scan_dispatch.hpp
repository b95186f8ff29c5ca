#pragma once

#include <array>
#include <cstdint>

#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// Extents of a selective scan: `sequences` of `steps` with `channels` of `states` each.
struct SelectiveScanSizes {
    std::int64_t sequences = 0;
    std::int64_t steps = 0;
    std::int64_t channels = 0;
    std::int64_t states = 0;

    explicit SelectiveScanSizes(const KernelContext& context);
};

/// How a selective scan is cut into workgroups and tiles of steps
/// (shaders/scan/selective_scan.glsl). The number of states alone decides: on every device sums
/// over channels have one order.
struct SelectiveScanTile {
    static constexpr std::uint32_t threads = 128;
    std::uint32_t states = 0;  ///< Of a channel, in one dispatch.
    std::uint32_t steps = 0;

    [[nodiscard]] std::int64_t channels() const { return threads / states; }
    /// Shared memory of the kernel that needs most of it, the gradient.
    [[nodiscard]] std::int64_t shared_bytes() const;
};
[[nodiscard]] const SelectiveScanTile& choose_selective_scan_tile(std::int64_t states);

/// One of the kernels that walk over the steps.
class SelectiveScanDispatch {
  public:
    static constexpr std::size_t view_count = 12;
    /// A tensor that the kernel reads or writes; without elements it has no part in it.
    struct View {
        BufferView buffer{};
        std::int64_t elements = 0;  ///< Of one individual.
        bool written = false;
    };
    using Views = std::array<View, view_count>;
    enum class Kind : std::uint8_t {
        forward,
        starts,    ///< Forward, for the states before every tile alone.
        gradient,  ///< Backward.
    };

    /// @param views in the order of the shader's tensors.
    /// @param tiles of steps that it walks over: the first so many.
    SelectiveScanDispatch(const KernelContext& context, Kind kind, const Views& views,
                          std::int64_t tiles);

    /// In dispatches that a device finishes in time, each for some of the states.
    void record(vulkan::Recorder& recorder, const Frame& frame) const;

  private:
    struct Stretch {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    void record(vulkan::Recorder& recorder, const Frame& frame, Stretch stretch) const;
    [[nodiscard]] vulkan::Push arguments(const Frame& frame) const;
    [[nodiscard]] BufferView make_table(const KernelContext& context) const;

    SelectiveScanSizes sizes_;
    const SelectiveScanTile& tile_;
    Views views_;
    Kind kind_;
    std::int64_t tiles_;
    std::int64_t longest_stretch_;
    bool per_individual_;
    const vulkan::Pipeline& pipeline_;
    BufferView table_;
};

}  // namespace cambrian::gpu
