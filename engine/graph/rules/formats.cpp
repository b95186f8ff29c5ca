#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules of encode and decode.
namespace cambrian {
namespace {

/// The last extent of the operand, which must be `expected`.
void check_row(const Shape& shape, const FormatAttribute& format, std::int64_t expected) {
    if (shape.rank() == 0) reject("it has no last axis", "reshape it to rank 1 or more");
    if (format.length < 0 || shape[-1] != expected)
        reject("rows of " + std::to_string(format.length) + " numbers in " +
                   std::string(name(format.format)) + " have " + std::to_string(expected) +
                   " elements here, not " + std::to_string(shape[-1]),
               "pass the length the rows have as numbers");
}

}  // namespace

std::string_view name(NumberFormat format) {
    return row(format).name;
}

Shape shape_rule::encode(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& format = attribute<FormatAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    check_row(shape, format, format.length);
    return with_extent(shape, shape.rank() - 1, words_of(format.format, format.length));
}

Shape shape_rule::decode(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& format = attribute<FormatAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    check_row(shape, format, words_of(format.format, format.length));
    return with_extent(shape, shape.rank() - 1, format.length);
}

ValueType type_rule::encode(const OperandInfos& operands, const Attributes& attributes,
                            std::size_t result) {
    real(operands, attributes, result);
    return ValueType::integer;
}

ValueType type_rule::decode(const OperandInfos& operands, const Attributes&, std::size_t) {
    if (operands[0].type != ValueType::integer)
        reject("codes are words, not " + std::string(name(operands[0].type)), "pass integers");
    return ValueType::real;
}

}  // namespace cambrian
