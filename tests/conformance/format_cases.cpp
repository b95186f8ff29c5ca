#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/tests/conformance/op_cases.hpp"

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

}  // namespace

std::vector<OpCase> format_cases() {
    std::vector<OpCase> cases;
    add_products(cases);
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
