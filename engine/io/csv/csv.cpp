#include "cambrian/engine/io/csv/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/csv/text_file.hpp"

namespace cambrian {
namespace {

std::vector<std::string> header_of(CsvRecords& records, const std::string& path) {
    if (!records.next())
        throw InputError(fmt::format(
            "{} is empty (expected a header line with column names) check the file", path));
    std::vector<std::string> names(records.cells().begin(), records.cells().end());
    std::unordered_set<std::string_view> known;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty())
            throw InputError(fmt::format(
                "{}:1: column {} has no name (the first line holds the column names) name it", path,
                i + 1));
        if (!known.insert(names[i]).second) refuse_numbers(names, path);
        if (known.size() <= i)
            throw InputError(
                fmt::format("{}:1: two columns are named {} (columns are found by name) rename one",
                            path, shortened(names[i])));
    }
    return names;
}

std::vector<std::size_t> positions_of(std::span<const std::string> columns,
                                      const std::vector<std::string>& header,
                                      const std::string& path) {
    std::unordered_map<std::string_view, std::size_t> positions;
    for (std::size_t i = 0; i < header.size(); ++i) positions.emplace(header[i], i);
    std::vector<std::size_t> result;
    for (const std::string& column : columns) {
        const auto found = positions.find(column);
        if (found == positions.end()) refuse_numbers(header, path);
        if (found == positions.end())
            throw InputError(fmt::format("{} has no column \"{}\" (it has: {}) {}", path,
                                         shortened(column),
                                         shortened(fmt::format("{}", fmt::join(header, ", "))),
                                         nearest_hint(column, header)));
        result.push_back(found->second);
    }
    return result;
}

/// Numbers of one file, which all have the same decimal sign.
class NumberReader {
  public:
    NumberReader(const std::string& path, char separator) : path_(path), separator_(separator) {}

    [[nodiscard]] std::optional<double> read(std::string_view cell, std::int64_t line) {
        if (point_line_ == 0 && cell.find('.') != std::string_view::npos) point_line_ = line;
        if (separator_ != ',' && cell.find(',') != std::string_view::npos) {
            if (comma_line_ == 0) comma_line_ = line;
            certain_ = certain_ || !may_divide_thousands(cell);
        }
        return csv_number(cell, separator_);
    }
    [[nodiscard]] bool decimal_comma() const { return comma_line_ > 0; }
    /// Throws InputError where commas and points are both decimal, or commas may not be.
    void check() const {
        if (comma_line_ > 0 && point_line_ > 0)
            throw InputError(fmt::format(
                "{}:{}: a number has a comma and one in line {} has a point (one of the two is "
                "decimal) write one decimal sign throughout the file",
                path_, comma_line_, point_line_));
        if (comma_line_ > 0 && !certain_)
            throw InputError(fmt::format(
                "{}:{}: a comma stands before three digits in every number that has one (it may "
                "be decimal, or divide thousands) write points for decimal commas, and nothing "
                "for the others",
                path_, comma_line_));
    }

  private:
    /// "1,234" but not "0,123" or "1234,567".
    static bool may_divide_thousands(std::string_view cell) {
        if (cell.starts_with('+') || cell.starts_with('-')) cell.remove_prefix(1);
        const std::size_t comma = cell.find(',');
        return comma >= 1 && comma <= 3 && cell[0] != '0' && cell.size() - comma == 4;
    }

    const std::string& path_;
    char separator_;
    std::int64_t comma_line_ = 0;
    std::int64_t point_line_ = 0;
    bool certain_ = false;
};

/// Why a text is refused, and what to do.
std::string_view remedy_of_text(bool target, CsvUse use) {
    if (!use.config) return "correct it, or remove the row";
    if (target)
        return "correct it, or, if these are labels, say that the targets are classes (\"mode\": "
               "\"classification\" of a table, \"classes\": true of a source csv)";
    return "correct it, or list the other columns as \"inputs\"";
}

