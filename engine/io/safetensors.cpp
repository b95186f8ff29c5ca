#include "cambrian/engine/io/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/input_file.hpp"
#include "cambrian/engine/io/safetensors_header.hpp"

namespace cambrian {
namespace {

using nlohmann::json;

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t max_header = 100'000'000;  // As the format says.
/// A list in an entry of the header is deepest.
constexpr json_text::Limits header_limits{.depth = 3, .length = max_header};
constexpr std::string_view metadata_key = "__metadata__";
constexpr std::size_t longest_list = 1000;

/// Reads the header of a file of which the first bytes are there.
class HeaderDecoder {
  public:
    HeaderDecoder(std::span<const std::byte> start, std::uint64_t size, std::string_view source)
        : start_(start), size_(size), source_(source) {}

    /// Bytes before the data.
    [[nodiscard]] std::uint64_t end() const {
        if (start_.size() < length_bytes) fail("it has less than 8 bytes");
        std::uint64_t length = 0;
        std::memcpy(&length, start_.data(), length_bytes);
        if (length > max_header || length > size_ - length_bytes)
            fail("its header of " + std::to_string(length) + " bytes is longer than " +
                 (length > max_header ? "any may be" : "the file"));
        return length_bytes + length;
    }

    [[nodiscard]] SafetensorsHeader run() const {
        const json header = parse_header();
        SafetensorsHeader result;
        result.data_begin = end();
        for (const auto& [name, value] : header.items()) {
            if (name == metadata_key)
                result.metadata = metadata(value);
            else
                result.tensors.emplace(name, place(name, value));
        }
        require_cover(result.tensors, size_ - result.data_begin);
        return result;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw InputError(std::string(source_) + " cannot be read as safetensors (" + why +
                         ") write it again or name another file");
    }

    [[nodiscard]] json parse_header() const {
        const auto length = static_cast<std::size_t>(end() - length_bytes);
        const auto* text = reinterpret_cast<const char*>(start_.data() + length_bytes);
        const std::string_view json_of_header(text, length);
        if (const auto fault = json_text::fault(json_of_header, header_limits))
            fail((fault->is_json ? "its header: " : "its header is no JSON: ") + fault->why);
        json header = json::parse(json_of_header);
        if (!header.is_object()) fail("its header is no object");
        return header;
    }

    [[nodiscard]] std::map<std::string, std::string, std::less<>> metadata(
        const json& value) const {
        if (!value.is_object()) fail("its metadata is no object");
        std::map<std::string, std::string, std::less<>> result;
        for (const auto& [key, text] : value.items()) {
            if (!text.is_string()) fail("its metadata \"" + shortened(key) + "\" is no text");
            result.emplace(key, text.get<std::string>());
        }
        return result;
    }

    [[nodiscard]] StoredPlace place(const std::string& name, const json& value) const {
        const bool whole = value.is_object() && value.size() == 3 && value.contains("dtype") &&
                           value.contains("shape") && value.contains("data_offsets");
        if (!whole)
            fail("tensor \"" + shortened(name) +
                 "\" does not have dtype, shape and data_offsets alone");
        StoredPlace result{.type = type(name, value["dtype"]), .shape = {}};
        result.shape = shape(name, value["shape"], row(result.type));
        const json& offsets = value["data_offsets"];
        if (!offsets.is_array() || offsets.size() != 2)
            fail("the data_offsets of tensor \"" + shortened(name) + "\" are not two numbers");
        result.begin = number(name, "data_offsets", offsets[0]);
        result.end = number(name, "data_offsets", offsets[1]);
        const std::uint64_t element_bits = row(result.type).bits * row(result.type).parts;
        const auto elements = static_cast<std::uint64_t>(result.shape.elements());
        const std::uint64_t bits = 8 * (result.end - result.begin);
        if (result.begin > result.end || bits % element_bits != 0 ||
            bits / element_bits != elements)
            fail("tensor \"" + shortened(name) + "\" is " + result.shape.text() + " of " +
                 std::string(row(result.type).name) + " and has bytes " +
                 std::to_string(result.begin) + " to " + std::to_string(result.end));
        return result;
    }

    [[nodiscard]] StoredType type(const std::string& name, const json& value) const {
        for (const StoredTypeRow& stored : stored_types())
            if (value.is_string() && value.get_ref<const std::string&>() == stored.name)
                return stored.type;
        std::string known;
        for (const StoredTypeRow& stored : stored_types())
            known += (known.empty() ? "" : " ") + std::string(stored.name);
        fail("tensor \"" + shortened(name) + "\" has the dtype " + json_text::shown(value) +
             ", known are " + known);
    }

    [[nodiscard]] Shape shape(const std::string& name, const json& value,
                              const StoredTypeRow& stored) const {
        const std::size_t most =  // The parts of a complex element are an axis of its tensor.
            static_cast<std::size_t>(Shape::max_rank) - (stored.parts > 1 ? 1 : 0);
        if (!value.is_array() || value.size() > most)
            fail("the shape of tensor \"" + shortened(name) + "\" is no list of at most " +
                 std::to_string(most) + " numbers");
        std::vector<std::int64_t> extents;
        for (const json& extent : value)
            extents.push_back(static_cast<std::int64_t>(number(name, "shape", extent)));
        try {
            return Shape(extents);
        } catch (const ShapeError& error) {
            fail("tensor \"" + shortened(name) + "\": " + error.what());
        }
    }

