#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/observe/id_reader.hpp"
#include "cambrian/engine/network/observe/observer.hpp"
#include "cambrian/evolve/evaluation/answers.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/engine_keys.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

/// Rows that a network reads in one go: sequences of `time` rows, or single rows without time. The
/// first of them may have their answers from others.
struct RowsAtOnce {
    std::int64_t first = 0;
    std::int64_t batch = 0;
    std::int64_t time = 0;
    std::int64_t answered = 0;

    [[nodiscard]] std::int64_t rows() const { return batch * std::max<std::int64_t>(1, time); }
};

/// Adds windows that answer rows [from, end). The last one is as long as the others: it reaches
/// back over rows that are answered.
void add_windows(std::vector<RowsAtOnce>& parts, std::int64_t from, std::int64_t end,
                 std::int64_t length) {
    const std::int64_t whole = (end - from) / length;
    const std::int64_t rest = (end - from) % length;
    if (whole > 0) parts.push_back({.first = from, .batch = whole, .time = length});
    if (rest == 0) return;
    const std::int64_t time = std::min(length, end);
    parts.push_back({.first = end - time, .batch = 1, .time = time, .answered = time - rest});
}

/// A network with a memory reads sequences: those that it has learnt from, or the file as one. They
/// lie as where it is evaluated (evolve::cover), which has no goals for the last rows of a
/// forecast.
std::vector<RowsAtOnce> parts_of(const Network& network, const evolve::Preparation& preparation,
                                 std::int64_t rows) {
    if (!network.stateful()) return {{.first = 0, .batch = rows, .time = 0}};
    const std::int64_t length = preparation.sequence_rows;
    if (length == 0 || rows <= length) return {{.first = 0, .batch = 1, .time = rows}};
    const std::int64_t with_goals = std::max<std::int64_t>(0, rows - preparation.ahead.value_or(0));
    std::vector<RowsAtOnce> parts;
    add_windows(parts, 0, with_goals, length);
    add_windows(parts, with_goals, rows, length);
    return parts;
}

/// What a network answers to each row after it has seen it for so many steps.
std::vector<float> answers_to_shown(Backend& backend, const evolve::Genome& genome,
                                    std::span<const float> rows, std::int64_t steps) {
    const auto width = static_cast<std::size_t>(genome.blueprint.input_features);
    const auto outputs = static_cast<std::size_t>(genome.blueprint.output_features);
    const std::size_t count = rows.size() / width;
    std::vector<float> shown;
    shown.reserve(rows.size() * static_cast<std::size_t>(steps));
    for (std::size_t row = 0; row < count; ++row)
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto one = rows.subspan(row * width, width);
            shown.insert(shown.end(), one.begin(), one.end());
        }
    const std::vector<float> all =
        evolve::infer(backend, genome, shown, static_cast<std::int64_t>(count), steps);
    std::vector<float> last;
    for (std::size_t row = 0; row < count; ++row) {
        const auto end = std::span(all).subspan(
            ((row + 1) * static_cast<std::size_t>(steps) - 1) * outputs, outputs);
        last.insert(last.end(), end.begin(), end.end());
    }
    return last;
}

/// What the rows were read as, where it may surprise.
std::string prepared_notes(const PreparedRows& rows, const std::vector<RowsAtOnce>& parts,
                           const evolve::Preparation& preparation, std::int64_t steps) {
    std::string text;
    for (const std::string& note : rows.notes) text += note + '\n';
    if (!rows.ignored.empty()) text += fmt::format("columns ignored: {}\n", listed(rows.ignored));
    if (preparation.sequence_rows == 0 || parts.front().time == 0 || steps > 1) return text;
    text += fmt::format("sequences of {} rows: the network starts afresh with each",
                        preparation.sequence_rows);
    if (parts.back().time < preparation.sequence_rows)
        text += fmt::format(", the last one has {}", parts.back().time);
    const auto reaching =
        std::ranges::count_if(parts, [](const RowsAtOnce& part) { return part.answered > 0; });
    if (reaching == 1)
        text += fmt::format(", one reaches back over {} rows that others answer",
                            std::ranges::max(parts, {}, &RowsAtOnce::answered).answered);
    if (reaching > 1) text += fmt::format(", {} reach back over rows that others answer", reaching);
    return text + '\n';
}

