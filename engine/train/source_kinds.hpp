#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/train/source.hpp"

// The kinds of sources, one struct each.
namespace cambrian {

// Samples from formulas; every random number is drawn from the stream of the seed.

/// The four rows of exclusive or; classes 0 and 1.
struct XorSource {
    static constexpr auto fields = FieldTable{};
};
/// y = sin(π cycles x) for x from −1 to 1, plus normal noise.
struct SineSource {
    std::int64_t rows = 256;
    double cycles = 2.0;
    double noise = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"rows", &SineSource::rows, FieldRange{1.0, 1e8}, "Samples."},
        Field{"cycles", &SineSource::cycles, FieldRange{0.0, 100.0, true},
              "Half periods on each side of 0."},
        Field{"noise", &SineSource::noise, not_negative, "Standard deviation of normal noise."},
    };
};
/// Two spirals around each other: angle t from 0 to 2π turns at radius t / (2π turns), the second
/// one turned by π, plus normal noise; classes 0 and 1.
struct SpiralsSource {
    std::int64_t rows = 400;
    double turns = 1.5;
    double noise = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"rows", &SpiralsSource::rows, FieldRange{1.0, 1e8}, "Samples."},
        Field{"turns", &SpiralsSource::turns, FieldRange{0.0, 100.0, true}, "Turns of a spiral."},
        Field{"noise", &SpiralsSource::noise, not_negative, "Standard deviation of normal noise."},
    };
};
/// Normal clouds around centres that are drawn from [−1, 1]; one class each.
struct BlobsSource {
    std::int64_t rows = 300;
    std::int64_t classes = 3;
    std::int64_t features = 2;
    double spread = 0.1;

    static constexpr auto fields = FieldTable{
        Field{"rows", &BlobsSource::rows, FieldRange{1.0, 1e8}, "Samples."},
        Field{"classes", &BlobsSource::classes, FieldRange{2.0, 1e4}, "Clouds."},
        Field{"features", &BlobsSource::features, FieldRange{1.0, 1e4}, "Dimensions."},
        Field{"spread", &BlobsSource::spread, not_negative,
              "Standard deviation of a cloud; the centres are between -1 and 1."},
    };
};
/// Sequences of random −1 and 1; the target is the input `delay` steps ago, before that 0.
struct DelaySource {
    std::int64_t rows = 256;
    std::int64_t steps = 16;
    std::int64_t delay = 2;

    static constexpr auto fields = FieldTable{
        Field{"rows", &DelaySource::rows, FieldRange{1.0, 1e8}, "Samples."},
        Field{"steps", &DelaySource::steps, FieldRange{1.0, 1e4}, "Steps of a sequence."},
        Field{"delay", &DelaySource::delay, FieldRange{0.0, 1e4}, "Steps to remember."},
    };
};

[[nodiscard]] SourceRows rows_of(const XorSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SineSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SpiralsSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const BlobsSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const DelaySource& source, const SourceContext& context);

// Samples from files. Inputs are multiplied by `scale`. Texts or whole numbers in one target column
// are labels where `classes` says so: classes are counted through in their order. Integer targets
// of the other files are class indices, from 0 on.

/// Columns of CSV files with a header line, below each other. With `steps` the rows of a file, in
/// order, make sequences of so many; a rest at its end is left out. Rows that lack a value are
/// dropped before, or filled when it is known which of them train.
struct CsvSource {
    std::vector<std::string> files;
    std::vector<std::string> inputs;  ///< Empty: every column that is no target.
    std::vector<std::string> targets;
    bool classes = false;
    std::int64_t steps = 0;
    double scale = 1.0;
    MissingValues missing_values = MissingValues::error;

