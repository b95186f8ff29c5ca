#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/graph/op.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/registry.hpp"
#include "cambrian/launch/show/function_table.hpp"

namespace cambrian::launch {
namespace {

/// An entry as pairs of a title and a text, in the order they are printed.
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string yes_or_no(bool flag) {
    return flag ? "yes" : "no";
}

Lines lines_of(const OpInfo& op) {
    return {{"name", std::string(op.name)},
            {"kind", "op"},
            {"formula", std::string(op.meaning)},
            {"operands", std::string(op.operands)},
            {"results", std::string(op.results)},
            {"shapes", std::string(op.shapes)},
            {"types", std::string(op.types)},
            {"population", std::string(batch_text(op))},
            {"gradient", std::string(gradient_text(op))},
            {"lowering", yes_or_no(op.lowering != nullptr)},
            {"data errors", std::string(data_errors_text(op))},
            {"source", std::string(op.source)}};
}

Lines lines_of(const FunctionRow& function) {
    const FunctionExample example = example_of(function);
    return {{"name", std::string(function.name)},
            {"kind", "function"},
            {"formula", std::string(function.formula)},
            {"operands", example.operands},
            {"results", example.results},
            {"written in", example.ops},
            {"data errors", yes_or_no(example.may_fail)},
            {"source", std::string(function.source)}};
}

std::vector<Lines> all_lines() {
    std::vector<Lines> all;
    for (const OpInfo& op : op_table()) all.push_back(lines_of(op));
    for (const FunctionRow& function : function_table()) all.push_back(lines_of(function));
    return all;
}

}  // namespace

Json ops_json() {
    Json list = Json::array();
    for (const Lines& lines : all_lines()) {
        Json object;
        for (const auto& [title, text] : lines) object[title] = text;
        list.push_back(std::move(object));
    }
    return list;
}

int ops_command(const CommandContext& context, bool json) {
    if (json) {
        context.out << ops_json().dump(2) << '\n';
        return exit_done;
    }
    for (const Lines& lines : all_lines())
        for (const auto& [title, text] : lines)
            context.out << (title == "name" ? fmt::format("{}\n", text)
                                            : fmt::format("  {:<11}  {}\n", title, text));
    return exit_done;
}

}  // namespace cambrian::launch
