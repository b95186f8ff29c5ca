#include "cambrian/engine/graph/builders/conv_of_codes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"

namespace cambrian {
namespace {

/// Most pieces that weights are decoded in: each has a part of the result, which is put together.
constexpr std::int64_t most_pieces = 16;

/// So many in each of at most `most_pieces`.
std::int64_t in_piece(std::int64_t count) {
    return (count + most_pieces - 1) / most_pieces;
}

/// A matrix in codes.
struct CodedMatrix {
    std::vector<Var> parts;
    PackedAttribute packed;

    [[nodiscard]] Var rows(std::int64_t first, std::int64_t count) const {
        std::vector<Var> own;
        for (const Var part : parts) own.push_back(slice(part, 0, first, count));
        return unpack(own, packed);
    }

    /// Some columns of some rows. Contract: the first is a multiple of 32, which begins a word and
    /// a block, and a word of zero points, or there is one of these for each row.
    [[nodiscard]] CodedMatrix columns(std::int64_t first, std::int64_t count) const {
        CodedMatrix result{{}, packed};
        result.packed.length = count;
        const bool blocks = scale_group(packed) == ScaleGroup::block;
        const std::array<std::int64_t, 3> begins{
            packed_words(packed.dtype, first), blocks ? first / scale_block : 0,
            blocks ? packed_words(packed.dtype, first / scale_block) : 0};
        const std::array<std::int64_t, 3> lengths{packed_words(result.packed),
                                                  scales_of_row(result.packed),
                                                  zero_point_words(result.packed)};
        for (std::size_t i = 0; i < parts.size(); ++i)
            result.parts.push_back(slice(parts[i], 1, begins[i], lengths[i]));
        return result;
    }

    /// Columns that can be told apart: whole words of codes and of zero points.
    [[nodiscard]] std::int64_t unit() const {
        const bool blocks = scale_group(packed) == ScaleGroup::block;
        return blocks && row(packed.dtype).affine ? scale_block * 32 / row(packed.dtype).bits
                                                  : scale_block;
    }
};

/// The matrix that a value is the numbers of, if an unpack makes it.
std::optional<CodedMatrix> coded(Var value) {
    const Graph& graph = *value.graph;
    const Node* maker = &graph.producer(value.id);
    if (maker->op == Op::reshape) maker = &graph.producer(graph.operands(*maker)[0]);
    if (maker->op != Op::unpack) return std::nullopt;
    CodedMatrix result{{}, std::get<PackedAttribute>(maker->attributes)};
    for (const ValueId part : graph.operands(*maker)) result.parts.push_back({value.graph, part});
    if (result.parts[0].rank() != 2 || result.parts[0].shape()[0] != value.shape()[0])
        return std::nullopt;
    return result;
}

/// Weights of so many outputs of a group.
Var weights_of(Var numbers, const Shape& whole, std::int64_t outputs) {
    std::vector<std::int64_t> extents(whole.extents().begin(), whole.extents().end());
    extents[0] = numbers.shape()[0];
    extents[1] = outputs;
    return reshape(numbers, Shape(std::span<const std::int64_t>(extents)));
}

/// The rows of codes of one group times its windows, [images, outputs, windows].
Var product_of_group(const ConvForm& form, Var windows, const CodedMatrix& matrix) {
    std::vector<Var> operands{
        transpose(reshape(windows, {form.images, form.depth, form.geometry.windows()}))};
    operands.insert(operands.end(), matrix.parts.begin(), matrix.parts.end());
    return transpose(windows.graph->add(Op::packed_matmul, operands, matrix.packed));
}

}  // namespace

Var products_of_codes(const ConvForm& form, Var columns, std::span<const Var> parts) {
    const CodedMatrix matrix{{parts.begin(), parts.end()}, *form.conv.packed};
    const std::int64_t outputs = form.outputs / form.conv.groups;
    const std::int64_t at_once = in_piece(form.conv.groups);
    std::vector<Var> products;
    for (std::int64_t group = 0; group < form.conv.groups; group += at_once) {
        const std::int64_t groups = std::min(at_once, form.conv.groups - group);
        const Var windows = slice(columns, 1, group, groups);
        if (groups == 1) {
            CodedMatrix own{{}, matrix.packed};
            for (const Var part : parts)
                own.parts.push_back(slice(part, 0, group * outputs, outputs));
            products.push_back(product_of_group(form, windows, own));
            continue;
        }
        const Var weights =
            reshape(matrix.rows(group * outputs, groups * outputs), {groups, outputs, form.depth});
        products.push_back(reshape(matmul(weights, windows),
                                   {form.images, groups * outputs, form.geometry.windows()}));
    }
    return products.size() == 1 ? products[0] : concat(products, 1);
}

std::optional<std::vector<ChannelPart>> transposed_parts(Var weights, std::int64_t groups) {
    const std::optional<CodedMatrix> matrix = coded(weights);
    if (!matrix || groups < 1 || weights.shape()[0] % groups != 0) return std::nullopt;
    const std::int64_t channels = weights.shape()[0] / groups;
    const std::int64_t outputs = weights.shape()[1];
    std::vector<ChannelPart> result;
    if (groups > 1) {
        const std::int64_t at_once = in_piece(groups);
        for (std::int64_t group = 0; group < groups; group += at_once) {
            const std::int64_t some = std::min(at_once, groups - group);
            const Var numbers = matrix->rows(group * channels, some * channels);
            result.push_back(
                {weights_of(numbers, weights.shape(), outputs), group * channels, some});
        }
        return result;
    }
    // Outputs whose columns begin a unit.
    const std::int64_t taps = outputs > 0 ? matrix->packed.length / outputs : 1;
    const std::int64_t unit = matrix->unit() / std::gcd(matrix->unit(), taps);
    const std::int64_t at_once = (in_piece(outputs) + unit - 1) / unit * unit;
    if (outputs <= at_once) return std::nullopt;
    for (std::int64_t output = 0; output < outputs; output += at_once) {
        const std::int64_t some = std::min(at_once, outputs - output);
        const CodedMatrix own = matrix->columns(output * taps, some * taps);
        result.push_back({weights_of(unpack(own.parts, own.packed), weights.shape(), some)});
    }
    return result;
}

}  // namespace cambrian
