#include "cambrian/launch/convert/model_conversion.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

/// What became of the tensors of a module, two lines.
std::string module_lines(const models::ModuleLayer& layer) {
    const Json json = Json::parse(layer.layer);
    std::string fields;
    for (const auto& [field, value] : json.items())
        if (field != "type") fields += fmt::format(" {}={}", field, value.dump());
    std::int64_t parameters = 0;
    std::string tensors;
    for (const auto& [name, shape] : layer.module.tensors) {
        parameters += shape.elements();
        tensors += fmt::format("{}{} {}", tensors.empty() ? "" : ", ", name, shape.text());
    }
    return fmt::format("  {}: {}{}, {} numbers as {}*\n    {}\n",
                       layer.module.path.empty() ? "." : layer.module.path,
                       json["type"].get<std::string>(), fields, parameters, layer.weights, tensors);
}

}  // namespace

ConvertedModel read_model(const std::string& path, const std::string& family,
                          const models::UniversalOptions& options) {
    models::LoadedModel model = models::load_model(path, family, options);
    ConvertedModel result;
    result.file.genome = evolve::founder_genome(model.blueprint, 0);
    result.file.genome.weights = std::move(model.weights);
    if (!model.preparation.empty())
        distributed::restore(result.file, {{distributed::preparation_section, model.preparation}},
                             path);
    result.lines = fmt::format("  read as {}\n", model.family);
    for (const models::ModuleLayer& layer : model.layers) result.lines += module_lines(layer);
    for (const std::string& note : model.notes) result.lines += fmt::format("  {}\n", note);
    return result;
}

std::string write_model(const std::string& folder, const std::string& family,
                        const distributed::NetworkFile& file, models::SaveOptions options) {
    std::string prepared;
    const bool prepares =
        file.preparation && *file.preparation != evolve::plain_preparation(file.genome.blueprint);
    if (prepares && family == models::torch_family) {
        try {
            options.preparation =
                distributed::metadata_of(file).at(distributed::preparation_section);
            prepared = "  rows are prepared before this network, as its config.json says\n";
        } catch (const InputError&) {
            prepared =
                "  rows are prepared before this network, which the folder does not say, as a "
                "column has no name in UTF-8: `inspect` does\n";
        }
    } else if (prepares) {
        prepared =
            "  rows are prepared before this network, which the folder does not say: `inspect` "
            "does, and .onnx contains it\n";
    }
    const models::SavedModel saved = models::save_model(
        folder, family, Network(file.genome.blueprint), file.genome.weights, options);
    std::string lines = fmt::format("  written as {}, {} {} of tensors\n", family, saved.files,
                                    saved.files == 1 ? "file" : "files");
    for (const std::string& note : saved.notes) lines += fmt::format("  {}\n", note);
    return lines + prepared;
}

bool is_model(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) ||
           path.ends_with(".safetensors.index.json");
}

}  // namespace cambrian::launch
