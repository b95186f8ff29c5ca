#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/graph/op_documentation.hpp"
#include "cambrian/launch/commands.hpp"
#include "cambrian/launch/exit_code.hpp"

namespace cambrian::launch {
namespace {

/// One op as pairs of a title and a text, in the order they are printed.
std::vector<std::pair<std::string, std::string>> lines_of(const OpDocumentation& entry) {
    const OpRow& op = row(entry.op);
    const auto yes_or_no = [](bool flag) { return std::string(flag ? "yes" : "no"); };
    return {{"name", std::string(op.name)},
            {"formula", std::string(op.meaning)},
            {"operands", std::string(entry.operands)},
            {"results", std::string(entry.results)},
            {"shapes", std::string(entry.shapes)},
            {"types", std::string(entry.types)},
            {"population", std::string(batch_text(op))},
            {"gradient", std::string(gradient_text(op))},
            {"lowering", yes_or_no(op.lowering != nullptr)},
            {"strict-safe", yes_or_no(op.strict_safe)},
            {"data errors", yes_or_no(op.may_fail)},
            {"source", std::string(entry.source)}};
}

}  // namespace

int ops_command(const CommandContext& context, bool json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const OpDocumentation& entry : op_documentation()) {
        nlohmann::ordered_json object;
        for (const auto& [title, text] : lines_of(entry)) {
            object[title] = text;
            if (json) continue;
            context.out << (title == "name" ? fmt::format("{}\n", text)
                                            : fmt::format("  {:<11}  {}\n", title, text));
        }
        list.push_back(std::move(object));
    }
    if (json) context.out << list.dump(2) << '\n';
    return exit_done;
}

}  // namespace cambrian::launch
