#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

/// The bytecodes of many networks, sorted into few classes of size. All networks of a class fit one
/// capacity, which only grows, so that one program serves them all for good: but for the working
/// memory, which is what those read last need. A GPU keeps fewer rows side by side where each has
/// more of it, and one large network would slow down all that come later. Keeps its storage.
class BytecodeBatch {
  public:
    /// Networks with state have classes of their own where that is asked for.
    static constexpr std::size_t class_count = 6;
    struct Entry {
        std::size_t size_class = 0;
        std::uint64_t path = 0;  ///< Of the first instructions, op and activation.
        std::int64_t cost = 0;   ///< Words of packed weights: about the work of a row.
        Hash128 hash;            ///< Of the bytecode: networks with equal ones run exactly alike.
    };

    /// Whether networks of a structure are interpreted; else they run as graphs.
    [[nodiscard]] static bool takes(const Structure& structure);

    /// @param state_apart whether networks without state have programs without it, because each
    /// word
    ///     of it takes time in every step; elsewhere few programs are worth more.
    explicit BytecodeBatch(bool state_apart = false) : state_apart_(state_apart) {}

    /// Takes the bytecodes of individuals, in place of those before; → one entry each, or nothing
    /// for a network that has no bytecode form or is too large to interpret. Valid until the next
    /// call, while the individuals live.
    std::span<const std::optional<Entry>> read(std::span<const Individual* const> individuals,
                                               ThreadPool& threads);
    /// What every network of a class fits, now and, but for working memory, before.
    [[nodiscard]] const BytecodeCapacity& capacity(std::size_t size_class) const {
        return capacities_[size_class];
    }
    /// Writes the bytecode of a network, by its position among those read, to where a program reads
    /// it: capacity.words, of which those after its own stay as they are. Its weights begin at a
    /// multiple of 4 in those of all. For any thread. Contract: it has an entry.
    void write_bytecode(std::size_t index, std::int64_t first_weight,
                        std::span<std::int32_t> bytecode) const;
    /// Bring near what write_bytecode and pack_weights read of a network: its form, and once that
    /// is here what it points to. Contract: it has an entry.
    void prefetch_form(std::size_t index) const;
    void prefetch_words(std::size_t index) const;
    /// Packs its weights into entry.cost words. For any thread. Contract: it has an entry.
    void pack_weights(std::size_t index, std::span<const float> weights,
                      std::span<float> packed) const;

  private:
    using Capacities = std::array<BytecodeCapacity, class_count>;
    [[nodiscard]] std::optional<Entry> entry_of(const Structure::BytecodeForm& form,
                                                Capacities& capacities) const;

    bool state_apart_;
    std::vector<Capacities> parts_;  ///< Of neighbours that one thread reads.
    std::vector<const Structure::BytecodeForm*> forms_;
    std::vector<std::optional<Entry>> entries_;
    Capacities capacities_;
};

}  // namespace cambrian::evolve
