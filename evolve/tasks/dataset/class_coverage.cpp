#include "cambrian/evolve/tasks/dataset/class_coverage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t listed_classes = 10;

/// "classes 2, 5" or, of many, "classes 2, 5, ... (90 of 100)".
std::string classes_list(std::span<const std::string> classes, std::size_t all) {
    const auto shown = classes.first(std::min(classes.size(), listed_classes));
    std::string text =
        fmt::format("{} {}", classes.size() == 1 ? "class" : "classes", fmt::join(shown, ", "));
    if (shown.size() < classes.size()) text += fmt::format(", ... ({} of {})", classes.size(), all);
    return text;
}

}  // namespace

std::vector<std::string> coverage_notes(std::span<const ClassRows> parts,
                                        std::span<const std::string> labels) {
    std::vector<std::string> notes;
    for (const ClassRows& part : parts) {
        std::vector<std::string> present;
        std::vector<std::string> missing;
        for (std::size_t i = 0; i < part.rows.size(); ++i)
            (part.rows[i] > 0 ? present : missing).push_back(shortened(labels[i], 40));
        if (present.empty() || missing.empty()) continue;
        if (present.size() == 1)
            notes.push_back(fmt::format(
                "{} holds class {} alone: its loss and accuracy say nothing of the others; shuffle "
                "the rows of the file, or choose another part",
                part.part, present.front()));
        else
            notes.push_back(fmt::format("{} has no row of {}", part.part,
                                        classes_list(missing, labels.size())));
    }
    return notes;
}

}  // namespace cambrian::evolve
