#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv.hpp"
#include "cambrian/engine/network/observer.hpp"
#include "cambrian/evolve/evaluator.hpp"
#include "cambrian/evolve/observe.hpp"
#include "cambrian/evolve/tasks/table_data.hpp"
#include "cambrian/launch/commands.hpp"
#include "cambrian/launch/device.hpp"
#include "cambrian/launch/exit_code.hpp"
#include "cambrian/launch/network_task.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// Standard input as a file, because rows are read by column names: header first.
class SpooledInput {
  public:
    SpooledInput() : path_((fs::temp_directory_path() / "cambrian-rows-XXXXXX").string()) {
        const int file = mkstemp(path_.data());
        if (file < 0)
            throw InputError(
                fmt::format("cannot keep standard input ({} is not writable) set TMPDIR",
                            fs::temp_directory_path().string()));
        close(file);
        std::ofstream(path_, std::ios::binary) << std::cin.rdbuf();
    }
    ~SpooledInput() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    SpooledInput(const SpooledInput&) = delete;
    SpooledInput& operator=(const SpooledInput&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// How the rows of a file become inputs of a network, and its outputs answers.
struct Translation {
    std::vector<std::string> inputs;   ///< Columns that the network reads.
    std::vector<std::string> answers;  ///< Names of the outputs.
    std::vector<std::string> current;  ///< Columns that a predicted change is added to.
    std::vector<evolve::Scaling> input_scaling;
    std::vector<evolve::Scaling> output_scaling;
};

bool is_number(const std::string& text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

Translation plain_translation(const std::string& input, const Blueprint& blueprint) {
    Translation translation;
    translation.inputs = read_csv_header(input);
    if (std::all_of(translation.inputs.begin(), translation.inputs.end(), is_number))
        throw InputError(
            fmt::format("{}:1: only numbers (the first line holds the column names) add "
                        "a header line",
                        input));
    if (static_cast<std::int64_t>(translation.inputs.size()) != blueprint.input_features)
        throw InputError(
            fmt::format("{} has {} columns (the network reads {}) keep those that it "
                        "reads, in order",
                        input, translation.inputs.size(), blueprint.input_features));
    for (std::int64_t i = 0; i < blueprint.output_features; ++i)
        translation.answers.push_back(fmt::format("output_{}", i));
    return translation;
}

/// A table task reads columns by name and may normalise them with constants of its training data.
Translation table_translation(const ResolvedConfig& config, const evolve::Task& task) {
    const evolve::TableSettings settings = evolve::table_settings(
        nlohmann::json(config.effective->at("task")), {config.base_directory.string()});
    const evolve::TableData data = evolve::load_table(settings);
    Translation translation;
    translation.inputs = data.input_names;
    translation.answers = task.output_names();
    translation.input_scaling = data.inputs;
    if (settings.mode == evolve::TableMode::regression) translation.output_scaling = data.outputs;
    if (settings.difference) translation.current = settings.targets;
    return translation;
}

Translation translation_for(const CommandContext& context, const InferOptions& options,
                            const distributed::NetworkFile& network, const std::string& input) {
    const bool of_table = !options.raw && !network.identity_json.empty() &&
                          Json::parse(network.identity_json).at("task").at("type") == "table";
    if (!of_table) return plain_translation(input, network.genome.blueprint);
    const Schema schema;
    const ResolvedConfig config =
        config_of_network(options.network, network, "", options.overrides, schema);
    const auto task = make_task(config, context.tasks);
    evolve::check_task_fits(*task, network.genome.blueprint);
    return table_translation(config, *task);
}

std::vector<float> network_inputs(const NumberTable& rows, const Translation& translation) {
    std::vector<float> values;
    const std::size_t width = translation.inputs.size();
    for (std::int64_t row = 0; row < rows.rows; ++row)
        for (std::size_t column = 0; column < width; ++column) {
            double value = rows.at(row, column);
            if (!translation.input_scaling.empty()) {
                const evolve::Scaling& scaling = translation.input_scaling[column];
                value = (value - scaling.shift) / scaling.scale;
            }
            values.push_back(static_cast<float>(value));
        }
    return values;
}

void write_answers(std::ostream& out, const std::vector<float>& outputs, const NumberTable& rows,
                   const Translation& translation) {
    const std::size_t width = translation.answers.size();
    const std::size_t first_current = translation.inputs.size();
    for (std::size_t i = 0; i < width; ++i) out << (i == 0 ? "" : ",") << translation.answers[i];
    out << '\n';
    for (std::int64_t row = 0; row < rows.rows; ++row) {
        for (std::size_t i = 0; i < width; ++i) {
            auto value = static_cast<double>(outputs[static_cast<std::size_t>(row) * width + i]);
            if (!translation.output_scaling.empty()) {
                const evolve::Scaling& scaling = translation.output_scaling[i];
                value = value * scaling.scale + scaling.shift;
            }
            if (!translation.current.empty()) value += rows.at(row, first_current + i);
            out << (i == 0 ? "" : ",") << fmt::format("{:.9g}", value);
        }
        out << '\n';
    }
}

}  // namespace

int infer_command(const CommandContext& context, const InferOptions& options) {
    const distributed::NetworkFile network = distributed::read_network(options.network);
    std::optional<SpooledInput> spooled;
    if (options.input == "-") spooled.emplace();
    const std::string& input = spooled ? spooled->path() : options.input;

    const Translation translation = translation_for(context, options, network, input);
    std::vector<std::string> columns = translation.inputs;
    columns.insert(columns.end(), translation.current.begin(), translation.current.end());
    const NumberTable rows = read_csv(input, columns, MissingValues::error);

    const Json engine = with_defaults(Schema(), Json{{"engine", Json::object()}}).at("engine");
    const auto backend = make_backend(device_settings(engine, RankPlace{}));
    // A network with a memory reads the file as one sequence.
    const bool sequence = Network(network.genome.blueprint).stateful();
    const std::vector<float> inputs = network_inputs(rows, translation);
    const std::int64_t batch = sequence ? 1 : rows.rows;
    const std::int64_t time = sequence ? rows.rows : 0;
    const std::vector<float> outputs = evolve::infer(*backend, network.genome, inputs, batch, time);
    if (options.observe) {
        // Beside the answers, which other programs may read from standard output.
        ConsoleObserver console([&](const std::string& line) { context.err << line << '\n'; });
        for (const Observation& observation :
             evolve::observe(*backend, network.genome, inputs, batch, time))
            console.observe(observation);
    }
    if (options.output.empty()) {
        write_answers(context.out, outputs, rows, translation);
        if (!context.out.flush())
            throw InputError(
                "cannot write the answers (standard output refuses them) free space, or name a "
                "file with --output");
        return exit_done;
    }
    std::ofstream file(options.output, std::ios::trunc);
    write_answers(file, outputs, rows, translation);
    file.close();
    if (!file)
        throw InputError(
            fmt::format("cannot write {} (the disk or the folder refuses) choose "
                        "another file",
                        options.output));
    context.out << fmt::format("{}: {} rows\n", options.output, rows.rows);
    return exit_done;
}

}  // namespace cambrian::launch
