#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/memory.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

class Transfer;

/// Device memory that no command touches any more when it ends: it waits for its last use.
class Memory {
  public:
    Memory() = default;
    /// Contents are undefined. Throws as vulkan::Heap::allocate.
    Memory(Transfer& transfer, std::int64_t bytes);
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();

    [[nodiscard]] std::uint64_t address() const { return block_.address(); }
    [[nodiscard]] std::int64_t bytes() const { return block_.bytes(); }
    void read_by(vulkan::Ticket ticket) { uses_.add(ticket); }
    void written_by(vulkan::Ticket ticket) {
        uses_.add(ticket);
        writes_.add(ticket);
    }
    /// What a submission that writes it comes after, and one that reads it. What transfers write is
    /// in neither: Transfer orders that.
    [[nodiscard]] const vulkan::Tickets& uses() const { return uses_; }
    [[nodiscard]] const vulkan::Tickets& writes() const { return writes_; }

  private:
    Transfer* transfer_ = nullptr;
    vulkan::Block block_;
    vulkan::Tickets uses_;  ///< Writes among them.
    vulkan::Tickets writes_;
};

/// The words of values of a type, and back. Reals are cut to single precision, everything else to
/// 32-bit integers.
template <class Value>
void to_words(ValueType type, std::span<const Value> values, std::byte* words);
template <class Value>
void from_words(ValueType type, const std::byte* words, std::span<Value> values);
[[nodiscard]] std::vector<std::uint32_t> tensor_words(const Tensor& tensor);

/// Brings words to the device and back. Writes are gathered in staging memory and go with the next
/// submission, so that uploads, a program and its readback are one (two, with several queues in
/// use); writes of neighbouring words become one copy. Staging is a ring of pieces that are used
/// again when the device has read them.
///
/// Submissions go to the queue that is in use. Those of other queues may run beside them, but each
/// comes after all that was uploaded before it.
class Transfer {
  public:
    struct Options {
        int threads = 1;  ///< That write large uploads to staging memory together.
        bool poison =
            false;  ///< New and freed device memory is filled with poison (host_memory.hpp).
    };
    Transfer(vulkan::Device& device, vulkan::Heap& heap, vulkan::PipelineLibrary& pipelines,
             Options options);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// The threads of this rank.
    [[nodiscard]] ThreadPool& threads() { return threads_; }

    /// Fills with zeros, before all uploads of the next submission.
    void clear(const Memory& memory) { fill(memory, 0); }
    void fill(const Memory& memory, std::uint32_t word);
    /// Writes words from position `first` on.
    template <class Value>
    void upload(const Memory& memory, std::int64_t first, ValueType type,
                std::span<const Value> values);
    void upload(const Memory& memory, std::span<const std::uint32_t> words);
    /// Staging memory for an upload of so many words that the caller writes before the next
    /// submission; null where they are few, or too much waits for the device.
    [[nodiscard]] std::byte* lend(const Memory& memory, std::int64_t first, std::int64_t words);

    /// Submissions from now on go to this queue of the device, one of so many that are in use.
    void use_queue(std::size_t queue, std::size_t of);
    [[nodiscard]] std::size_t queue() const { return queue_; }
    /// Submits what is pending, then the commands, in one submission; in two where several queues
    /// are in use, since others need not wait for the commands.
    /// @param after what the commands come after, whatever its queue.
    vulkan::Ticket submit(std::span<const VkCommandBuffer> commands,
                          const vulkan::Tickets& after = {});
    /// Submits what is pending, copies words back and waits for them.
    template <class Value>
    void download(const Memory& memory, std::int64_t first, ValueType type,
                  std::span<Value> values);

    /// Submits what is pending, waits for everything and gives staging memory back.
    void release();

    /// What lives of a backend.
    struct Live {
        std::int64_t buffers = 0;
        std::int64_t programs = 0;
    };
    [[nodiscard]] Live& live() { return live_; }
    [[nodiscard]] const Live& live() const { return live_; }
    [[nodiscard]] bool poisons() const { return poisons_; }
    [[nodiscard]] vulkan::Device& device() const { return device_; }
    [[nodiscard]] vulkan::Heap& heap() const { return heap_; }

  private:
    friend class Memory;
    using Copy = vulkan::Copy;
    /// A part of the staging ring, filled from the front.
    struct Piece {
        vulkan::Block block;
        std::int64_t filled = 0;
        vulkan::Ticket last_use = 0;  ///< 0: free; pending_use: not submitted yet.
    };
    /// Of its own for one upload.
    struct Lent {
        vulkan::Block block;
        vulkan::Ticket last_use = 0;
    };
    struct Commands {
        std::unique_ptr<vulkan::Recorder> recorder;
        vulkan::Ticket last_use = 0;
        vulkan::Block table;  ///< Of copies that a kernel makes.
    };
    /// Staging memory for words.
    struct Room {
        std::byte* host = nullptr;
        std::size_t words = 0;
    };

    /// Room for up to `words` words that will be copied to `address`.
    /// @param joins whether the words before may be of the same memory, and one copy does for both.
    [[nodiscard]] Room stage(std::uint64_t address, std::size_t words, bool joins);
    void next_piece();
    template <class Value>
    void write(ValueType type, std::span<const Value> values, std::byte* words);
    [[nodiscard]] vulkan::Recorder& record_pending();
    void record_copies(Commands& commands);
    void record_small_copies(Commands& commands, std::span<const Copy> copies);
    [[nodiscard]] Commands& free_commands();
    /// Whoever was told to wait for the next submission now waits for this one.
    void mark_pending(vulkan::Ticket ticket);
    /// Waits for the last use and drops what is pending for a block that ends.
    void retire(const vulkan::Block& block, const vulkan::Tickets& uses) noexcept;
    void drop_pending(const vulkan::Block& block) noexcept;

    vulkan::Device& device_;
    vulkan::Heap& heap_;
    vulkan::PipelineLibrary& pipelines_;
    ThreadPool threads_;
    bool poisons_;
    Live live_;
    std::vector<Piece> pieces_;
    std::size_t current_ = 0;
    std::vector<Lent> lent_;
    std::vector<Commands> commands_;
    struct Filling {
        vulkan::Range range;
        std::uint32_t word = 0;
    };
    std::vector<Filling> fills_;
    std::vector<Copy> copies_;
    vulkan::Block readback_;
    std::size_t queue_ = 0;
    bool several_queues_ = false;    ///< In use by turns.
    vulkan::Tickets written_after_;  ///< What writes that are pending come after.
    vulkan::Tickets flushes_;        ///< Submissions that wrote what was pending.
};

}  // namespace cambrian::gpu
