#include <algorithm>
#include <array>

#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::int64_t vector_words = 4;

std::int64_t row_elements(const Shape& shape, std::int64_t rows) {
    return rows == 0 ? 0 : shape.elements() / rows;
}

class GatherKernel : public Kernel {
  public:
    explicit GatherKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          table_(context.operands[0]),
          indices_(context.operands[1]),
          result_(context.results[0]),
          status_(context.owner.status()),
          rows_(context.operand(0).shape[0]),
          row_(row_elements(context.operand(0).shape, rows_)),
          count_(context.operand(1).shape.elements()),
          narrow_(pipeline(1)),
          wide_(resources_.device.limits().software || row_ % vector_words != 0
                    ? nullptr
                    : &pipeline(vector_words)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const bool wide = wide_ != nullptr && aligned(frame, table_) && aligned(frame, result_);
        const std::int64_t row_items = row_ / (wide ? vector_words : 1);
        const std::int64_t items = (per_individual_ ? frame.population : 1) * count_ * row_items;
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(table_), frame.address(indices_),
                        frame.address(status_)};
        const std::array words{items,
                               row_items,
                               count_,
                               rows_,
                               static_cast<std::int64_t>(DataError::gather_out_of_range),
                               result_.stride,
                               table_.stride,
                               indices_.stride};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        // The status words are exchanged atomically and read when all is done.
        const std::array reads{frame.range(table_, rows_ * row_), frame.range(indices_, count_)};
        const std::array writes{frame.range(result_, count_ * row_)};
        recorder.dispatch(wide ? *wide_ : narrow_, push,
                          groups_for(items, plain_group_width(resources_)), reads, writes);
    }

  private:
    [[nodiscard]] const vulkan::Pipeline& pipeline(std::int64_t width) const {
        return static_pipeline(
            resources_, "gather",
            std::array{plain_group_width(resources_), static_cast<std::uint32_t>(width)});
    }
    static bool aligned(const Frame& frame, const BufferView& place) {
        return place.stride % vector_words == 0 &&
               frame.address(place) % (vector_words * word_bytes) == 0;
    }

    Resources& resources_;
    bool per_individual_;
    BufferView table_, indices_, result_, status_;
    std::int64_t rows_, row_, count_;
    const vulkan::Pipeline& narrow_;
    const vulkan::Pipeline* wide_;
};

class IotaKernel : public Kernel {
  public:
    explicit IotaKernel(const KernelContext& context)
        : result_(context.results[0]),
          length_(context.result().shape.elements()),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(context.owner.resources(), "iota", std::array{width_})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        if (length_ == 0) return;
        vulkan::Push push;
        push.address[0] = frame.address(result_);
        push.word[0] = static_cast<std::uint32_t>(length_);
        const std::array writes{frame.range(result_, length_)};
        recorder.dispatch(pipeline_, push, groups_for(length_, width_), {}, writes);
    }

  private:
    BufferView result_;
    std::int64_t length_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

class RandomKernel : public Kernel {
  public:
    explicit RandomKernel(const KernelContext& context)
        : per_individual_(context.per_individual),
          key_(context.operands[0]),
          ids_(context.operands[1]),
          result_(context.results[0]),
          count_(context.operand(1).shape.elements()),
          draws_(context.attribute<LengthAttribute>().length),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(context.owner.resources(), "random", std::array{width_})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        constexpr std::int64_t block = 4;
        const std::int64_t blocks = (draws_ + block - 1) / block;
        const std::int64_t items = (per_individual_ ? frame.population : 1) * count_ * blocks;
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(key_), frame.address(ids_)};
        const std::array words{items,          count_,      draws_,     blocks,
                               result_.stride, key_.stride, ids_.stride};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        const std::array reads{frame.range(key_, 2), frame.range(ids_, count_)};
        const std::array writes{frame.range(result_, count_ * draws_)};
        recorder.dispatch(pipeline_, push, groups_for(items, width_), reads, writes);
    }

  private:
    bool per_individual_;
    BufferView key_, ids_, result_;
    std::int64_t count_, draws_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelContext& context) {
    return std::make_unique<GatherKernel>(context);
}

std::unique_ptr<Kernel> make_iota(const KernelContext& context) {
    return std::make_unique<IotaKernel>(context);
}

std::unique_ptr<Kernel> make_random(const KernelContext& context) {
    return std::make_unique<RandomKernel>(context);
}

}  // namespace cambrian::gpu
