#include "cambrian/engine/backend/named_buffers.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

std::string described(ValueType type, const Shape& shape) {
    return std::string(name(type)) + " " + shape.text();
}

[[noreturn]] void fail_fit(std::string_view name, const std::string& is,
                           const std::string& wanted) {
    throw ShapeError("'" + std::string(name) + "' is " + is + ", not " + wanted +
                     " (one name stands for one buffer, the population included) use another "
                     "name or the same shape");
}

}  // namespace

NamedBuffers::Bindings NamedBuffers::bind(const Graph& graph, std::int64_t population,
                                          std::span<const Binding> outputs) {
    const std::size_t others = graph.outputs().size() - graph.updates().size();
    if (outputs.size() != others)
        throw ShapeError("got " + std::to_string(outputs.size()) + " bindings (the graph has " +
                         std::to_string(others) +
                         " outputs that replace no input) pass one for each of them");
    std::map<std::string, Entry, std::less<>> added;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueInfo& info = graph.value(graph.inputs()[i]);
        const std::string& name = graph.input_name(i);
        const Shape shape = bound_shape(info, population);
        if (name.empty())
            throw ShapeError("input " + std::to_string(i) +
                             " has no name (buffers are found by it) give it one");
        const auto& place = entries_.contains(name) ? entries_ : added;
        const auto known = place.find(name);
        if (known == place.end())
            added[name] = {info.type, shape, backend_->allocate(info.type, shape.elements())};
        else if (known->second.type != info.type || known->second.shape != shape)
            fail_fit(name, described(known->second.type, known->second.shape),
                     described(info.type, shape));
    }
    entries_.merge(added);

    Bindings result;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
        result.inputs.push_back({&at(graph.input_name(i)), 0});
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < graph.outputs().size(); ++i) {
        const auto update = std::ranges::find(graph.updates(), i, &Update::output);
        result.outputs.push_back(update == graph.updates().end() ? outputs[next++]
                                                                 : result.inputs[update->input]);
    }
    return result;
}

const NamedBuffers::Entry& NamedBuffers::entry(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
        throw ShapeError("no buffer is named '" + std::string(name) + "' (" +
                         std::to_string(entries_.size()) +
                         " are there) bind a graph with an input of that name first");
    return found->second;
}

Buffer& NamedBuffers::at(std::string_view name) const {
    return *entry(name).buffer;
}

bool NamedBuffers::contains(std::string_view name) const {
    return entries_.contains(name);
}

std::vector<std::string> NamedBuffers::names() const {
    std::vector<std::string> result;
    for (const auto& [name, entry] : entries_) result.push_back(name);
    return result;
}

void NamedBuffers::write(std::string_view name, const Tensor& value) {
    const Entry& target = entry(name);
    if (value.type != target.type || value.shape != target.shape)
        fail_fit(name, described(target.type, target.shape), described(value.type, value.shape));
    write_tensor(*backend_, *target.buffer, value);
}

Tensor NamedBuffers::read(std::string_view name) const {
    const Entry& source = entry(name);
    return download_tensor(*backend_, *source.buffer, source.shape);
}

}  // namespace cambrian
