#include "cambrian/engine/io/container.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/compression.hpp"

// Layout, little endian: magic (8 bytes), version (u32), sections (u32), total length (u64), kind
// (text), for each section name (text), stored length (u64), plain length (u64), codec (u8) and
// checksum of the stored bytes (u64); checksum of everything so far (u64); the stored bytes of all
// sections. A text is its length (u32) and its bytes.
namespace cambrian {

namespace {

constexpr std::string_view magic = "CAMBRIAN";
constexpr std::uint32_t version = 1;
constexpr std::uint32_t max_sections = 1U << 16U;
constexpr std::uint32_t longest_name = 255;
constexpr std::size_t min_compressed = 128;  // below, a frame saves nothing
// Bytes of the parts of a table without their texts.
constexpr std::uint64_t fixed_of_table = 8 + 4 + 4 + 8 + 4 + 8;
constexpr std::uint64_t fixed_of_section = 4 + 8 + 8 + 1 + 8;

enum class Codec : std::uint8_t { plain, zstd };

struct SectionEntry {
    std::string name;
    std::uint64_t stored = 0;
    std::uint64_t plain = 0;
    Codec codec = Codec::plain;
    std::uint64_t checksum = 0;
};

/// What the packed sections of a file come to, one after another: writers keep to it, readers
/// refuse what does not.
class Expansion {
  public:
    /// Whether one more may be packed so; then it counts.
    [[nodiscard]] bool admits(std::uint64_t stored, std::uint64_t plain) {
        // Lengths are claims: no sum of them may wrap around to a small one.
        if (plain > longest_plain - plain_) return false;
        if (plain_ + plain > freely_unpacked &&
            (plain_ + plain) / largest_expansion > stored_ + stored)
            return false;
        stored_ += stored;
        plain_ += plain;
        return true;
    }

