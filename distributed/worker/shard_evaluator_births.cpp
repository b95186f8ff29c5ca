#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/prefetch.hpp"

// Children of a shard, and parents that are made once more: on the backend or the host.
namespace cambrian::distributed {

void ShardEvaluator::make_block(const Job& job, OrderRange indices, evolve::ChildPlan& plan,
                                JobResult& result, std::vector<std::uint32_t>& retries) {
    CAMBRIAN_ASSERT(indices.size() <= block_of_genomes);
    std::array<evolve::Birth, block_of_genomes> births;
    std::vector<GenomePool::Blank> blanks = genomes_.take(indices.size());
    // Parents lie anywhere: those of one child come from memory while another is drawn.
    for (std::size_t i = 0; i < indices.size(); ++i) {
        births[i] =
            job.round->strategy->birth(job.round->order[job.births.begin + indices.begin + i]);
        for (const evolve::Parent& parent : births[i].parents) {
            prefetch(job.parents->at(index_of(parent.place)).get(), sizeof(evolve::Individual));
        }
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
        for (const evolve::Parent& parent : births[i].parents) {
            const SharedIndividual& genome = job.parents->at(index_of(parent.place));
            CAMBRIAN_ASSERT(genome != nullptr);
            prefetch(genome->weights.data(), genome->weights.size() * sizeof(float));
            prefetch(genome->structure.get(), sizeof(evolve::Structure));
        }
        prefetch(blanks[i]->weights.data(), blanks[i]->weights.size() * sizeof(float));
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
        Child child = make_child(variation_, births[i], *job.parents, plan, blanks[i]);
        result.genomes[indices.begin + i] = std::move(child.genome);
        retries[indices.begin + i] = child.retries;
    }
}

bool ShardEvaluator::make_on_backend(Job& job, JobResult& result,
                                     std::vector<std::uint32_t>& retries) {
    // Whoever is compared with others is needed here.
    if (!on_backend_ || !job.children.empty() || !job.round->kinship.empty()) {
        return false;
    }
    std::vector<evolve::BackendChildren::ResolvedBirth> births;
    std::vector<std::size_t> indices;  // of these births
    std::vector<std::size_t> carried;
    std::vector<std::size_t> rest;
    const evolve::Strategy& strategy = *job.round->strategy;
    const auto birth_of = [&](std::size_t i) {
        return strategy.birth(job.round->order[job.births.begin + i]);
    };
    for (std::size_t i = 0; i < job.size(); ++i) {
        if (strategy.carries(job.round->order[job.births.begin + i])) {
            carried.push_back(i);
        } else {
            (resolve(birth_of(i), *job.parents, births) ? indices : rest).push_back(i);
        }
    }
    // Where most are made on the host all are: in parts, beside their evaluation.
    if (births.size() < rest.size()) return false;
    await_releases();  // Their rows are those of the children.
    BackendBirths made = make_rows(births);
    if (made.short_of_memory && job.retired) {
        job.retired = nullptr;
        made = make_rows(births);
    }
    result.cost.memory_splits += made.short_of_memory ? 1 : 0;
    if (made.children.empty() && !births.empty()) {
        return false;
    }
    // Not before it is known that children are made there: parents lie anywhere in memory.
    for (const std::size_t i : carried) {
        result.genomes[i] = (*job.parents)[index_of(birth_of(i).parents.front().place)];
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (!made.children[i]) {
            rest.push_back(indices[i]);
            continue;
        }
        result.genomes[indices[i]] = std::move(made.children[i]);
        retries[indices[i]] = made.retries[i];
    }
    std::vector<evolve::Birth> of_host;
    std::ranges::transform(rest, std::back_inserter(of_host), birth_of);
    make_each(of_host, job.parents, [&](std::size_t i, Child child) {
        result.genomes[rest[i]] = std::move(child.genome);
        retries[rest[i]] = child.retries;
    });
    return true;
}

void ShardEvaluator::make_each(std::span<const evolve::Birth> births,
                               const std::shared_ptr<const PoolGenomes>& parents,
                               const std::function<void(std::size_t, Child)>& take) {
    const std::shared_ptr<const PoolGenomes> genomes = on_host(parents, births);
    for_each_index(threads_, births.size(), block_of_genomes, [&](std::size_t i) {
        take(i, make_child(variation_, births[i], *genomes, genomes_));
    });
}

bool ShardEvaluator::resolve(const evolve::Birth& birth, const PoolGenomes& genomes,
                             std::vector<evolve::BackendChildren::ResolvedBirth>& births) const {
    const ParentGenomes parents(birth, genomes);
    const bool lies_here = std::ranges::all_of(parents.span(), [this](const auto* parent) {
        return on_backend_->lies_here(*parent->structure);
    });
    if (lies_here) {
        std::ranges::copy(parents.span(), births.emplace_back(birth).parents.begin());
    }
    return lies_here;
}

ShardEvaluator::BackendBirths ShardEvaluator::make_rows(
    std::span<const evolve::BackendChildren::ResolvedBirth> births) {
    using evolve::BackendChildren;
    std::vector<GenomePool::Blank> blanks = genomes_.take(births.size());
    std::vector<evolve::Individual*> children;
    std::ranges::transform(blanks, std::back_inserter(children),
                           [](const GenomePool::Blank& blank) { return blank.get(); });
    BackendBirths made;
    made.retries.resize(births.size());
    const BackendChildren::Made outcome = on_backend_->make(births, children, made.retries);
    made.short_of_memory = outcome.short_of_memory;
    if (!outcome.births.empty()) made.children.resize(births.size());
    for (const std::size_t i : outcome.births) made.children[i] = std::move(blanks[i]);
    return made;
}

std::vector<SharedIndividual> ShardEvaluator::remake(const SharedRound& round,
                                                     const Remakes& remakes) {
    Remade& remade = remade_.emplace_back();
    remade.round = round;
    remade.generation = round->generation();
    remade.genomes.resize(round->strategy->parent_pool().size());
    std::vector<SharedIndividual> made;
    try {
        made = make_once_more(remakes);
    } catch (...) {
        remade.failure = std::current_exception();
        backend_.forget_errors();
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        remade.genomes[remakes.recipes[i].place] = made[i];
    }
    return made;
}

std::vector<SharedIndividual> ShardEvaluator::make_once_more(const Remakes& remakes) {
    await_releases();
    // What is made on the host needs its parents there: those of its own, not of all.
    std::vector<evolve::BackendChildren::ResolvedBirth> large;
    std::vector<std::size_t> indices;
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < remakes.recipes.size(); ++i) {
        const evolve::Birth& birth = remakes.recipes[i].birth;
        const bool lies_here = on_backend_ && resolve(birth, *remakes.former, large);
        (lies_here ? indices : rest).push_back(i);
    }
    std::vector<SharedIndividual> made(remakes.recipes.size());
    BackendBirths rows = large.empty() ? BackendBirths{} : make_rows(large);
    short_of_memory_ += rows.short_of_memory ? 1 : 0;
    rows.children.resize(large.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (rows.children[i]) {
            made[indices[i]] = std::move(rows.children[i]);
        } else {
            rest.push_back(indices[i]);
        }
    }
    std::vector<evolve::Birth> births;
    std::ranges::transform(rest, std::back_inserter(births),
                           [&](std::size_t i) { return remakes.recipes[i].birth; });
    make_each(births, remakes.former,
              [&](std::size_t i, Child child) { made[rest[i]] = std::move(child.genome); });
    return made;
}

