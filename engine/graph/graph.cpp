#include "cambrian/engine/graph/graph.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/batch_axes.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {

Var Graph::input(std::string_view name, ValueType type, Shape shape, bool per_individual) {
    const Var result =
        add(Op::input, {}, InputAttribute{std::make_shared<const std::string>(name), type, shape});
    values_.back().per_individual = per_individual;
    return result;
}

Var Graph::constant(Tensor value) {
    return add(Op::constant, {},
               ConstantAttribute{std::make_shared<const Tensor>(std::move(value))});
}

Var Graph::add(Op op, std::span<const Var> operands, Attributes attributes,
               std::source_location where) {
    Node node;
    node.op = op;
    node.first_operand = static_cast<std::uint32_t>(operands_.size());
    node.operand_count = static_cast<std::uint32_t>(operands.size());
    node.first_result = static_cast<std::uint32_t>(values_.size());
    node.attributes = std::move(attributes);
    node.where = where;
    for (const Var operand : operands) {
        CAMBRIAN_ASSERT(operand.graph == this &&
                        static_cast<std::size_t>(operand.id) < values_.size());
        operands_.push_back(operand.id);
    }
    try {
        append_results(node);
    } catch (const ShapeError& error) {
        values_.resize(node.first_result);
        const std::vector<ValueId> ids(operands_.begin() + node.first_operand, operands_.end());
        operands_.resize(node.first_operand);
        fail_node(op, OperandInfos(values_, ids), error.what(), where);
    }
    producers_.resize(values_.size(), static_cast<std::uint32_t>(nodes_.size()));
    const ValueId first{node.first_result};
    if (op == Op::input) inputs_.push_back(first);
    nodes_.push_back(std::move(node));
    return {this, first};
}

void Graph::append_results(Node& node) {
    const OpInfo& rule = op_info(node.op);
    if (rule.arity >= 0 && node.operand_count != static_cast<std::uint32_t>(rule.arity))
        reject("it takes " + std::to_string(rule.arity) + " operands, not " +
                   std::to_string(node.operand_count),
               "pass as many operands as the op takes");
    const std::size_t count = rule.result_count == nullptr ? 1 : rule.result_count(node.attributes);
    for (std::size_t result = 0; result < count; ++result) {
        const OperandInfos infos(values_, operands(node));
        values_.push_back({rule.type(infos, node.attributes, result),
                           rule.shape(infos, node.attributes, result)});
    }
    node.result_count = static_cast<std::uint32_t>(count);

    const auto has_batch_axis = [&](ValueId id) { return value(id).per_individual; };
    if (rule.batch == BatchRule::each) {
        const bool batch_axis = std::ranges::any_of(operands(node), has_batch_axis);
        for (std::size_t i = 0; i < count; ++i)
            values_[node.first_result + i].per_individual = batch_axis;
    } else if (rule.batch == BatchRule::body) {
        auto& scan = std::get<ScanAttribute>(node.attributes);
        std::vector<bool> batch_axes;
        std::ranges::transform(operands(node), std::back_inserter(batch_axes), has_batch_axis);
        batch_axes = scan_body_batch_axes(scan, std::move(batch_axes));
        const std::vector<bool> results = scan_result_batch_axes(scan, batch_axes);
        for (std::size_t i = 0; i < count; ++i)
            values_[node.first_result + i].per_individual = results[i];
        set_scan_body_batch_axes(scan, batch_axes);
    }
}

void Graph::set_batch_axes(const std::vector<bool>& per_individual) {
    const std::vector<bool> batch_axes = propagate_batch_axes(*this, per_individual);
    for (std::size_t i = 0; i < batch_axes.size(); ++i) values_[i].per_individual = batch_axes[i];
    for (Node& node : nodes_) {
        if (node.op != Op::scan) continue;
        auto& scan = std::get<ScanAttribute>(node.attributes);
        std::vector<bool> operand_batch_axes;
        for (const ValueId id : operands(node))
            operand_batch_axes.push_back(value(id).per_individual);
        set_scan_body_batch_axes(scan, scan_body_batch_axes(scan, std::move(operand_batch_axes)));
    }
    for (const Update& update : updates_) check_update(update, "");
}

void Graph::output(Var value) {
    CAMBRIAN_ASSERT(value.graph == this && static_cast<std::size_t>(value.id) < values_.size());
    outputs_.push_back(value.id);
}

void Graph::update(Var input, Var value, std::source_location where) {
    CAMBRIAN_ASSERT(input.graph == this);
    const std::string place =
        " at " + std::string(where.file_name()) + ":" + std::to_string(where.line());
    const auto found = std::ranges::find(inputs_, input.id);
    if (found == inputs_.end())
        throw ShapeError("update: v" + std::to_string(static_cast<std::uint32_t>(input.id)) +
                         " is no input (only what the caller binds can be replaced) pass an input" +
                         place);
    const Update declared{static_cast<std::uint32_t>(found - inputs_.begin()),
                          static_cast<std::uint32_t>(outputs_.size())};
    if (std::ranges::find(updates_, declared.input, &Update::input) != updates_.end())
        throw ShapeError("update: input " + input_name(declared.input) +
                         " has a new content already (two values cannot both replace it) declare "
                         "one of them as an output" +
                         place);
    output(value);
    try {
        check_update(declared, place);
    } catch (const ShapeError&) {
        outputs_.pop_back();
        throw;
    }
    updates_.push_back(declared);
}

void Graph::capture(std::string_view name, Var value, std::source_location where) {
    CAMBRIAN_ASSERT(value.graph == this && static_cast<std::size_t>(value.id) < values_.size());
    if (name.empty() || std::ranges::find(captures_, name, &Capture::name) != captures_.end())
        throw ShapeError("capture: the name '" + std::string(name) + "' cannot be given to v" +
                         std::to_string(static_cast<std::uint32_t>(value.id)) +
                         (name.empty() ? " (it is empty)" : " (another value has it)") +
                         " give every captured value a name of its own at " + where.file_name() +
                         ":" + std::to_string(where.line()));
    captures_.push_back({std::string(name), value.id});
}

void Graph::check_update(const Update& update, const std::string& where) const {
    const ValueInfo& old = value(inputs_[update.input]);
    const ValueInfo& next = value(outputs_[update.output]);
    const std::string problem = "update: input " + input_name(update.input) + ", " +
                                std::string(name(old.type)) + " " + old.shape.text() +
                                ", cannot become " + std::string(name(next.type)) + " " +
                                next.shape.text();
    if (old.type != next.type || old.shape != next.shape)
        throw ShapeError(problem +
                         " (type and shape are those of the buffer) reshape or cast the " +
                         "value" + where);
    if (old.per_individual != next.per_individual)
        throw ShapeError(problem + " (" +
                         (old.per_individual ? "every individual has its own input and all would "
                                               "share the value"
                                             : "all individuals share the input and each would "
                                               "have its own value") +
                         ") give both a population axis or neither" + where);
}

const std::string& Graph::input_name(std::size_t index) const {
    CAMBRIAN_ASSERT(index < inputs_.size());
    return *std::get<InputAttribute>(producer(inputs_[index]).attributes).name;
}

}  // namespace cambrian
