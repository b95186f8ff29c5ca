#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/table_config.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/shell_word.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A name for files and runs.
std::string plain_name(const std::string& text) {
    std::string name;
    for (const char letter : text) {
        const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
        name += plain ? letter : '_';
    }
    return name.empty() ? "table" : name;
}

/// The file as a config in a folder names it.
std::string seen_from(const fs::path& csv, const fs::path& config) {
    const fs::path folder = fs::absolute(config).parent_path();
    return csv.is_absolute() ? csv.string()
                             : fs::absolute(csv).lexically_proximate(folder).string();
}

std::string new_summary(const TableProfile& profile, const NewOptions& options,
                        const TableConfig& config) {
    std::string text = fmt::format("  {} of {}, for {}\n  inputs      {} of {} columns, {} rows\n",
                                   config.classification ? "classification" : "regression",
                                   fmt::join(options.targets, ", "), config.reason,
                                   config.inputs.size(), profile.columns.size(), profile.rows);
    for (const auto& [column, why] : config.left_out)
        text += fmt::format("  left out    {}: {}\n", column, why);
    return text;
}

/// Throws what evolve and train would: a config that they refuse is no beginning.
void check_config(const CommandContext& context, const std::string& text, const fs::path& path) {
    const Schema schema(context.tasks, context.genomes);
    const ConfigDocument document = document_from(parse_config(text, path.string()), path.string(),
                                                  fs::absolute(path).parent_path(), {});
    const ResolvedConfig training = resolve_training(document, schema);
    static_cast<void>(make_training(training, schema, context.tasks));
    static_cast<void>(make_experiment(resolve_evolution(document, schema), schema, context.tasks,
                                      context.strategies, context.genomes));
}

}  // namespace

int new_command(const CommandContext& context, const NewOptions& options) {
    const fs::path csv = options.csv;
    const std::string name = plain_name(csv.stem().string());
    const std::string path = options.output.empty() ? name + ".json" : options.output;
    Destination output(context, path, {options.csv});
    const fs::path place = output.standard() ? "config.json" : path;
    if (!options.force && output.replaces())
        throw ConfigError(fmt::format(
            "{} is there already (it would be replaced) name another file with --output, or add "
            "--force",
            path));
    const TableProfile profile = profile_of(CsvFile(options.csv));
    const TableConfig config = table_config(profile, {.targets = options.targets,
                                                      .mode = options.mode,
                                                      .time_offset = options.time_offset,
                                                      .name = name,
                                                      .csv = seen_from(csv, place)});
    check_config(context, config.text, place);
    output.write(config.text);
    output.finish();
    const std::string summary = new_summary(profile, options, config);
    if (output.standard())
        context.err << summary;
    else
        context.out << fmt::format("{}\n{}  next        cambrian evolve {}\n", path, summary,
                                   shell_word(path));
    return exit_done;
}

}  // namespace cambrian::launch
