#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/evolve/evaluation/structure_program.hpp"

namespace cambrian::evolve {

struct ProgramKey {
    Hash128 structure;
    std::int64_t variant = 0;  ///< Which of the structure's graphs.
    bool operator==(const ProgramKey&) const = default;
};

/// Compiled programs, the least recently used one forgotten first: when there are too many, or
/// when their temporaries hold too much memory.
class ProgramCache {
  public:
    ProgramCache(std::size_t max_programs, std::int64_t max_bytes)
        : max_programs_(max_programs), max_bytes_(max_bytes) {}

    /// Null when it is not there; else it becomes the most recent one.
    [[nodiscard]] StructureProgram* find(const ProgramKey& key);
    /// Adds the most recent one. References to others may end.
    StructureProgram& insert(const ProgramKey& key, StructureProgram program);
    /// Notes the temporaries of the most recent one and forgets others if they are too many bytes.
    void set_bytes(std::int64_t bytes);

    [[nodiscard]] std::size_t size() const { return recent_.size(); }

  private:
    struct Entry {
        ProgramKey key;
        StructureProgram program;
    };
    struct KeyHasher {
        std::size_t operator()(const ProgramKey& key) const {
            return Hash128Hasher()(key.structure) ^ static_cast<std::size_t>(key.variant);
        }
    };
    void forget_oldest();

    std::size_t max_programs_;
    std::int64_t max_bytes_;
    std::int64_t bytes_ = 0;
    std::list<Entry> recent_;
    std::unordered_map<ProgramKey, std::list<Entry>::iterator, KeyHasher> positions_;
};

}  // namespace cambrian::evolve
