#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules and lowering of put_row.
namespace cambrian {

Shape shape_rule::put_row(const OperandInfos& operands, const Attributes&, std::size_t) {
    const Shape& rows = operands[0].shape;
    if (rows.rank() < 3 || rows[-2] < 1 || rows[-1] < 1)
        reject("there are no rows in " + rows.text(), "pass [.., heads, positions, width]");
    std::vector<std::int64_t> one(rows.extents().begin(), rows.extents().end());
    one[one.size() - 2] = 1;
    const Shape row(one);
    if (operands[1].shape != row)
        reject("the row " + operands[1].shape.text() + " is not one of " + rows.text(),
               "pass it as " + row.text());
    const Shape leading(rows.extents().first(rows.extents().size() - 3));
    if (operands[2].shape != leading)
        reject("the position is " + operands[2].shape.text(),
               "pass one for each of the axes before the heads " + leading.text());
    return rows;
}

ValueType type_rule::put_row(const OperandInfos& operands, const Attributes&, std::size_t) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i].type != (i == 2 ? ValueType::integer : ValueType::real))
            reject("operand " + std::to_string(i) + " is " + std::string(name(operands[i].type)),
                   "pass real rows and an integer position");
    return ValueType::real;
}

std::vector<Var> lower_put_row(Graph& graph, std::span<const Var> operands, const Attributes&) {
    const Shape& rows = operands[0].shape();
    const Shape& leading = operands[2].shape();
    std::vector<std::int64_t> beside(leading.extents().begin(), leading.extents().end());
    beside.insert(beside.end(), 3, 1);
    const Var places = reshape(iota(graph, rows[-2]), {rows[-2], 1});
    const Var here = equal(places, reshape(operands[2], Shape(beside)));
    return {select(here, operands[1], operands[0])};
}

}  // namespace cambrian
