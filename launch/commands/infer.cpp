#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/observe/observer.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/devices/device.hpp"

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

/// Overrides of the engine, which every network runs on, and the others.
std::pair<std::vector<std::string>, std::vector<std::string>> split_overrides(
    const std::vector<std::string>& overrides) {
    std::pair<std::vector<std::string>, std::vector<std::string>> parts;
    for (const std::string& assignment : overrides)
        (assignment.starts_with("engine.") ? parts.first : parts.second).push_back(assignment);
    return parts;
}

/// Rows that a network reads in one go: sequences of `time` rows, or single rows without time.
struct Part {
    std::int64_t first = 0;
    std::int64_t batch = 0;
    std::int64_t time = 0;

    [[nodiscard]] std::int64_t rows() const { return batch * std::max<std::int64_t>(1, time); }
};

/// A network with a memory reads sequences: those that it has learnt from, or the file as one.
std::vector<Part> parts_of(const Network& network, const evolve::Preparation& preparation,
                           std::int64_t rows) {
    if (!network.stateful()) return {{.first = 0, .batch = rows, .time = 0}};
    const std::int64_t length = preparation.sequence_rows;
    if (length == 0) return {{.first = 0, .batch = 1, .time = rows}};
    std::vector<Part> parts;
    const std::int64_t whole = rows / length;
    if (whole > 0) parts.push_back({.first = 0, .batch = whole, .time = length});
    if (rows % length > 0)
        parts.push_back({.first = whole * length, .batch = 1, .time = rows % length});
    return parts;
}

/// What the rows were read as, where it may surprise.
std::string prepared_notes(const PreparedRows& rows, const std::vector<Part>& parts,
                           const evolve::Preparation& preparation) {
    std::string text;
    if (!rows.ignored.empty()) text += fmt::format("columns ignored: {}\n", listed(rows.ignored));
    if (preparation.sequence_rows == 0 || parts.front().time == 0) return text;
    text += fmt::format("sequences of {} rows: the network starts afresh with each",
                        preparation.sequence_rows);
    if (parts.back().time < preparation.sequence_rows)
        text += fmt::format(", the last one has {}", parts.back().time);
    return text + '\n';
}

}  // namespace

int infer_command(const CommandContext& context, const InferOptions& options) {
    if (!options.output.empty())
        refuse_input_as_output(options.output, {options.network, options.input});
    const distributed::NetworkFile network = distributed::read_network(options.network);
    std::optional<SpooledInput> spooled;
    if (options.input == "-") spooled.emplace();
    const std::string& input = spooled ? spooled->path() : options.input;

    const auto [engine_keys, others] = split_overrides(options.overrides);
    if (options.raw && !others.empty())
        throw ConfigError("--set has no use with --raw (no task prepares the rows) leave it out");
    const evolve::Preparation plain = evolve::plain_preparation(network.genome.blueprint);
    const evolve::Preparation preparation =
        options.raw ? plain : preparation_of(options.network, network, others, context.tasks);
    if (!options.raw && !network.preparation && preparation == plain)
        context.err << options.network
                    << " does not say how its rows are prepared: columns are read by position, as "
                       "they are\n";
    const PreparedRows rows = read_rows(input, preparation);

    const auto backend = make_backend(device_settings(engine_section(engine_keys), RankPlace{}));
    const std::vector<Part> parts =
        parts_of(Network(network.genome.blueprint), preparation, rows.table.rows);
    context.err << prepared_notes(rows, parts, preparation);
    std::vector<float> outputs;
    // Beside the answers, which other programs may read from standard output.
    ConsoleObserver console([&](const std::string& line) { context.err << line << '\n'; });
    for (const Part& part : parts) {
        const auto width = preparation.inputs.size();
        const auto inputs = std::span(rows.inputs)
                                .subspan(static_cast<std::size_t>(part.first) * width,
                                         static_cast<std::size_t>(part.rows()) * width);
        const std::vector<float> answers =
            evolve::infer(*backend, network.genome, inputs, part.batch, part.time);
        outputs.insert(outputs.end(), answers.begin(), answers.end());
        if (!options.observe) continue;
        for (const Observation& observation :
             evolve::observe(*backend, network.genome, inputs, part.batch, part.time))
            console.observe(observation);
    }
    if (options.output.empty()) {
        write_answers(context.out, outputs, rows, preparation);
        if (!context.out.flush())
            throw InputError(
                "cannot write the answers (standard output refuses them) free space, or name a "
                "file with --output");
        return exit_done;
    }
    std::ostringstream text;
    write_answers(text, outputs, rows, preparation);
    write_output(options.output, std::as_bytes(std::span(text.view())));
    context.out << fmt::format("{}: {} rows\n", options.output, rows.table.rows);
    return exit_done;
}

}  // namespace cambrian::launch
