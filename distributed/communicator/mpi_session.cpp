#include "cambrian/distributed/communicator/mpi_session.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"

#if defined(CAMBRIAN_HAS_MPI)
#include <mpi.h>
#endif
#include <unistd.h>

namespace cambrian::distributed {

int launched_ranks() {
    int ranks = 1;
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
        const char* text = std::getenv(name);
        if (text == nullptr) {
            continue;
        }
        int value = 0;
        const char* end = text + std::strlen(text);
        if (std::from_chars(text, end, value).ptr == end) {
            ranks = std::max(ranks, value);
        }
    }
    return ranks;
}

Communicator MpiSession::communicator() {
    return make_mpi_communicator();
}
int MpiSession::rank() const {
    return rank_;
}
int MpiSession::size() const {
    return size_;
}
int MpiSession::local_rank() const {
    return local_rank_;
}
int MpiSession::local_size() const {
    return local_size_;
}
void MpiSession::set_exit_code(int exit_code) {
    exit_code_ = exit_code;
}
void MpiSession::set_lease(double seconds) {
    patience_ = std::min(seconds, longest_farewell);
}
double MpiSession::patience() const {
    return patience_;
}

#if defined(CAMBRIAN_HAS_MPI)

bool mpi_available() {
    return true;
}

namespace {

void check_start(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        throw Error(
            fmt::format("{} failed (code {}) check the MPI installation with mpirun -n 1 "
                        "hostname",
                        call, code));
    }
}

// A handler can reach nothing but static memory.
struct Verdict {
    std::array<char, 512> complaint{};
    std::size_t length = 0;
    std::array<char, PATH_MAX> mark{};  ///< A file to be made; empty: none.
    int exit_code = 0;
};
Verdict verdict;

void end_process(int) {
    // First: what is written may go to an mpirun that hangs too.
    if (verdict.mark.front() != '\0') {
        ::open(verdict.mark.data(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    }
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, verdict.complaint.data(), verdict.length);
    _exit(verdict.exit_code);
}

/// Ends the process when calls of MPI hang, which start and end may once a peer has died: Open MPI
/// 4.1 reports no death. A timer, not a thread: there may be none to be had. One at a time.
class HangGuard {
  public:
    HangGuard(double seconds, int exit_code, const std::string& complaint = {},
              const std::string& mark = {}) {
        std::fflush(nullptr);
        verdict.mark.fill('\0');
        mark.copy(verdict.mark.data(), verdict.mark.size() - 1);
        verdict.length = complaint.copy(verdict.complaint.data(), verdict.complaint.size());
        verdict.exit_code = exit_code;
        struct sigaction action {};
        action.sa_handler = end_process;
        sigaction(SIGALRM, &action, &before_);
        set_timer(seconds);
    }
    ~HangGuard() {
        set_timer(0.0);
        sigaction(SIGALRM, &before_, nullptr);
    }
    HangGuard(const HangGuard&) = delete;
    HangGuard& operator=(const HangGuard&) = delete;

  private:
    static void set_timer(double seconds) {
        const double whole = std::floor(seconds);
        itimerval timer{};
        timer.it_value.tv_sec = static_cast<time_t>(whole);
        timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
        // Nothing at all would switch the timer off.
        if (seconds > 0.0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
            timer.it_value.tv_usec = 1;
        setitimer(ITIMER_REAL, &timer, nullptr);
    }

    struct sigaction before_ {};
};

/// The job can be started again as it was: nothing has begun. launch/mpi knows the first words.
std::string start_complaint(double seconds) {
    return error_line(fmt::format(
        "MPI did not start within {:g} s (a rank died while the job started, the hosts do not "
        "reach each other, or they are slower) start the job again, or raise "
        "distributed.start_seconds",
        seconds));
}

}  // namespace

MpiSession::MpiSession(double start_seconds, const std::string& not_started) {
    std::signal(SIGPIPE, SIG_IGN);
    int provided = 0;
    std::optional<HangGuard> guard(std::in_place, start_seconds, 1, start_complaint(start_seconds),
                                   not_started);
    check_start(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
                "MPI_Init_thread");
    check_start(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler");
    check_start(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_start(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    const int launched = launched_ranks();
    if (provided < MPI_THREAD_FUNNELED || (launched > 1 && size_ == 1)) {
        guard.emplace(patience_, 2);
        MPI_Finalize();
        throw ConfigError(
            provided < MPI_THREAD_FUNNELED
                ? "MPI cannot run beside threads (MPI_THREAD_FUNNELED is refused) install an Open "
                  "MPI that was built with threads"
                : fmt::format("the launcher started {} ranks but MPI sees only one (srun without a "
                              "matching PMI, or an mpirun of another MPI) start with srun "
                              "--mpi=pmix or with the mpirun this program was built for",
                              launched));
    }
    MPI_Comm host = MPI_COMM_NULL;
    check_start(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
        "MPI_Comm_split_type");
    check_start(MPI_Comm_rank(host, &local_rank_), "MPI_Comm_rank");
    check_start(MPI_Comm_size(host, &local_size_), "MPI_Comm_size");
    check_start(MPI_Comm_free(&host), "MPI_Comm_free");
    // Rank 0 says that all have started: not before they have.
    char here = 0;
    std::vector<char> all(static_cast<std::size_t>(size_));
    check_start(MPI_Gather(&here, 1, MPI_CHAR, all.data(), 1, MPI_CHAR, 0, MPI_COMM_WORLD),
                "MPI_Gather");
}

MpiSession::~MpiSession() {
    const HangGuard guard(patience_, exit_code_);
    MPI_Finalize();
}

void MpiSession::abort(int exit_code) {
    const HangGuard guard(patience_, exit_code);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

#else

bool mpi_available() {
    return false;
}

MpiSession::MpiSession(double, const std::string&) {
    if (const int launched = launched_ranks(); launched > 1) {
        throw ConfigError(
            fmt::format("the launcher started {} ranks but this build has no MPI (it "
                        "was configured with CAMBRIAN_MPI=OFF) configure with "
                        "-DCAMBRIAN_MPI=ON",
                        launched));
    }
}

MpiSession::~MpiSession() = default;

void MpiSession::abort(int exit_code) {
    std::fflush(nullptr);
    _exit(exit_code);
}

#endif

}  // namespace cambrian::distributed
