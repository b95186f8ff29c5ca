#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "cambrian/engine/network/network_check.hpp"

namespace cambrian::network_check {

namespace {

/// Collects what a compiled graph depends on as 64-bit words, then hashes them at once.
class Words {
  public:
    Words() { words_.reserve(128); }

    void add(std::uint64_t word) { words_.push_back(word); }
    void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
    void add(int value) { add(std::int64_t{value}); }
    void add(bool value) { add(std::uint64_t{value}); }
    void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
    void add(Activation /*gene*/) {}  // an operand of the graph, not a part of it
    void add(std::string_view text) {
        add(std::uint64_t{text.size()});
        for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof(std::uint64_t)))) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
            add(word);
        }
    }
    template <class Range>
    requires(!std::convertible_to<Range, std::string_view>) void add(const Range& values) {
        add(std::uint64_t{values.size()});
        for (const auto& value : values) add(value);
    }
    void add(const AnyLayer& layer) {
        add(layer.type());
        std::visit(
            [this](const auto& concrete) {
                std::apply([&](const auto&... field) { (add(concrete.*field.member), ...); },
                           std::remove_cvref_t<decltype(concrete)>::fields);
            },
            layer.variant());
    }

    [[nodiscard]] Hash128 hash() const { return hash128(std::as_bytes(std::span(words_))); }

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace

Hash128 structure_key(const Blueprint& blueprint) {
    Words words;
    words.add(blueprint.input_features);
    words.add(blueprint.output_features);
    words.add(blueprint.input_shape.rank());
    for (const std::int64_t extent : blueprint.input_shape.extents()) words.add(extent);
    words.add(static_cast<int>(blueprint.mode));
    const GridSize& grid = blueprint.grid;
    for (const int extent : {grid.depth, grid.rows, grid.cols, grid.layers_per_cell})
        words.add(extent);
    for (const std::optional<Slot>& slot : blueprint.slots) {
        words.add(slot.has_value());
        if (slot) words.add(slot->layer);
    }
    words.add(blueprint.head);
    words.add(std::uint64_t{blueprint.links.size()});
    for (const Link& link : blueprint.links) {
        words.add(link.source);
        words.add(link.target);
        words.add(static_cast<int>(link.kind));
    }
    return words.hash();
}

}  // namespace cambrian::network_check
