#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cereal/cereal.hpp>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian {

/// cereal's portable binary format (little endian) from bytes in memory: what its own archive reads
/// through a stream, whose making costs a small message more than its numbers do. Contract: no read
/// asks for more than remaining().
class ByteInputArchive
    : public cereal::InputArchive<ByteInputArchive, cereal::AllowEmptyClassElision> {
  public:
    explicit ByteInputArchive(std::span<const std::byte> bytes)
        : cereal::InputArchive<ByteInputArchive, cereal::AllowEmptyClassElision>(this),
          rest_(bytes) {}

    [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
    /// Numbers of so many bytes each.
    template <std::size_t width>
    void load(void* numbers, std::size_t bytes) {
        CAMBRIAN_EXPECT(bytes <= rest_.size());
        if (bytes == 0) return;
        auto* const to = static_cast<std::byte*>(numbers);
        std::memcpy(to, rest_.data(), bytes);
        if constexpr (width > 1 && std::endian::native != std::endian::little)
            for (std::size_t first = 0; first < bytes; first += width)
                std::reverse(to + first, to + first + width);
        rest_ = rest_.subspan(bytes);
    }

  private:
    std::span<const std::byte> rest_;
};

/// What cereal calls for each number.
template <class Number>
requires std::is_arithmetic_v<Number>
void CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive, Number& number) {
    archive.load<sizeof number>(&number, sizeof number);
}

namespace {

/// What follows the first byte of an archive.
std::span<const std::byte> after_mark(std::span<const std::byte> bytes, const std::string& source) {
    if (bytes.empty() || bytes.front() != little_endian_mark)
        throw InputError(source +
                         " cannot be read (it does not begin like an archive) restore it "
                         "from a good copy");
    return bytes.subspan(1);
}

}  // namespace

struct ArchiveReader::State {
    std::string source;
    ByteInputArchive archive;
    int depth = 0;

    State(std::span<const std::byte> data, std::string name)
        : source(std::move(name)), archive(after_mark(data, source)) {}
};

ArchiveReader::ArchiveReader(std::span<const std::byte> bytes, std::string source)
    : state_(std::make_unique<State>(bytes, std::move(source))) {}
ArchiveReader::~ArchiveReader() = default;

void ArchiveReader::fail(std::string_view why) const {
    throw InputError(state_->source + " cannot be read (" + std::string(why) +
                     ") restore it from a good copy");
}

std::uint32_t ArchiveReader::read_format(std::string_view what, std::uint32_t oldest,
                                         std::uint32_t newest) {
    std::uint32_t found = 0;
    read(found);
    if (found >= oldest && found <= newest) return found;
    const std::string known =
        oldest == newest ? fmt::format("{}", newest) : fmt::format("{} to {}", oldest, newest);
    throw OtherVersionError(fmt::format(
        "{} holds a {} of format {} ({} version of Cambrian wrote it, this one reads {}) use that "
        "version, or make it anew",
        state_->source, what, found, found < oldest ? "an older" : "a newer", known));
}

std::uint64_t ArchiveReader::remaining() const {
    return state_->archive.remaining();
}

void ArchiveReader::finish() const {
    if (remaining() != 0) fail(std::to_string(remaining()) + " bytes are left over");
}

template <class Value>
void ArchiveReader::scalar(Value& value) {
    if (remaining() < sizeof value) fail("it ends too early");
    state_->archive(value);
}

template <class Values>
void ArchiveReader::array(Values& values) {
    constexpr std::size_t width = sizeof(typename Values::value_type);
    const std::uint64_t count = read_count(width);
    values.resize(static_cast<std::size_t>(count));
    state_->archive.template load<width>(values.data(), static_cast<std::size_t>(count) * width);
}

std::uint64_t ArchiveReader::read_count(std::uint64_t smallest) {
    std::uint64_t count = 0;
    read(count);
    if (count > remaining() / std::max<std::uint64_t>(smallest, 1))
        fail("a count of " + std::to_string(count) + " does not fit into the bytes that are left");
    return count;
}

