#include "cambrian/engine/io/compression.hpp"

#include <zstd.h>

#include <zlib.h>
#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

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

namespace {

constexpr int gzip_only = 16 + MAX_WBITS;  // As inflateInit2 wants it.
constexpr std::size_t step = std::size_t{1} << 18U;

/// zlib's inflater, ended with the object.
class Inflater {
  public:
    explicit Inflater(std::span<const std::byte> bytes) : rest_(bytes) {
        const int opened = inflateInit2(&stream_, gzip_only);
        CAMBRIAN_ASSERT(opened == Z_OK);
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    /// Fills a part of the output; fewer bytes come at the end. False: the file is damaged.
    [[nodiscard]] bool read(std::span<std::byte> to, std::size_t& got) {
        got = 0;
        while (got < to.size() && !done_) {
            feed();
            stream_.next_out = reinterpret_cast<Bytef*>(to.data() + got);
            stream_.avail_out = static_cast<uInt>(std::min(to.size() - got, step));
            const uInt before = stream_.avail_out;
            const int result = inflate(&stream_, Z_NO_FLUSH);
            got += before - stream_.avail_out;
            if (result != Z_OK && result != Z_STREAM_END) return false;
            if (result != Z_STREAM_END) continue;
            done_ = rest_.empty() && stream_.avail_in == 0;
            // What follows a member can only be another one.
            if (!done_ && inflateReset(&stream_) != Z_OK) return false;
        }
        return true;
    }
    /// Whether the file ended where its last member did.
    [[nodiscard]] bool at_end() const { return done_; }

  private:
    void feed() {
        if (stream_.avail_in != 0) return;
        const std::size_t count =
            std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
        // zlib only reads what it is given, but its type does not say so.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
        stream_.avail_in = static_cast<uInt>(count);
        rest_ = rest_.subspan(count);
    }

    z_stream stream_{};
    std::span<const std::byte> rest_;
    bool done_ = false;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::uint64_t most,
                              std::string_view source) {
    Inflater inflater(bytes);
    std::vector<std::byte> plain;
    while (plain.size() < most) {
        const std::size_t old = plain.size();
        plain.resize(old + static_cast<std::size_t>(
                               std::min<std::uint64_t>(std::max(step, old), most - old)));
        std::size_t got = 0;
        const bool sound = inflater.read(std::span(plain).subspan(old), got);
        const bool ended = old + got < plain.size();
        if (!sound || (ended && !inflater.at_end()))
            throw InputError(
                std::string(source) +
                " cannot be unpacked (its gzip stream is damaged or goes on behind its "
                "end) get the file again");
        plain.resize(old + got);
        if (ended) break;
    }
    return plain;
}

}  // namespace cambrian
