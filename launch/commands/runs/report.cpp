#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/commands/runs/report_findings.hpp"
#include "cambrian/launch/commands/runs/report_watch.hpp"
#include "cambrian/launch/report/page.hpp"

namespace cambrian::launch {
namespace {

/// Each run once, however often it is named.
std::vector<RunData> read_runs(const std::vector<std::string>& sources) {
    std::set<std::filesystem::path> seen;
    std::vector<RunData> runs;
    for (const std::string& source : sources)
        for (const std::filesystem::path& directory : runs_in(source))
            if (seen.insert(std::filesystem::weakly_canonical(directory)).second)
                runs.push_back(read_run(directory));
    return runs;
}

}  // namespace

int report_command(const CommandContext& context, const ReportOptions& options) {
    if (options.watch)
        return watch_report(context, options, [&](std::uint64_t version) {
            const std::vector<RunData> runs = read_runs(options.sources);
            return report_page(runs, findings_of(context, best_run(runs)), version);
        });
    const std::string path =
        options.output.empty()
            ? (std::filesystem::path(options.sources.front()) / "report.html").string()
            : options.output;
    Destination output(context, path, {});
    const std::vector<RunData> runs = read_runs(options.sources);
    const Findings findings = findings_of(context, best_run(runs));
    const std::string page = report_page(runs, findings);
    output.write(page);
    output.finish();
    output.lines() << fmt::format("{}: {} {}, {} KB\n", output.name(), runs.size(),
                                  runs.size() == 1 ? "run" : "runs", (page.size() + 1023) / 1024);
    return exit_done;
}

}  // namespace cambrian::launch
