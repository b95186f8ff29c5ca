#include "cambrian/distributed/worker/genome_answers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

/// Genomes in one message, until they are so many bytes: the next ones are encoded while these are
/// on their way, and all copies of them stay in a cache.
constexpr std::size_t reply_bytes = std::size_t{1} << 20U;
constexpr std::size_t genomes_at_once = 64;

/// An answer that grows until it is sent.
class Answer {
  public:
    explicit Answer(std::vector<evolve::BirthId> gone) { reply_.gone = std::move(gone); }

    void add(evolve::BirthId origin, const evolve::Individual& genome) {
        const auto [at, fresh] =
            numbers_.emplace(genome.structure.get(), static_cast<std::uint32_t>(numbers_.size()));
        if (fresh) {
            reply_.structures.push_back(evolve::encode(*genome.structure));
            bytes_ += reply_.structures.back().size();
        }
        reply_.genomes.push_back({origin, at->second, genome.weights});
        bytes_ += genome.weights.size() * sizeof(float);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void send_to(Communicator& communicator, int rank) {
        send(communicator, rank, std::exchange(reply_, {}));
        numbers_.clear();
        bytes_ = 0;
    }

  private:
    GenomeReply reply_;
    std::unordered_map<const evolve::Structure*, std::uint32_t> numbers_;
    std::size_t bytes_ = 0;
};

void send_all(Communicator& communicator, int rank, Answer answer,
              std::span<const evolve::BirthId> origins, std::span<const SharedIndividual> genomes) {
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        answer.add(origins[i], *genomes[i]);
        if (answer.bytes() > reply_bytes) {
            answer.send_to(communicator, rank);
        }
    }
    answer.send_to(communicator, rank);
}

}  // namespace

void send_genomes(Communicator& communicator, int rank, ComputeThread& compute,
                  std::span<const NamedIndividual> wanted) {
    std::vector<evolve::BirthId> gone;
    std::vector<evolve::BirthId> origins;
    std::vector<SharedIndividual> genomes;
    // Islands may share a genome, and whoever asks for all of both names it twice.
    std::unordered_set<evolve::BirthId> told;
    for (const auto& [origin, genome] : wanted) {
        if (!told.insert(origin).second) {
            continue;
        }
        if (genome) {
            origins.push_back(origin);
            genomes.push_back(genome);
        } else {
            gone.push_back(origin);
        }
    }
    compute.bring_to_host(std::move(genomes), [&communicator, rank, gone = std::move(gone),
                                               origins = std::move(origins)](
                                                  const std::vector<SharedIndividual>& arrived) {
        send_all(communicator, rank, Answer(gone), origins, arrived);
    });
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
