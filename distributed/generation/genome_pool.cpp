#include "cambrian/distributed/generation/genome_pool.hpp"

#include <functional>
#include <thread>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

ParentGenomes::ParentGenomes(const evolve::Birth& birth, std::span<const SharedIndividual> list)
    : count_(birth.parents.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
        const std::size_t place = index_of(birth.parents[i].place);
        CAMBRIAN_ASSERT(place < list.size() && list[place]);
        genomes_[i] = list[place].get();
    }
}

struct GenomePool::Node {
    /// Of a shared pointer's counters, with what it calls at the end.
    static constexpr std::size_t counter_bytes = 96;

    evolve::Individual individual;
    GenomePool* pool = nullptr;
    std::unique_ptr<Node> next{};  ///< Of those that were dropped.
    alignas(std::max_align_t) std::array<std::byte, counter_bytes> counters{};
};

/// Where the counters of shared pointers lie: beside what they count. The node is free when they
/// have ended, not before.
template <class Value>
struct GenomePool::Counters {
    using value_type = Value;

    Node* node;

    explicit Counters(Node* of) : node(of) {}
    template <class Other>
    Counters(const Counters<Other>& other) : node(other.node) {}  // NOLINT: as allocators are

    Value* allocate(std::size_t count) {
        static_assert(sizeof(Value) <= Node::counter_bytes &&
                      alignof(Value) <= alignof(std::max_align_t));
        CAMBRIAN_ASSERT(count == 1);
        return reinterpret_cast<Value*>(node->counters.data());
    }
    void deallocate(Value*, std::size_t) noexcept { node->pool->give_back(node); }
    template <class Other>
    bool operator==(const Counters<Other>& other) const {
        return node == other.node;
    }
};

GenomePool::Blank::~Blank() {
    if (node_ != nullptr) {
        node_->pool->give_back(node_);
    }
}

evolve::Individual* GenomePool::Blank::get() const {
    return &node_->individual;
}

GenomePool::Blank::operator SharedIndividual() && {
    Node* node = std::exchange(node_, nullptr);
    const auto keep = [](evolve::Individual*) {};
    return SharedIndividual(&node->individual, keep, Counters<evolve::Individual>(node));
}

// Two stripes a thread: which one is a thread's is a matter of chance.
GenomePool::GenomePool(int threads) : stripes_(2 * static_cast<std::size_t>(threads)) {}

GenomePool::~GenomePool() {
    std::int64_t outstanding = 0;
    for (Stripe& stripe : stripes_) {
        outstanding += stripe.outstanding;
        // One by one: a chain that ends by itself takes a stack as deep as it is long.
        while (stripe.dropped) {
            stripe.dropped = std::move(stripe.dropped->next);
        }
    }
    CAMBRIAN_EXPECT(outstanding == 0);
}

std::size_t GenomePool::own_stripe() const {
    return std::hash<std::thread::id>()(std::this_thread::get_id()) % stripes_.size();
}

std::vector<GenomePool::Blank> GenomePool::take(std::size_t count) {
    std::vector<Blank> taken;
    taken.reserve(count);
    const std::size_t own = own_stripe();
    for (std::size_t turn = 0; turn < stripes_.size() && taken.size() < count; ++turn) {
        Stripe& stripe = stripes_[(own + turn) % stripes_.size()];
        const std::lock_guard lock(stripe.mutex);
        while (taken.size() < count && stripe.dropped) {
            Node* node = stripe.dropped.release();
            stripe.dropped = std::move(node->next);
            ++stripe.outstanding;
            taken.push_back(Blank(node));
        }
    }
    while (taken.size() < count) {
        taken.push_back(make());
    }
    return taken;
}

GenomePool::Blank GenomePool::make() {
    auto node = std::make_unique<Node>();
    node->pool = this;
    Stripe& stripe = stripes_[own_stripe()];
    // Before it is a blank, which is given back where there is no memory for the next one.
    const std::lock_guard lock(stripe.mutex);
    ++stripe.outstanding;
    return Blank(node.release());
}

void GenomePool::give_back(Node* node) noexcept {
    std::unique_ptr<Node> dropped(node);
    dropped->individual.structure.reset();  // memory that is not its own
    dropped->individual.row.reset();
    // Room for more than twice as much as was used is from the time of larger genomes.
    std::vector<float>& weights = dropped->individual.weights;
    if (weights.capacity() / 2 > weights.size()) {
        weights = std::vector<float>();
    }
    Stripe& stripe = stripes_[own_stripe()];
    const std::lock_guard lock(stripe.mutex);
    --stripe.outstanding;
    dropped->next = std::move(stripe.dropped);
    stripe.dropped = std::move(dropped);
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedIndividual> parents, evolve::ChildPlan& plan,
                 GenomePool::Blank& blank) {
    if (birth.recipe == evolve::Recipe::carry) {
        return {parents[index_of(birth.parents.front().place)]};
    }
    variation.materialise(birth, ParentGenomes(birth, parents).span(), plan, *blank);
    return {std::move(blank), plan.retries};
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedIndividual> parents, GenomePool& pool) {
    evolve::ChildPlan plan;
    return make_child(variation, birth, parents, plan, pool.take(1).front());
}

}  // namespace cambrian::distributed
