#include "cambrian/engine/io/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian {
namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    // A folder opens well and fails in the copy; so does an empty file, which is another matter.
    if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
    if (file.bad() || !file.is_open() || std::filesystem::is_directory(path))
        throw InputError(fmt::format(
            "cannot read the data file {} (missing, or no right to read it) check the path, and "
            "the variable in it if it has one: data sets are not part of the program",
            path));
    return std::move(text).str();
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Walks the records of a CSV text; a quoted cell may hold commas, line ends and doubled quotes.
class Records {
  public:
    Records(std::string_view text, const std::string& path) : text_(text), path_(path) {
        if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    }

    /// Moves to the next record; false at the end. Blank lines count only when a row follows.
    bool next() {
        if (text_.find_first_not_of(" \t\r\n", position_) == std::string_view::npos) return false;
        read_record();
        return true;
    }
    [[nodiscard]] std::span<const std::string> cells() const { return cells_; }
    [[nodiscard]] std::int64_t line() const { return line_; }

  private:
    void read_record();
    void read_quoted(std::string& cell);

    std::string_view text_;
    const std::string& path_;
    std::size_t position_ = 0;
    std::int64_t next_line_ = 1;
    std::int64_t line_ = 1;
    std::vector<std::string> cells_;
};

void Records::read_record() {
    line_ = next_line_;
    std::size_t count = 0;
    while (true) {
        if (cells_.size() <= count) cells_.emplace_back();
        std::string& cell = cells_[count++];
        cell.clear();
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t'))
            ++position_;
        if (position_ < text_.size() && text_[position_] == '"') read_quoted(cell);
        const std::size_t end = std::min(text_.find_first_of(",\n", position_), text_.size());
        std::string_view rest = text_.substr(position_, end - position_);
        if (rest.ends_with('\r')) rest.remove_suffix(1);
        cell += trimmed(rest);
        position_ = end;
        if (position_ == text_.size()) break;
        if (text_[position_++] == '\n') {
            ++next_line_;
            break;
        }
    }
    cells_.resize(count);
}

void Records::read_quoted(std::string& cell) {
    const std::int64_t opened = next_line_;
    for (++position_; position_ < text_.size(); ++position_) {
        if (text_[position_] != '"') {
            if (text_[position_] == '\n') ++next_line_;
            cell += text_[position_];
        } else if (text_.substr(position_ + 1, 1) == "\"") {
            cell += '"';
            ++position_;
        } else {
            ++position_;
            return;
        }
    }
    throw InputError(fmt::format(
        "{}:{}: a quote is never closed (the file ends inside the cell) add the closing quote",
        path_, opened));
}

std::vector<std::string> header_of(Records& records, const std::string& path) {
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
        if (!known.insert(names[i]).second)
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
        if (found == positions.end()) refuse_other_separator(header, path);
        if (found == positions.end())
            throw InputError(fmt::format("{} has no column \"{}\" (it has: {}) {}", path,
                                         shortened(column),
                                         shortened(fmt::format("{}", fmt::join(header, ", "))),
                                         nearest_hint(column, header)));
        result.push_back(found->second);
    }
    return result;
}

bool is_missing(std::string_view cell) {
    if (cell.empty() || cell == "?") return true;
    if (cell.size() > 4) return false;
    std::string lower(cell);
    for (char& letter : lower)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return lower == "nan" || lower == "na" || lower == "null";
}

std::optional<double> number_in(std::string_view cell) {
    if (cell.starts_with('+')) cell.remove_prefix(1);
    constexpr double largest = double{std::numeric_limits<float>::max()};
    double value = 0.0;
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    // Networks compute in f32: what is infinite there would spoil every fitness without a word.
    if (code != std::errc() || end != cell.data() + cell.size() || !(std::abs(value) <= largest))
        return std::nullopt;
    return value;
}

/// Why a text is refused, and what to do: a label of a class is not left out, but numbered.
std::string_view remedy_of_text(bool target, CsvRemedies remedies) {
    if (!remedies.config) return "correct it, or remove the row";
    if (target) return "correct it, or write numbers, one for each class, into the file";
    return "correct it, or list the other columns as \"inputs\"";
}

