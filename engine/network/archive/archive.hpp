#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/blueprint.hpp"

// Bounded reading and writing of values for checkpoints and messages: a thin face over archives of
// cereal in its portable binary format (little endian) that checks every length against the bytes
// that are left.
namespace cambrian {

/// The first byte of an archive: it is little endian.
inline constexpr std::byte little_endian_mark{1};
/// After the type of a layer, once for each addition to its members that is written, too, see
/// Field::later().
inline constexpr char later_mark = '+';
/// Of the flags of a slot and of a network's mode: LayerFormats follow, of the slot or the head.
inline constexpr std::uint8_t formats_flag = 4;
/// The bits of a number format of weights from here on say which scales it has.
inline constexpr std::uint32_t scales_shift = 5;
/// After that, where a layer says something of its parameters: its ParameterRules follow the
/// fields.
inline constexpr const char* rules_mark = "*";

/// Collects values into bytes through a cereal archive, or hands these on to a hash.
class ArchiveWriter {
  public:
    ArchiveWriter();
    /// @param hash lives as long, and has all bytes after finish().
    explicit ArchiveWriter(RunningHash& hash);
    ~ArchiveWriter();
    ArchiveWriter(const ArchiveWriter&) = delete;
    ArchiveWriter& operator=(const ArchiveWriter&) = delete;

    void write(std::uint8_t value);
    void write(std::uint32_t value);
    void write(std::int32_t value);
    void write(std::uint64_t value);
    void write(std::int64_t value);
    void write(float value);
    void write(double value);
    void write(bool value);
    void write(Hash128 value);
    void write(std::string_view text);
    void write(const char* text) { write(std::string_view(text)); }
    void write(std::span<const float> values);
    void write(std::span<const double> values);
    void write(std::span<const std::byte> bytes);
    /// Bytes whose count, or that of all like them, was written before.
    void append(std::span<const std::byte> bytes);
    void write(const AnyLayer& layer);
    void write(const LayerFormats& formats);
    void write(const Blueprint& blueprint);
    /// Contract: none went to a hash.
    [[nodiscard]] std::vector<std::byte> take();
    void finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A sound file that another version of the program wrote.
class OtherVersionError : public InputError {
  public:
    using InputError::InputError;
};

/// Reads them back in the same order. Every length is checked against what is left, nesting is
/// limited, enumerations and layer names are checked. Throws InputError naming `source`.
class ArchiveReader {
  public:
    ArchiveReader(std::span<const std::byte> bytes, std::string source);
    ~ArchiveReader();
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;

    void read(std::uint8_t& value);
    void read(std::uint32_t& value);
    void read(std::int32_t& value);
    void read(std::uint64_t& value);
    void read(std::int64_t& value);
    void read(float& value);
    void read(double& value);
    void read(bool& value);
    void read(Hash128& value);
    void read(std::string& text);
    void read(std::vector<float>& values);
    void read(std::vector<double>& values);
    void read(std::vector<std::byte>& bytes);
    void read(AnyLayer& layer);
    void read(LayerFormats& formats);
    void read(Blueprint& blueprint);
    /// A count of things of at least `smallest` bytes each, checked against what is left.
    [[nodiscard]] std::uint64_t read_count(std::uint64_t smallest);
    /// So many, each by read_one(element). They are made as they are read: a count is a claim, and
    /// elements in memory may be far larger than `smallest` bytes.
    template <class Element, class ReadOne>
    void read_list(std::vector<Element>& elements, std::uint64_t smallest,
                   const ReadOne& read_one) {
        elements.clear();
        for (std::uint64_t left = read_count(smallest); left > 0; --left)
            read_one(elements.emplace_back());
    }
    [[nodiscard]] std::uint64_t remaining() const;
    /// The number of a format that this program reads from `oldest` to `newest`; throws
    /// OtherVersionError for another one, with what to do. @param what "checkpoint"
    [[nodiscard]] std::uint32_t read_format(std::string_view what, std::uint32_t oldest,
                                            std::uint32_t newest);
    /// Throws when bytes are left over.
    void finish() const;
    [[noreturn]] void fail(std::string_view why) const;

  private:
    struct State;

    template <class Choice>
    void read_choice(Choice& value);
    void read_width(std::int64_t& value, std::int64_t least = 0);
    void read_widths(std::vector<std::int64_t>& values);
    void read_layers(std::vector<AnyLayer>& layers);
    void read(Custom& layer);
    template <class Value>
    void scalar(Value& value);
    template <class Values>
    void array(Values& values);

    std::unique_ptr<State> state_;
};

}  // namespace cambrian
