#include "cambrian/evolve/evaluation/growing_buffer.hpp"

#include <algorithm>

namespace cambrian::evolve {

Buffer& GrowingBuffer::hold(Backend& backend, std::int64_t elements) {
    constexpr std::int64_t word_bytes = 4;
    const std::int64_t held = buffer_ ? buffer_->elements() : 0;
    if (buffer_ && held >= elements) return *buffer_;
    buffer_.reset();
    const Backend::Memory memory = backend.memory();
    std::int64_t wanted = std::max(elements, held + held / 2);
    if (memory.limit > 0 && memory.used + wanted * word_bytes > memory.limit) wanted = elements;
    buffer_ = backend.allocate(type_, std::max<std::int64_t>(1, wanted));
    return *buffer_;
}

}  // namespace cambrian::evolve
