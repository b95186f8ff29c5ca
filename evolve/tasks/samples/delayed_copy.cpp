#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

enum class MemoryVariant : std::uint8_t { delay, copy, recall };
constexpr std::array<std::string_view, 3> memory_variant_names{"delay", "copy", "recall"};
constexpr std::span<const std::string_view> choice_names(MemoryVariant) {
    return memory_variant_names;
}

struct DelayedCopySettings {
    MemoryVariant variant = MemoryVariant::delay;
    std::int64_t length = 10;
    std::int64_t delay = 3;
    std::int64_t width = 1;
    std::int64_t sequences = 64;
    std::int64_t validation_sequences = 0;
    std::int64_t test_sequences = 64;
    std::uint64_t seed = 1;
    ValidationSettings validation{};

    static constexpr FieldRange count{1.0, 1e4};
    static constexpr FieldRange count_or_none{0.0, 1e4};
    static constexpr auto fields = FieldTable{
        Field{"variant", &DelayedCopySettings::variant,
              "delay: each item is wanted some steps later, while others arrive; copy: after a "
              "delimiter all items are wanted, in blank steps; recall: the same without a step for "
              "the delimiter, a last input is 1 while items are wanted."},
        Field{"length", &DelayedCopySettings::length, count,
              "Items of a sequence that are wanted."},
        Field{"delay", &DelayedCopySettings::delay, count, "Steps; of the variant delay alone."},
        Field{"width", &DelayedCopySettings::width, FieldRange{1.0, 64.0}, "Bits of an item."},
        Field{"sequences", &DelayedCopySettings::sequences, count,
              "Random sequences that train, the same in the whole run."},
        Field{"validation_sequences", &DelayedCopySettings::validation_sequences, count_or_none,
              "Others for validation."},
        Field{"test_sequences", &DelayedCopySettings::test_sequences, count_or_none,
              "Others for the end."},
        Field{"seed", &DelayedCopySettings::seed, "Of the random bits."},
        Field{"validation", &DelayedCopySettings::validation, validation_meaning},
    };
};

/// Appends the item of a sequence and further channels to a row of inputs.
void append_item(Tensor& to, const BitStrings& strings, std::int64_t sequence, std::int64_t item) {
    const auto first = strings.bits.begin() + (sequence * strings.items + item) * strings.width;
    to.elements.insert(to.elements.end(), first, first + strings.width);
}

void append_blank(Tensor& to, std::int64_t width) {
    to.elements.insert(to.elements.end(), static_cast<std::size_t>(width), 0.0);
}

Samples empty_samples(const BitStrings& strings, std::int64_t steps, std::int64_t channels,
                      std::int64_t scored) {
    Samples samples;
    samples.inputs.shape = Shape{strings.sequences, steps, channels};
    samples.targets.shape = Shape{strings.sequences, scored, strings.width};
    return samples;
}

/// Refuses what would take gigabytes.
void check_size(const DelayedCopySettings& settings) {
    constexpr std::int64_t largest = 10'000'000;
    const std::int64_t sequences =
        settings.sequences + settings.validation_sequences + settings.test_sequences;
    const std::int64_t bits = sequences * (settings.length + settings.delay) * settings.width;
    if (bits > largest)
        throw ConfigError(fmt::format(
            "task.sequences, its length and width make {} bits (at most {} fit) use fewer or "
            "shorter sequences",
            bits, largest));
}

BitStrings random_strings(const DelayedCopySettings& settings, Phase phase,
                          std::int64_t sequences) {
    const bool delayed = settings.variant == MemoryVariant::delay;
    BitStrings strings{
        sequences, settings.length + (delayed ? settings.delay : 0), settings.width, {}};
    const RandomKey key = random_key(settings.seed, fmt::format("delayed_copy/{}", name(phase)));
    for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
        RandomStream rng(key, static_cast<std::uint64_t>(sequence));
        for (std::int64_t bit = 0; bit < strings.items * strings.width; ++bit)
            strings.bits.push_back(rng.chance(0.5F) ? 1.0 : 0.0);
    }
    return strings;
}

Samples memory_samples(const DelayedCopySettings& settings, Phase phase, std::int64_t sequences) {
    if (sequences == 0) return {};
    const BitStrings strings = random_strings(settings, phase, sequences);
    switch (settings.variant) {
        case MemoryVariant::delay:
            return delay_samples(strings, settings.delay);
        case MemoryVariant::copy:
            return copy_samples(strings);
        case MemoryVariant::recall:
            break;
    }
    return recall_samples(strings);
}

}  // namespace

Samples delay_samples(const BitStrings& strings, std::int64_t delay) {
    CAMBRIAN_EXPECT(delay < strings.items);
    Samples samples = empty_samples(strings, strings.items, strings.width, strings.items - delay);
    samples.inputs.elements = strings.bits;
    for (std::int64_t sequence = 0; sequence < strings.sequences; ++sequence)
        for (std::int64_t item = 0; item < strings.items - delay; ++item)
            append_item(samples.targets, strings, sequence, item);
    return samples;
}

Samples copy_samples(const BitStrings& strings) {
    const std::int64_t channels = strings.width + 1;
    Samples samples = empty_samples(strings, 2 * strings.items + 1, channels, strings.items);
    for (std::int64_t sequence = 0; sequence < strings.sequences; ++sequence) {
        for (std::int64_t item = 0; item < strings.items; ++item) {
            append_item(samples.inputs, strings, sequence, item);
            append_blank(samples.inputs, 1);
        }
        append_blank(samples.inputs, strings.width);
        samples.inputs.elements.push_back(1.0);
        append_blank(samples.inputs, strings.items * channels);
    }
    samples.targets.elements = strings.bits;
    return samples;
}

Samples recall_samples(const BitStrings& strings) {
    Samples samples = empty_samples(strings, 2 * strings.items, strings.width + 1, strings.items);
    for (std::int64_t sequence = 0; sequence < strings.sequences; ++sequence) {
        for (std::int64_t item = 0; item < strings.items; ++item) {
            append_item(samples.inputs, strings, sequence, item);
            append_blank(samples.inputs, 1);
        }
        for (std::int64_t item = 0; item < strings.items; ++item) {
            append_blank(samples.inputs, strings.width);
            samples.inputs.elements.push_back(1.0);
        }
    }
    samples.targets.elements = strings.bits;
    return samples;
}

/// `{"type": "delayed_copy", "variant": "copy", "length": 4, "width": 8}`
TaskKind delayed_copy_task() {
    return sample_task<DelayedCopySettings>(
        "delayed_copy",
        "Random bits to be given back later. Fitness = 1 - mean squared error of the outputs that "
        "are wanted, clamped to [0, 1]; an item is right where all its bits are on their side of "
        "0.5.",
        [](const DelayedCopySettings& settings) {
            check_size(settings);
            const auto part = [&](Phase phase, std::int64_t sequences) {
                return memory_samples(settings, phase, sequences);
            };
            return make_bits_task(
                "delayed_copy",
                {.train = part(Phase::train, settings.sequences),
                 .validation = part(Phase::validation, settings.validation_sequences),
                 .test = part(Phase::test, settings.test_sequences)});
        });
}

}  // namespace cambrian::evolve
