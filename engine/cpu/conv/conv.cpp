#include <algorithm>
#include <optional>

#include "cambrian/engine/cpu/conv/tile.hpp"
#include "cambrian/engine/cpu/conv/window_taps.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/cpu/gemm/packed_operand.hpp"

namespace cambrian::cpu {

namespace {

/// Multiplications that are worth another thread.
constexpr std::int64_t part_multiplications = 262144;

/// Numbers that are decoded at a time, as many as stay in the second-level cache.
constexpr std::int64_t strip_numbers = 32768;
/// Windows that share what was decoded, or more.
constexpr std::int64_t windows_of_a_strip = 256;
/// Words of the channels of images that share it, or one image.
constexpr std::int64_t max_plane_words = 262144;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Weights times windows, one image and group at a time. Windows are read right from padded copies
/// of the channels. Every sum runs over channels and taps in order, so strict math has the bits of
/// the lowering. Weights in codes are decoded some outputs at a time, for a few images.
class ConvKernel : public Kernel {
  public:
    explicit ConvKernel(const KernelContext& context)
        : conv_(context.attribute<ConvAttribute>()),
          x_(context.operands[0]),
          weights_(context.operands[1]),
          result_(context.results[0]),
          weights_shape_(conv_weights_shape(conv_, context.operand(1).shape)),
          geometry_(window_geometry(conv_.window, context.operand(0).shape.extents())),
          planes_(geometry_),
          channels_(weights_shape_[1]),
          outputs_(weights_shape_[0] / conv_.groups),
          matrices_(context.result().shape.elements() / (outputs_ * geometry_.windows())),
          is_fused_(context.math == Math::fast),
          tiles_(conv_tiles()) {
        if (conv_.bias) {
            bias_ = context.operands.back();
        }
        if (conv_.packed) {
            packed_.emplace(context, *conv_.packed, 1);
        }
        for (std::int64_t channel = 0; channel < channels_; ++channel) {
            for (std::int64_t tap = 0; tap < geometry_.taps(); ++tap) {
                offsets_.push_back(channel * planes_.words() + planes_.offset(tap));
            }
        }
        const std::int64_t sums = outputs_ == 1 ? place_vectors() : place_runs();
        gemm_ = {.m = outputs_, .n = geometry_.windows(), .k = channels_, .adds = conv_.bias};
        strip_outputs_ = outputs_;
        if (packed_) {
            strip_outputs_ = std::clamp<std::int64_t>(
                strip_numbers / std::max<std::int64_t>(depth(), 1), 1, outputs_);
        }
        place_images();
        context.owner.part_scratch(sums_offset_ + (is_product() ? gemm_.enough_words() : sums));
        const std::int64_t multiplications =
            outputs_ * geometry_.windows() * static_cast<std::int64_t>(offsets_.size());
        part_matrices_ =
            divide_up(part_multiplications, std::max<std::int64_t>(multiplications, 1));
        if (packed_) {
            const std::int64_t images = std::max(divide_up(part_matrices_, conv_.groups), images_);
            part_matrices_ = images * conv_.groups;
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        const std::int64_t all = count * matrices_;
        for_each_part(frame.team, divide_up(all, part_matrices_),
                      [&](std::int64_t part, std::byte* scratch) {
                          const std::int64_t first = part * part_matrices_;
                          const std::int64_t end = std::min(all, first + part_matrices_);
                          run_matrices(frame, first, end, reinterpret_cast<float*>(scratch));
                      });
    }

  private:
    /// Some outputs of a group, and where their weights are.
    struct Strip {
        const float* weights = nullptr;
        std::int64_t first = 0;  ///< Of the group.
        std::int64_t outputs = 0;
    };

    [[nodiscard]] std::int64_t depth() const { return static_cast<std::int64_t>(offsets_.size()); }
    /// In front of the scratch of a part.
    [[nodiscard]] std::int64_t decoded_words() const {
        constexpr std::int64_t line_words = 16;
        return packed_ ? divide_up(strip_outputs_ * depth(), line_words) * line_words : 0;
    }

    /// Matrices of all individuals, one after another.
    void run_matrices(const Frame& frame, std::int64_t first, std::int64_t end,
                      float* scratch) const {
        if (!packed_) {
            for (std::int64_t matrix = first; matrix < end; ++matrix) {
                const std::int64_t row = matrix % matrices_ % conv_.groups * outputs_;
                const float* weights =
                    frame.at<float>(weights_) + matrix / matrices_ * weights_.stride;
                write_planes(frame, matrix, scratch);
                run_matrix(frame, matrix, {weights + row * depth(), 0, outputs_}, scratch,
                           scratch + sums_offset_);
            }
            return;
        }
        for (std::int64_t next = first; first < end; first = next) {
            next = std::min(end, first + images_ * conv_.groups);
            if (!packed_->shared()) next = std::min(next, (first / matrices_ + 1) * matrices_);
            for (std::int64_t group = 0; group < conv_.groups; ++group) {
                run_coded(frame, first + group, next, scratch);
            }
        }
    }

    /// The images of one group that have the same weights, from a matrix on.
    void run_coded(const Frame& frame, std::int64_t first, std::int64_t end, float* scratch) const {
        float* const planes = scratch + decoded_words();
        const auto each = [&](auto&& visit) {
            for (std::int64_t matrix = first, i = 0; matrix < end; matrix += conv_.groups, ++i) {
                visit(matrix, planes + i * plane_words_);
            }
        };
        each([&](std::int64_t matrix, float* own) { write_planes(frame, matrix, own); });
        const std::int64_t row = first % matrices_ % conv_.groups * outputs_;
        for (std::int64_t output = 0; output < outputs_; output += strip_outputs_) {
            const Strip strip{scratch, output, std::min(strip_outputs_, outputs_ - output)};
            decode_rows(packed_->packed(), packed_->rows(frame, first / matrices_), row + output,
                        strip.outputs, scratch);
            each([&](std::int64_t matrix, float* own) {
                run_matrix(frame, matrix, strip, own, scratch + sums_offset_);
            });
        }
    }

    /// Decoded weights come first, then the planes of some images, then what is summed up.
    void place_images() {
        if (is_product()) {
            plane_words_ = 0;
        }
        if (packed_) {
            const std::int64_t enough = divide_up(windows_of_a_strip, geometry_.windows());
            images_ = plane_words_ == 0
                          ? enough
                          : std::clamp<std::int64_t>(max_plane_words / plane_words_, 1, enough);
        }
        sums_offset_ = decoded_words() + images_ * plane_words_;
    }

    [[nodiscard]] std::int64_t tile_columns() const { return tiles_.max_vectors * tiles_.lanes; }

    /// A window of one element everywhere: the channels are the windows as they lie.
    [[nodiscard]] bool is_product() const { return is_fused_ && geometry_.is_identity(); }

    /// Both return the words of sums.
    std::int64_t place_runs() {
        const auto& [depth, height, width] = geometry_.positions;
        const std::int64_t joined = (height - 1) * planes_.row() + width;
        // Rows as one run compute what lies between them too.
        const bool joins =
            divide_up(joined, tiles_.lanes) <= height * divide_up(width, tiles_.lanes);
        run_rows_ = joins ? height : 1;
        run_length_ = joins ? joined : width;
        // The last vector of a run is read, not stored, beyond its end.
        plane_words_ = channels_ * planes_.words() + tile_columns();
        return tiles_.max_rows * tile_columns();
    }
    std::int64_t place_vectors() {
        constexpr std::int64_t lanes = 8;
        const auto& [depth, height, width] = geometry_.positions;
        for (std::int64_t row = 0; row < depth * height; ++row) {
            const std::int64_t window =
                row / height * planes_.slab() + row % height * planes_.row();
            for (std::int64_t x = 0; x < width; x += lanes) {
                vectors_.push_back({window + x, row * width + x, std::min(lanes, width - x)});
            }
        }
        plane_words_ = channels_ * planes_.words() + lanes;
        return 0;
    }

    /// The channels of a matrix with what stands around them.
    void write_planes(const Frame& frame, std::int64_t of_all, float* planes) const {
        if (is_product()) {
            return;
        }
        const float* x = frame.at<float>(x_) + of_all / matrices_ * x_.stride +
                         of_all % matrices_ * channels_ * geometry_.elements();
        for (std::int64_t channel = 0; channel < channels_; ++channel) {
            planes_.write(x + channel * geometry_.elements(), planes + channel * planes_.words());
        }
    }

    void run_matrix(const Frame& frame, std::int64_t of_all, const Strip& strip,
                    const float* planes, float* scratch) const {
        const std::int64_t individual = of_all / matrices_;
        const std::int64_t matrix = of_all % matrices_;
        const auto at = [&](const BufferView& ref) {
            return frame.at<float>(ref) + individual * ref.stride;
        };
        const float* x = at(x_) + matrix * channels_ * geometry_.elements();
        const std::int64_t first = matrix % conv_.groups * outputs_ + strip.first;
        const float* bias = conv_.bias ? at(bias_) + first : nullptr;
        float* result = at(result_) + (matrix * outputs_ + strip.first) * geometry_.windows();
        if (is_product()) {
            for (std::int64_t output = 0; bias != nullptr && output < strip.outputs; ++output) {
                std::fill_n(result + output * geometry_.windows(), geometry_.windows(),
                            bias[output]);
            }
            Gemm product = gemm_;
            product.m = strip.outputs;
            product(scratch, strip.weights, x, result);
            return;
        }
        if (outputs_ == 1) {
            ConvPlane{offsets_, strip.weights, planes, bias, result}.run(vectors_, is_fused_);
        } else {
            multiply(planes, strip, bias, scratch, result);
        }
    }

    void multiply(const float* planes, const Strip& strip, const float* bias, float* sums,
                  float* result) const {
        const auto& [depth, height, width] = geometry_.positions;
        for (std::int64_t z = 0; z < depth; ++z) {
            for (std::int64_t y = 0; y < height; y += run_rows_) {
                const float* windows = planes + z * planes_.slab() + y * planes_.row();
                for (std::int64_t q = 0; q < run_length_; q += tile_columns()) {
                    multiply_columns(windows, q, strip, bias, sums,
                                     result + (z * height + y) * width);
                }
            }
        }
    }

    /// The outputs of the windows of a run from q on, as many as fit a tile.
    void multiply_columns(const float* windows, std::int64_t q, const Strip& strip,
                          const float* bias, float* sums, float* result) const {
        const std::int64_t columns = std::min(tile_columns(), run_length_ - q);
        const std::int64_t vectors = divide_up(columns, tiles_.lanes);
        const std::int64_t y = q / planes_.row();
        const std::int64_t x = q - y * planes_.row();
        for (std::int64_t row = 0; row < strip.outputs; row += tiles_.max_rows) {
            const std::int64_t rows = std::min(tiles_.max_rows, strip.outputs - row);
            tiles_.kernel(is_fused_, rows, vectors)({.weights = strip.weights + row * depth(),
                                                     .depth = depth(),
                                                     .windows = windows + q,
                                                     .offsets = offsets_.data(),
                                                     .sums = sums});
            for (std::int64_t r = 0; r < rows; ++r) {
                store(sums + r * vectors * tiles_.lanes, columns, x,
                      bias == nullptr ? nullptr : bias + row + r,
                      result + (row + r) * geometry_.windows() + y * geometry_.positions[2]);
            }
        }
    }

    /// From window x of a row on, without what lies between the rows of a run.
    void store(const float* sums, std::int64_t columns, std::int64_t x, const float* bias,
               float* result) const {
        const std::int64_t width = geometry_.positions[2];
        const std::int64_t row = planes_.row();
        if (row == width) {
            store_run(sums, columns, bias, result + x);
            return;
        }
        for (std::int64_t i = 0; i < columns; i += row - x, x = 0, result += width) {
            store_run(sums + i, std::min(width - x, columns - i), bias, result + x);
        }
    }

    static void store_run(const float* __restrict__ sums, std::int64_t count, const float* bias,
                          float* __restrict__ result) {
        if (bias == nullptr) {
            for (std::int64_t i = 0; i < count; ++i) {
                result[i] = sums[i];
            }
            return;
        }
        const float added = *bias;
        for (std::int64_t i = 0; i < count; ++i) {
            result[i] = sums[i] + added;
        }
    }

    ConvAttribute conv_;
    BufferView x_, weights_, bias_, result_;
    Shape weights_shape_;
    std::optional<PackedOperand> packed_;  ///< In the place of weights_.
    WindowGeometry geometry_;
    WindowPlanes planes_;
    std::int64_t channels_, outputs_;  ///< Of one group.
    std::int64_t matrices_;            ///< Images times groups.
    std::int64_t part_matrices_ = 1;   ///< That one thread takes at a time.
    std::int64_t strip_outputs_ = 1;   ///< Whose weights are decoded at a time, or all.
    bool is_fused_;
    const ConvTiles& tiles_;
    std::vector<std::int64_t> offsets_;           ///< One for each channel and tap.
    std::int64_t run_rows_ = 1, run_length_ = 0;  ///< Windows that are multiplied as one row.
    std::int64_t plane_words_ = 0;                ///< Of a matrix.
    std::int64_t images_ = 1;                     ///< Whose planes are there at a time.
    std::int64_t sums_offset_ = 0;
    std::vector<ConvVector> vectors_;  ///< All windows, where there is one output.
    Gemm gemm_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv(const KernelContext& context) {
    if (context.result().shape.elements() == 0) {
        return nullptr;
    }
    return std::make_unique<ConvKernel>(context);
}

}  // namespace cambrian::cpu
