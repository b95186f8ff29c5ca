#include <functional>

#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

/// Row i is the bits of i, the least significant first.
Samples all_rows(std::int64_t inputs, std::int64_t outputs,
                 const std::function<bool(std::int64_t row, std::int64_t output)>& answer) {
    const std::int64_t rows = std::int64_t{1} << inputs;
    Samples samples{Tensor(ValueType::real, Shape{rows, inputs}),
                    Tensor(ValueType::real, Shape{rows, outputs})};
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t bit = 0; bit < inputs; ++bit)
            samples.inputs.elements[static_cast<std::size_t>(row * inputs + bit)] =
                static_cast<double>(row >> bit & 1);
        for (std::int64_t output = 0; output < outputs; ++output)
            samples.targets.elements[static_cast<std::size_t>(row * outputs + output)] =
                answer(row, output) ? 1.0 : 0.0;
    }
    return samples;
}

struct ParitySettings {
    std::int64_t bits = 3;

    static constexpr auto fields = FieldTable{
        Field{"bits", &ParitySettings::bits, FieldRange{2.0, 12.0},
              "Inputs of a row; there are 2^bits rows. 2 is exclusive or."},
    };
};

struct MultiplexerSettings {
    std::int64_t address_bits = 2;
    double bonus = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"address_bits", &MultiplexerSettings::address_bits, FieldRange{1.0, 3.0},
              "1, 2, 3: networks of 3, 6, 11 inputs and 8, 64, 2048 rows. The address comes first, "
              "its least significant bit before the others."},
        Field{"bonus", &MultiplexerSettings::bonus, FieldRange{0.0, 1e6},
              "Added to the fitness where all rows are right. SharpNEAT gives 100 with 1 address "
              "bit and 1000 with 2."},
    };
};

enum class RetinaGoal : std::uint8_t { conjunction, disjunction, both };
constexpr std::array<std::string_view, 3> retina_goal_names{"and", "or", "both"};
constexpr std::span<const std::string_view> choice_names(RetinaGoal) {
    return retina_goal_names;
}

struct RetinaSettings {
    RetinaGoal goal = RetinaGoal::conjunction;

    static constexpr auto fields = FieldTable{
        Field{"goal", &RetinaSettings::goal,
              "Whether an object is on the left and on the right, on either side, or, with two "
              "outputs, on each."},
    };
};

/// Whether the 2 x 2 pixels of a half show its object: three or four of them are on, or one or two
/// and none outside the outer column.
bool shows_object(std::int64_t pixels, std::int64_t outer_column) {
    std::int64_t on = 0;
    for (std::int64_t pixel = 0; pixel < 4; ++pixel) on += pixels >> pixel & 1;
    return on >= 3 || (on >= 1 && (pixels & ~outer_column) == 0);
}

/// Pixels of a half are top left, top right, bottom left, bottom right; the left half comes first.
bool retina_answer(std::int64_t row, std::int64_t output, RetinaGoal goal) {
    const bool left = shows_object(row & 15, 0b0101);
    const bool right = shows_object(row >> 4, 0b1010);
    if (goal == RetinaGoal::both) return output == 0 ? left : right;
    return goal == RetinaGoal::conjunction ? left && right : left || right;
}

}  // namespace

/// `{"type": "parity", "bits": 3}`
TaskKind parity_task() {
    return sample_task<ParitySettings>(
        "parity",
        "Whether an odd number of inputs is 1. Fitness = rows - sum of squared errors of the "
        "output, clamped to [0, 1]; a row is right on its side of 0.5.",
        [](const ParitySettings& settings) {
            const auto odd = [&](std::int64_t row, std::int64_t) {
                bool result = false;
                for (; row > 0; row >>= 1) result = result != ((row & 1) == 1);
                return result;
            };
            return make_bits_task("parity", {.train = all_rows(settings.bits, 1, odd)});
        });
}

/// `{"type": "multiplexer", "address_bits": 3}`
TaskKind multiplexer_task() {
    return sample_task<MultiplexerSettings>(
        "multiplexer",
        "The data bit that the address bits name. Fitness = rows - sum of squared errors of the "
        "output, clamped to [0, 1]; a row is right on its side of 0.5.",
        [](const MultiplexerSettings& settings) {
            const std::int64_t bits = settings.address_bits;
            const std::int64_t data_bits = std::int64_t{1} << bits;
            const auto named = [&](std::int64_t row, std::int64_t) {
                return (row >> (bits + (row & (data_bits - 1))) & 1) == 1;
            };
            return make_bits_task("multiplexer", {.train = all_rows(bits + data_bits, 1, named)},
                                  settings.bonus);
        });
}

/// `{"type": "retina", "goal": "and"}`: Kashtan and Alon 2005.
TaskKind retina_task() {
    return sample_task<RetinaSettings>(
        "retina",
        "Objects on the left and right half of 4 x 2 pixels. Fitness = 256 - sum of squared errors "
        "(with two outputs their mean), clamped to [0, 1]; a row is right where each output is on "
        "its side of 0.5.",
        [](const RetinaSettings& settings) {
            const std::int64_t outputs = settings.goal == RetinaGoal::both ? 2 : 1;
            const auto answer = [&](std::int64_t row, std::int64_t output) {
                return retina_answer(row, output, settings.goal);
            };
            return make_bits_task("retina", {.train = all_rows(8, outputs, answer)});
        });
}

}  // namespace cambrian::evolve
