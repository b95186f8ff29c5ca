#include "cambrian/gpu/execution/transfer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;
/// Staging that may wait for the device before an upload does.
constexpr std::size_t max_pieces = 16;
/// What is lent: less goes through the ring as fast.
constexpr std::int64_t min_lent_bytes = std::int64_t{64} << 10;
constexpr std::int64_t max_lent_bytes = std::int64_t{512} << 20;
constexpr std::int64_t readback_bytes = std::int64_t{16} << 20;
constexpr vulkan::Ticket pending_use = std::numeric_limits<vulkan::Ticket>::max();

bool inside(const vulkan::Block& block, std::uint64_t address) {
    return address >= block.address() &&
           address < block.address() + static_cast<std::uint64_t>(block.bytes());
}

}  // namespace

Memory::Memory(Transfer& transfer, std::int64_t bytes)
    : transfer_(&transfer),
      block_(
          transfer.heap().allocate(vulkan::MemoryKind::device, std::max(bytes, std::int64_t{4}))) {
    if (transfer.poisons()) {
        transfer.fill(*this, poison_word);
    }
}

Memory::Memory(Memory&& other) noexcept
    : transfer_(std::exchange(other.transfer_, nullptr)),
      block_(std::move(other.block_)),
      uses_(other.uses_),
      writes_(other.writes_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(transfer_, other.transfer_);
    std::swap(block_, other.block_);
    std::swap(uses_, other.uses_);
    std::swap(writes_, other.writes_);
    return *this;
}

Memory::~Memory() {
    if (transfer_ != nullptr) {
        transfer_->retire(block_, uses_);
    }
}

template <class Value>
void to_words(ValueType type, std::span<const Value> values, std::byte* words) {
    const auto convert = [&]<class Element>(Element) {
        if constexpr (std::is_same_v<Element, Value>) {
            std::memcpy(words, values.data(), values.size_bytes());
        } else {
            std::ranges::transform(values, reinterpret_cast<Element*>(words),
                                   [](Value x) { return static_cast<Element>(x); });
        }
    };
    type == ValueType::real ? convert(float{}) : convert(std::int32_t{});
}

template <class Value>
void from_words(ValueType type, const std::byte* words, std::span<Value> values) {
    const auto convert = [&]<class Element>(Element) {
        if constexpr (std::is_same_v<Element, Value>) {
            std::memcpy(values.data(), words, values.size_bytes());
        } else {
            const auto* elements = reinterpret_cast<const Element*>(words);
            std::transform(elements, elements + values.size(), values.begin(),
                           [](Element x) { return static_cast<Value>(x); });
        }
    };
    type == ValueType::real ? convert(float{}) : convert(std::int32_t{});
}

std::vector<std::uint32_t> tensor_words(const Tensor& tensor) {
    std::vector<std::uint32_t> words(tensor.elements.size());
    to_words(tensor.type, std::span<const double>(tensor.elements),
             std::as_writable_bytes(std::span(words)).data());
    return words;
}

Transfer::Transfer(vulkan::Device& device, vulkan::Heap& heap, vulkan::PipelineLibrary& pipelines,
                   Options options)
    : device_(device),
      heap_(heap),
      pipelines_(pipelines),
      threads_(options.threads),
      poisons_(options.poison) {}

Transfer::~Transfer() {
    device_.settle(device_.latest());
}

void Transfer::use_queue(std::size_t queue, std::size_t of) {
    CAMBRIAN_EXPECT(queue < device_.queues() && queue < of);
    queue_ = queue;
    several_queues_ = of > 1;
}

void Transfer::fill(const Memory& memory, std::uint32_t word) {
    written_after_.add(memory.uses());
    fills_.push_back({{memory.address(), static_cast<std::uint64_t>(memory.bytes())}, word});
}

void Transfer::release() {
    static_cast<void>(submit({}));
    device_.wait_for_all();
    pieces_.clear();
    current_ = 0;
    lent_.clear();
    commands_.clear();
    readback_ = vulkan::Block();
}

void Transfer::next_piece() {
    const auto free = std::ranges::find_if(pieces_, [this](const Piece& piece) {
        return piece.last_use != pending_use && device_.done(piece.last_use);
    });
    if (free != pieces_.end()) {
        free->filled = 0;
        current_ = static_cast<std::size_t>(free - pieces_.begin());
        return;
    }
    if (pieces_.size() < max_pieces) {
        pieces_.push_back({heap_.allocate(vulkan::MemoryKind::upload, piece_bytes), 0, 0});
        current_ = pieces_.size() - 1;
        return;
    }
    device_.wait(submit({}));
    next_piece();
}

