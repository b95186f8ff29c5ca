#include "cambrian/engine/io/csv/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

constexpr std::size_t max_cell_bytes = std::size_t{1} << 20U;
constexpr std::size_t max_cells = 1'000'000;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view without(std::string_view blanks, std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// How well a separator divides the first records of a text.
struct Division {
    std::size_t columns = 0;
    bool even = false;  ///< Every record has as many cells as the header.
};

Division division_by(char separator, std::string_view text, const std::string& path) {
    constexpr int looked_at = 100;
    Division division;
    try {
        CsvRecords records(text, path, separator);
        if (!records.next()) return {};
        division = {records.cells().size(), true};
        for (int row = 0; division.even && row < looked_at && records.next(); ++row)
            division.even = records.cells().size() == division.columns;
    } catch (const InputError&) {
        // Quotes close elsewhere with another separator; the one that is chosen is read again.
        division.even = false;
    }
    return division;
}

}  // namespace

CsvRecords::CsvRecords(std::string_view text, const std::string& path, char separator)
    : text_(text),
      path_(path),
      separator_(separator),
      stops_{separator, '\n'},
      blanks_(separator == '\t' ? " " : " \t") {
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
    // Once, not before each record: files may end with very many empty lines.
    end_ = text_.find_last_not_of(blanks_ + "\r\n") + 1;
}

bool CsvRecords::next() {
    if (position_ >= end_) return false;
    read_record();
    return true;
}

void CsvRecords::read_record() {
    line_ = next_line_;
    std::size_t count = 0;
    while (true) {
        if (count == max_cells)
            fail(line_, fmt::format("the line has more than {} cells (no table has) check that it "
                                    "is a CSV file",
                                    max_cells));
        if (cells_.size() <= count) cells_.emplace_back();
        read_cell(cells_[count++]);
        if (position_ == text_.size()) break;
        if (text_[position_++] == '\n') {
            ++next_line_;
            break;
        }
    }
    cells_.resize(count);
}

void CsvRecords::read_cell(std::string& cell) {
    cell.clear();
    skip_blanks();
    const bool quoted = position_ < text_.size() && text_[position_] == '"';
    if (quoted) read_quoted(cell);
    // No further than a cell may reach: a text without line ends is refused by its first MiB.
    const std::string_view window = text_.substr(position_, max_cell_bytes + 1);
    const std::size_t length = std::min(window.find_first_of(stops_), window.size());
    if (length > max_cell_bytes)
        fail(next_line_,
             "a cell has more than 1 MiB (it holds a number or a label) check that it is a CSV "
             "file, with line ends");
    const std::size_t end = position_ + length;
    std::string_view rest = text_.substr(position_, end - position_);
    position_ = end;
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    rest = without(blanks_, rest);
    if (quoted && !rest.empty())
        fail(next_line_,
             "text follows a closing quote (a quote inside a quoted cell is doubled) "
             "double it");
    if (rest.find('\r') != std::string_view::npos)
        fail(next_line_,
             "a carriage return stands alone (lines end with LF, or with CRLF) save "
             "the file with such line ends");
    cell += rest;
}

void CsvRecords::read_quoted(std::string& cell) {
    const std::int64_t opened = next_line_;
    for (++position_; position_ < text_.size(); ++position_) {
        if (cell.size() > max_cell_bytes)
            fail(opened,
                 "a quoted cell has more than 1 MiB (its quote may never be closed) close "
                 "it");
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
    fail(opened, "a quote is never closed (the file ends inside the cell) add the closing quote");
}

void CsvRecords::skip_blanks() {
    position_ = std::min(text_.find_first_not_of(blanks_, position_), text_.size());
}

void CsvRecords::fail(std::int64_t line, std::string_view problem) const {
    throw InputError(fmt::format("{}:{}: {}", path_, line, problem));
}

char csv_separator(std::string_view text, const std::string& path) {
    char chosen = ',';
    Division best{1, false};
    for (const char separator : {',', ';', '\t'}) {
        const Division division = division_by(separator, text, path);
        if (division.columns < 2) continue;
        const bool better =
            division.even != best.even ? division.even : division.columns > best.columns;
        if (!better) continue;
        chosen = separator;
        best = division;
    }
    return chosen;
}

std::string csv_cell(const std::string& text) {
    // A reader takes blanks around a cell, and a mark of byte order before all cells, for nothing.
    const bool plain = text.find_first_of(",\"\r\n") == std::string::npos &&
                       without(" \t", text) == text && !text.starts_with(byte_order_mark);
    if (plain) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
}

}  // namespace cambrian
