#include "cambrian/engine/models/tensor_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::models {
namespace {

/// A type that tensors of models have, and what other programs call it.
struct WeightType {
    StoredType type{};
    std::string_view torch;
};
constexpr std::array weight_types{
    WeightType{StoredType::f32, "float32"}, WeightType{StoredType::f16, "float16"},
    WeightType{StoredType::bf16, "bfloat16"}, WeightType{StoredType::f64, "float64"}};

/// Null for another type.
const WeightType* weight_type(StoredType type) {
    const auto* const found = std::ranges::find(weight_types, type, &WeightType::type);
    return found == weight_types.end() ? nullptr : found;
}

std::string known_weight_types() {
    std::vector<std::string_view> names;
    for (const WeightType& known : weight_types) names.push_back(row(known.type).name);
    return joined(names);
}

/// The shape of the tensor that holds the parameters of a rule.
Shape shape_of(const TensorRule& rule, const NamedRanges& ranges) {
    const Shape& first = ranges.at(rule.ours.front()).parameter.shape;
    std::vector<std::int64_t> extents(first.extents().begin(), first.extents().end());
    for (std::size_t i = 1; i < rule.ours.size(); ++i)
        extents[0] += ranges.at(rule.ours[i]).parameter.shape[0];
    if (rule.form == Form::transposed) std::swap(extents[0], extents[1]);
    return Shape(std::span<const std::int64_t>(extents));
}

/// Where element `index` of the parameters lies in their tensor.
std::size_t place_of(const TensorRule& rule, const Shape& shape, std::size_t index) {
    if (rule.form != Form::transposed) return index;
    const auto in = static_cast<std::size_t>(shape[0]);
    const auto out = static_cast<std::size_t>(shape[1]);
    return index % in * out + index / in;
}

/// Calls f(weight, place in the tensor) for every weight of a rule.
template <class Weights, class F>
void each_weight(const TensorRule& rule, const Shape& shape, const NamedRanges& ranges,
                 Weights weights, const F& f) {
    std::size_t before = 0;
    for (const std::string& name : rule.ours) {
        const WeightRange& range = ranges.at(name);
        const auto part = weights.subspan(static_cast<std::size_t>(range.offset),
                                          static_cast<std::size_t>(range.count));
        for (std::size_t i = 0; i < part.size(); ++i) f(part[i], place_of(rule, shape, before + i));
        before += part.size();
    }
}

/// Names in quotes, at most as many as a message should have.
template <class Names>
std::string quoted(const Names& names) {
    constexpr std::size_t most = 12;
    std::string text;
    std::size_t count = 0;
    for (const auto& name : names)
        if (count++ < most)
            text += fmt::format("{}\"{}\"", count == 1 ? "" : ", ", shortened(name));
    if (count > most) text += fmt::format(" and {} more", count - most);
    return text.empty() ? "none" : text;
}

bool is_buffer(const ModelPlan& plan, std::string_view name) {
    return std::ranges::any_of(
        plan.buffers, [&](const std::string& pattern) { return fits_pattern(name, pattern); });
}

void check_names(const ModelPlan& plan, const TensorFiles& files) {
    std::set<std::string> missing;
    std::set<std::string> known;
    for (const TensorRule& rule : plan.rules) {
        if (rule.theirs.empty()) continue;
        known.insert(rule.theirs);
        if (!files.entries().contains(rule.theirs)) missing.insert(rule.theirs);
    }
    for (const auto& [copy, original] : plan.copies) known.insert(copy);
    std::vector<std::string> left;
    for (const auto& [name, entry] : files.entries())
        if (!known.contains(name) && !is_buffer(plan, name)) left.push_back(name);
    if (missing.empty() && left.empty()) return;
    throw InputError(fmt::format(
        "{} does not have the tensors of the model (missing: {}; left over: {}) fetch what is "
        "missing, or name another --family",
        files.source(), quoted(missing), quoted(left)));
}

void check_tensor(const std::string& name, const StoredPlace& place, const Shape& shape,
                  std::string_view source) {
    if (place.shape != shape)
        throw InputError(
            fmt::format("{}: tensor \"{}\" is {} (the network needs {}) check the config of the "
                        "model, or name another --family",
                        source, shortened(name), place.shape.text(), shape.text()));
    if (weight_type(place.type) == nullptr)
        throw InputError(fmt::format(
            "{}: tensor \"{}\" holds {} (weights are read from {}) write it as one of these",
            source, shortened(name), row(place.type).name, known_weight_types()));
}

void check_copies(const ModelPlan& plan, const TensorFiles& files) {
    for (const auto& [copy, original] : plan.copies) {
        if (!files.entries().contains(copy)) continue;
        if (files.read(copy) != files.read(original))
            throw InputError(fmt::format(
                "{}: tensors \"{}\" and \"{}\" differ (the config of the model ties them) set its "
                "\"tie_word_embeddings\" to false, or mend the file",
                files.source(), copy, original));
    }
}

float weight_of(const StoredTensor& tensor, std::size_t place, const std::string& name,
                std::string_view source) {
    const auto value = static_cast<float>(row(tensor.type).read(tensor.bytes.data(), place));
    if (!std::isfinite(value))
        throw InputError(fmt::format(
            "{}: element {} of tensor \"{}\" is not finite as F32 (weights are) mend it", source,
            place, shortened(name)));
    return value;
}

}  // namespace

