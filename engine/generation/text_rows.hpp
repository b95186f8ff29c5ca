#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/generation/generator.hpp"

namespace cambrian {

/// What a network reads.
struct ReadingLimits {
    std::int64_t sequence = 0;    ///< Tokens of the longest text; 0: any.
    std::int64_t vocabulary = 0;  ///< Ids are below; 0: any that a float holds.
};

/// The texts of a generation on the host: what each has become, what it reads next, and whether it
/// goes on. Rows are networks, and for each its prompts.
class TextRows {
  public:
    /// Prompts, settings and observer must outlive it. Throws ConfigError and InputError, see
    /// Generator::run.
    TextRows(std::span<const Prompt> prompts, std::int64_t networks, const ReadingLimits& limits,
             const GenerationSettings& settings, const TokenObserver& observer);

    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] bool active() const;
    /// Tokens of the longest text.
    [[nodiscard]] std::int64_t longest() const;
    /// The largest position that is read next.
    [[nodiscard]] std::int64_t furthest() const;

    /// Of each row the token that is read next, and its position.
    [[nodiscard]] std::vector<float> next_tokens() const;
    [[nodiscard]] std::vector<float> positions() const;
    /// The first `time` tokens of all rows, zeros after their ends.
    [[nodiscard]] std::vector<float> tokens(std::int64_t time) const;
    /// Tokens before the last one of each row.
    [[nodiscard]] std::vector<float> counts_before_last() const;
    /// The last tokens are read next: those before them are known.
    void skip_to_last();

    /// After a step: rows that have read all they have get a token by their logits [rows,
    /// vocabulary]. Returns how many.
    std::int64_t advance(std::span<const float> logits);

    [[nodiscard]] std::vector<GeneratedText> take();

  private:
    struct Row {
        std::int64_t network = 0;
        std::size_t prompt = 0;
        std::vector<std::int64_t> tokens;
        std::size_t given = 0;     ///< Tokens of the prompt.
        std::size_t position = 0;  ///< Of the token that is read next.
        bool active = true;
        Ending ending = Ending::length;
    };
    void add_token(Row& row, std::int64_t id) const;
    /// The same, with ids that are no tokens impossible.
    [[nodiscard]] std::span<const float> of_known(std::span<const float> logits);

    std::span<const Prompt> prompts_;
    std::int64_t longest_;  ///< Tokens of a text; 0: any.
    const GenerationSettings& settings_;
    const TokenObserver& observer_;
    std::vector<Row> rows_;
    std::vector<float> known_logits_;  ///< Of the row that is chosen for.
};

}  // namespace cambrian
