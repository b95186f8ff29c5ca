#include "cambrian/gpu/run_state.hpp"

namespace cambrian::gpu {

std::uint64_t Scratch::hold(std::int64_t bytes) {
    if (memory_.bytes() < bytes) {
        transfer_.device().wait_for_all();
        memory_ = Memory();
        memory_ = Memory(transfer_, bytes);
    }
    return memory_.address();
}

RunState::RunState(Transfer& transfer) : errors(transfer), transfer_(transfer) {
    for (std::size_t i = 0; i < transfer.device().queues(); ++i) scratch_.emplace_back(transfer);
}

std::int64_t RunState::idle_bytes() const {
    std::int64_t bytes = 0;
    for (const Scratch& scratch : scratch_) bytes += scratch.bytes();
    return bytes - scratch().bytes();
}

void RunState::release_idle() {
    transfer_.device().wait_for_all();
    for (Scratch& scratch : scratch_)
        if (&scratch != &this->scratch()) scratch.release();
}

void RunState::trim() {
    transfer_.release();
    for (Scratch& scratch : scratch_) scratch.release();
    transfer_.heap().trim();
}

}  // namespace cambrian::gpu
