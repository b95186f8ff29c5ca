#include "cambrian/launch/convert/network_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/evaluation/answers.hpp"
#include "cambrian/launch/convert/text_network.hpp"

namespace cambrian::launch {
namespace {

/// " did you mean "x"?" for a single name.
std::string hint(const std::vector<std::string>& missing, const std::vector<std::string>& header) {
    if (missing.size() != 1) return "";
    const std::vector<std::string_view> names(header.begin(), header.end());
    const auto nearest = nearest_name(missing.front(), names);
    return nearest ? fmt::format(" did you mean \"{}\"?", *nearest) : "";
}

/// The columns that a network reads, by name.
std::vector<std::string> columns_by_name(const std::string& path,
                                         const std::vector<std::string>& header,
                                         const evolve::Preparation& preparation) {
    std::vector<std::string> columns;
    for (const evolve::PreparedInput& input : preparation.inputs) columns.push_back(input.column);
    for (const evolve::PreparedOutput& output : preparation.outputs)
        if (!output.current.empty()) columns.push_back(output.current);
    const std::set<std::string_view> present(header.begin(), header.end());
    std::vector<std::string> missing;
    std::set<std::string_view> named;
    for (const std::string& column : columns)
        if (!present.contains(column) && named.insert(column).second) missing.push_back(column);
    if (missing.empty()) return columns;
    refuse_numbers(header, path);
    throw InputError(fmt::format(
        "{} lacks {} that the network reads by name: {} (it has: {}) name {} in its first line, or "
        "add --raw to pass all columns by position as they are{}",
        path, missing.size() == 1 ? "a column" : fmt::format("{} columns", missing.size()),
        listed(missing), listed(header), missing.size() == 1 ? "it" : "them",
        hint(missing, header)));
}

std::vector<std::string> columns_by_position(const std::string& path,
                                             const std::vector<std::string>& header,
                                             const evolve::Preparation& preparation) {
    refuse_numbers(header, path);
    if (header.size() != preparation.inputs.size())
        throw InputError(
            fmt::format("{} has {} columns (the network reads {}) keep those that it reads, in "
                        "order",
                        path, header.size(), preparation.inputs.size()));
    return header;
}

/// The place of a code point among the characters that a network knows.
double place_of(double character, const PreparedRows& rows, std::int64_t row,
                const std::vector<double>& characters) {
    const auto found = std::ranges::lower_bound(characters, character);
    if (found != characters.end() && *found == character)
        return static_cast<double>(found - characters.begin());
    throw InputError(fmt::format(
        "{}:{}: column {} holds {}, which is no code point of a character that the network knows "
        "({} from {} to {}, which 'cambrian inspect --json' lists) correct it, or add --raw for "
        "their places among these",
        rows.table.path, rows.table.lines[static_cast<std::size_t>(row)],
        rows.table.columns.front(), character, characters.size(), characters.front(),
        characters.back()));
}

/// The numbers as the network sees them.
void scale_inputs(PreparedRows& rows, const evolve::Preparation& preparation) {
    const bool characters = reads_characters(preparation);
    for (std::int64_t row = 0; row < rows.table.rows; ++row)
        for (std::size_t i = 0; i < preparation.inputs.size(); ++i) {
            const evolve::PreparedInput& input = preparation.inputs[i];
            const double given = rows.table.at(row, i);
            const double value = characters ? place_of(given, rows, row, preparation.classes)
                                 : std::isnan(given) ? input.fill.value()
                                                     : input.of(given);
            // Networks compute in f32.
            if (!std::isfinite(static_cast<float>(value)))
                throw InputError(fmt::format(
                    "{}:{}: column {} holds {}, which is {} for the network (its inputs are "
                    "numbers that are finite in f32) correct it",
                    rows.table.path, rows.table.lines[static_cast<std::size_t>(row)],
                    rows.table.columns[i], given, value));
            rows.inputs.push_back(static_cast<float>(value));
        }
}

/// Names of answers as columns beside those of a file.
void distinguish(std::vector<std::string>& columns, const std::vector<std::string>& header) {
    std::set<std::string_view> taken(header.begin(), header.end());
    for (std::string& column : columns) {
        while (taken.contains(column)) column += "_predicted";
        taken.insert(column);
    }
}

/// A number of single precision by its nine digits; one with a scale and a shift by all it has.
std::string number_text(double value) {
    if (std::isnan(value)) return "nan";  // Whatever sign the processor gives it.
    const bool single = double{static_cast<float>(value)} == value;
    return single ? fmt::format("{:.9g}", value) : fmt::format("{}", value);
}

void write_line(std::ostream& out, std::span<const std::string> cells, std::string_view rest) {
    for (const std::string& cell : cells) out << csv_cell(cell) << ',';
    out << rest << '\n';
}

}  // namespace

PreparedRows read_rows(const CsvFile& file, const evolve::Preparation& preparation) {
    const std::vector<std::string>& header = file.header();
    const std::vector<std::string> columns =
        preparation.named() ? columns_by_name(file.path(), header, preparation)
                            : columns_by_position(file.path(), header, preparation);
    PreparedRows result{
        file.numbers(columns, preparation.missing_values,
                     {.targets = columns.size() - preparation.inputs.size(), .config = false}),
        {},
        {},
        {}};
    if (preparation.sequence_rows > 1 && !preparation.shown) require_consecutive(result.table);
    const std::set<std::string_view> used(columns.begin(), columns.end());
    std::ranges::copy_if(header, std::back_inserter(result.ignored),
                         [&](const std::string& column) { return !used.contains(column); });
    result.notes = csv_notes(result.table);
    if (!result.table.left_out.empty())
        result.notes.emplace_back("answers to rows that are left out are empty");
    if (result.table.missing > 0)
        result.notes.push_back(fmt::format(
            "{} missing values are filled as when the network learnt ({})", result.table.missing,
            missing_values_names[static_cast<std::size_t>(preparation.missing_values)]));
    scale_inputs(result, preparation);
    return result;
}

evolve::Answers answers_of(std::span<const float> outputs, const PreparedRows& rows,
                           const evolve::Preparation& preparation) {
    const std::size_t width = preparation.outputs.size();
    if (!preparation.classes.empty())
        return evolve::class_answers(outputs, width, preparation.classes.size());
    evolve::Answers result;
    for (std::int64_t row = 0; row < rows.table.rows; ++row) {
        std::size_t current = preparation.inputs.size();
        for (std::size_t i = 0; i < width; ++i) {
            const evolve::PreparedOutput& output = preparation.outputs[i];
            const double value{outputs[static_cast<std::size_t>(row) * width + i]};
            double answer = output.answer(preparation.logits ? evolve::logistic(value) : value);
            if (!output.current.empty()) answer += rows.table.at(row, current++);
            result.values.push_back(answer);
        }
    }
    return result;
}

AnswerTable answer_table(const evolve::Answers& answers, const evolve::Preparation& preparation) {
    AnswerTable table;
    const std::vector<std::string> classes = preparation.class_names();
    const std::size_t width = classes.empty() ? preparation.outputs.size() : classes.size();
    const std::int64_t ahead = preparation.ahead.value_or(0);
    if (!classes.empty())
        table.columns = {ahead == 0 ? "class" : fmt::format("class(t+{})", ahead), "probability"};
    for (std::size_t i = 0; i < width; ++i)
        table.columns.push_back(classes.empty() ? preparation.answer_name(i)
                                                : fmt::format("p({})", classes[i]));
    const std::size_t rows = width == 0 ? 0 : answers.values.size() / width;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto values = std::span(answers.values).subspan(row * width, width);
        std::string text;
        if (!classes.empty()) {
            const std::size_t chosen = answers.chosen[row];
            text = fmt::format("{},{:.9g},", csv_cell(classes[chosen]), values[chosen]);
        }
        for (std::size_t i = 0; i < width; ++i)
            text += (i == 0 ? "" : ",") +
                    (classes.empty() ? number_text(values[i]) : fmt::format("{:.9g}", values[i]));
        table.rows.push_back(std::move(text));
    }
    return table;
}

