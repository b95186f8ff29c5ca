#include "cambrian/engine/core/hash.hpp"

#include <xxhash.h>

#include <bit>
#include <charconv>
#include <new>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

template <class Word>
void append_little_endian(std::string& bytes, Word word) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
        bytes.push_back(static_cast<char>((word >> (8 * i)) & 0xFFU));
    }
}

Hash128 digest(const void* data, std::size_t size) {
    const XXH128_hash_t hash = XXH3_128bits(data, size);
    return {hash.high64, hash.low64};
}

}  // namespace

std::string Hash128::hex() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(32, '0');
    for (std::size_t i = 0; i < 16; ++i) {
        text[15 - i] = digits[(high >> (4 * i)) & 15U];
        text[31 - i] = digits[(low >> (4 * i)) & 15U];
    }
    return text;
}

Hash128 hash_from_hex(std::string_view text) {
    constexpr std::size_t digits = 16;
    Hash128 hash;
    const auto half = [&](std::size_t first, std::uint64_t& value) {
        const char* begin = text.data() + first;
        const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
        return error == std::errc{} && end == begin + digits;
    };
    if (text.size() != 2 * digits || !half(0, hash.high) || !half(digits, hash.low))
        throw InputError("a hash or an id has 32 hexadecimal digits");
    return hash;
}

Hash128 hash128(std::span<const std::byte> bytes) {
    return digest(bytes.data(), bytes.size());
}

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hasher& Hasher::add(std::uint64_t value) {
    append_little_endian(bytes_, value);
    return *this;
}

Hasher& Hasher::add(float value) {
    append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
    return *this;
}

Hasher& Hasher::add(double value) {
    append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
    return *this;
}

Hasher& Hasher::add(Hash128 value) {
    return add(value.high).add(value.low);
}

Hasher& Hasher::add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
    return *this;
}

Hasher& Hasher::add(std::span<const float> values) {
    add(static_cast<std::uint64_t>(values.size()));
    if constexpr (std::endian::native == std::endian::little) {
        bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    } else {
        for (const float value : values) {
            add(value);
        }
    }
    return *this;
}

Hash128 Hasher::hash128() const {
    return digest(bytes_.data(), bytes_.size());
}

std::uint64_t Hasher::hash64() const {
    return XXH3_64bits(bytes_.data(), bytes_.size());
}

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
RunningHash::RunningHash(RunningHash&&) noexcept = default;
RunningHash& RunningHash::operator=(RunningHash&&) noexcept = default;

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
