#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Type rules. There are no implicit conversions.
namespace cambrian::type_rule {
namespace {

void require(const ValueInfo& operand, ValueType type, const char* what) {
    if (operand.type != type)
        reject(std::string(what) + " is " + std::string(name(operand.type)) + ", not " +
                   std::string(name(type)),
               "convert it with cast");
}

void require_all(const OperandInfos& operands, ValueType type) {
    for (std::size_t i = 0; i < operands.size(); ++i) require(operands[i], type, "an operand");
}

ValueType require_one_type(const OperandInfos& operands) {
    for (std::size_t i = 1; i < operands.size(); ++i)
        if (operands[i].type != operands[0].type)
            reject("the types " + std::string(name(operands[0].type)) + " and " +
                       std::string(name(operands[i].type)) + " are mixed",
                   "convert one of them with cast");
    return operands.size() == 0 ? ValueType::real : operands[0].type;
}

ValueType require_numeric(const OperandInfos& operands) {
    const ValueType type = require_one_type(operands);
    if (type == ValueType::boolean) reject("booleans are not numbers", "convert them with cast");
    return type;
}

}  // namespace

ValueType input(const OperandInfos&, const Attributes& attributes, std::size_t) {
    return attribute<InputAttribute>(attributes).type;
}

ValueType constant(const OperandInfos&, const Attributes& attributes, std::size_t) {
    return attribute<ConstantAttribute>(attributes).value->type;
}

ValueType integer(const OperandInfos&, const Attributes&, std::size_t) {
    return ValueType::integer;
}

ValueType random(const OperandInfos& operands, const Attributes&, std::size_t) {
    require(operands[0], ValueType::integer, "the key");
    require(operands[1], ValueType::integer, "an id");
    return ValueType::real;
}

ValueType same(const OperandInfos& operands, const Attributes&, std::size_t) {
    return require_one_type(operands);
}

ValueType real(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_all(operands, ValueType::real);
    return ValueType::real;
}

ValueType numeric(const OperandInfos& operands, const Attributes&, std::size_t) {
    return require_numeric(operands);
}

ValueType real_test(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_all(operands, ValueType::real);
    return ValueType::boolean;
}

ValueType numeric_test(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_numeric(operands);
    return ValueType::boolean;
}

ValueType equality(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_one_type(operands);
    return ValueType::boolean;
}

ValueType index_of(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_numeric(operands);
    return ValueType::integer;
}

ValueType boolean(const OperandInfos& operands, const Attributes&, std::size_t) {
    require_all(operands, ValueType::boolean);
    return ValueType::boolean;
}

ValueType cast(const OperandInfos&, const Attributes& attributes, std::size_t) {
    return attribute<CastAttribute>(attributes).type;
}

ValueType select(const OperandInfos& operands, const Attributes&, std::size_t) {
    require(operands[0], ValueType::boolean, "the condition");
    if (operands[1].type != operands[2].type)
        reject("the two choices are " + std::string(name(operands[1].type)) + " and " +
                   std::string(name(operands[2].type)),
               "convert one of them with cast");
    return operands[1].type;
}

ValueType gather(const OperandInfos& operands, const Attributes&, std::size_t) {
    require(operands[1], ValueType::integer, "an index");
    return operands[0].type;
}

ValueType scatter_add(const OperandInfos& operands, const Attributes&, std::size_t) {
    require(operands[1], ValueType::integer, "an index");
    if (operands[0].type == ValueType::boolean)
        reject("booleans cannot be added", "convert them with cast");
    return operands[0].type;
}

ValueType activate(const OperandInfos& operands, const Attributes&, std::size_t) {
    require(operands[0], ValueType::real, "the operand");
    require(operands[1], ValueType::integer, "the activation code");
    return ValueType::real;
}

}  // namespace cambrian::type_rule
