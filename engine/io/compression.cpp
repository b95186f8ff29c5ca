#include "cambrian/engine/io/compression.hpp"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

namespace {

constexpr int level = 3;
/// Windows of this level are smaller; a frame that asks for more is hostile.
constexpr int largest_window_log = 23;
/// A byte of a frame stands for less than this many.
constexpr std::uint64_t largest_ratio = std::uint64_t{1} << 16U;
constexpr std::size_t first_step = std::size_t{1} << 16U;

struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

}  // namespace

std::vector<std::byte> compress(std::span<const std::byte> plain) {
    std::vector<std::byte> stored(ZSTD_compressBound(plain.size()));
    const std::size_t size =
        ZSTD_compress(stored.data(), stored.size(), plain.data(), plain.size(), level);
    CAMBRIAN_ASSERT(ZSTD_isError(size) == 0);
    stored.resize(size);
    return stored;
}

std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> stored,
                                                 std::uint64_t plain_length) {
    if (stored.empty() || plain_length / largest_ratio > stored.size()) return std::nullopt;
    const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
    CAMBRIAN_ASSERT(stream != nullptr);
    ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, largest_window_log);

    const auto limit = static_cast<std::size_t>(plain_length);
    std::vector<std::byte> plain(std::min(limit, first_step));
    ZSTD_inBuffer in{.src = stored.data(), .size = stored.size(), .pos = 0};
    std::size_t done = 0;
    for (;;) {
        ZSTD_outBuffer out{.dst = plain.data(), .size = plain.size(), .pos = done};
        const std::size_t before = in.pos;
        const std::size_t left = ZSTD_decompressStream(stream.get(), &out, &in);
        if (ZSTD_isError(left) != 0) return std::nullopt;
        const bool moved = out.pos > done || in.pos > before;
        done = out.pos;
        if (left == 0) break;
        if (done == plain.size() && done < limit) {
            plain.resize(std::min(limit, 2 * done));
        } else if (!moved) {
            return std::nullopt;  // the frame wants more input or more room than there is
        }
    }
    if (done != limit || in.pos != stored.size()) return std::nullopt;
    return plain;
}

}  // namespace cambrian
