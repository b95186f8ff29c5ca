#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/nest.hpp"
#include "cambrian/gpu/kernels/compiled_graph.hpp"
#include "cambrian/gpu/kernels/matmul_tile.hpp"
#include "cambrian/gpu/kernels/walk.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/matmul.glsl.
constexpr std::uint32_t flag_transpose_left = 1;
constexpr std::uint32_t flag_transpose_right = 2;
constexpr std::uint32_t flag_bias = 4;
constexpr std::uint32_t flag_activation = 8;
constexpr std::uint32_t flag_aligned_result = 16;
// As in shaders/matmul.comp.
constexpr std::uint32_t load_along_rows = 1;
constexpr std::uint32_t load_vectors = 2;

constexpr std::int64_t vector_words = 4;

LinearAttribute attribute_of(const Site& site) {
    return site.node.op == Op::linear
               ? site.attribute<LinearAttribute>()
               : LinearAttribute{site.attribute<MatmulAttribute>(), false, false};
}

/// An axis of the matrices of one individual: words between those of either operand.
struct BatchAxis {
    std::int64_t extent = 1;
    std::int64_t left = 0;
    std::int64_t right = 0;
};

Shape batch_of(const Shape& shape) {
    return Shape(shape.extents().first(static_cast<std::size_t>(shape.rank() - 2)));
}

/// From the outermost, without axes of extent 1, neighbours as one where both operands allow it.
std::vector<BatchAxis> batch_axes(const Shape& left, const Shape& right, const Shape& result) {
    const Shape batch = batch_of(result);
    const auto left_strides = cpu::broadcast_strides(batch_of(left), batch);
    const auto right_strides = cpu::broadcast_strides(batch_of(right), batch);
    std::vector<BatchAxis> axes;
    for (std::size_t i = 0; i < batch.extents().size(); ++i) {
        const BatchAxis axis{batch.extents()[i], left_strides[i] * left[-1] * left[-2],
                             right_strides[i] * right[-1] * right[-2]};
        if (axis.extent == 1) continue;
        const bool joins = !axes.empty() && axes.back().left == axis.extent * axis.left &&
                           axes.back().right == axis.extent * axis.right;
        if (joins)
            axes.back() = {axes.back().extent * axis.extent, axis.left, axis.right};
        else
            axes.push_back(axis);
    }
    return axes;
}

