#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/preparation.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::uint32_t preparation_format = 1;
/// The length of a text and the numbers beside it.
constexpr std::uint64_t smallest_input = 8 + 3 * 8;
constexpr std::uint64_t smallest_output = 2 * 8 + 2 * 8;

void write(ArchiveWriter& writer, const Scaling& scaling) {
    writer.write(scaling.shift);
    writer.write(scaling.scale);
}

void read(ArchiveReader& reader, Scaling& scaling) {
    reader.read(scaling.shift);
    reader.read(scaling.scale);
}

double number(const nlohmann::json& json, const char* key) {
    const nlohmann::json& value = json.at(key);
    // A truth value would be taken for 0 or 1.
    if (!value.is_number()) throw InputError(fmt::format("{} is no number", key));
    return value.get<double>();
}

Scaling scaling_from_json(const nlohmann::json& json) {
    return {.shift = number(json, "shift"), .scale = number(json, "scale")};
}

/// A list; objects have elements, too.
const nlohmann::json& list(const nlohmann::json& json, const char* key) {
    const nlohmann::json& value = json.at(key);
    if (!value.is_array()) throw InputError(fmt::format("{} is no list", key));
    return value;
}

}  // namespace

std::vector<std::byte> encode(const Preparation& preparation) {
    ArchiveWriter writer;
    writer.write(preparation_format);
    writer.write(static_cast<std::uint64_t>(preparation.inputs.size()));
    for (const PreparedInput& input : preparation.inputs) {
        writer.write(input.column);
        write(writer, input.scaling);
        writer.write(input.factor);
    }
    writer.write(static_cast<std::uint64_t>(preparation.outputs.size()));
    for (const PreparedOutput& output : preparation.outputs) {
        writer.write(output.name);
        write(writer, output.scaling);
        writer.write(output.current);
    }
    writer.write(std::span<const double>(preparation.classes));
    writer.write(preparation.sequence_rows);
    return writer.take();
}

Preparation decode_preparation(std::span<const std::byte> bytes, std::string_view source) {
    ArchiveReader reader(bytes, std::string(source));
    std::uint32_t found = 0;
    reader.read(found);
    if (found != preparation_format)
        reader.fail(fmt::format("its preparation has format {}, this program reads {}", found,
                                preparation_format));
    Preparation preparation;
    preparation.inputs.resize(reader.read_count(smallest_input));
    for (PreparedInput& input : preparation.inputs) {
        reader.read(input.column);
        read(reader, input.scaling);
        reader.read(input.factor);
    }
    preparation.outputs.resize(reader.read_count(smallest_output));
    for (PreparedOutput& output : preparation.outputs) {
        reader.read(output.name);
        read(reader, output.scaling);
        reader.read(output.current);
    }
    reader.read(preparation.classes);
    reader.read(preparation.sequence_rows);
    reader.finish();
    return preparation;
}

nlohmann::ordered_json to_json(const Preparation& preparation) {
    using Json = nlohmann::ordered_json;
    Json inputs = Json::array();
    for (const PreparedInput& input : preparation.inputs)
        inputs.push_back({{"column", input.column},
                          {"shift", input.scaling.shift},
                          {"scale", input.scaling.scale},
                          {"factor", input.factor}});
    Json outputs = Json::array();
    for (const PreparedOutput& output : preparation.outputs)
        outputs.push_back({{"name", output.name},
                           {"shift", output.scaling.shift},
                           {"scale", output.scaling.scale},
                           {"current", output.current}});
    return {{"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"classes", preparation.classes},
            {"sequence_rows", preparation.sequence_rows}};
}

Preparation preparation_from_json(const nlohmann::json& json) {
    Preparation preparation;
    for (const nlohmann::json& input : list(json, "inputs"))
        preparation.inputs.push_back({.column = input.at("column").get<std::string>(),
                                      .scaling = scaling_from_json(input),
                                      .factor = number(input, "factor")});
    for (const nlohmann::json& output : list(json, "outputs"))
        preparation.outputs.push_back({.name = output.at("name").get<std::string>(),
                                       .scaling = scaling_from_json(output),
                                       .current = output.at("current").get<std::string>()});
    for (const nlohmann::json& value : list(json, "classes")) {
        if (!value.is_number()) throw InputError("a class is no number");
        preparation.classes.push_back(value.get<double>());
    }
    const nlohmann::json& rows = json.at("sequence_rows");
    if (!rows.is_number_unsigned()) throw InputError("sequence_rows counts nothing");
    // Too large a count becomes negative, which no preparation may be.
    preparation.sequence_rows = static_cast<std::int64_t>(rows.get<std::uint64_t>());
    return preparation;
}

}  // namespace cambrian::evolve
