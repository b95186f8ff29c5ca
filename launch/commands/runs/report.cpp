#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/commands/runs/report_findings.hpp"
#include "cambrian/launch/commands/runs/report_watch.hpp"
#include "cambrian/launch/report/data/run_set.hpp"
#include "cambrian/launch/report/page.hpp"

namespace cambrian::launch {
namespace {

std::vector<RunData> read_sources(const std::vector<std::string>& sources) {
    std::vector<std::filesystem::path> directories;
    for (const std::string& source : sources) {
        const std::vector<std::filesystem::path> found = runs_in(source);
        directories.insert(directories.end(), found.begin(), found.end());
    }
    return read_runs(directories);
}

}  // namespace

int report_command(const CommandContext& context, const ReportOptions& options) {
    if (options.watch)
        return watch_report(context, options, [&](std::uint64_t version) {
            const std::vector<RunData> runs = read_sources(options.sources);
            return report_page(runs, findings_of(context, best_run(runs)), version);
        });
    const std::string path =
        options.output.empty()
            ? (std::filesystem::path(options.sources.front()) / "report.html").string()
            : options.output;
    Destination output(context, path, {});
    const std::vector<RunData> runs = read_sources(options.sources);
    const Findings findings = findings_of(context, best_run(runs));
    const std::string page = report_page(runs, findings);
    output.write(page);
    output.finish();
    output.lines() << fmt::format("{}: {} {}, {} KB\n", output.name(), runs.size(),
                                  runs.size() == 1 ? "run" : "runs", (page.size() + 1023) / 1024);
    return exit_done;
}

}  // namespace cambrian::launch
