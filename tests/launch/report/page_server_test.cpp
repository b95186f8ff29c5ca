#include "cambrian/launch/report/page_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace page_server_tests {
namespace {

using test::ChildProcess;
using test::TemporaryDirectory;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A connection to a port of this host; -1 where there is none.
int connected(int port) {
    const int file = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return file;
    ::close(file);
    return -1;
}

/// What comes back for bytes as they are, until the other side has nothing more to say.
/// @param leaves whether this side says that it has no more to send, which ends a request, too.
std::string answer_to(int port, const std::string& bytes, bool leaves = false) {
    const int file = connected(port);
    std::string answer;
    if (file >= 0) {
        ::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (leaves) ::shutdown(file, SHUT_WR);
        std::array<char, 4096> part{};
        for (ssize_t got = 0; (got = ::recv(file, part.data(), part.size(), 0)) > 0;)
            answer.append(part.data(), static_cast<std::size_t>(got));
    }
    ::close(file);
    return answer;
}

std::string request(const std::string& line, const std::string& host) {
    return fmt::format("{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", line, host);
}

TEST(PageServer, ServesOnePageAndItsVersion) {
    PageServer server("127.0.0.1", 0);
    httplib::Client client("127.0.0.1", server.port());
    EXPECT_EQ(client.Get("/")->status, 503);
    server.show("<p>one", 17);
    EXPECT_TRUE(server.was_asked());
    EXPECT_FALSE(server.was_asked());
    const auto page = client.Get("/");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
    EXPECT_EQ(page->body, "<p>one");
    EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
    EXPECT_THAT(page->get_header_value("Content-Security-Policy"), HasSubstr("default-src 'none'"));
    EXPECT_TRUE(server.was_asked());
    EXPECT_EQ(client.Get("/version")->body, "17");
    server.show("<p>two", 18);
    EXPECT_EQ(client.Get("/?x=1")->body, "<p>two");
    EXPECT_EQ(client.Get("/version")->body, "18");
}

TEST(PageServer, RefusesEverythingElse) {
    PageServer server("127.0.0.1", 0);
    server.show("secret", 1);
    const int port = server.port();
    const std::string own = fmt::format("127.0.0.1:{}", port);
    for (const char* host : {"127.0.0.1", "localhost", "localhost:1", "[::1]:9", "127.8.9.1"})
        EXPECT_THAT(answer_to(port, request("GET /", host)), HasSubstr("secret")) << host;
    // A name that somebody made point here, and what only looks like this host.
    for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                             "[::1", "", "10.0.0.1", "evil.example:80"})
        EXPECT_THAT(answer_to(port, request("GET /", host)), StartsWith("HTTP/1.1 403")) << host;
    EXPECT_THAT(answer_to(port, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(answer_to(port,
                          "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n"
                          "Connection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 403"));
    for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
        EXPECT_THAT(answer_to(port, request(std::string(method) + " /", own)),
                    StartsWith("HTTP/1.1 405"))
            << method;
    for (const char* path :
         {"/report.html", "/../../etc/passwd", "/%2e%2e/etc/passwd", "//", "/version/"})
        EXPECT_THAT(answer_to(port, request(std::string("GET ") + path, own)),
                    StartsWith("HTTP/1.1 404"))
            << path;
    // What is no request at all changes nothing.
    for (const std::string& bytes :
         {std::string("\0\0\0\0", 4), std::string("GET"), std::string(100'000, 'A'),
          std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n"),
          "GET / HTTP/1.1\r\n" + std::string(20'000, 'h') + ": x\r\n\r\n"})
        static_cast<void>(answer_to(port, bytes, true));
    EXPECT_THAT(answer_to(port, request("GET /", own)), HasSubstr("secret"));
}

/// Clients that send a byte of a header now and then, for ten seconds.
class SlowClients {
  public:
    SlowClients(int port, int count) {
        for (int i = 0; i < count; ++i) files_.push_back(connected(port));
        for (const int file : files_) say(file, "GET / HTTP/1.1\r\nX: ");
        thread_ = std::jthread([this](const std::stop_token& stop) {
            for (int i = 0; i < 50 && !stop.stop_requested(); ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                for (const int file : files_) say(file, "x");
            }
        });
    }
    ~SlowClients() {
        thread_.request_stop();
        thread_.join();
        for (const int file : files_) ::close(file);
    }
    SlowClients(const SlowClients&) = delete;
    SlowClients& operator=(const SlowClients&) = delete;

  private:
    static void say(int file, std::string_view bytes) {
        ::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }

    std::vector<int> files_;
    std::jthread thread_;
};

TEST(PageServer, SlowClientsHinderNobodyNorTheEnd) {
    using Clock = std::chrono::steady_clock;
    auto server = std::make_unique<PageServer>("127.0.0.1", 0);
    server->show("the page", 1);
    const SlowClients some(server->port(), 8);
    Clock::time_point begin = Clock::now();
    EXPECT_THAT(answer_to(server->port(), request("GET /", "localhost")), HasSubstr("the page"));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
    const SlowClients more(server->port(), 40);
    // More than there are threads: while others wait, these are left to themselves sooner.
    begin = Clock::now();
    EXPECT_THAT(answer_to(server->port(), request("GET /", "localhost")), HasSubstr("the page"));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(6));
    const SlowClients last(server->port(), 16);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    begin = Clock::now();
    server.reset();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
}

TEST(PageServer, LargeRequestsAreNotRead) {
    PageServer server("127.0.0.1", 0);
    server.show("the page", 1);
    const int file = connected(server.port());
    ASSERT_GE(file, 0);
    std::string lines = "GET / HTTP/1.1\r\n";
    while (lines.size() < std::size_t{1} << 20U) lines += "X: " + std::string(1000, 'x') + "\r\n";
    int sent = 0;
    while (sent < 64 &&
           ::send(file, lines.data(), lines.size(), MSG_NOSIGNAL) == std::ssize(lines)) {
        ++sent;
        lines.replace(0, 16, "X: x\r\nX: xxxxxxx");
    }
    EXPECT_LT(sent, 64);
    ::close(file);
}

TEST(PageServer, RangesAreNotAnswered) {
    PageServer server("127.0.0.1", 0);
    server.show("the page", 1);
    for (const char* range : {"bytes=4-7", "bytes=0-,0-,0-,0-"}) {
        const std::string answer =
            answer_to(server.port(),
                      fmt::format("GET / HTTP/1.1\r\nHost: localhost\r\nRange: {}\r\n\r\n", range));
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
        EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nthe page"));
    }
}

TEST(PageServer, SaysThatAPortIsTaken) {
    const PageServer first("127.0.0.1", 0);
    const std::string error =
        test::failure<ConfigError>([&] { const PageServer second("127.0.0.1", first.port()); });
    EXPECT_THAT(error, HasSubstr(fmt::format("port {} of 127.0.0.1 cannot be had", first.port())));
    EXPECT_THAT(error, HasSubstr("--port"));
    EXPECT_THAT(test::failure<ConfigError>([] { const PageServer none("192.0.2.1", 0); }),
                HasSubstr("--address"));
}

TEST(PageServer, AnEmptyAddressIsRefused) {
    for (const int port : {0, 65535}) {
        EXPECT_THAT(test::failure<ConfigError>([&] { const PageServer none("", port); }),
                    HasSubstr(fmt::format(
                        "port {} of \"\" cannot be had (there is no such address)", port)));
    }
}

/// The port in the line that the program prints, once it is there.
int port_of(const std::string& output) {
    for (int i = 0; i < 1000; ++i) {
        const std::string text = test::content(output);
        const std::string begin = "http://127.0.0.1:";
        if (const std::size_t at = text.find(begin);
            at != std::string::npos && text.find('\n') != std::string::npos)
            return std::stoi(text.substr(at + begin.size()));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << test::content(output);
    return 0;
}

/// Looks at the page until it has another version.
void wait_for_another(httplib::Client& client, const std::string& version) {
    std::string now = version;
    for (int i = 0; i < 200 && now == version; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        now = client.Get("/version")->body;
    }
    EXPECT_NE(now, version);
}

TEST(ReportWatch, ShowsARunAsItGoesOnUntilItIsEnded) {
    const TemporaryDirectory directory;
    ASSERT_EQ(test::run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const std::string place = directory.file("run-xor");
    const std::string output = directory.file("output.txt");
    ChildProcess watch({"report", place, "--watch", "--port", "0"}, {.output = output});
    const int port = port_of(output);
    httplib::Client client("127.0.0.1", port);
    const auto page = client.Get("/");
    ASSERT_TRUE(page);
    EXPECT_THAT(page->body, HasSubstr("<h1>small</h1>"));
    EXPECT_THAT(page->body, HasSubstr("<td>3</td>"));
    const std::string version = client.Get("/version")->body;
    EXPECT_THAT(page->body, HasSubstr("!== '" + version + "'"));
    ASSERT_EQ(test::run({"resume", place, "-q", "--set", "run.stop.generations=5"}).code, 0);
    wait_for_another(client, version);
    EXPECT_THAT(client.Get("/")->body, HasSubstr("<td>5</td>"));
    // Another one on its port is an error; damage of a file is none.
    const test::Result second =
        test::run({"report", place, "--watch", "--port", std::to_string(port)});
    EXPECT_EQ(second.code, 2);
    EXPECT_THAT(second.err, HasSubstr("cannot be had"));
    directory.write("run-xor/generations.csv", "generation,best\n1\n2\n");
    for (int i = 0; i < 100 && test::content(output).find("stays as it is") == std::string::npos;
         ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        static_cast<void>(client.Get("/version"));
    }
    EXPECT_THAT(test::content(output), HasSubstr("warning: the page stays as it is"));
    EXPECT_EQ(client.Get("/")->status, 200);
    watch.tell(SIGUSR1);
    watch.tell(SIGTERM);
    EXPECT_EQ(watch.end_within(120), std::optional<int>(0));
}

TEST(ReportWatch, ShowsThatARunWasKilled) {
    const TemporaryDirectory directory;
    directory.write("run/generations.csv", "generation,best\n0,0.5\n");
    const std::string place = directory.file("run");
    distributed::RunStatus status;
    status.state = "running";
    distributed::write_status_file(place + "/status.json", status);
    std::optional<distributed::RunLock> lock(place);
    const std::string output = directory.file("output.txt");
    const ChildProcess watch({"report", place, "--watch", "--port", "0"}, {.output = output});
    httplib::Client client("127.0.0.1", port_of(output));
    EXPECT_THAT(client.Get("/")->body, HasSubstr("<td>running</td>"));
    const std::string version = client.Get("/version")->body;
    lock.reset();
    wait_for_another(client, version);
    EXPECT_THAT(client.Get("/")->body, HasSubstr("<td>ended without a word</td>"));
}

TEST(ReportWatch, RefusesWhatItCannotShow) {
    const TemporaryDirectory directory;
    EXPECT_EQ(test::run({"report", directory.path().string(), "--watch", "--port", "0"}).code, 3);
    EXPECT_EQ(test::run({"report", directory.path().string(), "--port", "0"}).code, 2);
    EXPECT_EQ(test::run({"report", directory.path().string(), "--watch", "-o", "x"}).code, 2);
}

}  // namespace
}  // namespace page_server_tests
}  // namespace cambrian::launch