void ArchiveReader::read(std::uint8_t& value) {
    scalar(value);
}
void ArchiveReader::read(std::uint32_t& value) {
    scalar(value);
}
void ArchiveReader::read(std::int32_t& value) {
    scalar(value);
}
void ArchiveReader::read(std::uint64_t& value) {
    scalar(value);
}
void ArchiveReader::read(std::int64_t& value) {
    scalar(value);
}
void ArchiveReader::read(float& value) {
    scalar(value);
}
void ArchiveReader::read(double& value) {
    scalar(value);
}
void ArchiveReader::read(bool& value) {
    std::uint8_t byte = 0;
    read(byte);
    if (byte > 1) fail("a truth value is neither 0 nor 1");
    value = byte == 1;
}
void ArchiveReader::read(Hash128& value) {
    read(value.high);
    read(value.low);
}
void ArchiveReader::read(std::string& text) {
    array(text);
}
void ArchiveReader::read(std::vector<float>& values) {
    array(values);
}
void ArchiveReader::read(std::vector<double>& values) {
    array(values);
}
void ArchiveReader::read(std::vector<std::byte>& bytes) {
    array(bytes);
}

template <class Choice>
void ArchiveReader::read_choice(Choice& value) {
    std::string text;
    read(text);
    const std::span<const std::string_view> names = choice_names(value);
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) fail("it names a choice that is not known, such as an activation");
    value = static_cast<Choice>(found - names.begin());
}

void ArchiveReader::read_width(std::int64_t& value, std::int64_t least) {
    read(value);
    if (value < least || value > widest_layer) fail("a width is out of range");
}

void ArchiveReader::read_widths(std::vector<std::int64_t>& values) {
    values.resize(static_cast<std::size_t>(read_count(sizeof(std::int64_t))));
    for (std::int64_t& value : values) read_width(value);
}

void ArchiveReader::read_layers(std::vector<AnyLayer>& layers) {
    // The shortest layer is the length of its type and one byte of it.
    read_list(layers, sizeof(std::uint64_t) + 1, [this](AnyLayer& layer) { read(layer); });
}

void ArchiveReader::read(Custom& layer) {
    std::string plugin;
    std::string type;
    std::string text;
    read(plugin);
    read(type);
    read(text);
    const auto told = [](const std::string& name) { return shortened(name, 60); };
    std::optional<Custom> found = default_custom(type);
    if (!found || found->plugin != plugin)
        throw InputError(fmt::format(
            "{} has a layer \"{}\" of the plug-in \"{}\" ({}) load it with --plugin FILE, or name "
            "it "
            "in engine.plugins of a config",
            state_->source, told(type), told(plugin),
            found ? fmt::format("\"{}\" that is loaded has another one of that name", found->plugin)
                  : "which is not loaded"));
    try {
        found->read_fields(json_text::parse(text), told(type), {});
    } catch (const Error& error) {
        fail(error.what());
    }
    layer = *std::move(found);
}

void ArchiveReader::read(AnyLayer& layer) {
    if (state_->depth == deepest_nesting) fail("its layers are nested too deeply");
    ++state_->depth;
    std::string type;
    read(type);
    const bool has_rules = type.ends_with(rules_mark);
    if (has_rules) type.pop_back();
    int later = 0;
    for (; type.ends_with(later_mark); ++later) type.pop_back();
    std::optional<AnyLayer> result;
    if (type == Custom::name) {
        Custom custom;
        read(custom);
        result = AnyLayer(std::move(custom));
    } else {
        result = default_layer(type);
        // Layers of plug-ins are told as such.
        if (!result || std::holds_alternative<Custom>(result->variant()))
            fail(unknown_layer_type(type.substr(0, 40)));
    }
    const auto field = [this, later](const auto& self, auto& value, const FieldRange& range) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::vector<AnyLayer>>) {
            read_layers(value);
        } else if constexpr (std::is_same_v<Value, OptionalLayer>) {
            read_layers(value.layer);
        } else if constexpr (std::is_same_v<Value, AxisValues>) {
            read_widths(value.values);
        } else if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) {
            read_widths(value);
        } else if constexpr (std::is_same_v<Value, std::vector<bool>>) {
            value.resize(static_cast<std::size_t>(read_count(1)));
            for (auto element : value) {
                bool flag = false;
                read(flag);
                element = flag;
            }
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
            read_width(value, static_cast<std::int64_t>(range.min));
        } else if constexpr (field_json::Choice<Value>) {
            read_choice(value);
        } else if constexpr (field_json::Listed<Value>) {
            const auto one = [&](const auto& entry) {
                if (entry.addition <= later)
                    self(self, value.*entry.member, entry.range.value_or(FieldRange{}));
            };
            Value::fields([&](const auto&... entry) { (one(entry), ...); });
        } else if constexpr (requires {
                                 requires field_json::Listed<typename Value::value_type>;
                             }) {
            // The shortest one is two names, with the lengths of both.
            read_list(value, 2 * sizeof(std::uint64_t),
                      [&](auto& element) { self(self, element, range); });
        } else {
            read(value);
        }
    };
    std::visit(
        [&](auto& concrete) {
            const auto one = [&](const auto& entry) {
                if (entry.addition <= later) field(field, concrete.*entry.member, FieldRange{});
            };
            std::remove_cvref_t<decltype(concrete)>::fields(
                [&](const auto&... entry) { (one(entry), ...); });
            if (later_used(concrete) != later) fail("a layer says that it has more than it has");
        },
        result->variant());
    if (has_rules) {
        ParameterRules::fields([&](const auto&... entry) {
            (field(field, result->rules.*entry.member, FieldRange{}), ...);
        });
        if (result->rules.plain()) fail("a layer says that it has rules and has none");
        if (!std::isfinite(result->rules.init_scale)) fail("a scale is not finite");
    }
    if (const std::string_view fault = result->fault(); !fault.empty()) fail(fault);
    layer = *std::move(result);
    --state_->depth;
}