    static constexpr auto fields = FieldTable{
        Field{"files", &CsvSource::files,
              "Files below each other; a relative path starts at run.base_directory."},
        Field{"inputs", &CsvSource::inputs,
              "Columns that the network sees; empty: all that are no targets."},
        Field{"targets", &CsvSource::targets, "Columns to predict, or the one with the class."},
        Field{"classes", &CsvSource::classes,
              "Whether the target is a class: any texts or whole numbers, counted through in their "
              "order."},
        Field{"steps", &CsvSource::steps, FieldRange{0.0, 1e6},
              "Rows that make a sequence, in order; 0: rows on their own."},
        Field{"scale", &CsvSource::scale, representable, "Factor of all inputs."},
        Field{"missing_values", &CsvSource::missing_values,
              "A missing cell: refuse the file, leave the row out, repeat the value of the row "
              "before, or take the mean or median of the column's rows that train; a row without "
              "a target is then left out."},
    };
};
/// A file of samples and one of their class indices, as MNIST comes; a sample becomes one row.
struct IdxSource {
    std::string inputs;
    std::string targets;
    double scale = 1.0 / 255.0;

    static constexpr auto fields = FieldTable{
        Field{"inputs", &IdxSource::inputs, "File of samples; a sample becomes one row."},
        Field{"targets", &IdxSource::targets, "File of class indices."},
        Field{"scale", &IdxSource::scale, representable, "Factor of all inputs."},
    };
};
/// Two tensors of a file: inputs [rows, ..], of which all but the first axis become one row (or,
/// with `sequences`, all but the first two), and targets: integers as class indices, else numbers.
struct SafetensorsSource {
    std::string file;
    std::string inputs = "inputs";
    std::string targets = "targets";
    bool sequences = false;
    double scale = 1.0;

    static constexpr auto fields = FieldTable{
        Field{"file", &SafetensorsSource::file, "The file."},
        Field{"inputs", &SafetensorsSource::inputs, "Name of the samples, [rows, ..]."},
        Field{"targets", &SafetensorsSource::targets, "Name of the targets: integers are classes."},
        Field{"sequences", &SafetensorsSource::sequences, "Whether the second axis is time."},
        Field{"scale", &SafetensorsSource::scale, representable, "Factor of all inputs."},
    };
};
/// A text as tokens, cut into sequences of `context`, one after another; each position has the
/// token after it as its target. A rest at the end is left out. Columns are called as the tokens
/// are: "character" (with code points as labels), "byte" or "token".
struct TextSource {
    std::string file;
    std::string tokenizer = "characters";
    std::int64_t context = 128;
    std::int64_t vocabulary = 0;

    [[nodiscard]] bool reads_tokenizer_file() const {
        return tokenizer != "characters" && tokenizer != "bytes";
    }

    static constexpr auto fields = FieldTable{
        Field{"file", &TextSource::file, "The file, in UTF-8 unless its bytes are the tokens."},
        Field{"tokenizer", &TextSource::tokenizer,
              "What a token is: \"characters\" of the text, its \"bytes\", or a tokenizer.json."},
        Field{"context", &TextSource::context, FieldRange{1.0, 1e6},
              "Tokens of a sequence. Unless split.shuffle is false, sequences of all parts are "
              "mixed."},
        Field{
            "vocabulary", &TextSource::vocabulary, FieldRange{0.0, 1e6},
            "Outputs of the network, where these are more than the tokens of a tokenizer.json, as "
            "of models whose vocabulary is rounded up; 0: its tokens."}
            .later(),
    };
};

[[nodiscard]] SourceRows rows_of(const CsvSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const IdxSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SafetensorsSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const TextSource& source, const SourceContext& context);

/// Index that stands for what a loss ignores where labels become indices; no class has it.
inline constexpr std::int64_t no_index = -100;
/// Throws InputError for classes of a file that are too few to tell apart, or too many.
void check_class_count(std::size_t count, const std::string& place, std::string_view remedy);
/// Says how many targets the loss leaves out: a label may be one of them by accident.
void note_ignored(SourceRows& rows, std::int64_t count, const SourceContext& context,
                  const std::string& place);
/// The same where targets are as the file has them.
void note_ignored(SourceRows& rows, const SourceContext& context, const std::string& place);

}  // namespace cambrian
