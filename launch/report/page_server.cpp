#include "cambrian/launch/report/page_server.hpp"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

/// Who is slower is left, so that others have their turn.
constexpr std::chrono::milliseconds longest_request{5000};
constexpr std::chrono::milliseconds longest_answer{20000};
/// Of a request while others wait for a thread.
constexpr std::chrono::milliseconds longest_request_of_many{300};
/// How soon a server that ends is noticed.
constexpr std::chrono::milliseconds pause{100};
constexpr std::size_t largest_request = std::size_t{64} << 10U;
constexpr std::size_t threads = 16;

/// A connection whose request has so many bytes and takes so long, at most. httplib's own bounds
/// each wait, not how many there are.
class Connection final : public httplib::Stream {
  public:
    /// @param waiting connections that no thread has taken yet.
    Connection(socket_t socket, const std::atomic<int>& waiting, const std::atomic<bool>& ending)
        : socket_(socket), waiting_(waiting), ending_(ending) {}
    ~Connection() override {
        ::shutdown(socket_, SHUT_RDWR);
        ::close(socket_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] bool is_readable() const override { return begin_ < end_ || ready(POLLIN); }
    [[nodiscard]] bool is_writable() const override { return ready(POLLOUT); }
    ssize_t read(char* bytes, std::size_t size) override {
        if (begin_ == end_ && !fill()) return -1;
        const std::size_t count = std::min(size, end_ - begin_);
        std::copy_n(buffer_.data() + begin_, count, bytes);
        begin_ += count;
        return static_cast<ssize_t>(count);
    }
    ssize_t write(const char* bytes, std::size_t size) override {
        if (!is_writable()) return -1;
        return ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    // Nobody asks who it is.
    void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    [[nodiscard]] socket_t socket() const override { return socket_; }

  private:
    [[nodiscard]] std::chrono::milliseconds longest(short what) const {
        if (what == POLLOUT) return longest_answer;
        return waiting_ > 0 ? longest_request_of_many : longest_request;
    }
    /// Whether it may be read from or written to, before it has lasted as long as it may.
    [[nodiscard]] bool ready(short what) const {
        while (!ending_ && Clock::now() - begun_ < longest(what)) {
            pollfd waited{.fd = socket_, .events = what, .revents = 0};
            if (::poll(&waited, 1, static_cast<int>(pause.count())) > 0) return true;
        }
        return false;
    }
    /// Reads on; false at errors and bounds. At the end of a request there is nothing more.
    bool fill() {
        if (received_ >= largest_request || !is_readable()) return false;
        const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        begin_ = 0;
        end_ = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        received_ += end_;
        return got >= 0;
    }

    socket_t socket_;
    const std::atomic<int>& waiting_;
    const std::atomic<bool>& ending_;
    Clock::time_point begun_ = Clock::now();
    std::array<char, 4096> buffer_{};
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t received_ = 0;
};

/// Threads that count what waits for them.
class Threads final : public httplib::TaskQueue {
    /// Nothing, or whether there was room for it, by the library's version.
    using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue(nullptr));

  public:
    explicit Threads(std::atomic<int>& waiting) : waiting_(waiting) {}
    Enqueued enqueue(std::function<void()> work) override {
        ++waiting_;
        return pool_.enqueue([this, work = std::move(work)] {
            --waiting_;
            work();
        });
    }
    void shutdown() override { pool_.shutdown(); }

  private:
    std::atomic<int>& waiting_;
    httplib::ThreadPool pool_{threads};
};

/// One request for each connection.
class BoundedServer final : public httplib::Server {
  public:
    BoundedServer() {
        new_task_queue = [this] { return new Threads(waiting_); };
    }
    /// Connections that are open end soon.
    void end() {
        ending_ = true;
        stop();
    }

