#include "cambrian/gpu/vulkan/memory.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::vulkan {
namespace {

using ::testing::HasSubstr;

class HeapTest : public testing::Test {
  protected:
    static constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
    Device device_{test::test_device_options()};
};

TEST_F(HeapTest, RoundsBlocksUpAndCountsThem) {
    Heap heap(device_, 0);
    const Block one = heap.allocate(MemoryKind::device, 1);
    EXPECT_EQ(one.bytes(), 256);
    EXPECT_EQ(one.address() % 256, 0U);
    EXPECT_EQ(one.host(), nullptr);
    EXPECT_EQ(heap.used(), 256);
    {
        const Block two = heap.allocate(MemoryKind::device, 1000);
        EXPECT_EQ(heap.used(), 256 + 1024);
        EXPECT_NE(one.address(), two.address());
    }
    EXPECT_EQ(heap.used(), 256);
    EXPECT_EQ(heap.driver_allocations(), 1);
}

TEST_F(HeapTest, GivesAFreedBlockAgain) {
    Heap heap(device_, 0);
    std::optional<Block> first = heap.allocate(MemoryKind::device, 4096);
    const Block after = heap.allocate(MemoryKind::device, 4096);
    const std::uint64_t address = first->address();
    first.reset();
    EXPECT_EQ(heap.allocate(MemoryKind::device, 4096).address(), address);
    EXPECT_EQ(heap.driver_allocations(), 1);
}

TEST_F(HeapTest, PrefersTheSmallestGapThatFits) {
    Heap heap(device_, 0);
    std::optional<Block> large = heap.allocate(MemoryKind::device, 64 * 256);
    const Block wall = heap.allocate(MemoryKind::device, 256);
    std::optional<Block> small = heap.allocate(MemoryKind::device, 2 * 256);
    const Block last = heap.allocate(MemoryKind::device, 256);
    const std::uint64_t address = small->address();
    large.reset();
    small.reset();
    EXPECT_EQ(heap.allocate(MemoryKind::device, 256).address(), address);
}

TEST_F(HeapTest, MergesNeighboursInEveryOrder) {
    for (const std::vector<std::size_t>& order :
         std::vector<std::vector<std::size_t>>{{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
        Heap heap(device_, 0);
        std::vector<std::optional<Block>> parts(3);
        for (auto& part : parts) part = heap.allocate(MemoryKind::device, mebibyte);
        const Block wall = heap.allocate(MemoryKind::device, mebibyte);
        const std::uint64_t address = parts[0]->address();
        for (std::size_t index : order) parts[index].reset();
        EXPECT_EQ(heap.allocate(MemoryKind::device, 3 * mebibyte).address(), address);
    }
}

TEST_F(HeapTest, LargeRequestsGetTheirOwnMemoryAndTrimReturnsIt) {
    Heap heap(device_, 0);
    std::optional<Block> small = heap.allocate(MemoryKind::device, 256);
    std::optional<Block> large = heap.allocate(MemoryKind::device, 300 * mebibyte);
    EXPECT_EQ(heap.driver_allocations(), 2);
    large.reset();
    heap.trim();
    large = heap.allocate(MemoryKind::device, 300 * mebibyte);
    EXPECT_EQ(heap.driver_allocations(), 3);
    // A slab that is in use stays.
    heap.trim();
    const Block more = heap.allocate(MemoryKind::device, 256);
    EXPECT_EQ(heap.driver_allocations(), 3);
}

TEST_F(HeapTest, RefusesWhatPassesTheLimitAndStaysAsItWas) {
    Heap heap(device_, mebibyte);
    const Block half = heap.allocate(MemoryKind::device, mebibyte / 2);
    try {
        const Block more = heap.allocate(MemoryKind::device, mebibyte);
        FAIL() << "passed the limit";
    } catch (const OutOfMemoryError& error) {
        EXPECT_THAT(error.what(), HasSubstr("524288 of the limit of 1048576 bytes are in use"));
    }
    EXPECT_EQ(heap.used(), mebibyte / 2);
    const Block rest = heap.allocate(MemoryKind::device, mebibyte / 2);
    EXPECT_EQ(heap.used(), mebibyte);
    // Memory for transfers does not count.
    const Block upload = heap.allocate(MemoryKind::upload, mebibyte);
    EXPECT_EQ(heap.used(), mebibyte);
}

TEST_F(HeapTest, SaysSoWhenTheDriverHasNoMore) {
    Heap heap(device_, 0);
    try {
        const Block huge = heap.allocate(MemoryKind::device, std::int64_t{1} << 50);
        FAIL() << "a petabyte";
    } catch (const DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("cannot allocate 1125899906842624 bytes"));
    }
    EXPECT_EQ(heap.used(), 0);
    EXPECT_THROW(static_cast<void>(heap.allocate(MemoryKind::device, INT64_MAX)), DeviceError);
}

TEST_F(HeapTest, BlocksMove) {
    Heap heap(device_, 0);
    Block first = heap.allocate(MemoryKind::device, 256);
    const std::uint64_t address = first.address();
    Block second(std::move(first));
    EXPECT_EQ(second.address(), address);
    second = heap.allocate(MemoryKind::device, 512);
    EXPECT_EQ(heap.used(), 512);
}

TEST_F(HeapTest, TransferMemoryIsSeenByTheHost) {
    Heap heap(device_, 0);
    const Block upload = heap.allocate(MemoryKind::upload, 256);
    const Block readback = heap.allocate(MemoryKind::readback, 256);
    ASSERT_NE(upload.host(), nullptr);
    ASSERT_NE(readback.host(), nullptr);
    upload.host()[255] = std::byte{7};
    EXPECT_EQ(upload.host()[255], std::byte{7});
}

}  // namespace
}  // namespace cambrian::vulkan
