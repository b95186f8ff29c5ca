#include "cambrian/engine/io/csv/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

/// Files that are taken for tables, by their first bytes.
struct OtherFile {
    std::string_view begin;
    std::string_view problem;
};
constexpr std::array<OtherFile, 4> other_files{{
    {"\xFF\xFE", "is UTF-16 (tables are read as UTF-8 or plain bytes) save it as UTF-8"},
    {"\xFE\xFF", "is UTF-16 (tables are read as UTF-8 or plain bytes) save it as UTF-8"},
    {"PK\x03\x04", "is an archive or a workbook such as .xlsx (a table is a text) save it as CSV"},
    {"\x1F\x8B", "is packed (a table is a text) unpack it with gunzip"},
}};

/// More than any table that is read whole: what has no end, such as a pipe, is refused before it
/// takes all memory.
constexpr std::size_t max_text_bytes = std::size_t{4} << 30U;

void refuse_other_file(std::string_view begin, const std::string& path) {
    for (const OtherFile& other : other_files)
        if (begin.starts_with(other.begin))
            throw InputError(fmt::format("{} {}", path, other.problem));
}

}  // namespace

std::string read_text(std::istream& stream, const std::string& name) {
    std::string text;
    std::vector<char> block(std::size_t{1} << 20U);
    // Block by block: something without an end, such as a device, is refused by its first bytes.
    while (stream) {
        stream.read(block.data(), static_cast<std::streamsize>(block.size()));
        const std::string_view read(block.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.empty()) refuse_other_file(read, name);
        const std::size_t nul = read.find('\0');
        if (read.size() > max_text_bytes - text.size())
            throw InputError(fmt::format(
                "{} has more than {} GiB (a table is read whole) split it into several files", name,
                max_text_bytes >> 30U));
        text += read;
        if (nul != std::string_view::npos) {
            const auto end = text.end() - static_cast<std::ptrdiff_t>(read.size() - nul);
            throw InputError(fmt::format(
                "{}:{}: a NUL byte (it is no text) save the file as UTF-8 without such bytes", name,
                1 + std::count(text.begin(), end, '\n')));
        }
    }
    if (stream.bad() || !stream.eof())
        throw InputError(fmt::format(
            "cannot read the data file {} (missing, or no right to read it) check the path, and "
            "the variable in it if it has one: data sets are not part of the program",
            name));
    return text;
}

std::string read_text_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (std::filesystem::is_directory(path)) file.setstate(std::ios::failbit);
    return read_text(file, path);
}

}  // namespace cambrian
