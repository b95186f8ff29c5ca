#include "cambrian/launch/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

std::optional<int> first_number(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const char* value = std::getenv(name);
        if (value == nullptr) continue;
        const std::string_view text(value);
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc() && end == text.data() + text.size()) return number;
    }
    return std::nullopt;
}

}  // namespace

bool under_launcher() {
    // A shell inside a Slurm allocation has SLURM_PROCID too; only a step was started by srun.
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

int launcher_rank() {
    if (!under_launcher()) return 0;
    return first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        .value_or(0);
}

int launcher_local_rank() {
    if (!under_launcher()) return 0;
    return std::max(0,
                    first_number({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
                        .value_or(0));
}

int launcher_local_size() {
    if (!under_launcher()) return 1;
    return std::max(
        1, first_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"})
               .value_or(1));
}

namespace {

/// The file of launch/mpi for the exit code; empty without it, or where it is on another host.
std::string status_file() {
    const char* path = std::getenv("CAMBRIAN_STATUS_FILE");
    std::error_code error;
    return path != nullptr && std::filesystem::exists(path, error) ? path : "";
}

/// For launch/mpi: into its file, or from another host on a line that it heeds.
void record(const std::string& text) {
    const char* told = std::getenv("CAMBRIAN_STATUS_FILE");
    if (told == nullptr || *told == '\0') return;
    const std::string path = status_file();
    if (path.empty()) {
        std::cerr << "cambrian status: " + text + '\n'
                  << std::flush;  // in one piece: others write there, too
        return;
    }
    // At once: an empty file would say that nothing has begun.
    const std::string next = path + ".new";
    std::ofstream(next, std::ios::trunc) << text << '\n';
    std::error_code error;
    std::filesystem::rename(next, path, error);
}

}  // namespace

std::string announce_mpi() {
    const std::string path = status_file();
    if (path.empty()) {
        if (launcher_local_rank() == 0) record("starting");
        return path;
    }
    const std::ofstream mark(path + ".starting");
    return path + ".not-started";
}

void record_start() {
    record("started");
}

void record_running() {
    record("running");
}

void record_exit_code(int exit_code, double patience) {
    record(fmt::format("{} {:.3f}", exit_code, patience));
}

void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is this one.
        if (open("/dev/null", O_RDWR) != descriptor)
            throw Error(
                fmt::format("descriptor {} is closed and /dev/null cannot be opened in its place "
                            "({}) start the program with input, output and error output",
                            descriptor, std::strerror(errno)));
    }
}

namespace {

constexpr std::array<int, 4> watched{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
// A reader that leaves and a limit on the size of files are errors of writing, not ends of a run.
constexpr std::array<int, 2> ignored{SIGPIPE, SIGXFSZ};
constexpr std::int64_t repeat_milliseconds = 300;

// A handler can reach nothing but static memory.
std::atomic<int> received{0};
std::atomic<std::int64_t> first_request{0};
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// Saves what is to be saved at the first signal, ends the process at the second.
void note(int signal) {
    if (signal == SIGUSR1) {
        // Of two that come at once the later one may be noted first: to end is what counts.
        int nothing = 0;
        received.compare_exchange_strong(nothing, signal, std::memory_order_relaxed);
        return;
    }
    received.store(signal, std::memory_order_relaxed);
    const std::int64_t now = milliseconds_now();
    std::int64_t first = 0;
    if (first_request.compare_exchange_strong(first, now)) return;
    if (now - first < repeat_milliseconds) return;
    // It is blocked while its handler runs, and ends the process after it.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

struct SignalGuard::Saved {
    std::array<struct sigaction, watched.size()> actions;
    std::array<struct sigaction, ignored.size()> ignored_before;
};

SignalGuard::SignalGuard() : saved_(std::make_unique<Saved>()) {
    received.store(0, std::memory_order_relaxed);
    first_request.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < watched.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(watched[i], &action, &saved_->actions[i]);
        if (watched[i] == SIGHUP && saved_->actions[i].sa_handler == SIG_IGN)
            sigaction(watched[i], &saved_->actions[i], nullptr);
    }
    for (std::size_t i = 0; i < ignored.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = SIG_IGN;
        sigaction(ignored[i], &action, &saved_->ignored_before[i]);
    }
}

SignalGuard::~SignalGuard() {
    for (std::size_t i = 0; i < watched.size(); ++i)
        sigaction(watched[i], &saved_->actions[i], nullptr);
    for (std::size_t i = 0; i < ignored.size(); ++i)
        sigaction(ignored[i], &saved_->ignored_before[i], nullptr);
}

const std::atomic<int>& SignalGuard::flag() const {
    return received;
}

}  // namespace cambrian::launch
