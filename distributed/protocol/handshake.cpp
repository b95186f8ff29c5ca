#include "cambrian/distributed/protocol/handshake.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

namespace {

std::string host_name() {
    std::array<char, 256> text{};
    return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

/// The processors that this rank's process is bound to, as ranges; empty: it has those of its
/// launcher, which in a container are not all of the host. A thread may be bound for reasons of its
/// own.
std::string bound_processors() {
    cpu_set_t set, of_launcher;
    CPU_ZERO(&set);
    CPU_ZERO(&of_launcher);
    if (sched_getaffinity(getpid(), sizeof set, &set) != 0 ||
        sched_getaffinity(getppid(), sizeof of_launcher, &of_launcher) != 0 ||
        CPU_COUNT(&set) >= CPU_COUNT(&of_launcher)) {
        return {};
    }
    std::string text;
    constexpr std::size_t processors = CPU_SETSIZE;
    for (std::size_t first = 0; first < processors; ++first) {
        if (!CPU_ISSET(first, &set)) {
            continue;
        }
        std::size_t last = first;
        while (last + 1 < processors && CPU_ISSET(last + 1, &set)) {
            ++last;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        if (last > first) {
            text += fmt::format("-{}", last);
        }
        first = last;
    }
    return text;
}

/// Children of founders, by every operator that has a rate. A rank whose build or memory makes
/// others is found before it does harm.
Hash128 digest_of(const evolve::Variation& variation) {
    constexpr std::int64_t most_weights = std::int64_t{1} << 22U;
    const std::int64_t weights = Network(variation.settings().founder).weight_count();
    const auto children = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(most_weights / std::max<std::int64_t>(weights, 1), 2, 64));
    Hasher hasher;
    for (std::uint64_t id = 0; id < children; ++id) {
        const evolve::Genome first =
            variation.materialise({2 * id, evolve::Recipe::sample, {}}, {}).genome;
        const evolve::Genome second =
            variation.materialise({2 * id + 1, evolve::Recipe::sample, {}}, {}).genome;
        const evolve::Birth birth{
            children * 2 + id, evolve::Recipe::vary, {{2 * id, 1.0, {}}, {2 * id + 1, 0.5, {}}}};
        const std::array<const evolve::Genome*, 2> parents{&first, &second};
        const evolve::Genome child = variation.materialise(birth, parents).genome;
        hasher.add(evolve::content_hash(child));
        if (variation.develops()) {
            hasher.add(
                evolve::content_hash(genome_of(variation.develop(evolve::Individual(child)))));
        }
    }
    return hasher.hash128();
}

}  // namespace

Handshake introduce(const Experiment& experiment, const Backend& backend) {
    Handshake handshake;
    handshake.version = fmt::format("{}.{}.{}", CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR,
                                    CAMBRIAN_VERSION_PATCH);
    handshake.identity = Hasher().add(run_identity(experiment)).hash128();
    handshake.variation = digest_of(evolve::Variation(experiment.seed, experiment.variation));
    handshake.arithmetic = arithmetic_of(backend);
    handshake.fingerprint = backend.describe().text();
    if (const std::string bound = bound_processors(); !bound.empty()) {
        handshake.fingerprint += fmt::format("{}{}", bound_to, bound);
    }
    handshake.host = host_name();
    handshake.device = experiment.distribution.device;
    handshake.processors = static_cast<std::uint32_t>(available_processors());
    return handshake;
}

void dismiss(Communicator& communicator, const std::string& why) {
    for (int rank = 1; rank < communicator.size(); ++rank) {
        send(communicator, rank, Stop{why});
    }
}

void decline(Communicator& communicator, const std::string& why, int coordinator) {
    send(communicator, coordinator, ShardFailure{0, why, true});
}

void check_same(const Handshake& own, const Handshake& other, int rank, bool mixed) {
    const std::string who = fmt::format("rank {} on {}", rank, other.host);
    if (other.version != own.version) {
        throw ConfigError(
            fmt::format("{} runs cambrian {} (rank 0 runs {}) install one version on "
                        "all hosts",
                        who, other.version, own.version));
    }
    if (other.identity != own.identity) {
        throw ConfigError(
            fmt::format("{} has another experiment than rank 0 (their configs, environments, "
                        "data files or plug-ins differ) give all ranks the same",
                        who));
    }
    if (other.variation != own.variation) {
        throw ConfigError(
            fmt::format("{} makes other children than rank 0 (its build, its processor or its "
                        "memory differs) run without that host",
                        who));
    }
    if (!mixed && other.arithmetic != own.arithmetic) {
        throw ConfigError(fmt::format(
            "{} would compute other bits than rank 0 ({} against {}) use equal devices, "
            "or engine.math \"strict\", or set engine.mixed to accept it",
            who, other.arithmetic, own.arithmetic));
    }
}

}  // namespace cambrian::distributed
