#include "cambrian/evolve/evaluation/program_cache.hpp"

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

StructureProgram* ProgramCache::find(const ProgramKey& key) {
    const auto found = positions_.find(key);
    if (found == positions_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return &found->second->program;
}

StructureProgram& ProgramCache::insert(const ProgramKey& key, StructureProgram program) {
    CAMBRIAN_EXPECT(!positions_.contains(key));
    while (!recent_.empty() && recent_.size() >= max_programs_) forget_oldest();
    recent_.push_front({key, std::move(program)});
    positions_.emplace(key, recent_.begin());
    return recent_.front().program;
}

void ProgramCache::set_bytes(std::int64_t bytes) {
    std::int64_t& noted = recent_.front().program.bytes;
    bytes_ += bytes - noted;
    noted = bytes;
    while (bytes_ > max_bytes_ && recent_.size() > 1) forget_oldest();
}

void ProgramCache::forget_oldest() {
    bytes_ -= recent_.back().program.bytes;
    positions_.erase(recent_.back().key);
    recent_.pop_back();
}

}  // namespace cambrian::evolve