Transfer::Room Transfer::stage(std::uint64_t address, std::size_t words, bool joins) {
    if (pieces_.empty() || pieces_[current_].filled == piece_bytes) {
        next_piece();
    }
    Piece& piece = pieces_[current_];
    const auto left = static_cast<std::size_t>(piece_bytes - piece.filled) / word_bytes;
    const std::size_t count = std::min(left, words);
    const std::uint64_t bytes = count * word_bytes;
    const std::uint64_t from = piece.block.address() + static_cast<std::uint64_t>(piece.filled);
    std::byte* host = piece.block.host() + piece.filled;
    // Not across pieces: two buffers may lie side by side, and a copy is of one.
    if (joins && piece.filled > 0 && !copies_.empty() &&
        copies_.back().from + copies_.back().bytes == from &&
        copies_.back().to + copies_.back().bytes == address) {
        copies_.back().bytes += bytes;
    } else {
        copies_.push_back({from, address, bytes});
    }
    piece.filled += static_cast<std::int64_t>(bytes);
    piece.last_use = pending_use;
    return {host, count};
}

// One thread cannot keep up with the bus.
template <class Value>
void Transfer::write(ValueType type, std::span<const Value> values, std::byte* words) {
    constexpr std::size_t part = 65536;
    if (values.size() < 2 * part) {
        to_words(type, values, words);
        return;
    }
    const std::size_t parts = (values.size() + part - 1) / part;
    threads_.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t item, int) {
        const std::size_t begin = static_cast<std::size_t>(item) * part;
        to_words(type, values.subspan(begin, std::min(part, values.size() - begin)),
                 words + begin * word_bytes);
    });
}

template <class Value>
void Transfer::upload(const Memory& memory, std::int64_t first, ValueType type,
                      std::span<const Value> values) {
    std::uint64_t address = memory.address() + static_cast<std::uint64_t>(first) * word_bytes;
    written_after_.add(memory.uses());
    while (!values.empty()) {
        const Room room = stage(address, values.size(), address != memory.address());
        write(type, values.first(room.words), room.host);
        values = values.subspan(room.words);
        address += room.words * word_bytes;
    }
}

void Transfer::upload(const Memory& memory, std::span<const std::uint32_t> words) {
    upload(memory, 0, ValueType::integer,
           std::span(reinterpret_cast<const std::int32_t*>(words.data()), words.size()));
}

std::byte* Transfer::lend(const Memory& memory, std::int64_t first, std::int64_t words) {
    const std::int64_t bytes = words * static_cast<std::int64_t>(word_bytes);
    if (bytes < min_lent_bytes) return nullptr;
    const auto is_free = [this](const Lent& lent) {
        return lent.last_use != pending_use && device_.done(lent.last_use);
    };
    auto found = std::ranges::find_if(
        lent_, [&](const Lent& lent) { return lent.block.bytes() >= bytes && is_free(lent); });
    if (found == lent_.end()) {
        std::erase_if(lent_, is_free);  // Too small for what comes now.
        std::int64_t held = 0;
        for (const Lent& lent : lent_) held += lent.block.bytes();
        // Few different sizes: each may be a slab of its own.
        const auto wanted =
            static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
        if (held + wanted > max_lent_bytes) return nullptr;
        lent_.push_back({heap_.allocate(vulkan::MemoryKind::upload, wanted), 0});
        found = std::prev(lent_.end());
    }
    found->last_use = pending_use;
    written_after_.add(memory.uses());
    copies_.push_back({found->block.address(),
                       memory.address() + static_cast<std::uint64_t>(first) * word_bytes,
                       static_cast<std::uint64_t>(bytes)});
    return found->block.host();
}

Transfer::Commands& Transfer::free_commands() {
    const auto free = std::ranges::find_if(commands_, [this](const Commands& commands) {
        return commands.last_use != pending_use && device_.done(commands.last_use);
    });
    if (free != commands_.end()) {
        return *free;
    }
    return commands_.emplace_back(Commands{std::make_unique<vulkan::Recorder>(device_), 0, {}});
}

vulkan::Recorder& Transfer::record_pending() {
    Commands& commands = free_commands();
    commands.last_use = pending_use;
    vulkan::Recorder& recorder = *commands.recorder;
    recorder.begin();
    for (const Filling& filling : fills_) {
        recorder.fill(filling.range.address, filling.range.bytes, filling.word);
    }
    record_copies(commands);
    return recorder;
}

