#pragma once

#include <array>
#include <cstddef>

namespace cambrian::distributed {

/// In how many parts a shard is made and evaluated, so that a device computes one while the host
/// makes the next. More parts hide more of the host's work, and each leaves more of a wide device
/// idle: which weighs more is measured, again from time to time. Results do not depend on it.
class PartChoice {
  public:
    static constexpr std::size_t max_parts = 8;
    /// Fewer births leave a device idle, whatever else they hide.
    static constexpr std::size_t min_births = 4096;

    /// For the next shard.
    [[nodiscard]] std::size_t parts(std::size_t births) const;
    /// What a shard took in the parts that were chosen for it.
    void note(std::size_t births, double seconds);

  private:
    void compare();
    void try_next();
    [[nodiscard]] std::size_t chosen() const { return trying_ ? tried_ : parts_; }

    std::size_t parts_ = 1;  ///< The best so far.
    std::size_t tried_ = 2;  ///< What is tried, or will be.
    bool trying_ = false;
    std::size_t shards_ = 0;        ///< With what is chosen now.
    std::size_t patience_ = 0;      ///< Shards before the next try.
    double fastest_ = 0.0;          ///< Seconds a birth with what is chosen now,
    double fastest_of_best_ = 0.0;  ///< and with the best, just before the try.
};

}  // namespace cambrian::distributed