/// A line where nobody knows how many rows ahead a network tells, and its run may have forecast.
std::string forecast_note(const std::string& path, const distributed::NetworkFile& file) {
    if (!file.preparation || file.preparation->ahead) return {};
    std::string_view taken_as = "its answers may be of later rows";
    std::string by_run;
    if (!file.identity_json.empty()) {
        const Json identity = distributed::identity_of(file);
        const Json task = evolve::task_of_generation(identity.at("task"), file.generation);
        const Json offset = task.value("time_offset", Json(0));
        if (!offset.is_number_integer() || offset.get<std::int64_t>() <= 0) return {};
        by_run = fmt::format("its run had it forecast t+{}", offset.get<std::int64_t>());
        taken_as = by_run;
    }
    return silent_forecast_note(path, taken_as) + '\n';
}

/// A network with the rows as it reads them, and what it gives.
struct Answering {
    std::string name;
    distributed::NetworkFile file;
    evolve::Preparation preparation;
    PreparedRows rows;
    std::vector<float> outputs;  ///< [rows, outputs]
};

/// Throws InputError for the first number of a file that is no id of an embedding.
void require_ids(const PreparedRows& rows, std::size_t width, const Embedding& embedding) {
    for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
        const float id = std::trunc(rows.inputs[i]);
        if (id >= 0.0F && id < static_cast<float>(embedding.vocabulary)) continue;
        throw InputError(fmt::format(
            "{}:{}: column {} holds {}, which is no id (the embedding has {} rows) use ids from 0 "
            "to {}",
            rows.table.path, rows.table.lines[i / width], rows.table.columns[i % width],
            rows.inputs[i], embedding.vocabulary, embedding.vocabulary - 1));
    }
}

/// As evolve::infer; an error about an id names its place in the file.
std::vector<float> answers_to(Backend& backend, const Answering& one, std::span<const float> inputs,
                              const RowsAtOnce& part) {
    const evolve::Genome& genome = one.file.genome;
    try {
        return evolve::infer(backend, genome, inputs, part.batch, part.time);
    } catch (const InputError&) {
        if (const Embedding* embedding = id_reader(genome.blueprint))
            require_ids(one.rows, one.preparation.inputs.size(), *embedding);
        throw;
    }
}

Answering answering(const CommandContext& context, const InferOptions& options,
                    const std::string& path, distributed::NetworkFile file, const CsvFile& input,
                    Backend& backend) {
    Answering one{path, std::move(file), {}, {}, {}};
    const auto [engine_keys, others] = split_overrides(options.overrides);
    if (options.raw && !others.empty())
        throw ConfigError("--set has no use with --raw (no task prepares the rows) leave it out");
    const evolve::Preparation plain = evolve::plain_preparation(one.file.genome.blueprint);
    one.preparation = options.raw
                          ? plain
                          : preparation_of(path, one.file, others, context.tasks, context.genomes);
    if (!options.raw && !one.file.preparation && one.preparation == plain)
        context.err << path
                    << " does not say how its rows are prepared: columns are read by position, as "
                       "they are\n";
    // One that answers with others may be told by these.
    if (!options.raw && options.ensemble.empty()) context.err << forecast_note(path, one.file);
    one.rows = read_rows(input, one.preparation);
    const std::int64_t steps = options.raw ? 1 : one.preparation.shown_steps();
    const std::vector<RowsAtOnce> parts =
        parts_of(Network(one.file.genome.blueprint), one.preparation, one.rows.table.rows);
    context.err << prepared_notes(one.rows, parts, one.preparation, steps);
    // A network with a memory takes a row for the step after the one before.
    if (parts.front().time > 0 && steps == 1) require_consecutive(one.rows.table);
    if (steps > 1) {
        if (options.observe)
            throw ConfigError(
                "--observe tells of rows, or of sequences (this network sees every row for some "
                "steps) leave it out, or use --raw with each row as often as it is to be seen");
        one.outputs = answers_to_shown(backend, one.file.genome, one.rows.inputs, steps);
        context.err << fmt::format("every row is shown for {} steps, the last of which answers\n",
                                   steps);
        return one;
    }
    // Beside the answers, which other programs may read from standard output.
    ConsoleObserver console([&](const std::string& line) { context.err << line << '\n'; });
    for (const RowsAtOnce& part : parts) {
        const auto width = one.preparation.inputs.size();
        const auto inputs = std::span(one.rows.inputs)
                                .subspan(static_cast<std::size_t>(part.first) * width,
                                         static_cast<std::size_t>(part.rows()) * width);
        const std::vector<float> answers = answers_to(backend, one, inputs, part);
        const std::size_t known = answers.size() / static_cast<std::size_t>(part.rows()) *
                                  static_cast<std::size_t>(part.answered);
        one.outputs.insert(one.outputs.end(), answers.begin() + static_cast<std::ptrdiff_t>(known),
                           answers.end());
        if (!options.observe) continue;
        for (const Observation& observation :
             evolve::observe(backend, one.file.genome, inputs, part.batch, part.time))
            console.observe(observation);
    }
    return one;
}

