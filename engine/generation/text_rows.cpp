#include "cambrian/engine/generation/text_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

/// Ids reach a network as floats, which hold whole numbers up to here.
constexpr std::int64_t ids = std::int64_t{1} << 24U;

void check(const GenerationSettings& settings) {
    check(settings.sampling);
    if (settings.max_tokens < 0)
        throw ConfigError(fmt::format("max_tokens is {} (a text cannot shrink) use 0 or more",
                                      settings.max_tokens));
    // Prompts are padded to a block: with one position some would be attention of one query, which
    // has a kernel of its own, and a text would depend on those beside it.
    if (settings.block < 2 || settings.block > largest_count)
        throw ConfigError(fmt::format("block is {} (a cache has 2 to {} positions) use 64",
                                      settings.block, largest_count));
}

/// @param number of the prompt, from 1 as in the texts
void check(const Prompt& prompt, std::size_t number, const ReadingLimits& limits) {
    if (prompt.tokens.empty())
        throw InputError(fmt::format(
            "prompt {} has no tokens (a network continues what it has read) give it a text",
            number));
    const std::int64_t end = limits.vocabulary > 0 ? std::min(limits.vocabulary, ids) : ids;
    for (const std::int64_t id : prompt.tokens)
        if (id < 0 || id >= end)
            throw InputError(
                fmt::format("prompt {} has the token {} (ids are 0 to {}) use the "
                            "tokenizer of the network",
                            number, id, end - 1));
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    if (limits.sequence > 0 && length > limits.sequence)
        throw InputError(
            fmt::format("prompt {} has {} tokens (the network takes sequences of {}) shorten it",
                        number, length, limits.sequence));
}

}  // namespace

TextRows::TextRows(std::span<const Prompt> prompts, std::int64_t networks,
                   const ReadingLimits& limits, const GenerationSettings& settings,
                   const TokenObserver& observer)
    : prompts_(prompts), longest_(limits.sequence), settings_(settings), observer_(observer) {
    check(settings);
    for (std::size_t i = 0; i < prompts.size(); ++i) check(prompts[i], i + 1, limits);
    for (std::int64_t network = 0; network < networks; ++network)
        for (std::size_t i = 0; i < prompts.size(); ++i)
            rows_.push_back({.network = network,
                             .prompt = i,
                             .tokens = prompts[i].tokens,
                             .given = prompts[i].tokens.size(),
                             .active = settings.max_tokens > 0});
}

bool TextRows::active() const {
    return std::ranges::any_of(rows_, &Row::active);
}

std::int64_t TextRows::longest() const {
    std::size_t longest = 0;
    for (const Row& row : rows_) longest = std::max(longest, row.tokens.size());
    return static_cast<std::int64_t>(longest);
}

std::int64_t TextRows::furthest() const {
    std::size_t furthest = 0;
    for (const Row& row : rows_) furthest = std::max(furthest, row.position);
    return static_cast<std::int64_t>(furthest);
}

std::vector<float> TextRows::next_tokens() const {
    std::vector<float> result;
    for (const Row& row : rows_) result.push_back(static_cast<float>(row.tokens[row.position]));
    return result;
}

std::vector<float> TextRows::positions() const {
    std::vector<float> result;
    for (const Row& row : rows_) result.push_back(static_cast<float>(row.position));
    return result;
}

std::vector<float> TextRows::tokens(std::int64_t time) const {
    const auto width = static_cast<std::size_t>(time);
    std::vector<float> result(rows_.size() * width, 0.0F);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        const std::vector<std::int64_t>& own = rows_[row].tokens;
        for (std::size_t i = 0; i < std::min(width, own.size()); ++i)
            result[row * width + i] = static_cast<float>(own[i]);
    }
    return result;
}

std::vector<float> TextRows::counts_before_last() const {
    std::vector<float> result;
    for (const Row& row : rows_) result.push_back(static_cast<float>(row.tokens.size() - 1));
    return result;
}

void TextRows::skip_to_last() {
    for (Row& row : rows_)
        if (row.active) row.position = row.tokens.size() - 1;
}

void TextRows::add_token(Row& row, std::int64_t id) const {
    const auto end = [&row](Ending ending) {
        row.active = false;
        row.ending = ending;
    };
    row.tokens.push_back(id);
    const bool goes_on =
        !observer_ || observer_({.network = row.network, .prompt = row.prompt, .id = id});
    const auto made = static_cast<std::int64_t>(row.tokens.size() - row.given);
    if (std::ranges::find(settings_.end_tokens, id) != settings_.end_tokens.end())
        end(Ending::token);
    else if (!goes_on)
        end(Ending::stopped);
    else if (made >= settings_.max_tokens)
        end(Ending::length);
    else if (longest_ > 0 && static_cast<std::int64_t>(row.tokens.size()) > longest_)
        end(Ending::context);
}

std::span<const float> TextRows::of_known(std::span<const float> logits) {
    const std::vector<bool>& known = settings_.known_tokens;
    if (known.empty()) return logits;
    known_logits_.assign(logits.begin(), logits.end());
    for (std::size_t id = 0; id < known_logits_.size(); ++id)
        if (id >= known.size() || !known[id])
            known_logits_[id] = -std::numeric_limits<float>::infinity();
    return known_logits_;
}

std::int64_t TextRows::advance(std::span<const float> logits) {
    const std::size_t vocabulary = logits.size() / rows_.size();
    std::int64_t made = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        Row& row = rows_[i];
        if (!row.active) continue;
        if (row.position + 1 == row.tokens.size()) {
            const SamplingPlace place{.seed = settings_.seed,
                                      .prompt = prompts_[row.prompt].number,
                                      .position = row.tokens.size()};
            add_token(row, sample_token(of_known(logits.subspan(i * vocabulary, vocabulary)),
                                        row.tokens, settings_.sampling, place));
            ++made;
        }
        // One that is done stays where it is: what it reads again changes nothing.
        if (row.active) ++row.position;
    }
    return made;
}

std::vector<GeneratedText> TextRows::take() {
    std::vector<GeneratedText> result;
    for (const Row& row : rows_)
        result.push_back({.tokens = {row.tokens.begin() + static_cast<std::ptrdiff_t>(row.given),
                                     row.tokens.end()},
                          .ending = row.ending});
    return result;
}

}  // namespace cambrian
