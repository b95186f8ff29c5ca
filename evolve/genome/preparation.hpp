#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian::evolve {

/// Affine change of one column: scaled = (value − shift) / scale.
struct Scaling {
    double shift = 0.0;
    double scale = 1.0;
    bool operator==(const Scaling&) const = default;
};

/// How a column becomes an input of a network.
struct PreparedInput {
    std::string column{};  ///< Empty where columns have no names; then all inputs go by position.
    Scaling scaling{};
    double factor = 1.0;  ///< Apart from the scale: a product has other bits than a quotient.
    /// What the network sees where the column has no value, already scaled; see MissingValues.
    std::optional<double> fill{};

    [[nodiscard]] double of(double value) const {
        return (value - scaling.shift) / scaling.scale * factor;
    }
    bool operator==(const PreparedInput&) const = default;
};

/// How an output of a network becomes an answer in the units of the data.
struct PreparedOutput {
    std::string name{};  ///< Empty where the data have no names.
    Scaling scaling{};
    std::string
        current{};  ///< Column of the same row that a predicted change is added to, or empty.

    /// The answer but for the current value: output · scale + shift. Of logits see
    /// Preparation::logits.
    [[nodiscard]] double answer(double output) const {
        return output * scaling.scale + scaling.shift;
    }
    bool operator==(const PreparedOutput&) const = default;
};

/// All that lies between rows of data and a network: what its task did to the rows it learnt from.
struct Preparation {
    std::vector<PreparedInput> inputs{};
    std::vector<PreparedOutput> outputs{};
    /// Labels, ascending: one for each output, or two for a single output that is positive for the
    /// second. Empty: the outputs are numbers.
    std::vector<double> classes{};
    /// Texts of the labels, in the order of the classes, which are their indices then; empty: the
    /// labels are the numbers above.
    std::vector<std::string> labels{};
    /// Rows after which a network with a memory starts afresh; 0: all rows are one sequence.
    std::int64_t sequence_rows = 0;
    /// A sequence is one row, which is shown for so many steps; the last of them answers.
    bool shown = false;
    /// What to do with a missing cell: as the rows were treated that the network learnt from.
    MissingValues missing_values = MissingValues::error;
    /// Rows after the one that a network sees, of which it tells: of forecasts. 0: of that row.
    /// None: a file of the first format does not say.
    std::optional<std::int64_t> ahead = 0;
    /// Outputs are logits of shares: what is scaled is logistic(output). Never with classes.
    bool logits = false;
    /// Inputs are ids of a tokenizer.json that has this hash (tokenizer_hash()). None: it is no
    /// such text, or of a file of before.
    std::optional<Hash128> tokenizer{};

    /// Steps that a row is shown for; 1 where rows are steps.
    [[nodiscard]] std::int64_t shown_steps() const { return shown ? sequence_rows : 1; }
    /// Whether inputs are found by the names of their columns.
    [[nodiscard]] bool named() const { return !inputs.empty() && !inputs[0].column.empty(); }
    /// Its name, or "output_3".
    [[nodiscard]] std::string output_name(std::size_t output) const;
    /// The same with what it tells of: "load(t+1)" is the load one row later.
    [[nodiscard]] std::string answer_name(std::size_t output) const;
    /// Labels of all classes as texts.
    [[nodiscard]] std::vector<std::string> class_names() const;
    bool operator==(const Preparation&) const = default;
};

/// 1 / (1 + e^-x)
[[nodiscard]] double logistic(double x);

/// Every column as it is, by position, and outputs without names.
[[nodiscard]] Preparation plain_preparation(const Blueprint& blueprint);

/// Bytes of one in a file.
inline constexpr std::uint64_t longest_preparation = std::uint64_t{64} << 20U;
/// Why a preparation cannot be that of a network in a file, or an empty text.
[[nodiscard]] std::string preparation_fault(const Preparation& preparation,
                                            const Blueprint& blueprint);

/// The labels as texts: numbers as they are written, unless there are texts.
[[nodiscard]] std::vector<std::string> class_names(std::span<const double> classes,
                                                   std::span<const std::string> labels);

/// "classes 1, 2, 3 are outputs 0 to 2", or "classes 1, 2 are targets 0 and 1" with one output;
/// empty for classes that are their own indices.
[[nodiscard]] std::string classes_text(std::span<const std::string> names, std::size_t outputs);

/// Why the classes or ids of two networks mean other things; empty where they do not. A tokenizer
/// that one does not say goes with any.
[[nodiscard]] std::string other_labels(const Preparation& first, const Preparation& second);

/// The first thing in which two preparations for equally many inputs and outputs mean other data:
/// names, classes, tokenizers, sequences or rows ahead; empty when they differ in constants at
/// most. Rows ahead, or a tokenizer, that one does not say go with any.
[[nodiscard]] std::string other_meaning(const Preparation& first, const Preparation& second);

/// As a section of a .cmb file.
[[nodiscard]] std::vector<std::byte> encode(const Preparation& preparation);
/// Throws InputError naming `source` for damaged bytes; the network has the last word
/// (preparation_fault).
[[nodiscard]] Preparation decode_preparation(std::span<const std::byte> bytes,
                                             std::string_view source);

/// Numbers keep every bit. Bytes of names that are no UTF-8 stay as they are.
[[nodiscard]] nlohmann::ordered_json to_json(const Preparation& preparation);
/// Throws InputError, or what the JSON library throws.
[[nodiscard]] Preparation preparation_from_json(const nlohmann::json& json);

}  // namespace cambrian::evolve