void ShardEvaluator::take_remade(Job& job) {
    // Jobs come in the order of their rounds, but where several are open.
    const bool one_open = job.round && job.round->strategy->open() == 1;
    std::erase_if(remade_, [&](const Remade& remade) {
        return remade.round.expired() || (one_open && remade.generation < job.round->generation());
    });
    for (const Remade& remade : remade_) {
        if (!job.round || remade.round.lock() != job.round) {
            continue;
        }
        if (remade.failure) {
            std::rethrow_exception(remade.failure);
        }
        if (std::ranges::find(*job.parents, nullptr) == job.parents->end()) {
            return;
        }
        const auto all = std::make_shared<PoolGenomes>(*job.parents);
        for (std::size_t place = 0; place < all->size(); ++place) {
            if (!(*all)[place]) {
                (*all)[place] = remade.genomes[place];
            }
        }
        job.parents = all;
    }
}

Job ShardEvaluator::with_parents_on_host(const Job& job) const {
    Job host_job = job;
    host_job.retired = nullptr;  // Let go by the job itself.
    // Who has no weights there is not asked one by one: parents lie anywhere in memory.
    const bool some = on_backend_ && on_backend_->holds_some();
    if (some && job.children.empty() && any_on_backend(*job.parents)) {
        std::vector<evolve::Birth> births;
        for (std::size_t i = job.births.begin; i < job.births.end; ++i) {
            births.push_back(job.round->strategy->birth(job.round->order[i]));
        }
        host_job.parents = on_host(job.parents, births);
    }
    return host_job;
}

void ShardEvaluator::make_on_host(const Job& job, OrderRange indices, JobResult& result,
                                  std::vector<std::uint32_t>& retries) {
    if (!job.children.empty()) {
        for (std::size_t i = indices.begin; i < indices.end; ++i) {
            result.genomes[i] = job.children[i].genome;
            retries[i] = job.children[i].retries;
        }
        return;
    }
    std::vector<evolve::ChildPlan> plans(static_cast<std::size_t>(threads_.threads()));
    for_each_block(threads_, indices.size(), block_of_genomes, [&](const Block& block, int worker) {
        make_block(job, {indices.begin + block.begin, indices.begin + block.end},
                   plans[static_cast<std::size_t>(worker)], result, retries);
    });
}

SharedIndividual ShardEvaluator::on_host(const SharedIndividual& genome) const {
    return genome->on_host() ? genome
                             : std::make_shared<const evolve::Individual>(
                                   evolve::copy_to_host(*genome, backend_));
}

std::shared_ptr<const PoolGenomes> ShardEvaluator::on_host(
    const std::shared_ptr<const PoolGenomes>& genomes,
    std::span<const evolve::Birth> births) const {
    std::shared_ptr<PoolGenomes> copied;
    for (const evolve::Birth& birth : births) {
        for (const evolve::Parent& parent : birth.parents) {
            const std::size_t place = index_of(parent.place);
            if (SharedIndividual genome = (copied ? *copied : *genomes)[place];
                genome && !genome->on_host()) {
                copied = copied ? copied : std::make_shared<PoolGenomes>(*genomes);
                (*copied)[place] = on_host(genome);
            }
        }
    }
    return copied ? copied : genomes;
}

}  // namespace cambrian::distributed
