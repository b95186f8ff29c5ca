#include "cambrian/engine/generation/stop_words.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

/// Characters at the end of a text that a word begins with, but not all of the word.
std::size_t begun(std::string_view text, std::string_view word) {
    for (std::size_t length = std::min(text.size(), word.size() - 1); length > 0; --length)
        if (text.ends_with(word.substr(0, length))) return length;
    return 0;
}

}  // namespace

StopWords::StopWords(std::vector<std::string> words) : words_(std::move(words)) {
    if (std::ranges::any_of(words_, &std::string::empty))
        throw ConfigError("a stop word is empty (every text has it) leave it out");
}

std::string StopWords::add(std::string_view piece) {
    if (found_) return {};
    held_ += piece;
    // The word that ends first, of several the longest: one that ends later may not be here yet.
    std::size_t end = std::string::npos;
    std::size_t begin = 0;
    std::size_t kept = 0;
    for (const std::string& word : words_) {
        kept = std::max(kept, begun(held_, word));
        const std::size_t at = held_.find(word);
        if (at == std::string::npos) continue;
        if (std::pair(at + word.size(), at) < std::pair(end, begin)) {
            end = at + word.size();
            begin = at;
        }
    }
    found_ = end != std::string::npos;
    std::string given = held_.substr(0, found_ ? begin : held_.size() - kept);
    held_.erase(0, found_ ? held_.size() : given.size());
    return given;
}

std::string StopWords::finish() {
    return std::exchange(held_, {});
}

}  // namespace cambrian
