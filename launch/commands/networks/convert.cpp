#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/convert/model_conversion.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/convert/network_source.hpp"
#include "cambrian/launch/convert/onnx_model.hpp"
#include "cambrian/launch/convert/tensor_conversion.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using distributed::NetworkFile;

/// A network, and lines on it for people.
using Read = ConvertedModel;

Read read_cmb(const CommandContext&, const ConvertOptions& options) {
    NetworkFile file = distributed::read_network(options.input);
    distributed::require_network(file, options.input);
    return {std::move(file), ""};
}

Read read_tensors(const CommandContext& context, const ConvertOptions& options) {
    Safetensors content = read_safetensors(options.input);
    if (distributed::holds_codes(content)) {
        if (!options.network.empty() || !options.renames.empty())
            throw ConfigError(fmt::format(
                "--network or --rename is given ({} holds codes, and the structure that tells what "
                "they stand for) leave it out",
                options.input));
        return {distributed::from_inference(std::move(content), options.input), ""};
    }
    rename(content, options.renames, options.input);
    if (options.network.empty())
        return {distributed::from_safetensors(content, std::nullopt, options.input), ""};
    const NetworkSource source = network_source(options.network, context.tasks, context.genomes);
    NetworkFile file = distributed::from_safetensors(content, source.blueprint, options.input);
    file.identity_json = source.identity_json;
    if (source.preparation) file.preparation = source.preparation;
    return {std::move(file), ""};
}

Read read_json(const CommandContext& context, const ConvertOptions& options) {
    const NetworkSource source = network_source(options.input, context.tasks, context.genomes);
    RandomStream rng(random_key(options.seed.value_or(1), "convert"), 0);
    NetworkFile file;
    file.genome = evolve::sample_genome(source.blueprint, rng, 0);
    file.identity_json = source.identity_json;
    file.preparation = source.preparation;
    return {std::move(file), ""};
}

bool writes_model(const ConvertOptions& options);

Read read_folder(const CommandContext&, const ConvertOptions& options) {
    models::UniversalOptions given = options.model;
    if (!options.heads.empty()) given.fields.push_back("heads=" + options.heads);
    if (!options.activation.empty()) given.fields.push_back("activation=" + options.activation);
    const bool of_input = !options.family.empty() && !writes_model(options);
    return read_model(options.input, of_input ? options.family : std::string(models::auto_family),
                      given);
}

std::string write_cmb(const CommandContext&, const NetworkFile& file, const ConvertOptions&,
                      Destination& output) {
    output.write(distributed::encode(file));
    return "";
}

StoredType output_type(const ConvertOptions& options) {
    return distributed::weight_type(options.dtype.empty() ? "F32" : options.dtype);
}

/// The network with the format that is asked for, if one is.
NetworkFile in_format(NetworkFile file, const std::string& dtype) {
    if (dtype.empty()) return file;
    const auto named = dtype_named(dtype);
    if (!named)
        throw ConfigError(fmt::format("--dtype is {} (with --inference it is one of {}) name one",
                                      dtype, fmt::join(dtype_names, ", ")));
    evolve::Genome genome = file.genome;
    for_each_formats(genome.blueprint, [&](LayerFormats& own) {
        own.weights = *named;
        own = own.settled();
    });
    replace_genome(file, std::move(genome));
    return file;
}

std::string write_tensors(const CommandContext&, const NetworkFile& file,
                          const ConvertOptions& options, Destination& output) {
    if (options.inference) {
        output.write(encode(distributed::to_inference(in_format(file, options.dtype))));
        return "";
    }
    Safetensors content = distributed::to_safetensors(file, output_type(options));
    // What was read by these names is written by ours.
    if (fs::path(options.input).extension() != ".safetensors")
        rename(content, options.renames, options.input);
    output.write(encode(content));
    return "";
}

/// A model of others, which is no single file.
std::string write_folder(const NetworkFile& file, const ConvertOptions& options) {
    models::SaveOptions settings;
    settings.type = output_type(options);
    if (options.shard_bytes) settings.shard_bytes = *options.shard_bytes;
    return write_model(options.output, options.family, file, settings);
}