void write_answers(std::ostream& out, AnswerTable answers, const CsvFile& file,
                   const PreparedRows& rows, bool join) {
    if (join) distinguish(answers.columns, file.header());
    for (std::string& column : answers.columns) column = csv_cell(column);
    write_line(out,
               join ? std::span<const std::string>(file.header()) : std::span<const std::string>(),
               fmt::format("{}", fmt::join(answers.columns, ",")));
    const std::string nothing(answers.columns.size() - 1, ',');
    CsvRecords records = file.rows();
    for (std::size_t answered = 0; records.next();) {
        const bool has =
            answered < rows.table.lines.size() && rows.table.lines[answered] == records.line();
        std::vector<std::string> cells;
        if (join) cells.assign(records.cells().begin(), records.cells().end());
        // What is written has commas between its cells: numbers get a decimal point.
        if (rows.table.decimal_comma)
            for (std::string& cell : cells)
                if (csv_number(cell, rows.table.separator)) std::ranges::replace(cell, ',', '.');
        write_line(out, cells, has ? answers.rows[answered] : nothing);
        answered += has ? 1 : 0;
    }
}

std::string listed(std::span<const std::string> names) {
    constexpr std::size_t most = 16;
    constexpr std::size_t longest = 60;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
        text += (i == 0 ? "" : ", ") + names[i].substr(0, longest);
        if (names[i].size() > longest) text += "...";
    }
    for (char& byte : text)
        if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') byte = '?';
    if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
    return text;
}

}  // namespace cambrian::launch
