#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/matmul/packed_format.hpp"

namespace cambrian::gpu {
namespace {

/// As in packed.glsl.
enum class PackedKind : std::uint8_t {
    f16,
    bf16,
    f8_e4m3,
    f8_e5m2,
    f4_e2m1,
    two_complement,
    natural,
    sign,
    offset,
    none,  ///< Not packed.
};

/// In the order of the formats.
constexpr std::array<PackedKind, dtype_count> packed_kinds{
    PackedKind::none,            // float64
    PackedKind::none,            // float32
    PackedKind::f16,             // float16
    PackedKind::bf16,            // bfloat16
    PackedKind::f8_e4m3,         // float8_e4m3fn
    PackedKind::f8_e5m2,         // float8_e5m2
    PackedKind::none,            // int64
    PackedKind::none,            // int32
    PackedKind::two_complement,  // int16
    PackedKind::two_complement,  // int8
    PackedKind::none,            // uint64
    PackedKind::none,            // uint32
    PackedKind::natural,         // uint16
    PackedKind::natural,         // uint8
    PackedKind::two_complement,  // int4
    PackedKind::natural,         // uint4
    PackedKind::f4_e2m1,         // float4_e2m1fn
    PackedKind::two_complement,  // int2
    PackedKind::natural,         // uint2
    PackedKind::two_complement,  // ternary
    PackedKind::sign,            // binary
    PackedKind::offset,          // q4_0
};

std::uint32_t packed_group_constant(ScaleGroup group) {
    if (group == ScaleGroup::none) return 0;
    return group == ScaleGroup::row ? 1 : 2;
}

/// One invocation for each number.
class UnpackKernel : public Kernel {
  public:
    explicit UnpackKernel(const KernelContext& context)
        : per_individual_(context.per_individual),
          elements_(context.result().shape.elements()),
          length_(context.result().shape[-1]),
          width_(plain_group_width(context.owner.resources())),
          result_(context.results[0]) {
        for (std::size_t i = 0; i < context.operands.size(); ++i)
            parts_.push_back({context.operands[i], context.operand(i).shape.elements()});
        const PackedFormat format = packed_format(context.attribute<PackedAttribute>());
        pipeline_ = &static_pipeline(context.owner.resources(), "unpack",
                                     std::array{width_, format.kind, format.bits, format.group});
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t items = elements_ * (per_individual_ ? frame.population : 1);
        vulkan::Push push;
        push.address[0] = frame.address(result_);
        push.word[0] = static_cast<std::uint32_t>(items);
        push.word[1] = static_cast<std::uint32_t>(length_);
        push.word[2] = static_cast<std::uint32_t>(elements_ / length_);
        push.word[3] = static_cast<std::uint32_t>(result_.stride);
        std::vector<vulkan::Range> reads;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            push.address[1 + i] = frame.address(parts_[i].view);
            push.word[4 + i] = static_cast<std::uint32_t>(parts_[i].view.stride);
            reads.push_back(frame.range(parts_[i].view, parts_[i].elements));
        }
        const std::array writes{frame.range(result_, elements_)};
        recorder.dispatch(*pipeline_, push, groups_for(items, width_), reads, writes);
    }

  private:
    struct Part {
        BufferView view;
        std::int64_t elements = 0;
    };

    bool per_individual_;
    std::int64_t elements_, length_;
    std::uint32_t width_;
    BufferView result_;
    std::vector<Part> parts_;
    const vulkan::Pipeline* pipeline_ = nullptr;
};

}  // namespace

PackedFormat packed_format(const PackedAttribute& packed) {
    const PackedKind kind = packed_kinds[static_cast<std::size_t>(packed.dtype)];
    CAMBRIAN_EXPECT(kind != PackedKind::none);
    return {.kind = static_cast<std::uint32_t>(kind),
            .bits = row(packed.dtype).bits,
            .group = packed_group_constant(scale_group(packed))};
}

std::unique_ptr<Kernel> make_unpack(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    return std::make_unique<UnpackKernel>(context);
}

}  // namespace cambrian::gpu
