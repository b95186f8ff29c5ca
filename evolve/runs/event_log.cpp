#include "cambrian/evolve/runs/event_log.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>
#include <fstream>
#include <span>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/engine/io/protobuf.hpp"
#include "cambrian/evolve/runs/run_log.hpp"

namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view individual_column = "individual";
constexpr std::size_t bytes_between_flushes = std::size_t{1} << 20U;

// A record is its head, the content and a checksum. The content begins with the time: a byte that
// names the field, and a double.
constexpr std::size_t head_bytes = 8 + 4;
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t time_bytes = 1 + 8;

constexpr std::array<std::uint32_t, 256> crc_table = [] {
    constexpr std::uint32_t polynomial = 0x82F63B78;  // Castagnoli's, its bits in reverse.
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        table[byte] = byte;
        for (int bit = 0; bit < 8; ++bit)
            table[byte] = (table[byte] >> 1U) ^ ((table[byte] & 1U) != 0 ? polynomial : 0U);
    }
    return table;
}();

/// A checksum as records have it, so that a checksum over bytes with checksums stays one.
std::uint32_t masked_crc(std::string_view bytes) {
    return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U;
}

/// Event: wall_time = 1, then the others.
std::string record_with(const ProtobufWriter& others) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    ProtobufWriter event;
    event.real64(1, seconds).fields(others);
    const std::string& content = event.content();
    std::string record;
    little_endian::append(record, std::uint64_t{content.size()});
    little_endian::append(record, masked_crc(record));
    record += content;
    little_endian::append(record, masked_crc(content));
    return record;
}

/// Event.file_version = 3: what every file begins with.
std::string first_record() {
    ProtobufWriter version;
    return record_with(version.bytes(3, "brain.Event:2"));
}

/// Summary.Value: tag = 1, simple_value = 2.
std::string scalar(std::string_view tag, double number) {
    ProtobufWriter value;
    return value.bytes(1, tag).real32(2, static_cast<float>(number)).content();
}

/// Whether the next bytes of a file are this record, written at any time, with their checksum.
bool holds_next(std::istream& file, const std::string& record) {
    std::string found(record.size(), '\0');
    if (!file.read(found.data(), static_cast<std::streamsize>(found.size()))) return false;
    const std::size_t length = record.size() - head_bytes - checksum_bytes;
    const std::string_view content = std::string_view(found).substr(head_bytes, length);
    std::string checksum;
    little_endian::append(checksum, masked_crc(content));
    return found.compare(0, head_bytes + 1, record, 0, head_bytes + 1) == 0 &&
           content.substr(time_bytes) ==
               std::string_view(record).substr(head_bytes + time_bytes, length - time_bytes) &&
           found.ends_with(checksum);
}

/// What stands there; a stream that gives nothing where that is no regular file.
std::ifstream opened(const fs::path& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return {};
    return std::ifstream(path, std::ios::binary);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const char byte : bytes)
        crc = (crc >> 8U) ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
    return ~crc;
}

EventLog::EventLog(const fs::path& table, bool several) : several_(several) {
    const fs::path path = table.parent_path() / events_name;
    std::ifstream before = opened(path);
    std::uint64_t kept = 0;
    const auto add = [&](std::string record) {
        if (!file_ && before.is_open() && holds_next(before, record)) {
            kept += record.size();
            return;
        }
        if (!file_) file_.emplace(path, kept);
        file_->pending() += record;
        if (file_->pending().size() >= bytes_between_flushes) file_->flush();
    };
    add(first_record());
    std::ifstream lines(table, std::ios::binary);
    std::string line;
    std::getline(lines, line);
    for (const std::string_view column : cells_of(line)) columns_.emplace_back(column);
    while (std::getline(lines, line) && !lines.eof()) {
        add(record_of(line));
        last_line_ = line;
    }
    if (!file_) file_.emplace(path, kept);
    file_->flush();
}

/// Event: step = 2, summary = 5 with values = 1.
std::string EventLog::record_of(std::string_view line) const {
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() > columns_.size())
        throw InputError(fmt::format(
            "a line of the table has {} cells (its first line names {}) put back the file that was "
            "written, or set log.tensorboard to false",
            cells.size(), columns_.size()));
    std::string suffix;
    if (several_)
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (columns_.at(i) == individual_column) suffix = "/" + std::string(cells[i]);
    ProtobufWriter summary;
    for (std::size_t i = 1; i < cells.size(); ++i) {
        const auto number = number_in<double>(cells[i]);
        if (number && columns_[i] != individual_column)
            summary.bytes(1, scalar(columns_[i] + suffix, *number));
    }
    ProtobufWriter event;
    return record_with(event.integer(2, number_in<std::int64_t>(cells[0]).value_or(0))
                           .bytes(5, summary.content()));
}

void EventLog::append(std::string_view line) {
    file_->pending() += record_of(line);
    last_line_ = line;
}

void EventLog::amend(std::string_view line) {
    const std::vector<std::string_view> before = cells_of(last_line_);
    const std::vector<std::string_view> cells = cells_of(line);
    std::string news(cells[0]);
    bool any = false;
    for (std::size_t i = 1; i < cells.size(); ++i) {
        const bool same = i < before.size() && before[i] == cells[i];
        any = any || !same;
        news += ',';
        if (!same || columns_.at(i) == individual_column) news += cells[i];
    }
    if (any) file_->pending() += record_of(news);
    last_line_ = line;
}

}  // namespace cambrian::distributed
