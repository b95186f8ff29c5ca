#include "cambrian/evolve/runs/network_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/listed_shapes.hpp"
#include "cambrian/engine/network/network_text.hpp"

namespace cambrian::distributed {
namespace {

/// Throws unless the tensors are the weights of the network, by name.
void check_names(const Safetensors& content, const Network& network, std::string_view source) {
    std::map<std::string, Shape> left;
    for (const auto& [name, tensor] : content.tensors) left.emplace(name, tensor.shape);
    std::map<std::string, Shape> missing;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        std::string name = network.weight_name(i);
        if (left.erase(name) == 0)
            missing.emplace(std::move(name), network.weights()[i].parameter.shape);
    }
    if (missing.empty() && left.empty()) return;
    throw InputError(fmt::format(
        "{} does not have the weights of the network (missing: {}; there instead: {}) name them "
        "with --rename, or the right structure with --network",
        source, listed_shapes(missing), listed_shapes(left)));
}

/// Whether numbers of a type can be weights: not those of a complex type, nor scales, which have
/// no sign.
bool holds_weights(const StoredTypeRow& type) {
    return type.value == ValueType::real && type.parts == 1 && type.type != StoredType::f8_e8m0;
}

void check_tensors(const Safetensors& content, const Network& network, std::string_view source) {
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const std::string name = network.weight_name(i);
        const Shape& shape = network.weights()[i].parameter.shape;
        const StoredTensor& tensor = content.at(name);
        if (tensor.shape != shape)
            throw InputError(
                fmt::format("{}: tensor \"{}\" is {} (the network needs {}) change the tensor, or "
                            "the structure with --network",
                            source, shortened(name), tensor.shape.text(), shape.text()));
        if (const StoredTypeRow& type = row(tensor.type); !holds_weights(type))
            throw InputError(
                fmt::format("{}: tensor \"{}\" holds {} (weights are real) store it as F32", source,
                            name, type.name));
    }
}

void read_weights(std::span<float> to, const std::string& name, const StoredTensor& from,
                  std::string_view source) {
    const StoredTypeRow& type = row(from.type);
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = static_cast<float>(type.read(from.bytes.data(), i));
        if (!std::isfinite(to[i]))
            throw InputError(fmt::format(
                "{}: element {} of tensor \"{}\" is not finite as F32 (weights are) mend it",
                source, i, name));
    }
}

}  // namespace

StoredType weight_type(std::string_view name) {
    std::string known;
    for (const StoredTypeRow& type : stored_types()) {
        if (!holds_weights(type)) continue;
        if (type.name == name) return type.type;
        known += (known.empty() ? "" : ", ") + std::string(type.name);
    }
    throw ConfigError(
        fmt::format("--dtype is {} (weights are real: {}) choose one of these", name, known));
}

Safetensors to_safetensors(const NetworkFile& file, StoredType type) {
    const Network network(file.genome.blueprint);
    Safetensors content;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        Tensor tensor(ValueType::real, range.parameter.shape);
        const auto values = std::span(file.genome.weights)
                                .subspan(static_cast<std::size_t>(range.offset),
                                         static_cast<std::size_t>(range.count));
        std::ranges::copy(values, tensor.elements.begin());
        content.tensors.emplace(network.weight_name(i), StoredTensor::of(tensor, type));
    }
    content.metadata = metadata_of(file);
    for (const auto& [key, text] : content.metadata)
        check_network_text(text, fmt::format("\"{}\" of the metadata", key));
    return content;
}

NetworkFile from_safetensors(const Safetensors& content, const std::optional<Blueprint>& structure,
                             std::string_view source) {
    const Network network(structure ? *structure : blueprint_of(content.metadata, source));
    check_names(content, network, source);
    check_tensors(content, network, source);
    NetworkFile file;
    file.genome = evolve::founder_genome(network.blueprint(), 0);
    file.genome.weights.resize(static_cast<std::size_t>(network.weight_count()));
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const std::string name = network.weight_name(i);
        read_weights(std::span(file.genome.weights)
                         .subspan(static_cast<std::size_t>(range.offset),
                                  static_cast<std::size_t>(range.count)),
                     name, content.at(name), source);
    }
    if (!structure) restore(file, content.metadata, source);
    return file;
}

}  // namespace cambrian::distributed
