#include "cambrian/engine/io/container_sequence.hpp"

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

namespace fs = std::filesystem;

/// Sections are stored as they are where packing saves nothing.
std::uint64_t largest_container(std::uint64_t table, std::span<const WantedSection> sections) {
    std::uint64_t sum = table;
    for (const WantedSection& section : sections) {
        if (section.most > std::numeric_limits<std::uint64_t>::max() - sum)
            return std::numeric_limits<std::uint64_t>::max();
        sum += section.most;
    }
    return sum;
}

}  // namespace

ContainerSequence::ContainerSequence(fs::path path, std::string_view kind,
                                     std::span<const WantedSection> sections)
    : path_(std::move(path)),
      kind_(kind),
      sections_(sections.begin(), sections.end()),
      table_(table_length(kind, sections)),
      largest_(largest_container(table_, sections)) {
    std::error_code error;
    const fs::file_status status = fs::status(path_, error);
    if (status.type() == fs::file_type::not_found) return;
    // A pipe that nobody writes to would be waited for.
    if (status.type() == fs::file_type::regular) {
        file_.open(path_, std::ios::binary);
        size_ = fs::file_size(path_, error);
    }
    if (!file_.is_open() || error)
        throw InputError(path_.string() + " cannot be read (" +
                         (error ? error.message() : "it is no regular file that can be opened") +
                         ") name an existing file");
}

std::string ContainerSequence::place() const {
    return path_.string() + ", from byte " + std::to_string(position_) + " on,";
}

std::vector<std::byte> ContainerSequence::read(std::uint64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    file_.seekg(static_cast<std::streamoff>(position_));
    if (!file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count)))
        throw InputError(path_.string() +
                         " cannot be read (it became shorter meanwhile, or the disk fails) try "
                         "once more");
    return bytes;
}

std::optional<Container> ContainerSequence::next() {
    if (cut_short_ || position_ == size_) return std::nullopt;
    const std::uint64_t left = size_ - position_;
    const std::uint64_t length =
        stated_length(read(std::min(left, table_)), place(), kind_, sections_);
    if (length > largest_)
        throw InputError(place() + " cannot be read (a part claims " + std::to_string(length) +
                         " bytes, it may have " + std::to_string(largest_) +
                         ") restore it from a good copy");
    if (length == 0 || length > left) {
        cut_short_ = true;
        return std::nullopt;
    }
    Container container = decode_container(read(length), place(), sections_);
    position_ += length;
    return container;
}

}  // namespace cambrian