void ArchiveReader::read(LayerFormats& formats) {
    std::uint8_t weights = 0;
    std::uint8_t activations = 0;
    read(weights);
    read(activations);
    const std::size_t scales = weights >> scales_shift;
    const std::size_t dtype = weights & ((1U << scales_shift) - 1U);
    if (dtype >= dtype_count || activations >= dtype_count) fail("a number format is unknown");
    if (scales >= scales_names.size()) fail("the scales of a number format are unknown");
    formats = {.weights = static_cast<Dtype>(dtype),
               .activations = static_cast<Dtype>(activations),
               .scales = static_cast<Scales>(scales)};
    // What is plain is not written, so that a network has one form.
    if (formats.is_plain()) fail("a number format is written that needs none");
    if (formats != formats.settled()) fail("a number format has scales that it cannot have");
}

void ArchiveReader::read(Blueprint& blueprint) {
    Blueprint result;
    read(result.input_features);
    read(result.output_features);
    std::uint8_t rank = 0;
    read(rank);
    std::array<std::int64_t, 4> extents{};
    if (rank > extents.size()) fail("the input of its network has too many axes");
    for (std::size_t i = 0; i < rank; ++i) {
        read(extents[i]);
        if (extents[i] < 1 || extents[i] > widest_layer) fail("a width is out of range");
    }
    std::uint8_t mode = 0;
    read(mode);
    const bool plain_head = (mode & formats_flag) == 0;
    mode = static_cast<std::uint8_t>(mode & ~formats_flag);
    if (mode > static_cast<std::uint8_t>(NetworkMode::mesh)) fail("a network's mode is unknown");
    result.mode = static_cast<NetworkMode>(mode);
    GridSize& grid = result.grid;
    for (int* extent : {&grid.depth, &grid.rows, &grid.cols, &grid.layers_per_cell}) read(*extent);
    try {
        result.input_shape = Shape(std::span<const std::int64_t>(extents.data(), rank));
        check(grid);
    } catch (const ShapeError& error) {
        fail(error.what());
    }
    if (static_cast<std::uint64_t>(grid.slots()) > remaining()) fail("it ends too early");
    result.slots.resize(static_cast<std::size_t>(grid.slots()));
    for (std::optional<Slot>& slot : result.slots) {
        bool filled = false;
        read(filled);
        if (!filled) continue;
        slot.emplace();
        std::uint8_t flags = 0;
        read(flags);
        if (flags > 7) fail("a slot has unknown flags");
        slot->enabled = (flags & 1U) != 0;
        slot->clocked = (flags & 2U) == 0;
        if ((flags & formats_flag) != 0) read(slot->formats);
        read(slot->layer);
    }
    read(result.head);
    if (!plain_head) read(result.head_formats);
    constexpr std::uint64_t link_bytes = 9;
    result.links.resize(static_cast<std::size_t>(read_count(link_bytes)));
    for (Link& link : result.links) {
        std::uint8_t kind = 0;
        read(link.source);
        read(link.target);
        read(kind);
        if (kind > static_cast<std::uint8_t>(LinkKind::backward)) fail("a link's kind is unknown");
        link.kind = static_cast<LinkKind>(kind);
    }
    blueprint = std::move(result);
}

}  // namespace cambrian
