#include "cambrian/launch/commands/runs/report_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <ostream>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/report/data/run_set.hpp"
#include "cambrian/launch/report/page_server.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using SystemClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_every{100};
constexpr SystemClock::duration renew_every = std::chrono::seconds(3);
/// Of the time that passes, a page takes at most one part in so many.
constexpr int idle_share = 5;

/// What changes when a file does that a page shows, or a run ends that could not write so.
std::string stamp_of(const std::vector<std::string>& sources) {
    std::string stamp;
    for (const std::string& source : sources)
        for (const fs::path& run : runs_in(source)) {
            stamp += is_held(run) ? "held;" : "free;";
            for (const char* name :
                 {"config.json", "status.json", "generations.csv", "timings.csv", "species.csv",
                  "best.cmb", "individuals.cmb", "checkpoint.cmb"}) {
                std::error_code error;
                const auto time = fs::last_write_time(run / name, error);
                const auto size = error ? std::uintmax_t{0} : fs::file_size(run / name, error);
                stamp += fmt::format("{}{} {};", run.string(),
                                     error ? 0 : time.time_since_epoch().count(), error ? 0 : size);
            }
        }
    return stamp;
}

/// A page and when it was made.
class Renewal {
  public:
    Renewal(const CommandContext& context, const ReportOptions& options,
            const std::function<std::string(std::uint64_t)>& page, PageServer& server)
        : context_(context), options_(options), page_(page), server_(server) {
        stamp_ = stamp_of(options.sources);
        make();
    }

    void look() {
        if (SystemClock::now() < next_ || !server_.was_asked()) return;
        try {
            const std::string stamp = stamp_of(options_.sources);
            next_ = SystemClock::now() + renew_every;
            if (stamp == stamp_) return;
            stamp_ = stamp;
            make();
        } catch (const std::exception& error) {
            // A file or folder may be between two states; what is shown stays.
            if (problem_ != error.what())
                context_.err << fmt::format("warning: the page stays as it is: {}\n", error.what())
                             << std::flush;
            problem_ = error.what();
            stamp_.clear();
        }
    }

  private:
    void make() {
        const SystemClock::time_point begin = SystemClock::now();
        const auto version =
            static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        server_.show(page_(version), version);
        const SystemClock::time_point end = SystemClock::now();
        next_ = end + std::max(renew_every, idle_share * (end - begin));
    }

    const CommandContext& context_;
    const ReportOptions& options_;
    const std::function<std::string(std::uint64_t)>& page_;
    PageServer& server_;
    std::string stamp_;
    std::string problem_;
    SystemClock::time_point next_;
};

bool ends(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

}  // namespace

int watch_report(const CommandContext& context, const ReportOptions& options,
                 const std::function<std::string(std::uint64_t)>& page) {
    const SignalGuard signals;
    PageServer server(options.address, options.port);
    Renewal renewal(context, options, page, server);
    const bool brackets = options.address.find(':') != std::string::npos;
    context.out << fmt::format("http://{}{}{}:{}/ shows {}; Ctrl-C ends it\n", brackets ? "[" : "",
                               options.address, brackets ? "]" : "", server.port(),
                               options.sources.front())
                << std::flush;
    if (!is_this_host(options.address))
        context.err << fmt::format("warning: everybody who reaches {} can read the page\n",
                                   options.address)
                    << std::flush;
    while (!ends(signals.flag())) {
        std::this_thread::sleep_for(look_every);
        renewal.look();
    }
    return exit_done;
}

}  // namespace cambrian::launch