std::uint32_t word(std::int64_t value) {
    CAMBRIAN_ASSERT(value >= 0 && value <= std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(value);
}

/// An operand or the result, with the words one individual has of it.
struct Matrices {
    Place place;
    std::int64_t words = 0;

    /// Whether every row (or column, of `width` words) of every matrix starts on a vector.
    [[nodiscard]] bool aligned(const Frame& frame, std::int64_t width) const {
        return width % vector_words == 0 && place.stride % vector_words == 0 &&
               frame.address(place) % (vector_words * word_bytes) == 0;
    }
    [[nodiscard]] vulkan::Range range(const Frame& frame) const {
        return frame.range(place, words);
    }
};

class MatmulStep : public Step {
  public:
    explicit MatmulStep(const Site& site)
        : resources_(site.owner.resources()),
          linear_(attribute_of(site)),
          left_{site.operands[0], site.operand(0).shape.elements()},
          right_{site.operands[1], site.operand(1).shape.elements()},
          result_{site.results[0], site.result().shape.elements()},
          per_individual_(site.per_individual),
          m_(site.result().shape[-2]),
          n_(site.result().shape[-1]),
          k_(site.operand(0).shape[linear_.product.transpose_left ? -2 : -1]) {
        std::size_t next = 2;
        if (linear_.bias) bias_ = {site.operands[next++], n_};
        if (linear_.activation) code_ = {site.operands[next], 1};
        // One right matrix for all left ones: their rows are the rows of one matrix.
        if (right_.words == n_ * k_ && !linear_.product.transpose_left &&
            left_.words == result_.words / n_ * k_) {
            m_ = result_.words / n_;
            return;
        }
        add_batch(site);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const bool joined = rows_continue();
        const std::int64_t individuals = per_individual_ ? frame.population : 1;
        const Size size{joined ? m_ * individuals : m_, joined ? 1 : individuals};
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        const MatmulTile& tile = tile_for(size, limits);
        vulkan::Push push = arguments(frame, size);
        const std::uint64_t groups =
            tile.direct() ? direct_groups(size, tile) : tiled_groups(size, tile, push);
        std::vector<vulkan::Range> reads{left_.range(frame), right_.range(frame)};
        if (linear_.bias) reads.push_back(bias_.range(frame));
        if (linear_.activation) reads.push_back(code_.range(frame));
        const std::array writes{result_.range(frame)};
        const vulkan::Pipeline& kernel = pipeline(tile, frame);
        if (!tile.direct()) {
            recorder.dispatch(kernel, push, groups, reads, writes);
            return;
        }
        // A long sum is cut into dispatches that go on from what is in the result.
        std::int64_t begin = 0;
        do {
            const std::int64_t end = std::min(begin + most_turns(resources_), k_);
            push.word[3] = word(begin);
            push.word[4] = word(end);
            recorder.dispatch(kernel, push, groups, reads, writes);
            begin = end;
        } while (begin < k_);
    }

  private:
    struct Size {
        std::int64_t m = 0;
        std::int64_t individuals = 1;
    };

    /// Where a device cannot loop over all of k in one dispatch, the kernel that can be cut.
    [[nodiscard]] const MatmulTile& tile_for(const Size& size,
                                             const vulkan::DeviceLimits& limits) const {
        if (k_ > most_turns(resources_)) return matmul_tile("direct", limits);
        return resources_.matmul_tile.empty() ? choose_matmul_tile(size.m, n_, limits)
                                              : matmul_tile(resources_.matmul_tile, limits);
    }

    void add_batch(const Site& site) {
        const auto axes =
            batch_axes(site.operand(0).shape, site.operand(1).shape, site.result().shape);
        std::vector<std::uint32_t> words;
        for (const BatchAxis& axis : axes) {
            matrices_ *= axis.extent;
            words.insert(words.end(), {word(axis.extent), word(axis.left), word(axis.right)});
        }
        batch_axes_ = axes.size();
        if (!words.empty()) batch_ = site.owner.table(words);
    }

    /// Whether the rows of all individuals are those of one matrix times one shared matrix. Rows do
    /// not see each other, so no result depends on the number of individuals.
    [[nodiscard]] bool rows_continue() const {
        return per_individual_ && matrices_ == 1 && !linear_.product.transpose_left &&
               right_.place.stride == 0 && bias_.place.stride == 0 && code_.place.stride == 0 &&
               left_.place.stride == m_ * k_ && result_.place.stride == m_ * n_;
    }

    [[nodiscard]] vulkan::Push arguments(const Frame& frame, const Size& size) const {
        std::uint32_t flags = 0;
        if (linear_.product.transpose_left) flags |= flag_transpose_left;
        if (linear_.product.transpose_right) flags |= flag_transpose_right;
        if (linear_.bias) flags |= flag_bias;
        if (linear_.activation) flags |= flag_activation;
        if (result_.aligned(frame, n_)) flags |= flag_aligned_result;
        vulkan::Push push;
        push.address = {frame.address(left_.place), frame.address(right_.place),
                        frame.address(result_.place)};
        if (linear_.bias) push.address[3] = frame.address(bias_.place);
        if (linear_.activation) push.address[4] = frame.address(code_.place);
        if (batch_axes_ > 0) push.address[5] = frame.address(batch_);
        push.word = {word(size.m), word(n_), word(k_), 0, 0, word(matrices_)};
        const std::array places{&left_, &right_, &result_, &bias_, &code_};
        for (std::size_t i = 0; i < places.size(); ++i)
            push.word[6 + i] = word(places[i]->place.stride);
        push.word[11] = flags;
        push.word[12] = static_cast<std::uint32_t>(batch_axes_);
        push.word[13] = word(size.individuals);
        return push;
    }

    [[nodiscard]] std::uint64_t direct_groups(const Size& size, const MatmulTile& tile) const {
        const std::int64_t elements = size.individuals * matrices_ * size.m * n_;
        return checked((elements + tile.threads() - 1) / tile.threads(), tile.threads());
    }

    [[nodiscard]] std::uint64_t tiled_groups(const Size& size, const MatmulTile& tile,
                                             vulkan::Push& push) const {
        const std::int64_t down = (size.m + tile.rows - 1) / tile.rows;
        const std::int64_t across = (n_ + tile.columns - 1) / tile.columns;
        push.word[3] = word(down);
        push.word[4] = word(across);
        return checked(size.individuals * matrices_ * down * across, 1);
    }

    /// Kernels count what they work on in 32 bits.
    static std::uint64_t checked(std::int64_t groups, std::int64_t counts_of_each) {
        if (groups > std::numeric_limits<std::uint32_t>::max() / counts_of_each)
            throw DeviceError(
                "a matrix product has too many results (more than 2^32 in one run) evaluate fewer "
                "individuals at once");
        return static_cast<std::uint64_t>(groups);
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(const MatmulTile& tile,
                                                   const Frame& frame) const {
        const std::uint32_t activation = linear_.activation ? 1 : 0;
        if (tile.direct())
            return static_pipeline(resources_, "matmul_direct",
                                   std::array{tile.threads(), activation});
        const auto& [transpose_left, transpose_right] = linear_.product;
        const std::array constants{
            tile.threads(),
            tile.rows,
            tile.columns,
            tile.depth,
            tile.thread_rows,
            tile.thread_columns,
            load_of(left_, frame, transpose_left, transpose_left ? m_ : k_),
            load_of(right_, frame, !transpose_right, transpose_right ? k_ : n_),
            activation};
        return static_pipeline(resources_, "matmul", constants);
    }

    /// How tiles of an operand are read: along the words that follow each other. A software device
    /// has one pipeline for every layout, because it compiles for longer than it computes.
    [[nodiscard]] std::uint32_t load_of(const Matrices& matrices, const Frame& frame,
                                        bool rows_follow, std::int64_t width) const {
        if (resources_.device.limits().software && resources_.matmul_tile.empty()) return 0;
        return (rows_follow ? load_along_rows : 0) |
               (matrices.aligned(frame, width) ? load_vectors : 0);
    }

    Resources& resources_;
    LinearAttribute linear_;
    Matrices left_, right_, result_, bias_, code_;
    bool per_individual_;
    std::int64_t m_, n_, k_;
    std::int64_t matrices_ = 1;  ///< Of one individual.
    std::size_t batch_axes_ = 0;
    Place batch_;
};

}  // namespace

std::unique_ptr<Step> make_matmul(const Site& site) {
    if (site.result().shape.elements() == 0) return nullptr;
    return std::make_unique<MatmulStep>(site);
}

}  // namespace cambrian::gpu