NamedRanges::NamedRanges(const Network& network) {
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        ranges_.emplace(network.weight_name(i), &network.weights()[i]);
}

const WeightRange& NamedRanges::at(const std::string& name) const {
    const auto found = ranges_.find(name);
    CAMBRIAN_EXPECT(found != ranges_.end());
    return *found->second;
}

std::string_view torch_type(StoredType type) {
    if (const WeightType* known = weight_type(type)) return known->torch;
    throw ConfigError(
        fmt::format("a model in a folder cannot hold {} (programs read its tensors "
                    "from {}) choose one of these, or write .safetensors",
                    row(type).name, known_weight_types()));
}

bool fits_pattern(std::string_view name, std::string_view pattern) {
    constexpr std::string_view digits = "0123456789";
    while (!pattern.empty()) {
        if (pattern.front() == '#') {
            const std::size_t end = std::min(name.find_first_not_of(digits), name.size());
            if (end == 0) return false;
            name.remove_prefix(end);
        } else {
            if (name.empty() || name.front() != pattern.front()) return false;
            name.remove_prefix(1);
        }
        pattern.remove_prefix(1);
    }
    return name.empty();
}

std::vector<float> read_weights(const ModelPlan& plan, const Network& network,
                                const TensorFiles& files) {
    const NamedRanges ranges(network);
    check_names(plan, files);
    for (const TensorRule& rule : plan.rules)
        if (!rule.theirs.empty())
            check_tensor(rule.theirs, files.entries().find(rule.theirs)->second.place,
                         shape_of(rule, ranges), files.source());
    check_copies(plan, files);
    std::vector<float> weights(static_cast<std::size_t>(network.weight_count()));
    for (const TensorRule& rule : plan.rules) {
        if (rule.theirs.empty()) continue;  // They are zero.
        const StoredTensor tensor = files.read(rule.theirs);
        each_weight(rule, tensor.shape, ranges, std::span(weights),
                    [&](float& weight, std::size_t place) {
                        const float value = weight_of(tensor, place, rule.theirs, files.source());
                        weight = rule.form == Form::added ? weight + value : value;
                    });
    }
    return weights;
}

std::vector<PlannedTensor> planned_tensors(const ModelPlan& plan, const NamedRanges& ranges) {
    std::vector<PlannedTensor> result;
    std::map<std::string, std::size_t> places;
    for (const TensorRule& rule : plan.rules) {
        if (rule.theirs.empty()) continue;
        const auto [place, is_new] = places.emplace(rule.theirs, result.size());
        if (is_new) result.push_back({rule.theirs, shape_of(rule, ranges), {}});
        result[place->second].rules.push_back(&rule);
    }
    return result;
}

StoredTensor write_tensor(const PlannedTensor& planned, const NamedRanges& ranges,
                          std::span<const float> weights, StoredType type) {
    CAMBRIAN_EXPECT(weight_type(type) != nullptr);
    const StoredTypeRow& stored = row(type);
    const auto elements = static_cast<std::size_t>(planned.shape.elements());
    const auto numbers = [&](const TensorRule& rule) {
        std::vector<float> values(elements);
        if (rule.form == Form::added) return values;
        each_weight(rule, planned.shape, ranges, weights,
                    [&](float weight, std::size_t place) { values[place] = weight; });
        return values;
    };
    const std::vector<float> values = numbers(*planned.rules.front());
    for (const TensorRule* other : planned.rules)
        if (numbers(*other) != values)
            throw ConfigError(fmt::format(
                "{} and {} cannot both be the tensor \"{}\" (they differ) write them apart",
                planned.rules.front()->ours.front(), other->ours.front(), planned.name));
    StoredTensor result{type, planned.shape, std::vector<std::byte>(elements * stored.bits / 8)};
    for (std::size_t i = 0; i < elements; ++i)
        stored.write(static_cast<double>(values[i]), result.bytes.data(), i);
    return result;
}

void check_zeros(const ModelPlan& plan, const NamedRanges& ranges, std::span<const float> weights) {
    for (const TensorRule& rule : plan.rules) {
        if (!rule.theirs.empty()) continue;
        for (const std::string& name : rule.ours) {
            const WeightRange& range = ranges.at(name);
            const auto part = weights.subspan(static_cast<std::size_t>(range.offset),
                                              static_cast<std::size_t>(range.count));
            if (std::ranges::any_of(part, [](float weight) { return weight != 0.0F; }))
                throw ConfigError(fmt::format(
                    "{} cannot be written (it is not zero, and models of this family have no such "
                    "tensor) choose another --family",
                    name));
        }
    }
}

}  // namespace cambrian::models
