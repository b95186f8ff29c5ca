#include "cambrian/engine/io/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
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