std::string_view remedy_of_missing(MissingValues missing, CsvRemedies remedies) {
    if (!remedies.config) return "(a network needs every value) fill it in, or remove the row";
    if (missing == MissingValues::previous)
        return "(no row comes before it) fill it in, or set \"missing_values\" to \"drop\"";
    return "(\"missing_values\" is \"error\") fill it in, or set \"missing_values\" to \"drop\" "
           "or, "
           "for the value of the row before, to \"previous\"";
}

/// Appends the chosen cells of one record; false leaves the row out.
bool append_row(const Records& records, std::span<const std::size_t> positions,
                MissingValues missing, CsvRemedies remedies, NumberTable& table) {
    const std::size_t begin = table.values.size();
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const std::string& cell = records.cells()[positions[i]];
        const auto where = [&] {
            return fmt::format("{}:{}: column {}", table.path, records.line(), table.columns[i]);
        };
        if (!is_missing(cell)) {
            const auto number = number_in(cell);
            if (!number)
                throw InputError(fmt::format(
                    "{} holds \"{}\" (expected a number that is finite in f32) {}", where(),
                    shortened(cell),
                    remedy_of_text(i + remedies.targets >= positions.size(), remedies)));
            table.values.push_back(*number);
        } else if (missing == MissingValues::drop) {
            table.values.resize(begin);
            return false;
        } else if (missing == MissingValues::previous && table.rows > 0) {
            table.values.push_back(table.values[begin - positions.size() + i]);
        } else {
            throw InputError(fmt::format("{} has no value, \"{}\" {}", where(), cell,
                                         remedy_of_missing(missing, remedies)));
        }
    }
    return true;
}

}  // namespace

void refuse_other_separator(std::span<const std::string> header, const std::string& path) {
    const std::size_t place =
        header.size() == 1 ? header.front().find_first_of(";\t") : std::string::npos;
    if (place == std::string::npos) return;
    const std::string_view separator = header.front()[place] == ';' ? ";" : "\\t";
    // Beside another separator a comma is a decimal one, or divides thousands: only the user knows.
    const bool commas = read_text(path).find(',') != std::string::npos;
    const std::string converted =
        std::filesystem::path(path).replace_extension(".commas.csv").string();
    throw InputError(
        fmt::format("{}:1: columns are separated by \"{}\" (only commas separate them) run tr "
                    "'{}{}' '{},' < '{}' > '{}' and name that file{}",
                    path, separator, commas ? "," : "", separator, commas ? "." : "", path,
                    converted, commas ? ", if the commas in it are decimal points" : ""));
}

void refuse_numbers(std::span<const std::string> header, const std::string& path) {
    const bool numbers = std::ranges::all_of(header, [](const std::string& name) {
        double value = 0.0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
        return error == std::errc() && end == name.data() + name.size();
    });
    if (numbers)
        throw InputError(fmt::format(
            "{}:1: only numbers (the first line holds the column names) add a header line", path));
}

std::vector<std::string> read_csv_header(const std::string& path) {
    const std::string text = read_text(path);
    Records records(text, path);
    return header_of(records, path);
}

NumberTable read_csv(const std::string& path, std::span<const std::string> columns,
                     MissingValues missing, CsvRemedies remedies) {
    const std::string text = read_text(path);
    Records records(text, path);
    const std::vector<std::string> header = header_of(records, path);
    const std::vector<std::size_t> positions = positions_of(columns, header, path);

    NumberTable table;
    table.path = path;
    table.columns.assign(columns.begin(), columns.end());
    while (records.next()) {
        if (records.cells().size() != header.size())
            throw InputError(
                fmt::format("{}:{}: {} cells (the header has {} columns) correct the row", path,
                            records.line(), records.cells().size(), header.size()));
        if (!append_row(records, positions, missing, remedies, table)) continue;
        table.lines.push_back(records.line());
        ++table.rows;
    }
    if (table.rows == 0)
        throw InputError(
            fmt::format("{} has no rows of data (only a header line{}) check the file", path,
                        missing == MissingValues::drop ? ", or every row lacks a value" : ""));
    return table;
}

}  // namespace cambrian
