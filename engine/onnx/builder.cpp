#include "cambrian/engine/onnx/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie");

template <class T>
void append_element(std::string& raw, double value) {
    const T element = static_cast<T>(value);
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &element, sizeof(T));
    raw.append(bytes.data(), bytes.size());
}

/// In the order of ValueType, and the types that only nodes have.
struct ElementForm {
    ElementType type;
    void (*append)(std::string& raw, double value);
};
constexpr std::array element_forms{
    ElementForm{ElementType::real32, append_element<float>},
    ElementForm{ElementType::int32, append_element<std::int32_t>},
    ElementForm{ElementType::boolean, append_element<std::uint8_t>},
    ElementForm{ElementType::int64, append_element<std::int64_t>},
    ElementForm{ElementType::real64, append_element<double>},
};

std::string raw_bytes(ElementType type, std::span<const double> elements) {
    const auto* const form = std::ranges::find(element_forms, type, &ElementForm::type);
    CAMBRIAN_ASSERT(form != element_forms.end());
    std::string raw;
    for (const double element : elements) form->append(raw, element);
    return raw;
}

}  // namespace

ElementType element_type(ValueType type) {
    return element_forms[static_cast<std::size_t>(type)].type;
}

std::string Builder::free_name(std::string_view wanted) {
    std::string name(wanted);
    if (!taken_.contains(name)) {
        taken_.insert(name);
        return name;
    }
    std::size_t& number = numbers_.try_emplace(name, 1).first->second;
    while (!taken_.insert(name).second) name = fmt::format("{}_{}", wanted, ++number);
    return name;
}

std::string Builder::input(Value value) {
    const bool is_new = taken_.insert(value.name).second;
    CAMBRIAN_ASSERT(is_new);
    graph_.inputs.push_back(std::move(value));
    return graph_.inputs.back().name;
}

void Builder::output(const std::string& name, Value value) {
    const bool is_new = taken_.insert(value.name).second;
    CAMBRIAN_ASSERT(is_new && bodies_.empty());
    graph_.nodes.push_back({"Identity", value.name, {name}, {value.name}, {}});
    graph_.outputs.push_back(std::move(value));
}

std::vector<std::string> Builder::add(std::string_view operation, std::vector<std::string> inputs,
                                      std::vector<Attribute> attributes, std::size_t results) {
    const std::string name = free_name(operation);
    std::vector<std::string> outputs{name};
    while (outputs.size() < results)
        outputs.push_back(free_name(fmt::format("{}.{}", name, outputs.size())));
    auto& nodes = bodies_.empty() ? graph_.nodes : bodies_.back();
    nodes.push_back(
        {std::string(operation), name, std::move(inputs), outputs, std::move(attributes)});
    return outputs;
}

std::string Builder::add(std::string_view operation, std::vector<std::string> inputs,
                         std::vector<Attribute> attributes) {
    return add(operation, std::move(inputs), std::move(attributes), 1).front();
}

std::string Builder::constant(Initializer value) {
    value.name = free_name(value.name);
    graph_.initializers.push_back(std::move(value));
    return graph_.initializers.back().name;
}

std::string Builder::constant(const Tensor& value, std::string_view wanted) {
    const auto extents = value.shape.extents();
    return constant(wanted, element_type(value.type), {extents.begin(), extents.end()},
                    value.elements);
}

std::string Builder::constant(std::string_view wanted, ElementType type,
                              std::vector<std::int64_t> extents, std::span<const double> elements) {
    return constant({.name = std::string(wanted),
                     .type = type,
                     .extents = std::move(extents),
                     .raw = raw_bytes(type, elements)});
}

std::string Builder::integers(const std::vector<std::int64_t>& values) {
    const auto [found, is_new] = integers_.try_emplace(values);
    if (is_new) {
        Initializer tensor{.name = "integers",
                           .type = ElementType::int64,
                           .extents = {static_cast<std::int64_t>(values.size())}};
        for (const std::int64_t value : values) {
            std::array<char, sizeof(value)> bytes{};
            std::memcpy(bytes.data(), &value, sizeof(value));
            tensor.raw.append(bytes.data(), bytes.size());
        }
        found->second = constant(std::move(tensor));
    }
    return found->second;
}

std::string Builder::scalar(double value, ElementType type) {
    const auto [found, is_new] = scalars_.try_emplace({value, type});
    if (is_new) found->second = constant("scalar", type, {}, std::array{value});
    return found->second;
}

std::string Builder::spread(const std::string& value, int rank) {
    if (batch_.empty()) {
        CAMBRIAN_ASSERT(!graph_.inputs.empty());
        batch_ = free_name("batch_size");
        // Before all nodes, so that bodies of loops see it, too.
        graph_.nodes.insert(graph_.nodes.begin(),
                            {"Shape",
                             batch_,
                             {graph_.inputs.front().name},
                             {batch_},
                             {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}}});
    }
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(rank), 1);
    const std::string shape =
        rank == 0 ? batch_ : add("Concat", {batch_, integers(ones)}, {{"axis", std::int64_t{0}}});
    return add("Expand", {value, shape});
}

std::vector<NodeMessage> Builder::end_body() {
    CAMBRIAN_ASSERT(!bodies_.empty());
    std::vector<NodeMessage> nodes = std::move(bodies_.back());
    bodies_.pop_back();
    return nodes;
}

GraphMessage Builder::finish(std::string name) {
    CAMBRIAN_ASSERT(bodies_.empty());
    graph_.name = std::move(name);
    return std::move(graph_);
}

}  // namespace cambrian::onnx
