#include <utility>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {

namespace {

/// Codes of quarters in [-2, 2): every format has them, and their products and sums are exact in
/// any order.
OperandCase quarters(const NumberFormatRow& format, std::int64_t rows, std::int64_t length) {
    const std::int64_t words = words_of(format.format, length);
    OperandCase operand{Range::given, {rows, words}, 0, {}};
    const std::uint32_t in_word = 32 / format.bits;
    RandomStream stream(random_key(static_cast<std::uint64_t>(length), "quarters"), 0);
    for (std::int64_t word = 0; word < rows * words; ++word) {
        std::uint32_t packed = 0;
        for (std::uint32_t i = 0; i < in_word; ++i)
            packed |= format.encode(static_cast<float>(stream.index(16)) / 4.0F - 2.0F)
                      << i * format.bits;
        operand.elements.push_back(static_cast<std::int32_t>(packed));
    }
    return operand;
}

/// Products of codes, with codes as their result and without.
void add_products(std::vector<OpCase>& cases) {
    for (const NumberFormatRow& format : number_format_rows) {
        cases.push_back(
            {Op::matmul_epilogue,
             {quarters(format, 3, 17), quarters(format, 17, 5)},
             MatmulEpilogueAttribute{{}, false, false, ProductCodes{format.format, 17, 5}},
             {{{3, 5}}}});
        cases.push_back({Op::matmul_epilogue,
                         {quarters(format, 18, 3),
                          quarters(format, 6, 18),
                          {Range::wide, {6}},
                          {Range::fixed, {}, 1}},
                         MatmulEpilogueAttribute{
                             {true, true}, true, true, ProductCodes{format.format, 3, 18, true}},
                         {{{3, words_of(format.format, 6)}, ValueType::integer}}});
    }
}

/// A code of a small number.
std::uint32_t small_code(const DtypeRow& format, RandomStream& stream) {
    if (format.dtype <= Dtype::float8_e5m2 || format.dtype == Dtype::float4_e2m1fn)
        return static_cast<std::uint32_t>(
            format.encode(format, static_cast<double>(stream.index(16)) / 4.0 - 2.0, 0.0));
    if (format.bits < 4) return static_cast<std::uint32_t>(stream.index(1U << format.bits));
    const double whole = static_cast<double>(stream.index(4)) - (format.affine ? 0.0 : 2.0);
    return static_cast<std::uint32_t>(format.encode(format, whole, 0.0));
}

/// Rows of so many words whose codes `draw` gives; what fills up words is not zero, since nothing
/// reads it.
template <class Draw>
OperandCase rows_of_codes(const DtypeRow& format, const Shape& shape, Draw draw) {
    OperandCase operand{Range::given, shape, 0, {}};
    for (std::int64_t word = 0; word < shape.elements(); ++word) {
        std::uint32_t bits = 0;
        for (std::uint32_t i = 0; i < 32 / format.bits; ++i) bits |= draw() << i * format.bits;
        operand.elements.push_back(static_cast<std::int32_t>(bits));
    }
    return operand;
}

/// The parts of a matrix in codes.
std::vector<OperandCase> packed_matrix(const PackedAttribute& packed, std::int64_t rows) {
    const DtypeRow& format = row(packed.dtype);
    RandomStream stream(random_key(static_cast<std::uint64_t>(packed.length), "packed"), 0);
    std::vector<OperandCase> parts{rows_of_codes(format, {rows, packed_words(packed)},
                                                 [&] { return small_code(format, stream); })};
    if (scales_of_row(packed) > 0)
        parts.push_back({Range::positive, {rows, scales_of_row(packed)}});
    if (format.affine)
        parts.push_back(rows_of_codes(format, {rows, zero_point_words(packed)},
                                      [&] { return static_cast<std::uint32_t>(stream.index(4)); }));
    return parts;
}

/// Rows in the place of blocks, or blocks in that of rows.
ScaleGroup other_scales(Dtype dtype) {
    return row(dtype).group == ScaleGroup::block ? ScaleGroup::row : ScaleGroup::block;
}

/// A matrix in codes, and the operands of a product with it.
std::vector<OperandCase> add_packed_product(std::vector<OpCase>& cases,
                                            const PackedAttribute& packed, std::int64_t rows) {
    const std::vector<OperandCase> matrix = packed_matrix(packed, rows);
    cases.push_back({Op::unpack, matrix, packed, {{{rows, packed.length}}}});
    std::vector<OperandCase> operands{{Range::wide, {2, 5, packed.length}}};
    operands.insert(operands.end(), matrix.begin(), matrix.end());
    cases.push_back({Op::packed_matmul, operands, packed, {{{2, 5, rows}}}});
    return operands;
}

/// Matrices in codes of every format that is packed, and products with them.
void add_packed(std::vector<OpCase>& cases) {
    for (std::size_t i = 0; i < dtype_count; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        if (!can_pack(dtype)) continue;
        // Every format in one shape; others where blocks and zero points make a difference.
        std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{35, 70}};
        if (dtype == Dtype::uint4) shapes.insert(shapes.end(), {{3, 1}, {2, 33}});
        if (dtype == Dtype::uint4 || dtype == Dtype::int8)
            add_packed_product(cases, {dtype, 70, other_scales(dtype)}, 35);
        for (const auto& [rows, length] : shapes) {
            const PackedAttribute packed{.dtype = dtype, .length = length};
            std::vector<OperandCase> operands = add_packed_product(cases, packed, rows);
            if (dtype != Dtype::uint4 && dtype != Dtype::float16) continue;
            operands.push_back({Range::wide, {rows}});
            operands.push_back({Range::fixed, {}, 4});
            MatmulEpilogueAttribute epilogue{{false, true}, true, true};
            epilogue.packed = packed;
            cases.push_back({Op::matmul_epilogue, operands, epilogue, {{{2, 5, rows}}}});
        }
    }
}

