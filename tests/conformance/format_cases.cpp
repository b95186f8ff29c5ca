#include "cambrian/engine/graph/number_format.hpp"
#include "op_cases.hpp"

namespace cambrian::test {

std::vector<OpCase> format_cases() {
    std::vector<OpCase> cases;
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
