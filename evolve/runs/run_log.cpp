#include "cambrian/evolve/runs/run_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/number_text.hpp"

namespace cambrian::distributed {
namespace {

constexpr std::uint64_t log_part_bytes = std::uint64_t{1} << 20U;  ///< Read at once.
constexpr std::size_t longest_log_line = std::size_t{1} << 20U;

}  // namespace

std::vector<std::string_view> cells_of(std::string_view line) {
    line = line.substr(0, line.find('\n'));
    std::vector<std::string_view> cells;
    for (std::size_t begin = 0;;) {
        const std::size_t end = line.find(',', begin);
        cells.push_back(line.substr(begin, end - begin));
        if (end == std::string_view::npos) return cells;
        begin = end + 1;
    }
}

LogReader::LogReader(const std::filesystem::path& path) : path_(path), file_(path) {
    const auto header = line();
    if (!header) return;
    std::set<std::string_view> names;
    for (const std::string_view name : cells_of(*header)) {
        if (!names.insert(name).second)
            throw InputError(
                fmt::format("{}:1: two columns are named {} (columns are found by name) "
                            "restore the file from a good copy",
                            path_.string(), shortened(name, 40)));
        columns_.emplace_back(name);
    }
    row_.resize(columns_.size());
}

std::optional<std::size_t> LogReader::find(std::string_view name) const {
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t LogReader::at(std::string_view name) const {
    if (const auto found = find(name)) return *found;
    throw InputError(
        fmt::format("{} has no column {} (it is not the log of an evolution) name the directory "
                    "of a run",
                    path_.string(), name));
}

std::optional<std::string_view> LogReader::line() {
    for (std::size_t searched = begin_;;) {
        const std::size_t end = buffer_.find('\n', searched);
        if (end != std::string::npos) {
            const std::size_t begin = std::exchange(begin_, end + 1);
            ++lines_;
            return std::string_view(buffer_).substr(begin, end - begin);
        }
        if (buffer_.size() - begin_ > longest_log_line)
            throw InputError(
                fmt::format("{}: line {} has more than {} bytes (it is not the log of an "
                            "evolution) restore the file from a good copy",
                            path_.string(), lines_ + 1, longest_log_line));
        const std::uint64_t length = std::min(log_part_bytes, file_.size() - offset_);
        if (length == 0) return std::nullopt;
        buffer_.erase(0, std::exchange(begin_, 0));
        searched = buffer_.size();
        const std::vector<std::byte> part = file_.read(offset_, length);
        buffer_.append(reinterpret_cast<const char*>(part.data()), part.size());
        offset_ += length;
    }
}

std::optional<std::span<const double>> LogReader::next() {
    const auto text = line();
    if (!text) return std::nullopt;
    std::size_t cell = 0;
    for (std::size_t begin = 0; begin <= text->size(); ++cell) {
        const std::size_t end = std::min(text->find(',', begin), text->size());
        const std::string_view content = text->substr(begin, end - begin);
        begin = end + 1;
        const std::optional<double> value =
            content.empty() ? std::nan("") : number_in<double>(content);
        if (cell >= columns_.size() || !value)
            throw InputError(
                fmt::format("{}: line {} holds \"{}\" (no number of a column) "
                            "restore the file from a good copy",
                            path_.string(), lines_, shortened(content, 40)));
        row_[cell] = *value;
    }
    if (cell != columns_.size())
        throw InputError(
            fmt::format("{}: line {} has {} cells (the header has {}) restore the "
                        "file from a good copy",
                        path_.string(), lines_, cell, columns_.size()));
    return row_;
}

double LogReader::generation() {
    const double generation = row_[at("generation")];
    static_cast<void>(whole_number(generation, path_));
    if (generation <= generation_)
        throw InputError(
            fmt::format("{} holds generation {} after {} (generations rise) restore the file "
                        "from a good copy",
                        path_.string(), generation, generation_));
    generation_ = generation;
    return generation;
}

std::int64_t whole_number(double value, const std::filesystem::path& path) {
    if (value >= 0.0 && value <= 0x1p53 && value == std::floor(value))
        return static_cast<std::int64_t>(value);
    throw InputError(
        fmt::format("{} holds {} (a whole number is wanted there) restore the file from a good "
                    "copy",
                    path.string(), value));
}

}  // namespace cambrian::distributed