std::string_view remedy_of_missing(MissingValues missing, CsvUse use) {
    if (!use.config && missing == MissingValues::previous)
        return "(no row comes before it) fill it in, or remove the row";
    if (!use.config) return "(a network needs every value) fill it in, or remove the row";
    if (missing == MissingValues::previous)
        return "(no row comes before it) fill it in, or set \"missing_values\" to \"drop\"";
    return "(\"missing_values\" is \"error\") fill it in, or set \"missing_values\" to \"drop\" "
           "or, "
           "for the value of the row before, to \"previous\", or to \"mean\" or \"median\" of the "
           "rows that train";
}

/// Appends rows to a table.
class RowReader {
  public:
    RowReader(std::span<const std::size_t> positions, MissingValues missing, CsvUse use,
              NumberTable& table)
        : positions_(positions),
          missing_(missing),
          use_(use),
          table_(table),
          numbers_(table.path, table.separator) {}

    void append(const CsvRecords& records);
    void finish() {
        numbers_.check();
        table_.decimal_comma = numbers_.decimal_comma();
    }

  private:
    [[nodiscard]] bool is_target(std::size_t column) const {
        return column + use_.targets >= positions_.size();
    }
    [[nodiscard]] bool is_label(std::size_t column) const {
        return use_.labels && column + 1 == positions_.size();
    }
    /// False leaves the row out.
    [[nodiscard]] bool append_missing(const CsvRecords& records, std::size_t column);
    void append_number(const CsvRecords& records, std::size_t column);
    [[nodiscard]] std::string place(const CsvRecords& records, std::size_t column) const {
        return fmt::format("{}:{}: column {}", table_.path, records.line(), table_.columns[column]);
    }

    std::span<const std::size_t> positions_;
    MissingValues missing_;
    CsvUse use_;
    NumberTable& table_;
    NumberReader numbers_;
};

void RowReader::append(const CsvRecords& records) {
    const std::size_t begin = table_.values.size();
    const std::int64_t missing = table_.missing;
    for (std::size_t i = 0; i < positions_.size(); ++i) {
        const std::string& cell = records.cells()[positions_[i]];
        if (!is_missing_value(cell)) {
            if (is_label(i)) {
                table_.labels.push_back(cell);
                table_.values.push_back(0.0);
            } else {
                append_number(records, i);
            }
        } else if (!append_missing(records, i)) {
            table_.values.resize(begin);
            table_.missing = missing;
            table_.left_out.push_back(records.line());
            return;
        }
    }
    table_.lines.push_back(records.line());
    ++table_.rows;
}

bool RowReader::append_missing(const CsvRecords& records, std::size_t column) {
    if (missing_ == MissingValues::drop || (fills(missing_) && is_target(column))) return false;
    if (fills(missing_)) {
        table_.values.push_back(std::numeric_limits<double>::quiet_NaN());
        ++table_.missing;
        return true;
    }
    if (missing_ == MissingValues::error || table_.rows == 0)
        throw InputError(fmt::format("{} has no value, \"{}\" {}", place(records, column),
                                     records.cells()[positions_[column]],
                                     remedy_of_missing(missing_, use_)));
    table_.values.push_back(table_.values[table_.values.size() - positions_.size()]);
    if (is_label(column)) table_.labels.push_back(std::string(table_.labels.back()));
    ++table_.missing;
    return true;
}

void RowReader::append_number(const CsvRecords& records, std::size_t column) {
    const std::string& cell = records.cells()[positions_[column]];
    const auto number = numbers_.read(cell, records.line());
    if (!number)
        throw InputError(fmt::format("{} holds \"{}\" (expected a number that is finite in f32) {}",
                                     place(records, column), shortened(cell),
                                     remedy_of_text(is_target(column), use_)));
    table_.values.push_back(*number);
}

}  // namespace

bool is_missing_value(std::string_view cell) {
    if (cell.empty() || cell == "?") return true;
    if (cell.size() > 4) return false;
    std::string lower(cell);
    for (char& letter : lower)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return lower == "nan" || lower == "na" || lower == "n/a" || lower == "null";
}

std::int64_t NumberTable::place(std::int64_t row) const {
    const std::int64_t line = lines[static_cast<std::size_t>(row)];
    return row + (std::ranges::lower_bound(left_out, line) - left_out.begin());
}

