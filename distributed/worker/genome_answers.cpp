#include "cambrian/distributed/worker/genome_answers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_set>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

/// Genomes in one message, until they are so many bytes: the next ones are encoded while these are
/// on their way, and all copies of them stay in a cache.
constexpr std::size_t reply_bytes = std::size_t{1} << 20U;
constexpr std::size_t genomes_at_once = 64;
/// A send counts as taken when all of it is, so one that is large may take longer than a lease.
constexpr double slow_bytes_a_second = 1e7;

/// Takes the next message out of a queue.
GenomeReply take_reply(std::deque<NamedIndividual>& genomes) {
    GenomeReply reply;
    std::unordered_map<const evolve::Structure*, std::uint32_t> numbers;
    for (std::size_t bytes = 0; !genomes.empty() && bytes <= reply_bytes; genomes.pop_front()) {
        const auto& [origin, genome] = genomes.front();
        if (!genome) {
            reply.gone.push_back(origin);
            bytes += sizeof origin;
            continue;
        }
        const auto [at, fresh] =
            numbers.emplace(genome->structure.get(), static_cast<std::uint32_t>(numbers.size()));
        if (fresh) {
            reply.structures.push_back(evolve::encode(*genome->structure));
            bytes += reply.structures.back().size();
        }
        reply.genomes.push_back({origin, at->second, genome->weights});
        bytes += genome->weights.size() * sizeof(float);
    }
    return reply;
}

}  // namespace

void GenomeAnswers::add(int rank, ComputeThread& compute, std::span<const NamedIndividual> wanted) {
    Queue& queue = queues_[rank];
    queue.compute = &compute;
    queue.looks = {};
    queue.still = 0.0;
    queue.given_up = false;
    // Islands may share a genome, and whoever asks for all of both names it twice.
    std::unordered_set<evolve::BirthId> told;
    for (const NamedIndividual& one : wanted) {
        if (told.insert(one.first).second) {
            queue.wanted.push_back(one);
        }
    }
    send_more();
}

void GenomeAnswers::send_more() {
    for (auto at = queues_.begin(); at != queues_.end();) {
        Queue& queue = at->second;
        send_more(at->first, queue);
        const bool done = queue.wanted.empty() && queue.ready.empty() && !queue.bringing;
        at = done ? queues_.erase(at) : std::next(at);
    }
}

void GenomeAnswers::send_more(int rank, Queue& queue) {
    const std::size_t left = std::exchange(queue.unfinished, communicator_.unfinished(rank));
    queue.still += queue.looks.look(lease_).seconds;
    // What is still to be brought waits for the jobs before, not for the rank.
    if (queue.unfinished < left || queue.bringing) {
        queue.still = 0.0;
    }
    send_ready(rank, queue);
    while (queue.ready_bytes < max_unfinished && !queue.wanted.empty() && !queue.bringing) {
        bring(rank, queue);
        send_ready(rank, queue);
    }
    const double patience =
        std::max(lease_, static_cast<double>(queue.unfinished) / slow_bytes_a_second);
    if (!queue.given_up && queue.still > patience) {
        queue.given_up = true;
        std::ranges::move(std::exchange(queue.wanted, {}), std::back_inserter(queue.ready));
        for (auto& [origin, genome] : queue.ready) {
            genome = nullptr;
        }
        queue.ready_bytes = 0;
    }
}

void GenomeAnswers::send_ready(int rank, Queue& queue) {
    while (!queue.ready.empty() && queue.unfinished < max_unfinished) {
        const GenomeReply reply = take_reply(queue.ready);
        for (const NamedGenome& genome : reply.genomes) {
            queue.ready_bytes -= genome.weights.size() * sizeof(float);
        }
        send(communicator_, rank, reply);
        queue.unfinished = communicator_.unfinished(rank);
        queue.still = 0.0;
    }
}

void GenomeAnswers::bring(int rank, Queue& queue) {
    std::vector<evolve::BirthId> origins;
    std::vector<SharedIndividual> genomes;
    for (std::size_t bytes = 0; !queue.wanted.empty() && bytes < part_; queue.wanted.pop_front()) {
        auto& [origin, genome] = queue.wanted.front();
        if (!genome) {
            queue.ready.emplace_back(origin, nullptr);
            continue;
        }
        bytes += static_cast<std::size_t>(genome->structure->weight_count()) * sizeof(float);
        origins.push_back(origin);
        genomes.push_back(std::move(genome));
    }
    if (genomes.empty()) {
        return;
    }
    queue.bringing = true;
    queue.compute->bring_to_host(std::move(genomes), [this, rank, origins = std::move(origins)](
                                                         std::vector<SharedIndividual> arrived) {
        Queue& to = queues_.at(rank);
        to.bringing = false;
        for (std::size_t i = 0; i < origins.size(); ++i) {
            to.ready_bytes += arrived[i]->weights.size() * sizeof(float);
            to.ready.emplace_back(origins[i], std::move(arrived[i]));
        }
    });
}

bool GenomeAnswers::waiting() const {
    return std::ranges::any_of(queues_, [](const auto& entry) { return !entry.second.given_up; });
}

std::vector<GenomeAnswer> ReceivedGenomes::read(const GenomeReply& reply, std::string_view source,
                                                ThreadPool& threads) {
    const std::vector<Form> forms = forms_of(reply, source, threads);
    std::vector<GenomeAnswer> answers(reply.genomes.size());
    for_each_index(threads, answers.size(), genomes_at_once, [&](std::size_t i) {
        const NamedGenome& named = reply.genomes[i];
        if (named.structure >= forms.size()) {
            answers[i].problem = fmt::format(
                "{} names a structure that it does not tell ({} of {}) check that every rank runs "
                "the same program",
                source, named.structure, forms.size());
            return;
        }
        const Form& form = forms[named.structure];
        answers[i].problem = form.problem;
        if (!form.problem.empty()) {
            return;
        }
        try {
            answers[i].genome = std::make_shared<const evolve::Individual>(
                evolve::individual_of(form.structure, named.weights, source));
        } catch (const InputError& error) {
            answers[i].problem = error.what();
        }
    });
    return answers;
}

std::vector<ReceivedGenomes::Form> ReceivedGenomes::forms_of(const GenomeReply& reply,
                                                             std::string_view source,
                                                             ThreadPool& threads) {
    forget_dead();
    std::vector<Form> forms(reply.structures.size());
    for (std::size_t i = 0; i < forms.size(); ++i) {
        forms[i].hash = hash128(reply.structures[i]);
        if (const auto known = known_.find(forms[i].hash); known != known_.end()) {
            forms[i].structure = known->second.lock();
        }
    }
    for_each_index(threads, forms.size(), 1, [&](std::size_t i) {
        if (forms[i].structure) {
            return;
        }
        try {
            forms[i].structure = evolve::decode_structure(reply.structures[i], source);
        } catch (const InputError& error) {
            forms[i].problem = error.what();
        }
    });
    for (const Form& form : forms) {
        if (form.structure) {
            known_.insert_or_assign(form.hash, form.structure);
        }
    }
    return forms;
}

void ReceivedGenomes::forget_dead() {
    if (known_.size() <= max_known_) {
        return;
    }
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    max_known_ = std::max<std::size_t>(1024, 2 * known_.size());
}

}  // namespace cambrian::distributed