  private:
    static constexpr std::uint64_t longest_plain = std::uint64_t{1} << 62U;
    static constexpr std::uint64_t freely_unpacked = std::uint64_t{64} << 20U;
    static constexpr std::uint64_t largest_expansion = 64;
    std::uint64_t stored_ = 0;
    std::uint64_t plain_ = 0;
};

class Writer {
  public:
    template <class Word>
    void word(Word value) {
        for (std::size_t i = 0; i < sizeof(Word); ++i)
            bytes_.push_back(static_cast<std::byte>((std::uint64_t{value} >> (8U * i)) & 0xFFU));
    }
    void raw(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void raw(std::string_view text) { raw(std::as_bytes(std::span(text))); }
    void text(std::string_view text) {
        word(static_cast<std::uint32_t>(text.size()));
        raw(text);
    }
    [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    Reader(std::span<const std::byte> bytes, std::string_view source)
        : bytes_(bytes), source_(source) {}

    [[noreturn]] void fail(std::string_view why) const {
        throw InputError(std::string(source_) + " cannot be read (" + std::string(why) +
                         ") restore it from a good copy");
    }
    [[nodiscard]] std::span<const std::byte> raw(std::uint64_t count) {
        if (count > bytes_.size() - position_) fail("it ends too early");
        const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
        position_ += part.size();
        return part;
    }
    template <class Word>
    [[nodiscard]] Word word() {
        std::uint64_t value = 0;
        unsigned shift = 0;
        for (const std::byte byte : raw(sizeof(Word))) {
            value |= std::to_integer<std::uint64_t>(byte) << shift;
            shift += 8;
        }
        return static_cast<Word>(value);
    }
    [[nodiscard]] std::string text() {
        const auto length = word<std::uint32_t>();
        if (length > longest_name) fail("a name is too long");
        const auto part = raw(length);
        std::string result(part.size(), '\0');
        std::transform(part.begin(), part.end(), result.begin(),
                       [](std::byte byte) { return std::to_integer<char>(byte); });
        return result;
    }
    [[nodiscard]] std::span<const std::byte> so_far() const { return bytes_.first(position_); }
    [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  private:
    std::span<const std::byte> bytes_;
    std::string_view source_;
    std::size_t position_ = 0;
};

SectionEntry read_entry(Reader& reader) {
    SectionEntry entry;
    entry.name = reader.text();
    entry.stored = reader.word<std::uint64_t>();
    entry.plain = reader.word<std::uint64_t>();
    const auto codec = reader.word<std::uint8_t>();
    entry.checksum = reader.word<std::uint64_t>();
    if (codec > static_cast<std::uint8_t>(Codec::zstd)) reader.fail("a section's codec is unknown");
    entry.codec = static_cast<Codec>(codec);
    return entry;
}

/// Everything before the first section.
struct Table {
    std::uint64_t length = 0;  ///< Of the whole container.
    std::string kind;
    std::vector<SectionEntry> entries;
};

void check_magic(Reader& reader, std::size_t bytes) {
    const auto found = reader.raw(bytes);
    if (!std::ranges::equal(found, std::as_bytes(std::span(magic.substr(0, bytes)))))
        reader.fail("it is not a Cambrian file");
}

Table read_table(Reader& reader) {
    Table table;
    check_magic(reader, magic.size());
    const auto found_version = reader.word<std::uint32_t>();
    if (found_version != version)
        reader.fail("it has format version " + std::to_string(found_version) +
                    ", this program reads " + std::to_string(version));
    const auto count = reader.word<std::uint32_t>();
    if (count > max_sections) reader.fail("it has too many sections");
    table.length = reader.word<std::uint64_t>();
    table.kind = reader.text();
    for (std::uint32_t i = 0; i < count; ++i) table.entries.push_back(read_entry(reader));
    const std::uint64_t checksum = hash64(reader.so_far());
    if (reader.word<std::uint64_t>() != checksum) reader.fail("its table is damaged");
    return table;
}

/// The stored bytes of a section, which are the right ones.
std::span<const std::byte> stored_section(Reader& reader, const SectionEntry& entry) {
    const auto stored = reader.raw(entry.stored);
    if (hash64(stored) != entry.checksum)
        reader.fail("section \"" + shortened(entry.name) + "\" is damaged");
    return stored;
}

std::vector<std::byte> read_section(Reader& reader, const SectionEntry& entry, std::uint64_t most) {
    const auto stored = stored_section(reader, entry);
    if (entry.plain > most)
        reader.fail("section \"" + shortened(entry.name) + "\" claims " +
                    std::to_string(entry.plain) + " bytes, it may have " + std::to_string(most));
    if (entry.codec == Codec::plain) {
        if (entry.plain != entry.stored)
            reader.fail("section \"" + entry.name + "\" states two lengths");
        return {stored.begin(), stored.end()};
    }
    std::optional<std::vector<std::byte>> plain = decompress(stored, entry.plain);
    if (!plain) reader.fail("section \"" + entry.name + "\" does not decompress");
    return *std::move(plain);
}

}  // namespace

std::span<const std::byte> Container::section(std::string_view name) const {
    const auto found = std::ranges::find(sections, name, &Section::name);
    if (found == sections.end())
        throw InputError("the file has no section \"" + std::string(name) + "\" (its kind is \"" +
                         shortened(kind) + "\") use a file of the expected kind");
    return found->bytes;
}

void Container::add(std::string name, std::vector<std::byte> bytes) {
    sections.push_back({.name = std::move(name), .bytes = std::move(bytes)});
}

std::vector<std::byte> encode(const Container& container) {
    CAMBRIAN_ASSERT(container.sections.size() <= max_sections);
    CAMBRIAN_ASSERT(container.kind.size() <= longest_name);
    std::vector<std::vector<std::byte>> packed;
    Expansion expansion;
    std::uint64_t total = fixed_of_table + container.kind.size();
    for (const Section& section : container.sections) {
        CAMBRIAN_ASSERT(section.name.size() <= longest_name);
        packed.emplace_back();
        if (section.bytes.size() >= min_compressed) packed.back() = compress(section.bytes);
        const bool smaller = packed.back().size() < section.bytes.size();
        if (!smaller || !expansion.admits(packed.back().size(), section.bytes.size()))
            packed.back().clear();
        const auto stored = packed.back().empty() ? section.bytes.size() : packed.back().size();
        total += fixed_of_section + section.name.size() + stored;
    }
    const auto stored_bytes = [&](std::size_t i) -> const std::vector<std::byte>& {
        return packed[i].empty() ? container.sections[i].bytes : packed[i];
    };

    Writer writer;
    writer.bytes().reserve(static_cast<std::size_t>(total));
    writer.raw(magic);
    writer.word(version);
    writer.word(static_cast<std::uint32_t>(container.sections.size()));
    writer.word(total);
    writer.text(container.kind);
    for (std::size_t i = 0; i < packed.size(); ++i) {
        writer.text(container.sections[i].name);
        writer.word(std::uint64_t{stored_bytes(i).size()});
        writer.word(std::uint64_t{container.sections[i].bytes.size()});
        writer.word(static_cast<std::uint8_t>(packed[i].empty() ? Codec::plain : Codec::zstd));
        writer.word(hash64(stored_bytes(i)));
    }
    writer.word(hash64(writer.bytes()));
    for (std::size_t i = 0; i < packed.size(); ++i) writer.raw(stored_bytes(i));
    CAMBRIAN_ENSURE(writer.bytes().size() == total);
    return std::move(writer.bytes());
}

namespace {

/// The most bytes that each section may have is what `limit` gives for its name; nothing: skipped.
template <class Limit>
Container decode(std::span<const std::byte> bytes, std::string_view source, const Limit& limit) {
    Reader reader(bytes, source);
    const Table table = read_table(reader);
    if (table.length != bytes.size()) reader.fail("its length is not the one it states");
    Container container{table.kind, {}};
    Expansion expansion;
    for (const SectionEntry& entry : table.entries) {
        if (entry.codec == Codec::zstd && !expansion.admits(entry.stored, entry.plain))
            reader.fail("section \"" + shortened(entry.name) + "\" of " +
                        std::to_string(entry.stored) + " bytes claims to unpack to " +
                        std::to_string(entry.plain) + ", more than a file of its length may");
        if (const std::optional<std::uint64_t> most = limit(entry.name))
            container.add(entry.name, read_section(reader, entry, *most));
        else
            static_cast<void>(stored_section(reader, entry));
    }
    if (reader.remaining() != 0) reader.fail("bytes follow its last section");
    return container;
}

}  // namespace

Container decode_container(std::span<const std::byte> bytes, std::string_view source,
                           std::span<const WantedSection> wanted) {
    return decode(bytes, source, [wanted](std::string_view name) -> std::optional<std::uint64_t> {
        const auto found = std::ranges::find(wanted, name, &WantedSection::name);
        if (found == wanted.end()) return std::nullopt;
        return found->most;
    });
}

Container decode_container(std::span<const std::byte> bytes, std::string_view source) {
    return decode(bytes, source, [](std::string_view) {
        return std::optional(std::numeric_limits<std::uint64_t>::max());
    });
}

std::uint64_t table_length(std::string_view kind, std::span<const WantedSection> sections) {
    std::uint64_t length = fixed_of_table + kind.size();
    for (const WantedSection& section : sections) length += fixed_of_section + section.name.size();
    return length;
}

std::uint64_t stated_length(std::span<const std::byte> table, std::string_view source,
                            std::string_view kind, std::span<const WantedSection> sections) {
    Reader reader(table, source);
    if (table.size() < table_length(kind, sections)) {
        check_magic(reader, std::min(table.size(), magic.size()));
        return 0;
    }
    const Table found = read_table(reader);
    if (found.kind != kind ||
        !std::ranges::equal(found.entries, sections, {}, &SectionEntry::name, &WantedSection::name))
        reader.fail("it holds other things than " + std::string(kind));
    std::uint64_t least = table.size();
    for (const SectionEntry& entry : found.entries) {
        if (entry.stored > found.length) reader.fail("its length is not the one it states");
        least += entry.stored;
    }
    if (least != found.length) reader.fail("its length is not the one it states");
    return found.length;
}

}  // namespace cambrian