    [[nodiscard]] std::uint64_t number(const std::string& name, std::string_view key,
                                       const json& value) const {
        constexpr std::uint64_t most = std::uint64_t{1} << 56U;  // In bits it is a number too.
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
            fail("the " + std::string(key) + " of tensor \"" + shortened(name) + "\" holds " +
                 json_text::shown(value));
        return value.get<std::uint64_t>();
    }

    /// Every byte of the data belongs to one tensor.
    void require_cover(const std::map<std::string, StoredPlace, std::less<>>& tensors,
                       std::uint64_t size) const {
        std::vector<const std::pair<const std::string, StoredPlace>*> order;
        for (const auto& named : tensors) order.push_back(&named);
        std::ranges::sort(order, {}, [](const auto* named) {
            return std::tuple(named->second.begin, named->second.end);
        });
        std::uint64_t covered = 0;
        for (const auto* named : order) {
            if (named->second.begin != covered)
                fail("tensor \"" + shortened(named->first) + "\" starts at byte " +
                     std::to_string(named->second.begin) + " of the data and " +
                     std::to_string(covered) + " are taken before it");
            covered = named->second.end;
        }
        if (covered != size)
            fail("its tensors have " + std::to_string(covered) + " bytes and there are " +
                 std::to_string(size));
    }

    std::span<const std::byte> start_;
    std::uint64_t size_;
    std::string_view source_;
};

void require_header(std::uint64_t bytes) {
    if (bytes > max_header)
        throw InputError("safetensors cannot be written (names, shapes and texts would be " +
                         std::to_string(bytes) + " bytes, the format takes " +
                         std::to_string(max_header) + ") keep the network as .cmb");
}

std::string header_text(const json& header) {
    try {
        return header.dump();
    } catch (const json::exception& error) {
        throw InputError(std::string("safetensors cannot be written (") + error.what() +
                         ") use names and texts in UTF-8");
    }
}

}  // namespace

const StoredTensor& Safetensors::at(std::string_view name) const {
    const auto found = tensors.find(name);
    if (found != tensors.end()) return found->second;
    std::string names;
    for (const auto& [other, tensor] : tensors) names += (names.empty() ? "" : ", ") + other;
    throw InputError("there is no tensor \"" + shortened(name) + "\" (the file has " +
                     (names.empty() ? "none" : shortened(names, longest_list)) +
                     ") name one of them");
}

Safetensors decode_safetensors(std::span<const std::byte> bytes, std::string_view source) {
    SafetensorsHeader header = HeaderDecoder(bytes, bytes.size(), source).run();
    const auto data = bytes.subspan(static_cast<std::size_t>(header.data_begin));
    Safetensors result;
    result.metadata = std::move(header.metadata);
    for (const auto& [name, place] : header.tensors) {
        const auto part = data.subspan(static_cast<std::size_t>(place.begin),
                                       static_cast<std::size_t>(place.end - place.begin));
        result.tensors.emplace(name,
                               StoredTensor{place.type, place.shape, {part.begin(), part.end()}});
    }
    return result;
}

SafetensorsHeader read_safetensors_header(const InputFile& file, std::string_view source) {
    const std::uint64_t size = file.size();
    const std::vector<std::byte> first = file.read(0, std::min(size, std::uint64_t{length_bytes}));
    const std::uint64_t end = HeaderDecoder(first, size, source).end();
    return HeaderDecoder(file.read(0, end), size, source).run();
}

std::vector<std::byte> encode(const Safetensors& content) {
    if (content.tensors.contains(metadata_key))
        throw InputError("a tensor cannot be named \"" + std::string(metadata_key) +
                         "\" (safetensors files keep their texts there) choose another name");
    std::vector<const std::pair<const std::string, StoredTensor>*> order;
    for (const auto& named : content.tensors) order.push_back(&named);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [](const auto* named) { return row(named->second.type).bits; });

    std::uint64_t texts = 0;  // Quoted they are longer still, which takes long to find out.
    for (const auto& [key, text] : content.metadata) texts += key.size() + text.size();
    require_header(texts);
    json header = json::object();
    if (!content.metadata.empty()) header[std::string(metadata_key)] = content.metadata;
    std::uint64_t offset = 0;
    for (const auto* named : order) {
        const StoredTensor& tensor = named->second;
        const std::uint64_t end = offset + tensor.bytes.size();
        const auto extents = tensor.shape.extents();
        header[named->first] = {
            {"dtype", row(tensor.type).name},
            {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())},
            {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header_text(header);
    text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
    require_header(text.size());

    std::vector<std::byte> bytes(length_bytes + text.size() + offset);
    const std::uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, length_bytes);
    std::memcpy(bytes.data() + length_bytes, text.data(), text.size());
    auto to = bytes.begin() + static_cast<std::ptrdiff_t>(length_bytes + text.size());
    for (const auto* named : order) to = std::ranges::copy(named->second.bytes, to).out;
    return bytes;
}

Safetensors read_safetensors(const std::filesystem::path& path) {
    return decode_safetensors(read_file(path), path.string());
}

void write_safetensors(const std::filesystem::path& path, const Safetensors& content) {
    write_file_atomically(path, encode(content));
}

}  // namespace cambrian
