#include "cambrian/engine/eager/record.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cambrian {

EagerValue::~EagerValue() {
    std::vector<std::shared_ptr<const EagerRecord>> ending;
    if (record) ending.push_back(std::move(record));
    while (!ending.empty()) {
        std::shared_ptr<const EagerRecord> last = std::move(ending.back());
        ending.pop_back();
        if (last.use_count() > 1) continue;
        std::vector<std::shared_ptr<EagerValue>> operands = last->operands;
        last.reset();
        // An operation may have an operand twice.
        std::ranges::sort(operands);
        const auto repeated = std::ranges::unique(operands);
        operands.erase(repeated.begin(), repeated.end());
        for (const std::shared_ptr<EagerValue>& operand : operands)
            if (operand.use_count() == 1 && operand->record)
                ending.push_back(std::move(operand->record));
    }
}

std::vector<std::shared_ptr<const EagerRecord>> pending_records(
    std::span<const std::shared_ptr<EagerValue>> values) {
    struct Visit {
        std::shared_ptr<const EagerRecord> record;
        std::size_t next = 0;  ///< Operand to look at.
    };
    std::vector<std::shared_ptr<const EagerRecord>> order;
    std::unordered_set<const EagerRecord*> seen;
    std::vector<Visit> path;
    const auto visit = [&](const EagerValue& value) {
        if (!value.buffer && seen.insert(value.record.get()).second)
            path.push_back({value.record, 0});
    };
    for (const auto& value : values) {
        visit(*value);
        while (!path.empty()) {
            Visit& top = path.back();
            if (top.next < top.record->operands.size()) {
                visit(*top.record->operands[top.next++]);  // `top` may have moved after this.
                continue;
            }
            order.push_back(std::move(top.record));
            path.pop_back();
        }
    }
    return order;
}

}  // namespace cambrian
