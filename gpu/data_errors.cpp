#include "cambrian/gpu/data_errors.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"

namespace cambrian::gpu {

StatusWords::StatusWords(Transfer& transfer, std::vector<StatusSite> status_sites,
                         std::int64_t of_program)
    : sites(std::move(status_sites)),
      program(of_program),
      memory(transfer, static_cast<std::int64_t>(sites.size() * status_pair * word_bytes)) {
    transfer.clear(memory);
}

void DataErrors::expect(vulkan::Ticket ticket, std::shared_ptr<StatusWords> words,
                        std::shared_ptr<const Readback> readback, const std::byte* host) {
    // A later run of the same recording overwrites the copy and tells of the same errors.
    const auto same = std::ranges::find(copies_, host, &Copy::host);
    if (same != copies_.end()) {
        same->ticket = ticket;
        return;
    }
    copies_.push_back({ticket, std::move(words), std::move(readback), host});
}

void DataErrors::check() {
    for (std::size_t i = 0; i < copies_.size();) {
        if (!transfer_.device().done(copies_[i].ticket)) {
            ++i;
            continue;
        }
        const Copy copy = std::move(copies_[i]);
        copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(i));
        check(copy);
    }
}

void DataErrors::forget() {
    for (const Copy& copy : copies_) forget(*copy.words);
    copies_.clear();
}

void DataErrors::forget(StatusWords& words) {
    words.thrown_at = transfer_.device().last();
    transfer_.clear(words.memory);
}

void DataErrors::check(const Copy& copy) {
    if (copy.ticket <= copy.words->thrown_at) {
        return;
    }
    for (std::size_t site = 0; site < copy.words->sites.size(); ++site) {
        struct {
            DataError code;
            std::int32_t index;
        } pair{};
        static_assert(sizeof pair == status_pair * word_bytes);
        std::memcpy(&pair, copy.host + site * sizeof pair, sizeof pair);
        if (pair.code != DataError::none) {
            forget(*copy.words);
            for (const Copy& other : copies_)
                if (other.words->program == copy.words->program) forget(*other.words);
            throw InputError(status_message(copy.words->sites[site], pair.code, pair.index));
        }
    }
}

}  // namespace cambrian::gpu
