#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <span>
#include <vector>

#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/report/page.hpp"

namespace cambrian::launch {

int report_command(const CommandContext& context, const ReportOptions& options) {
    std::vector<RunData> runs;
    for (const std::string& source : options.sources)
        for (const std::filesystem::path& directory : runs_in(source))
            runs.push_back(read_run(directory));
    const std::string page = report_page(runs);
    const std::string output =
        options.output.empty()
            ? (std::filesystem::path(options.sources.front()) / "report.html").string()
            : options.output;
    write_output(output, std::as_bytes(std::span(page)));
    context.out << fmt::format("{}: {} {}, {} KB\n", output, runs.size(),
                               runs.size() == 1 ? "run" : "runs", (page.size() + 1023) / 1024);
    return exit_done;
}

}  // namespace cambrian::launch
