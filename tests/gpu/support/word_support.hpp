#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::test {

/// The words of a bound value, individual after individual: bits of floats, integers as they are.
using Words = std::vector<std::uint32_t>;

/// Words an input or output of the graph needs for a population.
[[nodiscard]] std::size_t bound_words(const Graph& graph, ValueId id, std::int64_t population);

/// Compiles and runs a graph on raw words; outputs likewise.
[[nodiscard]] std::vector<Words> run_words(Backend& backend, const Graph& graph,
                                           std::int64_t population,
                                           const std::vector<Words>& inputs);

/// Words that follow a hash of position and seed: every bit pattern is as likely as any other.
[[nodiscard]] Words hashed_words(std::size_t count, std::uint64_t seed);
/// Bits of floats in [-1, 1).
[[nodiscard]] Words uniform_words(std::size_t count, std::uint64_t seed);
/// Integers in [0, bound).
[[nodiscard]] Words index_words(std::size_t count, std::uint32_t bound, std::uint64_t seed);

/// Fails with the number of words that differ and the first of them; in real values any NaN equals
/// any NaN.
void expect_same_words(const Words& actual, const Words& expected, ValueType type,
                       std::string_view what);

/// The graph's outputs on the test's Vulkan device have the bits of the CPU backend under strict
/// math.
void expect_equal_to_cpu(Backend& vulkan, const Graph& graph, std::int64_t population,
                         const std::vector<Words>& inputs, std::string_view what);

/// Tests on backends that run every node by its own kernel, made once for a suite: some drivers
/// open only so many devices in the life of a process.
class UnfusedTest : public testing::Test {
  public:
    static void TearDownTestSuite();

  protected:
    [[nodiscard]] static Backend& backend(Math math);

  private:
    static std::map<Math, std::unique_ptr<Backend>> backends_;
};

}  // namespace cambrian::test