  private:
    bool process_and_close_socket(socket_t socket) override {
        Connection connection(socket, waiting_, ending_);
        bool closed = false;
        // A header of two thousand ranges would be answered by as many parts.
        return process_request(connection, true, closed,
                               [](httplib::Request& request) { request.ranges.clear(); });
    }

    std::atomic<int> waiting_ = 0;
    std::atomic<bool> ending_ = false;
};

}  // namespace

bool is_this_host(std::string_view host) {
    if (host == "localhost" || host == "::1") return true;
    return host.starts_with("127.") &&
           host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view host_of(std::string_view header) {
    if (header.starts_with('[')) {
        const std::size_t end = header.find(']');
        return end == std::string_view::npos ? std::string_view() : header.substr(1, end - 1);
    }
    return header.substr(0, header.find(':'));
}

struct PageServer::State {
    BoundedServer server;
    std::thread thread;
    int port = 0;
    std::atomic<bool> asked = false;
    std::mutex mutex;
    std::shared_ptr<const std::string> page;
    std::uint64_t version = 0;

    ~State() {
        server.end();
        if (thread.joinable()) thread.join();
    }
    void answer(const httplib::Request& request, httplib::Response& response, bool this_host_only);
};

void PageServer::State::answer(const httplib::Request& request, httplib::Response& response,
                               bool this_host_only) {
    const auto refuse = [&](int status, const char* text) {
        response.status = status;
        response.set_content(text, "text/plain; charset=utf-8");
    };
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; script-src "
                        "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri "
                        "'none'; form-action 'none'");
    if (request.method != "GET") return refuse(405, "only GET is answered\n");
    if (this_host_only && (request.get_header_value_count("Host") != 1 ||
                           !is_this_host(host_of(request.get_header_value("Host")))))
        return refuse(403, "the request names another host\n");
    if (request.path != "/" && request.path != "/version")
        return refuse(404, "there is one page, /\n");
    asked = true;
    std::shared_ptr<const std::string> shown;
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex);
        shown = page;
        number = version;
    }
    if (!shown) return refuse(503, "the page is not made yet\n");
    response.status = 200;
    if (request.path == "/version")
        response.set_content(fmt::format("{}", number), "text/plain; charset=utf-8");
    else
        response.set_content(*shown, "text/html; charset=utf-8");
}

PageServer::PageServer(const std::string& address, int port) : state_(std::make_unique<State>()) {
    httplib::Server& server = state_->server;
    // Of its own accord it would share a port with another server (SO_REUSEPORT).
    server.set_socket_options([](int socket) {
        const int yes = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server.set_payload_max_length(1024);
    const bool this_host_only = is_this_host(address);
    server.set_pre_routing_handler(
        [this, this_host_only](const httplib::Request& request, httplib::Response& response) {
            state_->answer(request, response, this_host_only);
            return httplib::Server::HandlerResponse::Handled;
        });
    errno = 0;
    if (address.empty())
        state_->port = -1;  // The library would choose one.
    else if (port == 0)
        state_->port = server.bind_to_any_port(address);
    else
        state_->port = server.bind_to_port(address, port) ? port : -1;
    if (state_->port < 1) {
        const std::string why = errno != 0 ? std::strerror(errno) : "there is no such address";
        throw ConfigError(fmt::format(
            "port {} of {} cannot be had ({}) choose another with --port, or an address of this "
            "host with --address",
            port, address.empty() ? "\"\"" : address, why));
    }
    state_->thread = std::thread([state = state_.get()] { state->server.listen_after_bind(); });
    // What is stopped before it runs would run for ever.
    while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

PageServer::~PageServer() = default;

int PageServer::port() const {
    return state_->port;
}

void PageServer::show(std::string page, std::uint64_t version) {
    auto next = std::make_shared<const std::string>(std::move(page));
    const std::lock_guard lock(state_->mutex);
    state_->page = std::move(next);
    state_->version = version;
}

bool PageServer::was_asked() {
    return state_->asked.exchange(false);
}

}  // namespace cambrian::launch
