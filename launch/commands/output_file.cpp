#include "cambrian/launch/commands/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {

void refuse_input_as_output(const std::string& output, std::initializer_list<std::string> inputs) {
    for (const std::string& input : inputs) {
        std::error_code none;
        // Of devices and pipes nothing is lost.
        const bool file = std::filesystem::is_regular_file(output, none);
        if (output == input || (file && std::filesystem::equivalent(input, output, none)))
            throw ConfigError(fmt::format(
                "{} would replace what it is made of ({} is the same file) name another", output,
                input));
    }
}

void refuse_file_of_run(const std::string& output) {
    namespace fs = std::filesystem;
    std::error_code none;
    const fs::path file = fs::canonical(output, none);
    if (none || !fs::is_regular_file(file, none)) return;
    const bool of_rank = file.extension() == ".log";
    const fs::path folder = of_rank ? file.parent_path().parent_path() : file.parent_path();
    // Runs, trials and sweeps.
    static constexpr std::array<std::string_view, 4> signs{"status.json", "content.json",
                                                           "trials.csv", "sweep.csv"};
    if (std::ranges::none_of(
            signs, [&](std::string_view name) { return fs::exists(folder / name, none); }))
        return;
    static constexpr std::array<std::string_view, 8> logs{
        "generations.csv", "epochs.csv", "timings.csv", "species.csv",
        "islands.csv",     "trials.csv", "sweep.csv",   "seeds.jsonl"};
    const bool written = of_rank || file.extension() == ".cmb" || file.extension() == ".json" ||
                         std::ranges::find(logs, file.filename().string()) != logs.end();
    if (written)
        throw ConfigError(
            fmt::format("{} would be replaced (it is a file of the run in {}) name "
                        "another",
                        output, folder.string()));
}

}  // namespace cambrian::launch
