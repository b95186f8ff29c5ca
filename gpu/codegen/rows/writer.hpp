#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/gpu/codegen/rows/row_source.hpp"

namespace cambrian::gpu {

/// A position that is known while the text is written, up to variables of the text.
class Index {
  public:
    Index(std::int64_t constant = 0) : constant_(constant) {}
    static Index variable(std::string name) {
        Index index;
        index.terms_.push_back({std::move(name), 1});
        return index;
    }
    /// Adds stride times the other position.
    Index& add(const Index& other, std::int64_t stride);

    [[nodiscard]] bool known() const { return terms_.empty(); }
    [[nodiscard]] std::int64_t constant() const { return constant_; }
    /// Whether `variable` is the only one in it, or there is none.
    [[nodiscard]] bool only(const std::string& variable) const;
    /// As a GLSL expression of type uint.
    [[nodiscard]] std::string text() const;

  private:
    struct Term {
        std::string variable;
        std::int64_t stride = 0;
    };
    std::int64_t constant_;
    std::vector<Term> terms_;
};

struct View {
    enum class Kind : std::uint8_t {
        literal,   ///< Every element is `name`.
        constant,  ///< Elements of a tensor of the graph.
        position,  ///< Element i is i.
        local,     ///< An array of the text.
        memory,    ///< Read through a pointer of the text.
    };
    Kind kind = Kind::literal;
    ValueType type = ValueType::real;
    std::string name;
    std::shared_ptr<const Tensor> tensor;
    bool invariant = false;  ///< Whether it is the same in every step.
    bool scalar = false;     ///< A local that is no array.
    Shape shape;             ///< Of one row, without the row axis.
    Index first;
    std::array<std::int64_t, Shape::max_rank> strides{};

    [[nodiscard]] Index position(std::span<const Index> indices) const;
    /// Whether elements follow each other like those of a tensor of its shape.
    [[nodiscard]] bool contiguous() const;
};

/// The name of the row's number in the text.
inline const std::string row_variable = "row";

[[nodiscard]] Shape without_first_axis(const Shape& shape);

[[nodiscard]] View sliced(View view, int axis, std::int64_t start, std::int64_t length);
/// Result axis i is axis order[i].
[[nodiscard]] View permuted(const View& view, std::span<const std::int8_t> order);
/// Right-aligned like NumPy.
[[nodiscard]] View broadcast_to(const View& view, const Shape& shape);
/// Nothing when the elements do not lie so.
[[nodiscard]] std::optional<View> reshaped(const View& view, const Shape& shape);
/// Element `index` of axis 0, without that axis.
[[nodiscard]] View at_first(View view, const Index& index);

/// The text of a row kernel while it grows: where each value is found, and the lines that compute
/// those that have to be. What is the same in every step is computed before the loop.
class RowWriter {
  public:
    /// @param uncached pointers whose words are read again where they are used.
    RowWriter(const ScanAttribute& scan, const RowAnalysis& analysis, const RowTextOptions& options,
              std::set<std::string> uncached);

    [[nodiscard]] const Graph& graph() const { return *scan_.body; }
    [[nodiscard]] const ScanAttribute& scan() const { return scan_; }
    [[nodiscard]] const RowAnalysis& analysis() const { return analysis_; }
    [[nodiscard]] Math math() const { return options_.math; }

    // Views of values.
    [[nodiscard]] bool has_rows(ValueId id) const {
        return analysis_.has_rows[static_cast<std::size_t>(id)];
    }
    [[nodiscard]] const View& view(ValueId id) const {
        return views_[static_cast<std::size_t>(id)];
    }
    void set(ValueId id, View view) { views_[static_cast<std::size_t>(id)] = std::move(view); }
    /// The shape of one row of a value.
    [[nodiscard]] Shape row_shape(ValueId id) const;
    /// An operand as one row sees it: of one that all rows share and that stands beside a result of
    /// `rank` axes with a row axis, the row's part.
    [[nodiscard]] View operand(ValueId id, bool result_has_rows, int rank) const;

    /// The operands of a node that has one result, as one row sees them.
    [[nodiscard]] std::vector<View> operands(const Node& node) const;

