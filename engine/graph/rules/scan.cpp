#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Shape and type rules of scan.
namespace cambrian {
namespace {

struct Counts {
    std::size_t carries = 0;
    std::size_t sequences = 0;
};

Counts counts(const ScanAttribute& scan) {
    return {static_cast<std::size_t>(scan.carries), static_cast<std::size_t>(scan.sequences)};
}

const ValueInfo& output_info(const Graph& body, std::size_t index) {
    return body.value(body.outputs()[index]);
}

void check_numbers(const ScanAttribute& scan, std::size_t operands) {
    if (scan.body == nullptr || scan.carries < 0 || scan.sequences < 0 || scan.length < 1)
        reject("a scan needs a body and at least one step", "pass a length of 1 or more");
    if (scan.truncate < 0 || scan.checkpoint_every < 0)
        reject("truncate " + std::to_string(scan.truncate) + " and checkpoint_every " +
                   std::to_string(scan.checkpoint_every) + " are numbers of steps",
               "use 0 for neither");
    const auto [carries, sequences] = counts(scan);
    if (carries + sequences > operands || scan.body->inputs().size() != operands)
        reject("the body has " + std::to_string(scan.body->inputs().size()) +
                   " inputs and there are " + std::to_string(operands) + " operands",
               "give the body one input for each carry, sequence and invariant, in this order");
    if (scan.body->outputs().size() < carries)
        reject("the body has " + std::to_string(scan.body->outputs().size()) +
                   " outputs and there are " + std::to_string(carries) + " carries",
               "let the body output every new carry first");
}

/// What the body must receive for operand `index`: a sequence without its leading axis.
Shape step_shape(const ScanAttribute& scan, const OperandInfos& operands, std::size_t index) {
    const Shape& shape = operands[index].shape;
    const auto [carries, sequences] = counts(scan);
    if (index < carries || index >= carries + sequences) return shape;
    if (shape.rank() == 0 || shape[0] != scan.length)
        reject(
            "sequence " + shape.text() + " does not have " + std::to_string(scan.length) + " steps",
            "make the leading axis of every sequence as long as the scan");
    return Shape(shape.extents().subspan(1));
}

void check_body(const ScanAttribute& scan, const OperandInfos& operands) {
    const Graph& body = *scan.body;
    if (!body.updates().empty())
        reject("the body updates an input", "let it output a new carry instead");
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueInfo& input = body.value(body.inputs()[i]);
        const Shape shape = step_shape(scan, operands, i);
        if (input.shape != shape || input.type != operands[i].type)
            reject("body input " + std::to_string(i) + " is " + std::string(name(input.type)) +
                       " " + input.shape.text() + " and receives " +
                       std::string(name(operands[i].type)) + " " + shape.text(),
                   "declare the body's inputs like the operands");
    }
    for (std::size_t i = 0; i < counts(scan).carries; ++i) {
        const ValueInfo& output = output_info(body, i);
        if (output.shape != operands[i].shape || output.type != operands[i].type)
            reject("carry " + std::to_string(i) + " leaves the body as " +
                       std::string(name(output.type)) + " " + output.shape.text(),
                   "let the body keep type and shape of every carry");
    }
}

void check_alive(const ScanAttribute& scan, const OperandInfos& operands) {
    if (scan.alive_carry < 0) return;
    if (scan.alive_carry >= scan.carries ||
        operands[static_cast<std::size_t>(scan.alive_carry)].type != ValueType::boolean)
        reject("the alive carry " + std::to_string(scan.alive_carry) + " is not a boolean carry",
               "name the index of a boolean carry or -1");
    if (scan.body->outputs().size() != counts(scan).carries)
        reject("a scan that may stop early has stacked results",
               "drop the alive carry or the stacked results");
}

}  // namespace

std::size_t scan_result_count(const Attributes& attributes) {
    const auto& scan = attribute<ScanAttribute>(attributes);
    // A missing body is reported by the shape rule of the first result.
    return scan.body == nullptr || scan.body->outputs().empty() ? 1 : scan.body->outputs().size();
}

ValueType type_rule::scan(const OperandInfos& operands, const Attributes& attributes,
                          std::size_t result) {
    const auto& scan = attribute<ScanAttribute>(attributes);
    if (result == 0) {
        check_numbers(scan, operands.size());
        if (scan.body->outputs().empty())
            reject("the body has no outputs", "let the body output at least one value");
    }
    return output_info(*scan.body, result).type;
}

Shape shape_rule::scan(const OperandInfos& operands, const Attributes& attributes,
                       std::size_t result) {
    const auto& scan = attribute<ScanAttribute>(attributes);
    if (result == 0) {
        check_numbers(scan, operands.size());
        check_body(scan, operands);
        check_alive(scan, operands);
    }
    const Shape& shape = output_info(*scan.body, result).shape;
    if (result < counts(scan).carries) return shape;
    if (shape.rank() == Shape::max_rank)
        reject("a stacked result would have too many axes", "merge axes in the body with reshape");
    std::array<std::int64_t, Shape::max_rank> extents{scan.length};
    for (int i = 0; i < shape.rank(); ++i) extents[static_cast<std::size_t>(i) + 1] = shape[i];
    return Shape(std::span(extents.data(), static_cast<std::size_t>(shape.rank()) + 1));
}

}  // namespace cambrian
