#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian::evolve {

/// Collects structure as 64-bit words for hashing; far cheaper than an archive and never stored.
class StructureBytes {
  public:
    StructureBytes() { words_.reserve(128); }

    void add(std::uint64_t word) { words_.push_back(word); }
    void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
    void add(int value) { add(static_cast<std::int64_t>(value)); }
    void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
    void add(bool value) { add(std::uint64_t{value ? 1U : 0U}); }
    void add(Hash128 value);
    void add(std::string_view text);
    void add(const AnyLayer& layer);
    void add(const Blueprint& blueprint);

    [[nodiscard]] Hash128 hash() const { return hash128(std::as_bytes(std::span(words_))); }

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace cambrian::evolve
