#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/engine/train/loss.hpp"

// Where samples come from: files, or formulas.
namespace cambrian {

/// Examples on the host: what a network sees and what it should answer, one row each.
struct Samples {
    Tensor inputs;   ///< [rows, features], or [rows, time, features] of sequences.
    Tensor targets;  ///< [rows, (time,) outputs] numbers, or [rows, (time)] class indices. Without
                     ///< the axis of time beside sequences: of their last step.

    [[nodiscard]] std::int64_t rows() const {
        return inputs.shape.rank() == 0 ? 0 : inputs.shape[0];
    }
};

/// What training learns from and what it is watched with.
struct DataSet {
    Samples train;
    Samples validation;  ///< May be without rows, like the next.
    Samples test;
    std::int64_t outputs = 0;  ///< Values that a network answers: numbers, or logits of classes.
    /// By input, what stands for missing values, as a network sees it; empty where nothing does.
    std::vector<double> fills{};
    std::vector<std::string> notes{};  ///< What a user should know of the split.
};

/// Rows as a source gives them.
struct SourceRows {
    Tensor inputs;             ///< [rows, features], or [rows, time, features].
    Tensor targets;            ///< Real [rows, (time,) numbers], or class indices [rows, (time)].
    std::int64_t classes = 0;  ///< 0: the targets are numbers.
    std::vector<double> class_values{};  ///< Labels that classes stand for; empty: their indices.
    std::vector<std::string> class_names{};  ///< The same where they are texts.
    std::optional<std::int64_t> ignored{};   ///< Target that no longer is that of SourceContext.
    std::vector<std::string> input_names{};  ///< Columns; empty where the source names none.
    std::vector<std::string> target_names{};
    double scale = 1.0;  ///< What the inputs were multiplied by.
    /// Mean or median: inputs that are NaN are to be filled with that of the rows that train.
    MissingValues missing_values = MissingValues::error;
    std::vector<std::string> notes{};    ///< What a user should know of the labels.
    std::optional<Hash128> tokenizer{};  ///< Of ids that a tokenizer.json gave: tokenizer_hash().
};

struct SourceContext {
    std::filesystem::path base_directory;  ///< Where relative paths start.
    std::uint64_t seed = 1;                ///< Of what is drawn.
    /// With a loss of classes, and no other: a target that is no class, which the loss leaves out.
    std::optional<std::int64_t> ignored{};
};

/// "xor", "sine", "spirals", "blobs", "delay", "csv", "idx", "safetensors", "text".
[[nodiscard]] std::span<const std::string_view> source_types();
/// The rows that {"type": "spirals", "rows": 400, ..} describes. Throws ConfigError naming a key
/// below `path`, InputError naming a file, and for numbers that are not finite as floats.
[[nodiscard]] SourceRows read_source(const nlohmann::json& json, std::string_view path,
                                     const SourceContext& context);
/// Every field of a type with its default.
[[nodiscard]] nlohmann::ordered_json source_defaults(std::string_view type);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json source_schema();

/// Which rows train, validate and test: a share of all rows, or a number of them from 1 on.
struct Split {
    double train = 0.0;  ///< 0: what the others leave.
    double validation = 0.0;
    double test = 0.0;
    bool shuffle =
        true;  ///< Else the first rows train, the next ones validate, the last ones test.
    bool stratify = false;  ///< Each part has its share of the rows of each class.

    static constexpr auto fields = FieldTable{
        Field{"train", &Split::train, FieldRange{0.0, 1e9},
              "Rows to train on; 0: all that the others leave."},
        Field{"validation", &Split::validation, FieldRange{0.0, 1e9},
              "Rows to watch the training with."},
        Field{"test", &Split::test, FieldRange{0.0, 1e9}, "Rows for the end."},
        Field{"shuffle", &Split::shuffle,
              "false: the first rows train, the next ones validate, the last ones test."},
        Field{"stratify", &Split::stratify,
              "true: each part has its share of the rows of each class, however few they are."}
            .later(),
    };
    bool operator==(const Split&) const = default;
};
[[nodiscard]] Split split_from_json(const nlohmann::json& json, std::string_view path = "split");
[[nodiscard]] nlohmann::ordered_json to_json(const Split& split);

/// Source rows as the loss takes them, split, with what is missing filled from the rows that train.
/// Throws ConfigError where they do not fit or the loss is no float32, InputError for a column
/// without any value to train on.
[[nodiscard]] DataSet make_data_set(SourceRows rows, const Split& split, const Loss& loss,
                                    std::uint64_t seed);

}  // namespace cambrian
