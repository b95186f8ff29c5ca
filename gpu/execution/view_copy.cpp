#include "cambrian/gpu/execution/kernel.hpp"

#include <array>

#include "cambrian/gpu/execution/compiled_graph.hpp"

namespace cambrian::gpu {

namespace {

constexpr std::uint32_t threads = 64;

class PlaceCopy : public Kernel {
  public:
    PlaceCopy(Resources& resources, const BufferView& target, const BufferView& source,
              std::int64_t elements, bool per_individual)
        : target_(target),
          source_(source),
          elements_(elements),
          per_individual_(per_individual),
          side_by_side_(!per_individual ||
                        (target.stride == elements && source.stride == elements)),
          pipeline_(side_by_side_ ? nullptr
                                  : &static_pipeline(resources, "view_copy", std::array{threads})) {
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t population = per_individual_ ? frame.population : 1;
        const std::uint64_t words = static_cast<std::uint64_t>(elements_ * population);
        if (side_by_side_ || population == 1) {
            recorder.copy(frame.address(source_), frame.address(target_), words * word_bytes);
            return;
        }
        vulkan::Push push;
        push.address[0] = frame.address(source_);
        push.address[1] = frame.address(target_);
        push.word[0] = static_cast<std::uint32_t>(words);
        push.word[1] = static_cast<std::uint32_t>(elements_);
        push.word[2] = static_cast<std::uint32_t>(source_.stride);
        push.word[3] = static_cast<std::uint32_t>(target_.stride);
        recorder.dispatch(*pipeline_, push, (words + threads - 1) / threads,
                          std::array{frame.range(source_, elements_)},
                          std::array{frame.range(target_, elements_)});
    }

  private:
    BufferView target_;
    BufferView source_;
    std::int64_t elements_;
    bool per_individual_;
    bool side_by_side_;                 ///< The individuals lie one after the other on both sides.
    const vulkan::Pipeline* pipeline_;  ///< Null where they do.
};

}  // namespace

std::unique_ptr<Kernel> make_view_copy(Resources& resources, const BufferView& target,
                                       const BufferView& source, std::int64_t elements,
                                       bool per_individual) {
    const bool same = target.slot == source.slot && target.offset == source.offset &&
                      target.scaled == source.scaled && target.stride == source.stride;
    if (same || elements == 0) {
        return nullptr;
    }
    return std::make_unique<PlaceCopy>(resources, target, source, elements, per_individual);
}

}  // namespace cambrian::gpu
