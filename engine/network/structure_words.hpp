#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian {

/// The structure of blueprints as 64-bit words in one order: what content hashes, DNA and the
/// choice of a program compare. Far cheaper than an archive. Keeps its storage.
class StructureWords {
  public:
    /// Activations and enabled flags, which networks that share a program may differ in.
    enum class Genes : std::uint8_t {
        hashed,  ///< Words like the others. Such hashes are stored and stay what they are.
        apart,   ///< Operands of a program. Such hashes are of this process only.
    };
    explicit StructureWords(Genes genes) : genes_(genes) { words_.reserve(128); }

    void add(std::uint64_t word) { words_.push_back(word); }
    void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
    void add(int value) { add(std::int64_t{value}); }
    void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
    void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
    void add(bool value) { add(std::uint64_t{value ? 1U : 0U}); }
    void add(Hash128 value);
    void add(std::string_view text);
    void add(const LayerFormats& formats);
    void add(const AnyLayer& layer);
    void add(const Blueprint& blueprint);
    /// Of all words so far.
    [[nodiscard]] Hash128 hash() const { return hash128(std::as_bytes(std::span(words_))); }

    /// The hash of one blueprint alone, whose genes come after those read so far.
    [[nodiscard]] Hash128 read(const Blueprint& blueprint);
    /// Codes of what was read apart: slots in index order, depth first, then the head.
    [[nodiscard]] const std::vector<std::int32_t>& activations() const { return activations_; }
    /// A flag for every slot; an empty one counts as enabled.
    [[nodiscard]] const std::vector<std::int32_t>& enabled() const { return enabled_; }
    /// Forgets the genes read so far.
    void clear_genes();

  private:
    template <class Value>
    void add_field(const Value& value);
    void add_slot(const std::optional<Slot>& slot);
    [[nodiscard]] LayerFormats hashed_part(LayerFormats formats) const;

    Genes genes_;
    int later_ = 0;  ///< The last addition to its members that the layer at hand uses.
    ActivationSet activation_set_ = ActivationSet::common;  ///< Of the blueprint at hand.
    std::vector<std::uint64_t> words_;
    std::vector<std::int32_t> activations_;
    std::vector<std::int32_t> enabled_;
};

}  // namespace cambrian
