#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/preparation.hpp"

namespace cambrian::evolve {
namespace {

/// 1: does not say how many rows ahead it tells; what was read so stays so.
/// 2: texts of labels, what to do with missing cells, rows ahead.
/// 3: logits, whose preparations alone are written so.
/// 4: each row is shown for some steps, or ids are of a tokenizer; such preparations alone are
/// written so, with a byte of flags, logits among them, and the hash of the tokenizer.
constexpr std::uint32_t preparation_format = 4;
constexpr std::uint32_t third_format = 3;
constexpr std::uint32_t second_format = 2;
constexpr std::uint32_t first_format = 1;
/// The length of a text and the numbers beside it.
constexpr std::uint64_t smallest_input = 8 + 3 * 8;
constexpr std::uint64_t smallest_output = 2 * 8 + 2 * 8;
constexpr std::uint64_t smallest_label = 8;

enum Flag : std::uint8_t { logits_flag = 1, shown_flag = 2, tokenizer_flag = 4 };
constexpr unsigned all_flags = unsigned{logits_flag} | shown_flag | tokenizer_flag;

void write(ArchiveWriter& writer, const Scaling& scaling) {
    writer.write(scaling.shift);
    writer.write(scaling.scale);
}

void read(ArchiveReader& reader, Scaling& scaling) {
    reader.read(scaling.shift);
    reader.read(scaling.scale);
}

/// Whether it has what the first format does not know, beside the rows ahead.
bool has_additions(const Preparation& preparation) {
    return preparation.logits || preparation.shown || preparation.tokenizer ||
           !preparation.labels.empty() || preparation.missing_values != MissingValues::error;
}

/// What is missing is a byte, and where constants stand for it one for each input.
void write_additions(ArchiveWriter& writer, const Preparation& preparation) {
    writer.write(static_cast<std::uint64_t>(preparation.labels.size()));
    for (const std::string& label : preparation.labels) writer.write(label);
    writer.write(*preparation.ahead);
    writer.write(static_cast<std::uint8_t>(preparation.missing_values));
    for (const PreparedInput& input : preparation.inputs)
        if (input.fill) writer.write(*input.fill);
}

void read_additions(ArchiveReader& reader, Preparation& preparation) {
    reader.read_list(preparation.labels, smallest_label,
                     [&](std::string& label) { reader.read(label); });
    reader.read(preparation.ahead.emplace());
    std::uint8_t missing = 0;
    reader.read(missing);
    if (missing >= missing_values_names.size())
        reader.fail(
            fmt::format("its preparation has {} as what to do with missing values", missing));
    preparation.missing_values = static_cast<MissingValues>(missing);
    if (!fills(preparation.missing_values)) return;
    for (PreparedInput& input : preparation.inputs) reader.read(input.fill.emplace());
}

void write_flags(ArchiveWriter& writer, const Preparation& preparation) {
    writer.write(static_cast<std::uint8_t>((preparation.logits ? logits_flag : 0) |
                                           (preparation.shown ? shown_flag : 0) |
                                           (preparation.tokenizer ? tokenizer_flag : 0)));
    if (preparation.tokenizer) writer.write(*preparation.tokenizer);
}

void read_flags(ArchiveReader& reader, Preparation& preparation) {
    std::uint8_t flags = 0;
    reader.read(flags);
    if ((flags & ~all_flags) != 0)
        reader.fail(fmt::format("its preparation has flags that are not known ({})", flags));
    preparation.logits = (flags & logits_flag) != 0;
    preparation.shown = (flags & shown_flag) != 0;
    if ((flags & tokenizer_flag) != 0) reader.read(preparation.tokenizer.emplace());
}

std::uint32_t format_of(const Preparation& preparation) {
    if (preparation.shown || preparation.tokenizer) return preparation_format;
    if (preparation.logits) return third_format;
    return preparation.ahead ? second_format : first_format;
}

double number(const nlohmann::json& json, const char* key) {
    const nlohmann::json& value = json.at(key);
    // A truth value would be taken for 0 or 1.
    if (!value.is_number()) throw InputError(fmt::format("{} is no number", key));
    return value.get<double>();
}

/// Too large a count becomes negative, which no preparation may have.
std::int64_t count(const nlohmann::json& json, const char* key) {
    const nlohmann::json& value = json.at(key);
    if (!value.is_number_unsigned()) throw InputError(fmt::format("{} counts nothing", key));
    return static_cast<std::int64_t>(value.get<std::uint64_t>());
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
    CAMBRIAN_EXPECT(preparation.ahead || !has_additions(preparation));
    const std::uint32_t format = format_of(preparation);
    ArchiveWriter writer;
    writer.write(format);
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
    if (format > first_format) write_additions(writer, preparation);
    if (format == preparation_format) write_flags(writer, preparation);
    return writer.take();
}

Preparation decode_preparation(std::span<const std::byte> bytes, std::string_view source) {
    ArchiveReader reader(bytes, std::string(source));
    const std::uint32_t found = reader.read_format("preparation", first_format, preparation_format);
    Preparation preparation;
    reader.read_list(preparation.inputs, smallest_input, [&](PreparedInput& input) {
        reader.read(input.column);
        read(reader, input.scaling);
        reader.read(input.factor);
    });
    reader.read_list(preparation.outputs, smallest_output, [&](PreparedOutput& output) {
        reader.read(output.name);
        read(reader, output.scaling);
        reader.read(output.current);
    });
    reader.read(preparation.classes);
    reader.read(preparation.sequence_rows);
    if (found > first_format) read_additions(reader, preparation);
    if (found == first_format) preparation.ahead.reset();
    preparation.logits = found == third_format;
    if (found == preparation_format) read_flags(reader, preparation);
    reader.finish();
    return preparation;
}

nlohmann::ordered_json to_json(const Preparation& preparation) {
    using Json = nlohmann::ordered_json;
    Json inputs = Json::array();
    for (const PreparedInput& input : preparation.inputs) {
        inputs.push_back({{"column", input.column},
                          {"shift", input.scaling.shift},
                          {"scale", input.scaling.scale},
                          {"factor", input.factor}});
        if (input.fill) inputs.back()["fill"] = *input.fill;
    }
    Json outputs = Json::array();
    for (const PreparedOutput& output : preparation.outputs)
        outputs.push_back({{"name", output.name},
                           {"shift", output.scaling.shift},
                           {"scale", output.scaling.scale},
                           {"current", output.current}});
    Json json{{"inputs", std::move(inputs)},
              {"outputs", std::move(outputs)},
              {"classes", preparation.classes},
              {"sequence_rows", preparation.sequence_rows}};
    if (!preparation.labels.empty()) json["labels"] = preparation.labels;
    if (preparation.ahead) json["ahead"] = *preparation.ahead;
    if (preparation.logits) json["logits"] = true;
    if (preparation.shown) json["shown"] = true;
    if (preparation.tokenizer) json["tokenizer"] = preparation.tokenizer->hex();
    if (preparation.missing_values != MissingValues::error)
        json["missing_values"] =
            missing_values_names[static_cast<std::size_t>(preparation.missing_values)];
    return json;
}

Preparation preparation_from_json(const nlohmann::json& json) {
    Preparation preparation;
    for (const nlohmann::json& input : list(json, "inputs")) {
        preparation.inputs.push_back({.column = input.at("column").get<std::string>(),
                                      .scaling = scaling_from_json(input),
                                      .factor = number(input, "factor")});
        if (input.contains("fill")) preparation.inputs.back().fill = number(input, "fill");
    }
    for (const nlohmann::json& output : list(json, "outputs"))
        preparation.outputs.push_back({.name = output.at("name").get<std::string>(),
                                       .scaling = scaling_from_json(output),
                                       .current = output.at("current").get<std::string>()});
    for (const nlohmann::json& value : list(json, "classes")) {
        if (!value.is_number()) throw InputError("a class is no number");
        preparation.classes.push_back(value.get<double>());
    }
    if (json.contains("labels"))
        for (const nlohmann::json& label : list(json, "labels"))
            preparation.labels.push_back(label.get<std::string>());
    if (json.contains("missing_values"))
        preparation.missing_values = static_cast<MissingValues>(
            json_read::choice(json.at("missing_values"), "missing_values", missing_values_names));
    preparation.sequence_rows = count(json, "sequence_rows");
    if (json.contains("logits")) preparation.logits = json.at("logits").get<bool>();
    if (json.contains("shown")) preparation.shown = json.at("shown").get<bool>();
    if (json.contains("tokenizer"))
        preparation.tokenizer = hash_from_hex(json.at("tokenizer").get<std::string>());
    if (json.contains("ahead"))
        preparation.ahead = count(json, "ahead");
    else if (!has_additions(preparation))  // Else 0, which was once left out.
        preparation.ahead.reset();
    return preparation;
}

}  // namespace cambrian::evolve