std::string write_json(const CommandContext&, const NetworkFile& file, const ConvertOptions&,
                       Destination& output) {
    const Json config{{"network", network_section(file.genome.blueprint)}};
    const std::string text = config.dump(2) + "\n";
    check_network_text(text, output.name());
    output.write(text);
    return "";
}

std::string write_onnx(const CommandContext& context, const NetworkFile& file,
                       const ConvertOptions& options, Destination& output) {
    std::optional<evolve::Preparation> preparation;
    if (!options.raw)
        preparation = preparation_of(options.input, file, {}, context.tasks, context.genomes);
    const OnnxModel model = onnx_model(options.input, file, preparation);
    output.write(model.bytes);
    return model.lines;
}

/// One row of the table of formats, by the ending of a file.
struct FileFormat {
    std::string_view ending;  ///< Empty: a model in a folder.
    Read (*read)(const CommandContext&, const ConvertOptions&) = nullptr;  ///< Null: only written.
    /// Null: write_folder. → Lines on it.
    std::string (*write)(const CommandContext&, const NetworkFile&, const ConvertOptions&,
                         Destination&) = nullptr;
};
constexpr std::array formats{FileFormat{".cmb", read_cmb, write_cmb},
                             FileFormat{".safetensors", read_tensors, write_tensors},
                             FileFormat{".json", read_json, write_json},
                             FileFormat{".onnx", nullptr, write_onnx}};
constexpr FileFormat folder_format{"", read_folder, nullptr};

const FileFormat* format_by_ending(const std::string& path) {
    const std::string ending = fs::path(path).extension();
    for (const FileFormat& format : formats)
        if (format.ending == ending) return &format;
    return nullptr;
}

bool writes_model(const ConvertOptions& options) {
    return format_by_ending(options.output) == nullptr;
}

[[noreturn]] void refuse_ending(const std::string& path, std::string_view folder) {
    throw ConfigError(fmt::format(
        "{} has the ending \"{}\" (known: .cmb, .safetensors, .json{}) name a file of these", path,
        fs::path(path).extension().string(), folder));
}

const FileFormat& input_format(const ConvertOptions& options) {
    if (is_model(options.input)) return folder_format;
    const FileFormat* format = format_by_ending(options.input);
    if (format == nullptr) refuse_ending(options.input, ", and folders of models");
    if (format->read == nullptr)
        throw ConfigError(fmt::format(
            "{} cannot be read (models of ONNX are only written) name the .cmb that it was made of",
            options.input));
    // Names of others, where a family is told.
    const bool of_others =
        format->ending == ".safetensors" && !options.family.empty() && !writes_model(options);
    return of_others ? folder_format : *format;
}

const FileFormat& output_format(const ConvertOptions& options) {
    if (const FileFormat* format = format_by_ending(options.output)) return *format;
    if (options.family.empty() || options.family == models::auto_family)
        refuse_ending(options.output, ", .onnx; a folder with the --family to write");
    return folder_format;
}

