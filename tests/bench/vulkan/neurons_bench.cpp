#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/bench/evolve/neuron_population.hpp"
#include "cambrian/tests/bench/vulkan/measurements.hpp"

namespace cambrian {
namespace {

using namespace evolve;

constexpr std::int64_t episodes = 5;
constexpr std::int64_t steps = 500;

/// A population of random structures.
class NeuronEpisodes {
  public:
    NeuronEpisodes(const VulkanOptions& options, std::uint64_t population)
        : task_(bench::endless_cart_pole(episodes, steps)),
          backend_(make_vulkan_backend(options)),
          evaluator_(*backend_, *task_, 1, Family::interpreted) {
        for (Genome& genome : bench::neuron_population(bench::grown_for_cart_pole, 0, population))
            individuals_.emplace_back(std::move(genome));
        for (const Individual& each : individuals_) pointers_.push_back(&each);
    }

    /// Milliseconds from genomes to fitness.
    double evaluate() {
        const auto start = std::chrono::steady_clock::now();
        const auto evaluations =
            evaluator_.evaluate(pointers_, {.round = round_++}, {.samples = false});
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        steps_ = 0.0;
        for (const Evaluation& each : evaluations) steps_ += static_cast<double>(each.env_steps);
        return passed.count() * 1e3;
    }
    [[nodiscard]] double steps_of_last() const { return steps_; }
    [[nodiscard]] Backend& backend() { return *backend_; }

  private:
    std::unique_ptr<Task> task_;
    std::unique_ptr<Backend> backend_;
    Evaluator evaluator_;
    std::vector<Individual> individuals_;
    std::vector<const Individual*> pointers_;
    std::uint64_t round_ = 0;
    double steps_ = 0.0;
};

/// A device that has rested computes at a fifth of its speed.
void warm_up(NeuronEpisodes& each, std::int64_t scale) {
    for (std::int64_t i = 0; i < std::max<std::int64_t>(100 / scale, 1); ++i) each.evaluate();
}

}  // namespace

void measure_neurons(VulkanOptions options, std::int64_t scale, int runs, const std::string& only) {
    const auto population = static_cast<std::uint64_t>(std::max<std::int64_t>(10'000 / scale, 8));
    const std::string name =
        fmt::format("neurons, {} networks of 5 to 60 x {} x {}", population, episodes, steps);
    if (name.find(only) == std::string::npos) return;
    options.threads = available_processors();
    options.profile = false;
    NeuronEpisodes plain(options, population);
    const double first = plain.evaluate();
    warm_up(plain, scale);
    std::vector<double> walls;
    for (int i = 0; i < runs; ++i) walls.push_back(plain.evaluate());
    std::ranges::sort(walls);
    fmt::print("{} {}: wall {:.3f} ms (best {:.3f}), {:.1f} M steps; the first time {:.1f} ms\n",
               name, options.math == Math::strict ? "strict" : "fast", walls[walls.size() / 2],
               walls[0], plain.steps_of_last() * 1e-6, first);
    options.profile = true;
    NeuronEpisodes profiled(options, population);
    warm_up(profiled, scale);
    static_cast<void>(profiled.backend().take_profile());
    for (int i = 0; i < runs; ++i) profiled.evaluate();
    for (const KernelTime& kernel : profiled.backend().take_profile())
        fmt::print("    {:>10.4f} ms in {:>5.1f}  {}\n", kernel.seconds / runs * 1e3,
                   static_cast<double>(kernel.dispatches) / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace cambrian