vulkan::Ticket Transfer::submit(std::span<const VkCommandBuffer> commands,
                                const vulkan::Tickets& after) {
    const bool writes = !fills_.empty() || !copies_.empty();
    if (writes && several_queues_ && !commands.empty()) {
        static_cast<void>(submit({}));
        return submit(commands, after);
    }
    std::vector<VkCommandBuffer> all;
    vulkan::Tickets before = flushes_;
    before.add(after);
    if (writes) {
        vulkan::Recorder& recorder = record_pending();
        recorder.end();
        all.push_back(recorder.commands());
        before.add(written_after_);
    }
    all.insert(all.end(), commands.begin(), commands.end());
    if (all.empty()) {
        // What was to be written is gone: pieces that were filled for it are free again.
        mark_pending(device_.last());
        return device_.last();
    }
    const vulkan::Ticket ticket = device_.submit(all, queue_, before);
    mark_pending(ticket);
    return ticket;
}

void Transfer::mark_pending(vulkan::Ticket ticket) {
    // Not before: what could not be submitted waits for the next submission.
    if (!fills_.empty() || !copies_.empty()) {
        flushes_.add(ticket);
        fills_.clear();
        copies_.clear();
        written_after_ = {};
    }
    const auto mark = [ticket](auto& user) {
        if (user.last_use == pending_use) {
            user.last_use = ticket;
        }
    };
    std::ranges::for_each(pieces_, mark);
    std::ranges::for_each(lent_, mark);
    std::ranges::for_each(commands_, mark);
}

template <class Value>
void Transfer::download(const Memory& memory, std::int64_t first, ValueType type,
                        std::span<Value> values) {
    std::uint64_t address = memory.address() + static_cast<std::uint64_t>(first) * word_bytes;
    const auto wanted = static_cast<std::int64_t>(values.size() * word_bytes);
    if (readback_.bytes() < std::min(wanted, readback_bytes)) {
        readback_ = vulkan::Block();
        readback_ = heap_.allocate(vulkan::MemoryKind::readback,
                                   wanted > readback_bytes / 4 ? readback_bytes : wanted);
    }
    const auto room = static_cast<std::size_t>(readback_.bytes()) / word_bytes;
    while (!values.empty()) {
        const std::size_t words = std::min(room, values.size());
        Commands& commands = free_commands();
        commands.recorder->begin();
        commands.recorder->copy(address, readback_.address(), words * word_bytes);
        commands.recorder->end();
        const VkCommandBuffer handle = commands.recorder->commands();
        const std::ptrdiff_t own = &commands - commands_.data();
        commands.last_use = pending_use;
        const vulkan::Ticket ticket = submit({&handle, 1}, memory.writes());
        commands_[static_cast<std::size_t>(own)].last_use = ticket;
        device_.wait(ticket);
        from_words(type, readback_.host(), values.first(words));
        values = values.subspan(words);
        address += words * word_bytes;
    }
}

void Transfer::drop_pending(const vulkan::Block& block) noexcept {
    std::erase_if(fills_, [&](const Filling& fill) { return inside(block, fill.range.address); });
    std::erase_if(copies_, [&](const Copy& copy) { return inside(block, copy.to); });
}

void Transfer::retire(const vulkan::Block& block, const vulkan::Tickets& uses) noexcept {
    drop_pending(block);
    device_.settle(uses);
    device_.settle(flushes_);
    if (!poisons_) {
        return;
    }
    try {
        const auto bytes = static_cast<std::uint64_t>(block.bytes());
        fills_.push_back({{block.address(), bytes}, poison_word});
        device_.wait(submit({}));
    } catch (const std::exception&) {
        // Of a device that fails nothing is read any more.
        drop_pending(block);
    }
}

template void Transfer::upload(const Memory&, std::int64_t, ValueType, std::span<const float>);
template void Transfer::upload(const Memory&, std::int64_t, ValueType, std::span<const double>);
template void Transfer::upload(const Memory&, std::int64_t, ValueType,
                               std::span<const std::int32_t>);
template void Transfer::download(const Memory&, std::int64_t, ValueType, std::span<float>);
template void Transfer::download(const Memory&, std::int64_t, ValueType, std::span<double>);
template void Transfer::download(const Memory&, std::int64_t, ValueType, std::span<std::int32_t>);
template void from_words(ValueType, const std::byte*, std::span<float>);
template void from_words(ValueType, const std::byte*, std::span<double>);
template void from_words(ValueType, const std::byte*, std::span<std::int32_t>);

}  // namespace cambrian::gpu
