#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// GLSL of fusion groups (Op::fused). Texts depend on the ops, on types and on which operands have
// one element for each column, never on extents or numbers: equal fusion groups of any size share
// one pipeline.
namespace cambrian::gpu {

/// Where the numbers of a body (its constants) begin among the words of the push block: the kernel
/// reads them there, so that its text does not depend on them. What finds no room is a literal.
[[nodiscard]] std::size_t first_number(const Graph& body);
/// Their words, in the order of their constants.
[[nodiscard]] std::vector<std::uint32_t> pushed_numbers(const Graph& body);

/// Statements of a body, one value at a time, and the names its values have.
class FusedWriter {
  public:
    explicit FusedWriter(const Graph& body);

    /// What other statements call a value: a variable, a pushed number or a literal.
    [[nodiscard]] const std::string& name(ValueId id) const;
    void rename(ValueId id, std::string name) { names_[static_cast<std::size_t>(id)] = name; }
    /// `float v7 = op_mul(a0, v6);  // mul` for the node of a value that is no input or constant.
    [[nodiscard]] std::string statement(ValueId id) const;
    /// The value as a word: its bits.
    [[nodiscard]] std::string word(ValueId id) const;
    /// The expression of a value of that type from an expression of its word.
    [[nodiscard]] static std::string from_word(ValueType type, const std::string& word);

  private:
    const Graph& body_;
    std::vector<std::string> names_;
};

/// "fused_tanh_add_mul": the ops of a body from its result inwards, cut where it becomes long.
[[nodiscard]] std::string fused_name(const Graph& body);

/// Whether a body reduces rows.
[[nodiscard]] bool reduces_rows(const Graph& body);

/// The kernel of a body without reductions, for shaders/fused/fused_elements.glsl.
[[nodiscard]] std::string fused_elements_source(const Graph& body);

/// How a body with reductions is walked: in passes over the row's elements, each of which ends with
/// reductions or writes the result.
struct FusedRowsPlan {
    std::int64_t row_length = 1;
    std::vector<bool> varies;     ///< Of values: one element for each column, not for each row.
    std::vector<int> pass;        ///< Of values that vary: the first pass that needs it, or -1.
    std::vector<bool> kept;       ///< Of values that vary: read by later passes too.
    std::vector<int> reduced_in;  ///< Of reductions: the pass that ends with it, else -1.
    std::vector<int> ready;       ///< Of values: passes that must be over before it is known.
    int passes = 1;
    int max_kept = 0;  ///< Values kept at the same time.
};
[[nodiscard]] FusedRowsPlan plan_fused_rows(const Graph& body);

struct FusedRowsOptions {
    bool in_registers = true;  ///< A row's elements are kept between passes, else computed again.
    bool unroll = true;        ///< Asks for loops over registers to be unrolled.
    bool shuffles = true;      ///< Subgroups hand over words, which a device must be able to.
};
/// The kernel of a body with reductions, for shaders/fused/fused_rows.glsl.
[[nodiscard]] std::string fused_rows_source(const Graph& body, const FusedRowsPlan& plan,
                                            const FusedRowsOptions& options);

}  // namespace cambrian::gpu
