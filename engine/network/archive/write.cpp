#include <algorithm>
#include <bit>
#include <cereal/cereal.hpp>
#include <ranges>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian {

/// cereal's portable binary format (little endian) as bytes in memory, see ByteInputArchive.
class ByteOutputArchive
    : public cereal::OutputArchive<ByteOutputArchive, cereal::AllowEmptyClassElision> {
  public:
    /// @param hash gets the bytes where there is one.
    explicit ByteOutputArchive(RunningHash* hash = nullptr)
        : cereal::OutputArchive<ByteOutputArchive, cereal::AllowEmptyClassElision>(this),
          bytes_{little_endian_mark},
          hash_(hash) {}

    /// Numbers of so many bytes each.
    template <std::size_t width>
    void save(const void* numbers, std::size_t bytes) {
        const auto* const from = static_cast<const std::byte*>(numbers);
        const auto before = static_cast<std::ptrdiff_t>(bytes_.size());
        bytes_.insert(bytes_.end(), from, from + bytes);
        if constexpr (width > 1 && std::endian::native != std::endian::little)
            for (auto at = bytes_.begin() + before; at != bytes_.end(); at += width)
                std::reverse(at, at + width);
        if (hash_ != nullptr && bytes_.size() >= at_once) hand_on();
    }
    /// What follows is another archive.
    [[nodiscard]] std::vector<std::byte> take() {
        CAMBRIAN_EXPECT(hash_ == nullptr);
        return std::exchange(bytes_, {little_endian_mark});
    }
    void hand_on() {
        CAMBRIAN_EXPECT(hash_ != nullptr);
        hash_->add(bytes_);
        bytes_.clear();
    }

  private:
    /// So few stay in the first-level cache.
    static constexpr std::size_t at_once = 4096;

    std::vector<std::byte> bytes_;
    RunningHash* hash_;
};

/// What cereal calls for each number.
template <class Number>
requires std::is_arithmetic_v<Number>
void CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive, const Number& number) {
    archive.save<sizeof number>(&number, sizeof number);
}

struct ArchiveWriter::State {
    explicit State(RunningHash* hash = nullptr) : archive(hash) {}

    ByteOutputArchive archive;

    template <class Element>
    void array(std::span<const Element> values) {
        archive(static_cast<std::uint64_t>(values.size()));
        archive.template save<sizeof(Element)>(values.data(), values.size_bytes());
    }
};

ArchiveWriter::ArchiveWriter() : state_(std::make_unique<State>()) {}
ArchiveWriter::ArchiveWriter(RunningHash& hash) : state_(std::make_unique<State>(&hash)) {}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::write(std::uint8_t value) {
    state_->archive(value);
}
void ArchiveWriter::write(std::uint32_t value) {
    state_->archive(value);
}
void ArchiveWriter::write(std::int32_t value) {
    state_->archive(value);
}
void ArchiveWriter::write(std::uint64_t value) {
    state_->archive(value);
}
void ArchiveWriter::write(std::int64_t value) {
    state_->archive(value);
}
void ArchiveWriter::write(float value) {
    state_->archive(value);
}
void ArchiveWriter::write(double value) {
    state_->archive(value);
}
void ArchiveWriter::write(bool value) {
    write(static_cast<std::uint8_t>(value ? 1 : 0));
}
void ArchiveWriter::write(Hash128 value) {
    state_->archive(value.high, value.low);
}
void ArchiveWriter::write(std::string_view text) {
    state_->array(std::span<const char>(text));
}
void ArchiveWriter::write(std::span<const float> values) {
    state_->array(values);
}
void ArchiveWriter::write(std::span<const double> values) {
    state_->array(values);
}
void ArchiveWriter::write(std::span<const std::byte> bytes) {
    state_->array(bytes);
}

void ArchiveWriter::append(std::span<const std::byte> bytes) {
    state_->archive.save<1>(bytes.data(), bytes.size());
}

void ArchiveWriter::write(const AnyLayer& layer) {
    const int later =
        std::visit([](const auto& concrete) { return later_used(concrete); }, layer.variant());
    const auto* custom = std::get_if<Custom>(&layer.variant());
    write(std::string(custom != nullptr ? Custom::name : layer.type()) +
          std::string(static_cast<std::size_t>(later), later_mark) +
          (layer.rules.plain() ? "" : rules_mark));
    if (custom != nullptr) {
        write(std::string_view(custom->plugin));
        write(custom->type());
        write(std::string_view(custom->text()));
    }
    const auto field = [this, later](const auto& self, const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::ranges::range<Value> && !std::is_same_v<Value, std::string>) {
            write(static_cast<std::uint64_t>(value.size()));
            for (const auto& element : value) self(self, element);
        } else if constexpr (field_json::Listed<Value>) {
            const auto one = [&](const auto& entry) {
                if (entry.addition <= later) self(self, value.*entry.member);
            };
            Value::fields([&](const auto&... entry) { (one(entry), ...); });
        } else if constexpr (field_json::Choice<Value>) {
            write(choice_names(value)[static_cast<std::size_t>(value)]);
        } else if constexpr (std::is_same_v<Value, std::string>) {
            write(std::string_view(value));
        } else {
            write(value);
        }
    };
    std::visit(
        [&](const auto& concrete) {
            const auto one = [&](const auto& entry) {
                if (entry.addition <= later) field(field, concrete.*entry.member);
            };
            std::remove_cvref_t<decltype(concrete)>::fields(
                [&](const auto&... entry) { (one(entry), ...); });
        },
        layer.variant());
    if (layer.rules.plain()) return;
    ParameterRules::fields(
        [&](const auto&... entry) { (field(field, layer.rules.*entry.member), ...); });
}

void ArchiveWriter::write(const LayerFormats& formats) {
    write(static_cast<std::uint8_t>(static_cast<std::uint8_t>(formats.weights) |
                                    static_cast<std::uint8_t>(formats.scales) << scales_shift));
    write(static_cast<std::uint8_t>(formats.activations));
}

void ArchiveWriter::write(const Blueprint& blueprint) {
    write(blueprint.input_features);
    write(blueprint.output_features);
    write(static_cast<std::uint8_t>(blueprint.input_shape.rank()));
    for (const std::int64_t extent : blueprint.input_shape.extents()) write(extent);
    const bool plain_head = blueprint.head_formats.is_plain();
    write(static_cast<std::uint8_t>(static_cast<std::uint8_t>(blueprint.mode) |
                                    (plain_head ? 0U : formats_flag)));
    const GridSize& grid = blueprint.grid;
    for (const int extent : {grid.depth, grid.rows, grid.cols, grid.layers_per_cell})
        write(static_cast<std::int32_t>(extent));
    for (const std::optional<Slot>& slot : blueprint.slots) {
        write(slot.has_value());
        if (!slot) continue;
        const bool plain = slot->formats.is_plain();
        write(static_cast<std::uint8_t>((slot->enabled ? 1U : 0U) | (slot->clocked ? 0U : 2U) |
                                        (plain ? 0U : formats_flag)));
        if (!plain) write(slot->formats);
        write(slot->layer);
    }
    write(blueprint.head);
    if (!plain_head) write(blueprint.head_formats);
    write(static_cast<std::uint64_t>(blueprint.links.size()));
    for (const Link& link : blueprint.links) {
        write(static_cast<std::int32_t>(link.source));
        write(static_cast<std::int32_t>(link.target));
        write(static_cast<std::uint8_t>(link.kind));
    }
}

std::vector<std::byte> ArchiveWriter::take() {
    return state_->archive.take();
}

void ArchiveWriter::finish() {
    state_->archive.hand_on();
}

}  // namespace cambrian