/// Throws ConfigError for options of several networks that there are not, or the other way round.
void check_members(const InferOptions& options) {
    if (options.networks.size() > 1 && options.ensemble.empty())
        throw ConfigError(fmt::format(
            "there are {} networks (one table has the answers of one) say with --ensemble how they "
            "answer together",
            options.networks.size()));
    if (options.ensemble == evolve::ensemble_names[1])
        check_ensemble_weights(options.weights, options.networks.size());
    else if (!options.weights.empty())
        throw ConfigError(
            "--weights are given (they belong to --ensemble weighted) add that, or leave them out");
}

/// Throws ConfigError where networks cannot answer together.
void check_together(const Answering& first, const Answering& other) {
    const evolve::Preparation& one = first.preparation;
    const evolve::Preparation& two = other.preparation;
    std::string why =
        one.inputs.size() != two.inputs.size() || one.outputs.size() != two.outputs.size()
            ? std::string("other numbers of inputs or outputs")
            : evolve::other_meaning(one, two);
    if (why.empty() && first.rows.table.left_out != other.rows.table.left_out)
        why = "they leave out other rows, for they treat missing values in two ways";
    if (!why.empty())
        throw ConfigError(
            fmt::format("{} and {} cannot answer together ({}) use networks of one task",
                        first.name, other.name, why));
}

/// What networks answer together: numbers, or classes with their probabilities.
AnswerTable answer_together(const CommandContext& context, const InferOptions& options,
                            const std::vector<Answering>& members) {
    // One that says how far it forecasts names the answers.
    const auto telling = std::ranges::find_if(
        members, [](const Answering& member) { return member.preparation.ahead.has_value(); });
    const evolve::Preparation& first =
        (telling == members.end() ? members.front() : *telling).preparation;
    std::vector<evolve::Answers> answers;
    for (const Answering& member : members) {
        // One that does not say goes with any: t+0 and t+5 must meet each other.
        for (const Answering& other : members) check_together(member, other);
        if (!options.raw && !member.preparation.ahead)
            context.err << (first.ahead.value_or(0) > 0
                                ? silent_forecast_note(
                                      member.name,
                                      fmt::format("it is taken to answer for t+{}", *first.ahead)) +
                                      '\n'
                                : forecast_note(member.name, member.file));
        answers.push_back(answers_of(member.outputs, member.rows, member.preparation));
    }
    const bool classes = !first.classes.empty();
    const std::size_t width = classes ? first.classes.size() : first.outputs.size();
    std::vector<const evolve::Answers*> pointers;
    for (const evolve::Answers& one : answers) pointers.push_back(&one);
    return answer_table(evolve::ensemble_answers(ensemble_of(options.ensemble, classes), classes,
                                                 width, pointers, options.weights),
                        first);
}

}  // namespace

int infer_command(const CommandContext& context, const InferOptions& options) {
    check_members(options);
    std::vector<std::string> inputs = options.networks;
    inputs.push_back(options.input);
    Destination output(context, options.output, inputs);
    // Before the rows: standard input is not waited for where a network cannot be read.
    std::vector<distributed::NetworkFile> files;
    for (const std::string& network : options.networks)
        files.push_back(distributed::read_to_answer(network));
    const CsvFile input =
        options.input == "-" ? CsvFile(std::cin, "standard input") : CsvFile(options.input);
    const auto backend = make_backend(
        device_settings(engine_section(split_overrides(options.overrides).first), RankPlace{}));
    std::vector<Answering> members;
    for (std::size_t i = 0; i < files.size(); ++i)
        members.push_back(
            answering(context, options, options.networks[i], std::move(files[i]), input, *backend));

    const Answering& first = members.front();
    std::ostringstream text;
    write_answers(text,
                  options.ensemble.empty()
                      ? answer_table(answers_of(first.outputs, first.rows, first.preparation),
                                     first.preparation)
                      : answer_together(context, options, members),
                  input, first.rows, options.join);
    output.write(text.view());
    output.finish();
    if (!output.standard())
        context.out << fmt::format("{}: {} rows\n", options.output, first.rows.table.rows);
    return exit_done;
}

}  // namespace cambrian::launch
