#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/generation/sampling.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian {

/// A text to continue, as tokens.
struct Prompt {
    std::vector<std::int64_t> tokens;  ///< At least one.
    std::uint64_t number = 0;          ///< Of its random choices: see SamplingPlace.
};

struct GenerationSettings {
    SamplingSettings sampling{};
    std::uint64_t seed = 1;
    std::int64_t max_tokens = 128;           ///< At most so many after a prompt.
    std::vector<std::int64_t> end_tokens{};  ///< After one of them a text is done.
    /// Which ids are tokens: others are never chosen. Networks often have more outputs than their
    /// tokenizer has tokens. Empty: all that the network tells of.
    std::vector<bool> known_tokens{};
    /// Whether keys and values are kept from token to token. Without, each token is a pass over all
    /// before it: the same texts, for comparison.
    bool cache = true;
    std::int64_t block = 64;  ///< Of the first cache, at least 2; see Generator::capacity.
};

/// Why a text ended.
enum class Ending : std::uint8_t {
    token,    ///< With one of the end tokens, which is its last one.
    stopped,  ///< The caller said so.
    length,   ///< It has max_tokens.
    context,  ///< The network takes no longer sequence.
};
[[nodiscard]] std::string_view name(Ending ending);

struct GeneratedText {
    std::vector<std::int64_t> tokens;  ///< After the prompt.
    Ending ending = Ending::length;
};

/// A step of all prompts at once.
struct StepTime {
    std::int64_t position = 0;  ///< The furthest of the tokens it read.
    std::int64_t tokens = 0;    ///< That it made.
    double seconds = 0.0;       ///< With the choice of tokens, without programs and larger caches.
};

struct GenerationTimes {
    double prefill_seconds = 0.0;  ///< The pass over the prompts.
    double prepare_seconds = 0.0;  ///< Programs and caches.
    std::vector<StepTime> steps;
};

/// A token of a text, as it is made.
struct NewToken {
    std::int64_t network = 0;
    std::size_t prompt = 0;  ///< Index among the prompts of the call.
    std::int64_t id = 0;
};
/// Is told of each token in the order of networks and prompts; says whether that text goes on.
using TokenObserver = std::function<bool(const NewToken&)>;

/// Continues texts by networks of one structure that read tokens (one number a step) and answer
/// with a logit for each. All but the last token of the prompts become keys and values in one pass;
/// then each step is one token of every text. What a text becomes depends on its network, its
/// prompt and the seed alone: not on the other texts, the networks beside it or the size of caches
/// (under fast math, but for ties that rounding decides). Under strict math a run with a cache and
/// one without are equal in every bit for texts that no window of attention cuts.
///
/// Caches begin with `block` positions, on a device with as many as texts may become, up to 1,024,
/// and grow as texts do: to twice as many, then by 128, then by an eighth. Networks with other
/// states (recurrent layers, backward links) read prompts step by step.
class Generator {
  public:
    /// @param weights of each network, in the order of Network::weights().
    /// The backend must outlive it. Throws InputError for networks that do not read tokens, and
    /// DeviceError where memory is short.
    Generator(Backend& backend, const Network& network,
              std::span<const std::vector<float>> weights);
    ~Generator();
    Generator(Generator&&) noexcept;
    Generator& operator=(Generator&&) noexcept;

    /// Texts in the order of networks, and for each in the order of prompts. Throws ConfigError for
    /// settings, InputError for prompts that are empty, too long or of ids that the network does
    /// not know and for what it cannot answer, OutOfMemoryError where a cache has no room.
    [[nodiscard]] std::vector<GeneratedText> run(std::span<const Prompt> prompts,
                                                 const GenerationSettings& settings,
                                                 const TokenObserver& observer = {});
    /// Of the last run.
    [[nodiscard]] const GenerationTimes& times() const;
    /// Positions that a cache has which is to hold so many; `longest` (0: any) bounds it.
    [[nodiscard]] static std::int64_t capacity(std::int64_t positions, std::int64_t block,
                                               std::int64_t longest);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace cambrian
