#pragma once

#include <deque>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::test {

/// Whether the type rule of an op takes operands of these types.
inline bool takes(const OpInfo& op, const std::vector<ValueType>& types) {
    std::deque<ValueInfo> infos;
    std::vector<ValueId> ids;
    for (const ValueType type : types) {
        ids.push_back(ValueId{static_cast<std::uint32_t>(infos.size())});
        infos.push_back({type, Shape{}});
    }
    try {
        static_cast<void>(op.type(OperandInfos(infos, ids), {}, 0));
    } catch (const ShapeError&) {
        return false;
    }
    return true;
}

/// All types of operands that an op takes, in a fixed order.
inline std::vector<std::vector<ValueType>> types_of(const OpInfo& op) {
    std::vector<std::vector<ValueType>> all{{}};
    for (int operand = 0; operand < op.arity; ++operand) {
        std::vector<std::vector<ValueType>> longer;
        for (const std::vector<ValueType>& types : all)
            for (const ValueType type : {ValueType::real, ValueType::integer, ValueType::boolean}) {
                longer.push_back(types);
                longer.back().push_back(type);
            }
        all = std::move(longer);
    }
    std::erase_if(all, [&](const std::vector<ValueType>& types) { return !takes(op, types); });
    return all;
}

}  // namespace cambrian::test
