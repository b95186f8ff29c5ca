#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// The dispatches that put the elements of an axis in a stable order, NaN above all: pairs of a key
/// and an index, rows that fit by one workgroup in its memory, longer ones in chunks.
class AxisSort {
  public:
    struct Request {
        bool per_individual = false;
        AxisSplit split;         ///< Of the operand.
        std::int64_t count = 0;  ///< How many of an axis go out, 1 or more.
        ValueType type = ValueType::real;
        bool descending = false;
        BufferView operand;
        BufferView sorted;   ///< [outer, count, inner] each.
        BufferView indices;  ///< Where they came from along the axis.
        /// Elements go out as unsigned numbers of the same order: those of integers have their sign
        /// bit flipped.
        bool as_keys = false;
    };
    AxisSort(CompiledGraph& owner, const Request& request);

    void record(vulkan::Recorder& recorder, const Frame& frame) const;

  private:
    /// Keys and indices, [outer, length, inner] each.
    struct Pairs {
        BufferView keys, indices;
        std::int64_t length = 0;
    };
    /// One dispatch: chunks in a workgroup's memory or, with a distance, one step over whole rows.
    struct Pass {
        Pairs in;
        Pairs out;
        std::int64_t chunk = 1;
        std::int64_t keep = 1;  ///< Of a chunk that go out.
        std::uint32_t flags = 0;
        std::int64_t reach = 0;
        std::int64_t mirrored = 0;  ///< Size of what is mirrored, or 0.
    };

    void sort_at_once();
    void keep_largest_of_chunks();
    void sort_chunks_and_merge();
    [[nodiscard]] Pairs operand() const;
    [[nodiscard]] Pairs result() const;
    [[nodiscard]] Pairs reserved(std::int64_t length);
    void add_local(const Pairs& in, const Pairs& out, std::int64_t chunk, std::int64_t keep,
                   std::uint32_t flags);
    void record_local(vulkan::Recorder& recorder, const Frame& frame, const Pass& pass) const;
    void record_global(vulkan::Recorder& recorder, const Frame& frame, const Pass& pass) const;

    CompiledGraph& owner_;
    Request request_;
    std::uint32_t width_;
    std::vector<Pass> passes_;
    const vulkan::Pipeline& local_;
    const vulkan::Pipeline& global_;
};

}  // namespace cambrian::gpu
