#pragma once

#include <array>
#include <cstddef>

namespace cambrian::distributed {

/// In how many parts a shard is made and evaluated, so that a device computes one while the host
/// makes the next. More parts hide more of the host's work, and each leaves more of a wide device
/// idle: which weighs more is measured, again from time to time, by turns with what is best so
/// far, for networks grow and live longer from shard to shard. Results do not depend on it.
class PartChoice {
  public:
    static constexpr std::size_t max_parts = 16;

    struct Settings {
        std::size_t min_births = 4096;  ///< Of a part: fewer leave a device idle, whatever else.
        /// Of a part before anything is measured, of which there are four at most; 0: all births.
        std::size_t first_births = 0;
    };
    explicit PartChoice(const Settings& settings) : settings_(settings) {}

    /// For the next shard.
    [[nodiscard]] std::size_t parts(std::size_t births) const;
    /// What a shard took in the parts that were chosen for it.
    void note(std::size_t births, double seconds);

  private:
    static constexpr std::size_t pairs = 5;

    /// What there is to begin with.
    [[nodiscard]] std::size_t guess(std::size_t births) const;
    void decide();
    [[nodiscard]] bool turn_of_other() const { return trying_ && shards_ % 2 == 1; }

    Settings settings_;
    std::size_t parts_ = 0;  ///< The best so far; 0: nothing was measured.
    std::size_t other_ = 0;  ///< What is tried, or will be next.
    bool trying_ = false;
    std::size_t shards_ = 0;              ///< Of a try, or since the last one.
    std::size_t patience_ = 2;            ///< Shards before the next try: the first ones compile.
    double of_best_ = 0.0;                ///< Seconds a birth of a pair's first shard.
    std::array<double, pairs> ratios_{};  ///< How much longer the other took.
};

}  // namespace cambrian::distributed
