#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/graph/op.hpp"

namespace cambrian {

/// What a reader wants to know of an op beside its row of the op table.
struct OpDocumentation {
    Op op = Op::count_;
    std::string_view operands;  ///< Names, in order.
    std::string_view results;
    std::string_view shapes;  ///< The shape rule in words.
    std::string_view types;   ///< The type rule in words.
    std::string_view source;  ///< Where the definition comes from.
};

/// One for each op in enumerator order (checked at compile time).
[[nodiscard]] std::span<const OpDocumentation, op_count> op_documentation();

/// How an op meets the population, where its gradient comes from, and whether it reports data
/// errors at run time, in words.
[[nodiscard]] std::string_view batch_text(const OpInfo& row);
[[nodiscard]] std::string_view gradient_text(const OpInfo& row);
[[nodiscard]] std::string_view data_errors_text(const OpInfo& row);

}  // namespace cambrian
