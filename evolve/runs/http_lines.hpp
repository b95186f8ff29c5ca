#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace cambrian::distributed {

/// Where somebody listens on this host.
struct LoopbackAddress {
    std::string host;
    int port = 0;
    std::string path;
};

/// Reads http://HOST:PORT/PATH, of which HOST is localhost, 127.x.y.z or [::1]. Throws ConfigError
/// naming `key` for anything else: what a training does is sent to no other host.
[[nodiscard]] LoopbackAddress read_loopback_address(const std::string& text,
                                                    const std::string& key);

/// Posts lines to an address, from a thread of its own: whoever sends never waits. Lines that wait
/// together go in one request (application/x-ndjson). An exchange that is not over within 100 ms
/// from its beginning, however the answer comes in, and what comes while 10,000 lines wait, is lost
/// and counted.
class HttpLines {
  public:
    explicit HttpLines(LoopbackAddress address);
    ~HttpLines();
    HttpLines(const HttpLines&) = delete;
    HttpLines& operator=(const HttpLines&) = delete;

    void send(std::string line);

    struct Counts {
        std::int64_t delivered = 0;
        std::int64_t lost = 0;
    };
    /// After what waits has been tried, once: at most two exchanges, 200 ms whoever listens.
    /// Nothing may be sent afterwards.
    [[nodiscard]] Counts finish();

  private:
    class Sender;
    std::unique_ptr<Sender> sender_;
};

}  // namespace cambrian::distributed
