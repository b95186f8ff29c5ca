#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cambrian/gpu/buffer.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"

namespace cambrian::gpu {

/// The status words of a program: zeros until a kernel finds a data error, then until the error has
/// been thrown. They stay over runs, so no error is lost when a later run is asked about first.
struct StatusWords {
    /// @param of_program the number of that whose runs write them, on one queue.
    StatusWords(Transfer& transfer, std::vector<StatusSite> status_sites, std::int64_t of_program);

    std::vector<StatusSite> sites;
    std::int64_t program;  ///< To tell its words of several queues from those of others.
    Memory memory;
    vulkan::Ticket thrown_at = 0;  ///< Copies made by submissions up to here tell old news.
};

/// Copies of status words that nobody has looked at yet.
class DataErrors {
  public:
    explicit DataErrors(Transfer& transfer) : transfer_(transfer) {}

    /// A run copies its status words to `host`.
    void expect(vulkan::Ticket ticket, std::shared_ptr<StatusWords> words,
                std::shared_ptr<const Readback> readback, const std::byte* host);
    /// Throws InputError for the first error in copies that are there already.
    void check();
    /// What runs so far tell, done or not, is never thrown.
    void forget();

  private:
    struct Copy {
        vulkan::Ticket ticket = 0;
        std::shared_ptr<StatusWords> words;
        std::shared_ptr<const Readback> readback;
        const std::byte* host = nullptr;
    };
    void check(const Copy& copy);
    /// What runs so far have told is old news.
    void forget(StatusWords& words);

    Transfer& transfer_;
    std::vector<Copy> copies_;
};

}  // namespace cambrian::gpu