    // Text.
    /// Writes where a node's results belong: into the loop, or before it.
    void begin(const Node& node);
    template <class... Arguments>
    void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        write(fmt::format(format, std::forward<Arguments>(arguments)...));
    }
    /// Opens a block; `end` closes it.
    template <class... Arguments>
    void open(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        write(fmt::format(format, std::forward<Arguments>(arguments)...) + " {");
        ++section_->depth;
    }
    void end(std::string_view closing = "}");
    /// A new array (or scalar) of that shape, declared here.
    [[nodiscard]] View local(ValueType type, const Shape& shape, std::string name);
    /// The same with a comment that says of which node it is a result.
    [[nodiscard]] View result(const Node& node, std::uint32_t index, const Shape& shape);
    [[nodiscard]] std::string fresh(std::string_view prefix);
    /// The text of an element.
    [[nodiscard]] std::string element(const View& view, std::span<const Index> indices);
    /// Calls `body` with the position of every element of a shape: once for each while all of them
    /// cost little, else inside loops.
    using Body = std::function<void(std::span<const Index> indices)>;
    void each(const Shape& shape, std::int64_t cost, const Body& body);
    /// The same inside loops.
    void loop_over(const Shape& shape, const Body& body);
    /// The elements of a view side by side in a new local.
    [[nodiscard]] View copied(const View& view);
    void copy(const View& to, const View& from);
    /// A pointer to an entry of the memory table; declared before everything else.
    [[nodiscard]] std::string pointer(ValueType type, std::string name, const std::string& entry,
                                      std::string_view individual = "individual");

    /// Says that a pointer's words lie with all individuals side by side.
    void interleave(const std::string& pointer) { interleaved_.insert(pointer); }
    [[nodiscard]] bool keeps_in_registers(const std::string& pointer) const {
        return !uncached_.contains(pointer);
    }
    /// Text that has to stand before main, once for each name.
    [[nodiscard]] bool has_functions(const std::string& name) const {
        return functions_.contains(name);
    }
    void need_functions(const std::string& name, std::string_view text) {
        if (functions_.insert(name).second) functions_text_ += text;
    }

    // The whole.
    [[nodiscard]] const std::string& functions() const { return functions_text_; }
    std::vector<std::shared_ptr<const Tensor>> constants;
    /// Of the memory table; constants follow.
    std::size_t status_entry = 0;
    /// Whether a line reports data errors.
    bool reports = false;
    bool reports_ended_loops = false;
    std::uint32_t width = row_group_width;  ///< Lanes of a workgroup.
    std::optional<RowSpread> spread;
    bool teams = false;  ///< Whether several lanes may walk one row: their text is there.
    /// Of the memory table: prices of networks, then the sum of all.
    [[nodiscard]] std::size_t prices_entry() const {
        return status_entry + RowEntry::spread_after_status + RowEntry::prices_after_spread;
    }
    /// Declares `bytecode` and `weights`, where the network of this invocation lies in the copy.
    void need_spread(const RowSpread& wanted);
    [[nodiscard]] bool may_have_teams() const { return options_.teams; }
    [[nodiscard]] bool software() const { return options_.software; }
    [[nodiscard]] std::int64_t shared_words() const { return options_.shared_words; }
    /// Whether invariants may be laid out anew.
    [[nodiscard]] bool lays_out() const { return options_.max_interleaved > 0; }
    /// Words each pointer keeps in registers.
    [[nodiscard]] const std::map<std::string, std::int64_t>& cached_words() const {
        return cached_words_;
    }
    [[nodiscard]] std::string before_loop() const;
    [[nodiscard]] const std::string& in_loop() const { return step_.text; }
    void begin_step() { section_ = &step_; }

  private:
    struct Section {
        std::string text;
        int depth = 1;
        std::int64_t expanded = 0;  ///< Operations written out so far.
    };

    void write(const std::string& text);
    [[nodiscard]] std::string memory_element(const View& view, const Index& index);
    [[nodiscard]] std::string constant_element(const View& view, const Index& index);
    void loops(const Shape& shape, std::vector<Index>& indices, const Body& body);
    void expand(const Shape& shape, std::vector<Index>& indices, const Body& body);

    const ScanAttribute& scan_;
    const RowAnalysis& analysis_;
    RowTextOptions options_;
    std::set<std::string> uncached_;
    std::set<std::string> interleaved_;
    std::set<std::string> functions_;
    std::string functions_text_;
    std::vector<View> views_;
    Section pointers_;
    Section registers_;  ///< Words of invariants.
    Section prologue_;   ///< Values that are the same in every step.
    Section step_;
    Section* section_ = &step_;
    std::map<std::string, std::string> registers_by_word_;
    std::map<std::string, std::int64_t> cached_words_;
    std::map<const Tensor*, std::string> constant_pointers_;
    int next_ = 0;
};

[[nodiscard]] inline ValueId result_of(const Node& node, std::uint32_t index = 0) {
    return ValueId{node.first_result + index};
}

// Where the elements of a value are found in the text of a row kernel. Ops that only move elements
// change the view and write no text.

}  // namespace cambrian::gpu
