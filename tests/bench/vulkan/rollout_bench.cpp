#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "cambrian/tests/gpu/codegen/rollout_support.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t steps = 500;

struct RolloutCase {
    std::int64_t population = 0;
    std::int64_t hidden = 0;
    std::int64_t episodes = 1;
    test::Rollout::Form form = test::Rollout::Form::nodes;

    [[nodiscard]] std::string name() const {
        return fmt::format("rollout {} x {} x {}, {} 4-{}-2", population, episodes, steps,
                           form == test::Rollout::Form::nodes ? "fixed" : "interpreted", hidden);
    }
};

class Timer {
  public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A compiled rollout with everything on the device.
class RolloutRun {
  public:
    RolloutRun(const RolloutCase& measured, const VulkanOptions& options)
        : rollout_(test::multilayer_perceptron(measured.hidden), measured.episodes, steps,
                   measured.form),
          population_(measured.population),
          backend_(make_vulkan_backend(options)),
          fitness_(static_cast<std::size_t>(measured.population)) {
        const Timer timer;
        program_ = backend_->compile(rollout_.graph());
        compile_seconds = timer.seconds();
        for (const Tensor& tensor : rollout_.balancing_inputs(population_)) upload(tensor);
        for (const ValueId id : rollout_.graph().outputs()) {
            const ValueInfo& info = rollout_.graph().value(id);
            const std::int64_t words = population_ * info.shape.elements();
            buffers_.push_back(backend_->allocate(info.type, words));
            outputs_.push_back({buffers_.back().get(), 0});
        }
    }

    /// Seconds of a run until the host has every fitness.
    double run() {
        const Timer timer;
        program_->run(population_, inputs_, outputs_);
        backend_->download(*outputs_[0].buffer, 0, std::span<float>(fitness_));
        return timer.seconds();
    }
    [[nodiscard]] double mean_fitness() const {
        return std::accumulate(fitness_.begin(), fitness_.end(), 0.0) /
               static_cast<double>(fitness_.size());
    }
    [[nodiscard]] Backend& backend() { return *backend_; }

    double compile_seconds = 0.0;

  private:
    void upload(const Tensor& tensor) {
        buffers_.push_back(
            backend_->allocate(tensor.type, static_cast<std::int64_t>(tensor.elements.size())));
        inputs_.push_back({buffers_.back().get(), 0});
        if (tensor.type == ValueType::real) {
            backend_->upload(*buffers_.back(), 0, std::span<const double>(tensor.elements));
        } else {
            const std::vector<std::int32_t> words(tensor.elements.begin(), tensor.elements.end());
            backend_->upload(*buffers_.back(), 0, std::span<const std::int32_t>(words));
        }
    }

    test::Rollout rollout_;
    std::int64_t population_;
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<Program> program_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<Binding> inputs_;
    std::vector<Binding> outputs_;
    std::vector<float> fitness_;
};

/// A device that has rested computes at a fifth of its speed.
void warm_up(RolloutRun& run, int runs) {
    constexpr double enough = 0.7;
    const Timer timer;
    do run.run();
    while (runs > 1 && timer.seconds() < enough);
}

void measure(const RolloutCase& measured, VulkanOptions options, int runs) {
    std::vector<double> walls;
    double first = 0.0;
    double compile = 0.0;
    double fitness = 0.0;
    {
        RolloutRun run(measured, options);
        first = run.run();
        compile = run.compile_seconds;
        warm_up(run, runs);
        for (int i = 0; i < runs; ++i) walls.push_back(run.run());
        fitness = run.mean_fitness();
    }
    std::ranges::sort(walls);
    const double median = walls[walls.size() / 2];
    const double steps_of_run =
        fitness * static_cast<double>(measured.population * measured.episodes);
    fmt::print(
        "{:<34} {:<6} wall {:.3f} ms (best {:.3f}), {:.2f} G steps/s, mean fitness {:.1f}, "
        "compiled in {:.2f} s, first run {:.2f} s\n",
        measured.name(), options.math == Math::strict ? "strict" : "fast", median * 1e3,
        walls[0] * 1e3, steps_of_run / median * 1e-9, fitness, compile, first);
    options.profile = true;
    RolloutRun run(measured, options);
    run.run();  // Compiled.
    warm_up(run, runs);
    static_cast<void>(run.backend().take_profile());
    for (int i = 0; i < runs; ++i) run.run();
    for (const KernelTime& kernel : run.backend().take_profile())
        fmt::print("    {:>10.4f} ms in {:>3}  {}\n", kernel.seconds / runs * 1e3,
                   kernel.dispatches / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace

void measure_rollouts(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only) {
    using Form = test::Rollout::Form;
    for (const RolloutCase& measured :
         {RolloutCase{10000, 16, 1}, RolloutCase{10000, 16, 5}, RolloutCase{10000, 32, 1},
          RolloutCase{10000, 64, 1}, RolloutCase{10000, 16, 1, Form::bytecode},
          RolloutCase{10000, 16, 5, Form::bytecode}, RolloutCase{40000, 16, 5, Form::bytecode}}) {
        RolloutCase scaled = measured;
        scaled.population = std::max<std::int64_t>(measured.population / scale, 1);
        if (scaled.name().find(only) == std::string::npos) continue;
        for (const Math math : {Math::strict, Math::fast}) {
            VulkanOptions with_math = options;
            with_math.math = math;
            measure(scaled, with_math, runs);
        }
    }
}

}  // namespace cambrian
