#include "cambrian/gpu/kernels/matmul/operands.hpp"

#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/tensor/nest.hpp"
#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/matmul/matmul.glsl.
constexpr std::uint32_t flag_transpose_left = 1;
constexpr std::uint32_t flag_transpose_right = 2;
constexpr std::uint32_t flag_bias = 4;
constexpr std::uint32_t flag_activation = 8;
constexpr std::uint32_t flag_aligned_result = 16;

MatmulEpilogueAttribute attribute_of(const KernelContext& context) {
    if (context.node.op == Op::packed_matmul)
        return {.product = {.transpose_left = false, .transpose_right = true},
                .packed = context.attribute<PackedAttribute>()};
    return context.node.op == Op::matmul_epilogue
               ? context.attribute<MatmulEpilogueAttribute>()
               : MatmulEpilogueAttribute{context.attribute<MatmulAttribute>(), false, false};
}

/// Numbers in a row of an operand.
std::int64_t left_length(const KernelContext& context, const MatmulEpilogueAttribute& epilogue) {
    return epilogue.codes ? epilogue.codes->left_length : context.operand(0).shape[-1];
}
std::int64_t right_length(const KernelContext& context, const MatmulEpilogueAttribute& epilogue) {
    return epilogue.codes ? epilogue.codes->right_length : context.operand(1).shape[-1];
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
    const auto left_strides = broadcast_strides(batch_of(left), batch);
    const auto right_strides = broadcast_strides(batch_of(right), batch);
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

}  // namespace

bool MatmulOperands::Matrices::aligned(const Frame& frame) const {
    return row % vector_words == 0 && buffer.stride % vector_words == 0 &&
           frame.address(buffer) % (vector_words * word_bytes) == 0;
}

MatmulOperands::MatmulOperands(const KernelContext& context)
    : epilogue_(attribute_of(context)),
      left_{context.operands[0], context.operand(0).shape.elements(), context.operand(0).shape[-1]},
      right_{context.operands[1], context.operand(1).shape.elements(),
             context.operand(1).shape[-1]},
      result_{context.results[0], context.result().shape.elements(), context.result().shape[-1]},
      per_individual_(context.per_individual),
      m_(context.result().shape[-2]),
      n_(epilogue_.product.transpose_right ? context.operand(1).shape[-2]
                                           : right_length(context, epilogue_)),
      k_(epilogue_.product.transpose_left ? context.operand(0).shape[-2]
                                          : left_length(context, epilogue_)) {
    std::size_t next = 2;
    const auto part = [&](std::size_t operand) {
        const Shape& shape = context.operand(operand).shape;
        return Matrices{context.operands[operand], shape.elements(), shape[-1]};
    };
    if (epilogue_.packed) {
        const std::size_t parts = packed_operands(epilogue_.packed->dtype);
        if (parts > 1) scales_ = part(next++);
        if (parts > 2) zero_points_ = part(next++);
    }
    if (epilogue_.bias) bias_ = {context.operands[next++], n_, n_};
    if (epilogue_.activation) code_ = {context.operands[next], 1, 1};
    // One right matrix for all left ones: their rows are the rows of one matrix. So are packed
    // ones.
    const std::int64_t rows = result_.words / result_.row;
    if (right_.words == right_.row * context.operand(1).shape[-2] &&
        !epilogue_.product.transpose_left && left_.words == rows * left_.row) {
        m_ = rows;
        return;
    }
    add_batch(context);
}

void MatmulOperands::add_batch(const KernelContext& context) {
    const auto axes =
        batch_axes(context.operand(0).shape, context.operand(1).shape, context.result().shape);
    std::vector<std::uint32_t> words;
    for (const BatchAxis& axis : axes) {
        matrices_ *= axis.extent;
        words.insert(words.end(), {word(axis.extent), word(axis.left), word(axis.right)});
    }
    batch_axes_ = axes.size();
    if (!words.empty()) batch_ = context.owner.table(words);
}

bool MatmulOperands::rows_continue() const {
    return per_individual_ && matrices_ == 1 && !epilogue_.product.transpose_left &&
           right_.buffer.stride == 0 && bias_.buffer.stride == 0 && code_.buffer.stride == 0 &&
           scales_.buffer.stride == 0 && zero_points_.buffer.stride == 0 &&
           left_.buffer.stride == m_ * left_.row && result_.buffer.stride == m_ * result_.row;
}

MatmulOperands::Size MatmulOperands::size(const Frame& frame) const {
    const std::int64_t individuals = per_individual_ ? frame.population : 1;
    return rows_continue() ? Size{m_ * individuals, 1} : Size{m_, individuals};
}

vulkan::Push MatmulOperands::push(const Frame& frame, const Size& size) const {
    std::uint32_t flags = 0;
    if (epilogue_.product.transpose_left) flags |= flag_transpose_left;
    if (epilogue_.product.transpose_right) flags |= flag_transpose_right;
    if (epilogue_.bias) flags |= flag_bias;
    if (epilogue_.activation) flags |= flag_activation;
    if (result_.aligned(frame)) flags |= flag_aligned_result;
    vulkan::Push push;
    push.address = {frame.address(left_.buffer), frame.address(right_.buffer),
                    frame.address(result_.buffer)};
    if (bias_.words > 0) push.address[3] = frame.address(bias_.buffer);
    if (code_.words > 0) push.address[4] = frame.address(code_.buffer);
    if (batch_axes_ > 0) push.address[5] = frame.address(batch_);
    push.word = {word(size.m), word(n_), word(k_), 0, 0, word(matrices_)};
    const std::array operands{&left_, &right_, &result_, &bias_, &code_};
    for (std::size_t i = 0; i < operands.size(); ++i)
        push.word[6 + i] = word(operands[i]->buffer.stride);
    push.word[11] = flags;
    push.word[12] = static_cast<std::uint32_t>(batch_axes_);
    push.word[13] = word(size.individuals);
    push.word[14] = matrices_ > 1 ? word(size.m * result_.row) : 0;
    if (epilogue_.packed) add_packed(frame, push);
    return push;
}

void MatmulOperands::add_packed(const Frame& frame, vulkan::Push& push) const {
    if (scales_.words > 0) push.address[6] = frame.address(scales_.buffer);
    if (zero_points_.words > 0) push.address[7] = frame.address(zero_points_.buffer);
    push.word[12] = word(scales_.buffer.stride);
    push.word[14] = word(zero_points_.buffer.stride);
}

std::uint64_t MatmulOperands::tiles(const Size& size, std::uint32_t rows, std::uint32_t columns,
                                    vulkan::Push& push) const {
    const std::int64_t down = (size.m + rows - 1) / rows;
    const std::int64_t across = (n_ + columns - 1) / columns;
    push.word[3] = word(down);
    push.word[4] = word(across);
    return static_cast<std::uint64_t>(size.individuals * matrices_ * down * across);
}

std::vector<vulkan::Range> MatmulOperands::reads(const Frame& frame) const {
    std::vector<vulkan::Range> reads{left_.range(frame), right_.range(frame)};
    if (bias_.words > 0) reads.push_back(bias_.range(frame));
    for (const Matrices* part : {&code_, &scales_, &zero_points_})
        if (part->words > 0) reads.push_back(part->range(frame));
    return reads;
}

vulkan::Range MatmulOperands::result(const Frame& frame) const {
    return result_.range(frame);
}

bool MatmulOperands::left_aligned(const Frame& frame) const {
    return left_.aligned(frame);
}

bool MatmulOperands::right_aligned(const Frame& frame) const {
    return right_.aligned(frame);
}

}  // namespace cambrian::gpu