void require_consecutive(const NumberTable& table) {
    if (table.rows == 0 || table.place(table.rows - 1) - table.place(0) == table.rows - 1) return;
    const auto first = std::ranges::upper_bound(table.left_out, table.lines.front());
    throw InputError(
        fmt::format("{}:{}: the row is left out for a value that it lacks (sequences take rows "
                    "that follow each other) fill it, or set missing_values to \"previous\"",
                    table.path, *first));
}

std::optional<double> csv_number(std::string_view cell) {
    if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
    constexpr double largest = double{std::numeric_limits<float>::max()};
    double value = 0.0;
    auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (code == std::errc::result_out_of_range) {
        // Too small as well as too large, which only the older function tells apart.
        value = std::strtod(std::string(cell).c_str(), nullptr);
        code = std::errc();
    }
    // Networks compute in f32: what is infinite there would spoil every fitness without a word.
    if (code != std::errc() || end != cell.data() + cell.size() || !(std::abs(value) <= largest))
        return std::nullopt;
    return value;
}

std::optional<double> csv_number(std::string_view cell, char separator) {
    if (separator == ',' || std::ranges::count(cell, ',') != 1) return csv_number(cell);
    if (cell.find('.') != std::string_view::npos) return std::nullopt;
    std::string pointed(cell);
    std::ranges::replace(pointed, ',', '.');
    return csv_number(pointed);
}

void refuse_numbers(std::span<const std::string> header, const std::string& path) {
    const bool numbers = std::ranges::all_of(
        header, [](const std::string& name) { return csv_number(name).has_value(); });
    if (numbers)
        throw InputError(fmt::format(
            "{}:1: only numbers (the first line holds the column names) add a header line", path));
}

CsvFile::CsvFile(const std::string& path) : CsvFile(path, read_text_file(path)) {}

CsvFile::CsvFile(std::istream& stream, const std::string& name)
    : CsvFile(name, read_text(stream, name)) {}

CsvFile::CsvFile(std::string name, std::string text)
    : path_(std::move(name)), text_(std::move(text)), separator_(csv_separator(text_, path_)) {
    CsvRecords records(text_, path_, separator_);
    header_ = header_of(records, path_);
}

CsvRecords CsvFile::rows() const {
    CsvRecords records(text_, path_, separator_);
    (void)records.next();
    return records;
}

NumberTable CsvFile::numbers(std::span<const std::string> columns, MissingValues missing,
                             CsvUse use) const {
    const std::vector<std::size_t> positions = positions_of(columns, header_, path_);
    NumberTable table;
    table.path = path_;
    table.columns.assign(columns.begin(), columns.end());
    table.separator = separator_;
    RowReader reader(positions, missing, use, table);
    CsvRecords records = rows();
    while (records.next()) {
        if (records.cells().size() != header_.size())
            throw InputError(
                fmt::format("{}:{}: {} cells (the header has {} columns) correct the row", path_,
                            records.line(), records.cells().size(), header_.size()));
        reader.append(records);
    }
    reader.finish();
    if (table.rows == 0)
        throw InputError(fmt::format("{} has no rows of data (only a header line{}) check the file",
                                     path_,
                                     table.left_out.empty() ? "" : ", or every row lacks a value"));
    return table;
}

std::vector<std::string> csv_notes(const NumberTable& table) {
    std::vector<std::string> notes;
    if (table.separator != ',')
        notes.push_back(fmt::format("{}: columns are separated by {}{}", table.path,
                                    table.separator == '\t' ? "tabs" : "\";\"",
                                    table.decimal_comma ? ", decimals by commas" : ""));
    if (!table.left_out.empty())
        notes.push_back(
            fmt::format("{}: {} of {} rows lack a value and are left out (line {}{})", table.path,
                        table.left_out.size(), table.left_out.size() + table.lines.size(),
                        table.left_out.front(), table.left_out.size() > 1 ? ", .." : ""));
    return notes;
}

std::vector<std::string> read_csv_header(const std::string& path) {
    return CsvFile(path).header();
}

NumberTable read_csv(const std::string& path, std::span<const std::string> columns,
                     MissingValues missing, CsvUse use) {
    return CsvFile(path).numbers(columns, missing, use);
}

}  // namespace cambrian
