#include "cambrian/distributed/mpi_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "cambrian/distributed/mpi_communicator.hpp"
#include "cambrian/engine/core/error.hpp"

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

#if defined(CAMBRIAN_HAS_MPI)

bool mpi_available() {
    return true;
}

namespace {

constexpr std::chrono::seconds finalize_limit{10};
// Large jobs on slow file systems take minutes to start; a rank that died meanwhile never arrives.
constexpr std::chrono::seconds start_limit{300};
constexpr const char* start_complaint =
    "cambrian: error: MPI did not start within 300 s (a rank died while the job started, or the "
    "hosts do "
    "not reach each other) start the job again with --continue\n";

void check(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        throw Error(
            fmt::format("{} failed (code {}) check the MPI installation with mpirun -n 1 "
                        "hostname",
                        call, code));
    }
}

/// Ends the process when a call of MPI hangs, which start and end may once a peer has died: Open
/// MPI 4.1 reports no death.
class HangGuard {
  public:
    HangGuard(std::chrono::seconds limit, int exit_code, const char* complaint)
        : thread_([this, limit, exit_code, complaint] {
              std::unique_lock lock(mutex_);
              if (!finished_.wait_for(lock, limit, [this] { return done_; })) {
                  std::fputs(complaint, stderr);
                  std::fflush(nullptr);
                  _exit(exit_code);
              }
          }) {}
    ~HangGuard() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        finished_.notify_one();
        thread_.join();
    }
    HangGuard(const HangGuard&) = delete;
    HangGuard& operator=(const HangGuard&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable finished_;
    bool done_ = false;
    std::thread thread_;
};

}  // namespace

MpiSession::MpiSession() {
    std::signal(SIGPIPE, SIG_IGN);
    int provided = 0;
    {
        const HangGuard guard(start_limit, 1, start_complaint);
        check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    }
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    const int launched = launched_ranks();
    if (provided < MPI_THREAD_FUNNELED || (launched > 1 && size_ == 1)) {
        const HangGuard guard(finalize_limit, 2, "");
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
    const HangGuard guard(start_limit, 1, start_complaint);
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(host, &local_rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(host, &local_size_), "MPI_Comm_size");
    check(MPI_Comm_free(&host), "MPI_Comm_free");
}

MpiSession::~MpiSession() {
    const HangGuard guard(finalize_limit, exit_code_, "");
    MPI_Finalize();
}

void MpiSession::abort(int exit_code) {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

#else

bool mpi_available() {
    return false;
}

MpiSession::MpiSession() {
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
