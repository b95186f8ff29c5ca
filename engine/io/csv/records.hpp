#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian {

/// Walks the records of a CSV text (RFC 4180): cells between separators, in quotes where they hold
/// a separator, a line end or a quote, which is doubled then. Lines end with LF or CRLF; blanks
/// around a cell are none of it, a byte order mark and blank lines at the end are nothing.
///
/// Whatever the bytes are, time and memory grow with them alone: a cell holds at most 1 MiB, a
/// record 1,000,000 cells.
class CsvRecords {
  public:
    /// The text and the path, which messages name, must outlive the records.
    CsvRecords(std::string_view text, const std::string& path, char separator);

    /// Moves to the next record; false at the end. Throws InputError with file and line for a quote
    /// that is never closed, text after a closing one, a lone carriage return, and what is too
    /// long.
    [[nodiscard]] bool next();
    /// Of this record, without quotes.
    [[nodiscard]] std::span<const std::string> cells() const { return cells_; }
    /// Of the file, from 1, where this record begins.
    [[nodiscard]] std::int64_t line() const { return line_; }

  private:
    void read_record();
    void read_cell(std::string& cell);
    void read_quoted(std::string& cell);
    void skip_blanks();
    [[noreturn]] void fail(std::int64_t line, std::string_view problem) const;

    std::string_view text_;
    const std::string& path_;
    char separator_;
    std::string stops_;   ///< What ends a cell that has no quotes.
    std::string blanks_;  ///< What may stand around a cell.
    std::size_t position_ = 0;
    std::size_t end_ = 0;  ///< After it are blanks alone.
    std::int64_t next_line_ = 1;
    std::int64_t line_ = 1;
    std::vector<std::string> cells_;
};

/// What separates the cells of a text: "," ";" or a tab. That which gives every one of the first
/// records as many cells as the header, two at least; of several the one with most, then the first.
[[nodiscard]] char csv_separator(std::string_view text, const std::string& path);

/// A text as a cell: in quotes where it has a comma, a quote or a line end, or blanks around it.
[[nodiscard]] std::string csv_cell(const std::string& text);

}  // namespace cambrian
