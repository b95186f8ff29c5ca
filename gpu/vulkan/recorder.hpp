#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

class Device;
class Pipeline;

/// The arguments of every kernel: the one push-constant block of the one pipeline layout.
struct Push {
    static constexpr std::size_t addresses = 8;
    static constexpr std::size_t words = 16;
    /// The recorder writes the first workgroup of a split dispatch here.
    static constexpr std::size_t first_group = words - 1;
    std::array<std::uint64_t, addresses> address{};
    std::array<std::uint32_t, words> word{};

    /// An address as two words, where those above do not suffice: the low one, then the high one.
    void set_address(std::size_t first_word, std::uint64_t value) {
        word[first_word] = static_cast<std::uint32_t>(value);
        word[first_word + 1] = static_cast<std::uint32_t>(value >> 32);
    }
};
static_assert(sizeof(Push) == 128);

/// Device memory a command reads or writes.
struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Bytes from one address to another.
struct Copy {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t bytes = 0;
};

/// Fills one command buffer. A barrier is put before a command that touches what an earlier one
/// wrote, or writes what an earlier one read, since the last barrier; others may overlap.
class Recorder {
  public:
    explicit Recorder(Device& device);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Forgets what was recorded.
    void begin();
    /// @param groups workgroups along one axis, above 0 and below 2^32: split where the device's
    ///     limit is lower. The shader adds word[Push::first_group] to gl_WorkGroupID.x.
    void dispatch(const Pipeline& pipeline, const Push& push, std::uint64_t groups,
                  std::span<const Range> reads, std::span<const Range> writes);
    /// Bytes between two addresses of this device's memory, which do not overlap.
    void copy(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
    /// Many copies, of which none writes what another one reads or writes; ordered against other
    /// commands by all they reach over.
    void copy(std::span<const Copy> copies);
    /// Fills whole words.
    void fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word);
    /// A profile tells of what follows with the name of this op after that of each kernel. Returns
    /// the name before; the text must outlive its use.
    std::string_view name_op(std::string_view op) { return std::exchange(op_, op); }
    /// What follows waits for all before: for memory that kernels did not name, such as atomics.
    void barrier();
    /// Makes everything visible to the host and ends the command buffer.
    void end();

    [[nodiscard]] VkCommandBuffer commands() const { return commands_; }
    /// Of what was recorded since begin().
    [[nodiscard]] std::int64_t dispatches() const { return dispatches_; }
    /// Barriers between commands, of what was recorded since begin().
    [[nodiscard]] std::int64_t barriers() const { return barriers_; }

  private:
    struct Touched {
        std::vector<Range> read;
        std::vector<Range> written;
    };
    void order(std::span<const Range> reads, std::span<const Range> writes);
    /// Around a command: its times, with a profile on.
    void before(std::string_view kernel, std::uint64_t bytes);
    void after();

    Device& device_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkPipeline bound_ = VK_NULL_HANDLE;
    Touched touched_;
    std::string_view op_;
    std::int64_t dispatches_ = 0;
    std::int64_t barriers_ = 0;
};

}  // namespace cambrian::vulkan
