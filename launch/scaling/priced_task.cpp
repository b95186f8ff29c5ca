#include "cambrian/launch/scaling/priced_task.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/random.hpp"

namespace cambrian::launch {
namespace {

class PricedTask final : public evolve::Task {
  public:
    PricedTask(const evolve::TaskSignature& signature, const Price& price)
        : signature_(signature), price_(price) {
        signature_.validates = signature_.tests = false;
        signature_.host = true;
    }

    std::string_view type() const override { return "priced"; }
    evolve::TaskSignature signature() const override { return signature_; }

    std::vector<double> evaluate(evolve::Population& population, evolve::Phase, std::uint64_t seed,
                                 std::uint64_t round) const override {
        const Clock::time_point start = Clock::now();
        std::vector<float> row(static_cast<std::size_t>(signature_.observations));
        RandomField{random_key(seed, "priced.row"), round}.fill_normal(0, row);
        const std::vector<float> outputs = population.outputs(row, 1);
        const std::size_t width = outputs.size() / population.size();
        std::vector<double> fitness(population.size());
        double seconds = 0.0;
        for (std::size_t i = 0; i < fitness.size(); ++i) {
            fitness[i] = static_cast<double>(outputs[i * width]);
            seconds += seconds_of(outputs[i * width], seed);
        }
        // What the networks took here is a part of it.
        const auto end = start + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds * price_.slowness));
        if (const Clock::time_point now = Clock::now(); now < end) {
            Clock::sleep(end - now);
        }
        return fitness;
    }

  private:
    /// The same for an individual wherever it is evaluated.
    [[nodiscard]] double seconds_of(float fitness, std::uint64_t seed) const {
        if (price_.spread == 0.0) return price_.seconds;
        RandomStream stream(random_key(seed, "priced.cost"), std::bit_cast<std::uint32_t>(fitness));
        const double variance = std::log(1.0 + price_.spread * price_.spread);
        const auto normal = static_cast<double>(stream.normal());
        return price_.seconds * std::exp(std::sqrt(variance) * normal - 0.5 * variance);
    }

    evolve::TaskSignature signature_;
    Price price_;
};

}  // namespace

std::unique_ptr<evolve::Task> make_priced_task(const evolve::TaskSignature& signature,
                                               const Price& price) {
    return std::make_unique<PricedTask>(signature, price);
}

}  // namespace cambrian::launch