/// A convolution whose weights are codes.
OpCase packed_conv(Dtype dtype, std::int64_t channels, std::int64_t outputs, std::int64_t groups,
                   const Window& window) {
    std::int64_t taps = 1;
    for (int axis = 0; axis < window.rank; ++axis)
        taps *= window.kernel[static_cast<std::size_t>(axis)];
    const ConvAttribute conv{.window = window,
                             .groups = groups,
                             .bias = dtype != Dtype::int8,
                             .packed = {{.dtype = dtype, .length = channels / groups * taps}}};
    OpCase result{Op::conv, {{Range::wide, {2, channels, 6, 5}}}, conv, {}};
    for (OperandCase& part : packed_matrix(*conv.packed, outputs))
        result.operands.push_back(std::move(part));
    if (conv.bias) result.operands.push_back({Range::wide, {outputs}});
    const bool one = taps == 1;
    result.results = {{{2, outputs, one ? 6 : 3, one ? 5 : 4}}};
    return result;
}

/// One group, few, and more than have a product each.
void add_packed_convolutions(std::vector<OpCase>& cases) {
    const Window window{.rank = 2, .kernel = {3, 2}, .stride = {2, 1}, .before = {1, 0}};
    cases.push_back(packed_conv(Dtype::uint4, 12, 7, 1, window));
    cases.push_back(packed_conv(Dtype::int8, 9, 5, 1, {.rank = 2}));
    cases.push_back(packed_conv(Dtype::int8, 4, 6, 2, window));
    cases.push_back(packed_conv(Dtype::float16, 20, 40, 20, window));
}

}  // namespace

std::vector<OpCase> format_cases() {
    std::vector<OpCase> cases;
    add_products(cases);
    add_packed(cases);
    add_packed_convolutions(cases);
    for (const NumberFormatRow& format : number_format_rows)
        for (const Shape& shape : {Shape{1}, Shape{3}, Shape{17}, Shape{2, 65}, Shape{257},
                                   Shape{3, 1, 5}, Shape{2, 1, 3, 1, 2, 7}, Shape{3, 0}}) {
            const std::int64_t length = shape[-1];
            std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
            extents.back() = words_of(format.format, length);
            const Shape words(extents);
            const FormatAttribute attribute{format.format, length};
            cases.push_back(
                {Op::encode, {{Range::wide, shape}}, attribute, {{words, ValueType::integer}}});
            cases.push_back({Op::decode, {{Range::integers, words}}, attribute, {{shape}}});
        }
    return cases;
}

}  // namespace cambrian::test
