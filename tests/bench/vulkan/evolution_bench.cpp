#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian {
namespace {

using namespace evolve;
using Clock = std::chrono::steady_clock;

/// Milliseconds of the parts of one generation.
struct Parts {
    double vary = 0.0;
    double evaluate = 0.0;
    double rest = 0.0;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// A run without ranks and files.
class Evolution {
  public:
    Evolution(const VulkanOptions& options, Family family, std::uint64_t population)
        : task_(standard_tasks().make({{"type", "cart_pole"}}, {})),
          threads_(available_processors()),
          backend_(make_vulkan_backend(options)),
          variation_(1, settings()),
          evaluator_(*backend_, *task_, 1, family),
          strategy_(
              make_elite_strategy({1, {.size = population}, variation_.settings().splice.rate})) {}

    Parts generation() {
        Parts parts;
        Clock::time_point start = Clock::now();
        const auto lap = [&start] {
            const Clock::time_point now = Clock::now();
            const double seconds = std::chrono::duration<double>(now - start).count();
            start = now;
            return seconds * 1e3;
        };
        individuals_.resize(strategy_->births());
        for_each(individuals_.size(), [&](std::size_t i) { make_child(i); });
        parts.vary = lap();
        pointers_.clear();
        for (const Individual& individual : individuals_) pointers_.push_back(&individual);
        const auto evaluations = evaluator_.evaluate(pointers_, {.round = round_++});
        parts.evaluate = lap();
        steps_ = 0.0;
        Scores scores(individuals_.size());
        for (std::size_t i = 0; i < individuals_.size(); ++i) {
            scores.fitness[i] = evaluations[i].fitness;
            scores.status[i] = evaluations[i].status;
            steps_ += static_cast<double>(evaluations[i].env_steps);
        }
        const BirthId first = strategy_->first_birth();
        strategy_ = strategy_->apply(strategy_->decide(scores, threads_));
        keep_parents(first);
        parts.rest += lap();
        return parts;
    }

    [[nodiscard]] std::uint64_t programs() const { return evaluator_.counters().programs_compiled; }
    [[nodiscard]] double steps() const { return steps_; }
    [[nodiscard]] Backend& backend() { return *backend_; }
    [[nodiscard]] double mean_weights() const {
        double sum = 0.0;
        for (const Individual& individual : individuals_)
            sum += static_cast<double>(individual.weights.size());
        return sum / static_cast<double>(individuals_.size());
    }

  private:
    [[nodiscard]] VariationSettings settings() const {
        VariationSettings result;
        result.founder =
            blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "dense", "out": 16,
                "activation": "tanh"}, {"type": "dense"}], "grid": {"layers_per_cell": 4}})"),
                                4, 2);
        result.limits.time = true;
        return result;
    }

    template <class Body>
    void for_each(std::size_t count, const Body& body) {
        constexpr std::size_t at_once = 64;
        const std::size_t items = (count + at_once - 1) / at_once;
        threads_.for_each(static_cast<std::int64_t>(items), [&](std::int64_t item, int) {
            const std::size_t first = static_cast<std::size_t>(item) * at_once;
            for (std::size_t i = first; i < std::min(first + at_once, count); ++i) body(i);
        });
    }

    void make_child(std::size_t i) {
        const Birth birth = strategy_->birth(i);
        std::vector<const Individual*> parents;
        for (const Parent& parent : birth.parents)
            parents.push_back(
                &members_.at(strategy_->parent_pool()[index_of(parent.place)].origin));
        ChildPlan plan;
        variation_.materialise(birth, parents, plan, individuals_[i]);
    }

    void keep_parents(BirthId first) {
        std::unordered_map<BirthId, Individual> next;
        for (const Member& member : strategy_->parent_pool())
            if (member.origin >= first)
                next.emplace(member.origin, std::move(individuals_[member.origin - first]));
            else
                next.insert(members_.extract(member.origin));
        members_ = std::move(next);
    }

    std::unique_ptr<Task> task_;
    ThreadPool threads_;
    std::unique_ptr<Backend> backend_;
    Variation variation_;
    Evaluator evaluator_;
    std::unique_ptr<Strategy> strategy_;
    std::unordered_map<BirthId, Individual> members_;
    std::vector<Individual> individuals_;
    std::vector<const Individual*> pointers_;
    std::uint64_t round_ = 0;
    double steps_ = 0.0;
};

void measure(const std::string& name, VulkanOptions options, Family family,
             std::uint64_t population, int runs) {
    constexpr int warm_up = 50;
    options.threads = available_processors();
    options.profile = false;
    Evolution evolution(options, family, population);
    for (int i = 0; i < warm_up; ++i) static_cast<void>(evolution.generation());
    const std::uint64_t before = evolution.programs();
    std::vector<double> vary;
    std::vector<double> evaluate;
    std::vector<double> rest;
    for (int i = 0; i < runs; ++i) {
        const Parts parts = evolution.generation();
        vary.push_back(parts.vary);
        evaluate.push_back(parts.evaluate);
        rest.push_back(parts.rest);
    }
    fmt::print(
        "{:<40} {:<6} generation {:.2f} ms: vary {:.2f}, evaluate {:.2f}, rest {:.2f}; {:.0f} "
        "weights, {:.1f} M steps, {} compiled of {}\n",
        name, options.math == Math::strict ? "strict" : "fast",
        median(vary) + median(evaluate) + median(rest), median(vary), median(evaluate),
        median(rest), evolution.mean_weights(), evolution.steps() * 1e-6,
        evolution.programs() - before, evolution.programs());
    std::fflush(stdout);

    options.profile = true;
    Evolution profiled(options, family, population);
    for (int i = 0; i < warm_up; ++i) static_cast<void>(profiled.generation());
    static_cast<void>(profiled.backend().take_profile());
    for (int i = 0; i < runs; ++i) static_cast<void>(profiled.generation());
    for (const KernelTime& kernel : profiled.backend().take_profile())
        fmt::print("    {:>10.4f} ms in {:>5.1f}  {}\n", kernel.seconds / runs * 1e3,
                   static_cast<double>(kernel.dispatches) / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace

void measure_evolution(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only) {
    const auto population = static_cast<std::uint64_t>(std::max<std::int64_t>(10000 / scale, 8));
    const std::string name = fmt::format("evolution of {}, interpreted", population);
    if (name.find(only) == std::string::npos) return;
    measure(name, options, Family::interpreted, population, runs);
}

}  // namespace cambrian