/// Throws when an option is given that the two files have no use for.
void check_options(const ConvertOptions& options, const FileFormat& from, const FileFormat& to) {
    const auto refuse = [](bool given, std::string_view option, std::string_view use) {
        if (given)
            throw ConfigError(fmt::format("{} has no use here ({}) leave it out", option, use));
    };
    const bool reads_tensors = from.ending == ".safetensors";
    const bool writes_tensors = to.ending == ".safetensors";
    const bool reads_folder = from.ending.empty();
    const bool writes_folder = to.ending.empty();
    refuse(!options.dtype.empty() && !writes_tensors && !writes_folder, "--dtype",
           "it is of tensors written");
    refuse(!options.family.empty() && !reads_folder && !writes_folder, "--family",
           "it is of models of others");
    refuse(options.shard_bytes && !writes_folder, "--shard-size", "it is of a folder written");
    const models::UniversalOptions& model = options.model;
    const bool tells = !model.fields.empty() || !model.insertions.empty() || !model.order.empty() ||
                       !model.blocks.empty() || !model.input.empty() || !options.heads.empty() ||
                       !options.activation.empty();
    refuse(tells && !reads_folder,
           "--with (or --heads, --activation, --after, --order, --blocks, --input)",
           "it is of models of others that are read");
    refuse(!options.network.empty() && !reads_tensors, "--network", "it is of .safetensors read");
    refuse(!options.renames.empty() && !reads_tensors && !writes_tensors, "--rename",
           "only .safetensors name their tensors");
    refuse(options.force && !writes_tensors && !writes_folder, "--force",
           "only a --dtype loses weights");
    refuse(options.raw && to.ending != ".onnx", "--raw", "only .onnx prepare rows");
    refuse(options.seed && from.ending != ".json", "--seed", "only a .json has no weights");
    refuse(options.inference && !writes_tensors, "--inference", "only .safetensors hold codes");
    refuse(options.inference && !options.renames.empty(), "--rename",
           "codes are found again by the names of their network");
    refuse(options.inference && options.force, "--force", "formats have scales");
    if (!options.dtype.empty() && !options.inference) {
        const StoredType type = distributed::weight_type(options.dtype);
        if (writes_folder) static_cast<void>(models::torch_type(type));
    }
}

/// A line on the weights that the type of the output cannot tell from zero, or limits; empty where
/// there is none. Throws where they are many and nobody forces it.
std::string rounding_line(const NetworkFile& file, const ConvertOptions& options) {
    const StoredType type = output_type(options);
    if (type == StoredType::f32 || type == StoredType::f64) return "";  // They hold every weight.
    const RoundingLoss loss = rounding_loss(file.genome.weights, type);
    if (is_large(loss) && !options.force)
        throw ConfigError(fmt::format(
            "{} cannot be stored as {} ({}: it has no scales) take a wider --dtype, or give "
            "--force to store it so",
            options.input, options.dtype, text(loss)));
    const RoundingLoss worst =
        largest_loss(Network(file.genome.blueprint), file.genome.weights, type);
    if (is_large(worst) && !options.force)
        throw ConfigError(
            fmt::format("{} cannot be stored as {} (of one of its parameters {}: it has no scales) "
                        "take a wider "
                        "--dtype, or give --force to store it so",
                        options.input, options.dtype, text(worst)));
    const std::string what = text(loss);
    return what.empty() ? what : fmt::format("  {}: {}\n", options.dtype, what);
}

}  // namespace

void require_network_ending(const std::string& output) {
    const FileFormat* format = format_by_ending(output);
    if (format == nullptr || format->ending == ".cmb") return;
    const std::string network = fs::path(output).replace_extension(".cmb").string();
    throw ConfigError(fmt::format(
        "{} would be a network under another format's name (networks are written as .cmb "
        "here) name {}, then convert it: cambrian convert {} {}",
        output, network, network, output));
}

int convert_command(const CommandContext& context, const ConvertOptions& options) {
    const FileFormat& from = input_format(options);
    const FileFormat& to = output_format(options);
    check_options(options, from, to);
    Destination output(context, options.output, {options.input, options.network});
    const bool writes_folder = to.ending.empty();
    if (writes_folder && output.standard())
        throw ConfigError(fmt::format(
            "{} is standard output (a model of others is a folder) name a folder", options.output));
    const Read read = from.read(context, options);
    const bool rounds = (to.ending == ".safetensors" || writes_folder) && !options.inference;
    const std::string loss = rounds ? rounding_line(read.file, options) : "";
    std::string written;
    if (writes_folder) {
        written = write_folder(read.file, options);
    } else {
        written = to.write(context, read.file, options, output);
        output.finish();
    }
    output.lines() << fmt::format("{}: {}\n{}{}{}", output.name(),
                                  structure_line(Network(read.file.genome.blueprint)), read.lines,
                                  written, loss);
    return exit_done;
}

}  // namespace cambrian::launch
