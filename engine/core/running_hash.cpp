#include "cambrian/engine/core/running_hash.hpp"

#include <xxhash.h>

#include <new>

namespace cambrian {

struct RunningHash::State {
    State() : state(XXH3_createState()) {
        if (state == nullptr) throw std::bad_alloc();
    }
    ~State() { XXH3_freeState(state); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    XXH3_state_t* state;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) {
    reset();
}

RunningHash::~RunningHash() = default;

void RunningHash::add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_->state, bytes.data(), bytes.size());
}

Hash128 RunningHash::hash() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_->state);
    return {hash.high64, hash.low64};
}

void RunningHash::reset() {
    XXH3_128bits_reset(state_->state);
}

}  // namespace cambrian
