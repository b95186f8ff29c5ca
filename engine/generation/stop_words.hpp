#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cambrian {

/// Finds the first of some words to end in a text that comes piece by piece, wherever pieces begin
/// and end.
class StopWords {
  public:
    /// Throws ConfigError for an empty word, which every text has.
    explicit StopWords(std::vector<std::string> words);

    /// What of the text so far is surely before a word, and was not given yet; the beginning of a
    /// word at its end is held back. Nothing once a word was found.
    [[nodiscard]] std::string add(std::string_view piece);
    /// What is held back, at the end of the text.
    [[nodiscard]] std::string finish();
    [[nodiscard]] bool found() const { return found_; }

  private:
    std::vector<std::string> words_;
    std::string held_;
    bool found_ = false;
};

}  // namespace cambrian
