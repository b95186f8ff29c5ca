#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/distributed/communicator/polling.hpp"
#include "cambrian/engine/core/error.hpp"

#if defined(CAMBRIAN_HAS_MPI)

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace cambrian::distributed {

namespace {

using SystemClock = std::chrono::steady_clock;  // Clock may be virtual.
using std::chrono::microseconds;

/// Between looks at what has not been sent yet, at the end.
constexpr microseconds farewell_pause{20};

void check(int code, const char* call) {
    if (code == MPI_SUCCESS) {
        return;
    }
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw Error(fmt::format("{} failed ({}) see whether all ranks and their hosts are alive", call,
                            std::string(text.data(), static_cast<std::size_t>(length))));
}

/// So many bytes as MPI takes them: its counts are ints, so more than `largest_count` are one item
/// of a type that is as long. The type must live until the call that it is for has returned.
class ByteRun {
  public:
    ByteRun(std::size_t bytes, std::size_t largest_count)
        : count_(bytes <= largest_count ? static_cast<int>(bytes) : 1) {
        if (bytes <= largest_count) {
            return;
        }
        const std::size_t blocks = bytes / largest_count;
        MPI_Datatype block = MPI_DATATYPE_NULL;
        check(MPI_Type_contiguous(static_cast<int>(largest_count), MPI_BYTE, &block),
              "MPI_Type_contiguous");
        const std::array<int, 2> counts{static_cast<int>(blocks),
                                        static_cast<int>(bytes % largest_count)};
        const std::array<MPI_Aint, 2> begins{0, static_cast<MPI_Aint>(blocks * largest_count)};
        const std::array<MPI_Datatype, 2> types{block, MPI_BYTE};
        check(MPI_Type_create_struct(2, counts.data(), begins.data(), types.data(), &type_),
              "MPI_Type_create_struct");
        check(MPI_Type_free(&block), "MPI_Type_free");
        check(MPI_Type_commit(&type_), "MPI_Type_commit");
    }
    ~ByteRun() {
        if (type_ != MPI_BYTE) {
            MPI_Type_free(&type_);
        }
    }
    ByteRun(const ByteRun&) = delete;
    ByteRun& operator=(const ByteRun&) = delete;

    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] MPI_Datatype type() const { return type_; }

  private:
    int count_;
    MPI_Datatype type_ = MPI_BYTE;
};

/// The kind of a message is its tag, so a message is one send without a copy.
class MpiCommunicator final : public Communicator::Implementation {
  public:
    explicit MpiCommunicator(std::size_t largest_count) : largest_count_(largest_count) {
        check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
        unfinished_.resize(static_cast<std::size_t>(size_));
    }

    /// Buffers of unfinished transfers are leaked on purpose: a peer that was given up never takes
    /// them, and waiting for it would hang.
    ~MpiCommunicator() override {
        const SystemClock::time_point end = SystemClock::now() + std::chrono::milliseconds(500);
        while (!sends_.empty() && SystemClock::now() < end) {
            reap_quietly();
            std::this_thread::sleep_for(farewell_pause);
        }
        if (!sends_.empty()) {
            // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
            new std::list<Sending>(std::move(sends_));
        }
        if (!receives_.empty()) {
            // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
            new std::list<Receiving>(std::move(receives_));
        }
    }
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    void send(int to, MessageKind kind, Payload payload) override {
        reap();
        const ByteRun run(payload.size(), largest_count_);
        Sending& sending = sends_.emplace_back();
        sending.bytes = std::move(payload);
        sending.to = to;
        sending.kind = kind;
        unfinished_[static_cast<std::size_t>(to)] += sending.bytes.size();
        check(MPI_Isend(sending.bytes.data(), run.count(), run.type(), to, static_cast<int>(kind),
                        MPI_COMM_WORLD, &sending.request),
              "MPI_Isend");
        last_activity_ = SystemClock::now();
    }

    std::optional<Message> receive(microseconds patience) override {
        const SystemClock::time_point end = SystemClock::now() + patience;
        for (;;) {
            reap();
            match();
            if (std::optional<Message> message = completed()) {
                last_activity_ = SystemClock::now();
                return message;
            }
            const SystemClock::time_point now = SystemClock::now();
            if (now >= end) {
                return std::nullopt;
            }
            const auto idle = std::chrono::duration_cast<microseconds>(now - last_activity_);
            if (const microseconds pause = pause_after(idle, moving()); pause > microseconds{0}) {
                const auto left = std::chrono::duration_cast<microseconds>(end - now);
                std::this_thread::sleep_for(std::min(pause, left));
            } else {
                std::this_thread::yield();
            }
        }
    }

    std::size_t unfinished(int to) override { return unfinished_[static_cast<std::size_t>(to)]; }

    void push(MessageKind kind, microseconds patience) override {
        const SystemClock::time_point end = SystemClock::now() + patience;
        const auto leaving = [kind](const Sending& sending) {
            return sending.kind == kind && !sending.pushed;
        };
        for (reap(); std::ranges::any_of(sends_, leaving) && SystemClock::now() < end; reap()) {
            match();  // The others may be pushing, too.
            std::this_thread::yield();
        }
        for (Sending& sending : sends_) {
            sending.pushed = true;
        }
    }

  private:
    struct Sending {
        Payload bytes;
        int to = 0;
        MessageKind kind = MessageKind::handshake;
        MPI_Request request = MPI_REQUEST_NULL;
        bool pushed = false;  ///< Without success: its peer may be stopped, and is not waited for.
    };
    struct Receiving {
        int source = 0;
        MessageKind kind = MessageKind::handshake;
        std::vector<std::byte> bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    /// Bytes that are on their way.
    [[nodiscard]] std::uint64_t moving() const {
        std::uint64_t bytes = 0;
        for (const Sending& sending : sends_) {
            bytes += sending.bytes.size();
        }
        for (const Receiving& receiving : receives_) {
            bytes += receiving.bytes.size();
        }
        return bytes;
    }

    static bool finished(MPI_Request& request) {
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
    }

    void reap() {
        for (auto at = sends_.begin(); at != sends_.end();) {
            if (!finished(at->request)) {
                ++at;
                continue;
            }
            unfinished_[static_cast<std::size_t>(at->to)] -= at->bytes.size();
            at = sends_.erase(at);
        }
    }

    void reap_quietly() noexcept {
        try {
            reap();
        } catch (const Error&) {
            // The peer is gone; its buffers are leaked below.
        }
    }

    /// Starts receiving whatever has arrived. Large messages of a rank that dies meanwhile never
    /// complete, so nobody waits for a single one.
    void match() {
        for (;;) {
            int found = 0;
            MPI_Message handle = MPI_MESSAGE_NULL;
            MPI_Status status;
            check(
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &handle, &status),
                "MPI_Improbe");
            if (found == 0) {
                return;
            }
            MPI_Count bytes = 0;
            check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
            Receiving& receiving = receives_.emplace_back();
            receiving.source = status.MPI_SOURCE;
            receiving.kind = static_cast<MessageKind>(status.MPI_TAG);
            receiving.bytes.resize(static_cast<std::size_t>(std::max(bytes, MPI_Count{0})));
            const ByteRun run(receiving.bytes.size(), largest_count_);
            check(MPI_Imrecv(receiving.bytes.data(), run.count(), run.type(), &handle,
                             &receiving.request),
                  "MPI_Imrecv");
        }
    }

    /// MPI finishes a short message before a long one that was sent first; whoever reads them must
    /// not see that.
    std::optional<Message> completed() {
        std::vector<int> waited_for;
        for (auto at = receives_.begin(); at != receives_.end(); ++at) {
            if (std::ranges::find(waited_for, at->source) != waited_for.end()) {
                continue;
            }
            if (finished(at->request)) {
                Message message{at->source, at->kind, std::move(at->bytes)};
                receives_.erase(at);
                return message;
            }
            waited_for.push_back(at->source);
        }
        return std::nullopt;
    }

    const std::size_t largest_count_;
    int rank_ = 0;
    int size_ = 1;
    std::list<Sending> sends_;
    std::vector<std::size_t> unfinished_;  ///< Bytes of these by rank.
    std::list<Receiving> receives_;
    SystemClock::time_point last_activity_ = SystemClock::now();
};

}  // namespace

Communicator make_mpi_communicator(int largest_count) {
    return Communicator(std::make_unique<MpiCommunicator>(static_cast<std::size_t>(largest_count)));
}

}  // namespace cambrian::distributed

#else

namespace cambrian::distributed {

Communicator make_mpi_communicator(int) {
    throw Error(
        "this build has no MPI (it was configured with CAMBRIAN_MPI=OFF) configure with "
        "-DCAMBRIAN_MPI=ON");
}

}  // namespace cambrian::distributed

#endif
