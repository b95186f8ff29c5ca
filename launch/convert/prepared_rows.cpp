#include "cambrian/launch/convert/network_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

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
    refuse_other_separator(header, path);
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
    if (header.size() != preparation.inputs.size()) {
        refuse_other_separator(header, path);
        throw InputError(
            fmt::format("{} has {} columns (the network reads {}) keep those that it reads, in "
                        "order",
                        path, header.size(), preparation.inputs.size()));
    }
    return header;
}

}  // namespace

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
}

PreparedRows read_rows(const std::string& path, const evolve::Preparation& preparation) {
    const std::vector<std::string> header = read_csv_header(path);
    const std::vector<std::string> columns = preparation.named()
                                                 ? columns_by_name(path, header, preparation)
                                                 : columns_by_position(path, header, preparation);
    PreparedRows result{
        read_csv(path, columns, MissingValues::error, {.targets = 0, .config = false}), {}, {}};
    const std::set<std::string_view> used(columns.begin(), columns.end());
    std::ranges::copy_if(header, std::back_inserter(result.ignored),
                         [&](const std::string& column) { return !used.contains(column); });
    for (std::int64_t row = 0; row < result.table.rows; ++row)
        for (std::size_t i = 0; i < preparation.inputs.size(); ++i) {
            const double value = preparation.inputs[i].of(result.table.at(row, i));
            // Networks compute in f32.
            if (!std::isfinite(static_cast<float>(value)))
                throw InputError(fmt::format(
                    "{}:{}: column {} holds {}, which is {} for the network (its inputs are "
                    "numbers that are finite in f32) correct it",
                    path, result.table.lines[static_cast<std::size_t>(row)], columns[i],
                    result.table.at(row, i), value));
            result.inputs.push_back(static_cast<float>(value));
        }
    return result;
}

void write_answers(std::ostream& out, std::span<const float> outputs, const PreparedRows& rows,
                   const evolve::Preparation& preparation) {
    const std::size_t width = preparation.outputs.size();
    for (std::size_t i = 0; i < width; ++i)
        out << (i == 0 ? "" : ",") << csv_cell(preparation.output_name(i));
    if (!preparation.classes.empty()) out << ",class";
    out << '\n';
    for (std::int64_t row = 0; row < rows.table.rows; ++row) {
        const auto values = outputs.subspan(static_cast<std::size_t>(row) * width, width);
        std::size_t current = preparation.inputs.size();
        for (std::size_t i = 0; i < width; ++i) {
            const evolve::PreparedOutput& output = preparation.outputs[i];
            double answer = output.answer(double{values[i]});
            if (!output.current.empty()) answer += rows.table.at(row, current++);
            out << (i == 0 ? "" : ",") << fmt::format("{:.9g}", answer);
        }
        if (!preparation.classes.empty())
            out << ',' << fmt::format("{}", preparation.class_of(values));
        out << '\n';
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
