#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"

namespace cambrian::test {
namespace {

/// How many graphs each test makes: more with CAMBRIAN_TEST_GRAPHS.
std::uint64_t graph_count() {
    return asked("CAMBRIAN_TEST_GRAPHS", 3);
}

using Values = std::vector<std::vector<double>>;

/// A program with buffers of its own for each population.
class Bench {
  public:
    Bench(Backend& backend, const RandomGraph& random)
        : backend_(backend), random_(random), program_(backend.compile(random.graph)) {}

    /// @param shift elements before every input and output in their buffers.
    Values run(std::int64_t population, std::int64_t shift) {
        const Graph& graph = random_.graph;
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<Binding> inputs;
        for (const Tensor& tensor : random_.inputs(population)) {
            const auto count = static_cast<std::int64_t>(tensor.elements.size());
            buffers.push_back(backend_.allocate(tensor.type, shift + count));
            backend_.upload(*buffers.back(), shift, std::span<const double>(tensor.elements));
            inputs.push_back({buffers.back().get(), shift});
        }
        std::vector<Binding> outputs;
        Values values;
        for (const ValueId id : graph.outputs()) {
            const ValueInfo& info = graph.value(id);
            const std::int64_t count =
                info.shape.elements() * (info.per_individual ? population : 1);
            buffers.push_back(backend_.allocate(info.type, shift + count + 3));
            outputs.push_back({buffers.back().get(), shift});
            values.emplace_back(static_cast<std::size_t>(count));
        }
        program_->run(population, inputs, outputs);
        for (std::size_t i = 0; i < values.size(); ++i) {
            backend_.download(*outputs[i].buffer, shift, std::span<double>(values[i]));
            expect_untouched(*outputs[i].buffer, shift,
                             static_cast<std::int64_t>(values[i].size()));
        }
        return values;
    }

  private:
    void expect_untouched(const Buffer& buffer, std::int64_t first, std::int64_t count) {
        std::vector<double> all(static_cast<std::size_t>(buffer.elements()));
        backend_.download(buffer, 0, std::span<double>(all));
        for (std::int64_t i = 0; i < buffer.elements(); ++i) {
            if (i >= first && i < first + count) continue;
            ASSERT_EQ(all[static_cast<std::size_t>(i)], 0.0) << "word " << i << " was written";
        }
    }

    Backend& backend_;
    const RandomGraph& random_;
    std::unique_ptr<Program> program_;
};

void expect_front(const Values& few, const Values& many, const std::string& what) {
    for (std::size_t i = 0; i < few.size(); ++i)
        EXPECT_EQ(first_difference(few[i], std::span(many[i]).first(few[i].size())), -1)
            << what << ", output " << i;
}

VulkanOptions options_for(Math math, bool fuse) {
    VulkanOptions options = test_vulkan_options(math);
    options.fuse = fuse;
    return options;
}

TEST(VulkanRandomGraphs, StrictBitsAreThoseOfTheCpuForAnyPopulationAndPlace) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto plain = make_vulkan_backend(options_for(Math::strict, false));
    const auto fused = make_vulkan_backend(options_for(Math::strict, true));
    for (std::uint64_t seed = 0; seed < graph_count(); ++seed) {
        const RandomGraph random(7000 + seed);
        Bench expected(*cpu, random);
        Bench first(*plain, random);
        Bench second(*fused, random);
        for (const auto& [population, shift] :
             {std::pair{1, 0}, {7, 3}, {1000, 1}, {2, 4}, {7, 0}, {1000, 1}}) {
            const Values values = expected.run(population, 0);
            const std::string what = "seed " + std::to_string(seed) + ", population " +
                                     std::to_string(population) + ", shift " +
                                     std::to_string(shift);
            expect_front(values, first.run(population, shift), what + ", not fused");
            expect_front(values, second.run(population, shift), what + ", fused");
        }
        if (testing::Test::HasFailure()) return;
    }
}

TEST(VulkanRandomGraphs, FastBitsDependOnNoPopulationAndNoPlace) {
    const auto backend = make_vulkan_backend(options_for(Math::fast, true));
    for (std::uint64_t seed = 0; seed < graph_count(); ++seed) {
        // The graphs of the test above, whose scans and fusion groups are compiled.
        const RandomGraph random(7000 + seed);
        Bench bench(*backend, random);
        const Values most = bench.run(1000, 0);
        for (const auto& [population, shift] :
             {std::pair{1, 0}, {1, 3}, {7, 1}, {7, 4}, {2, 2}, {333, 5}, {1000, 1}, {7, 4}})
            expect_front(bench.run(population, shift), most,
                         "seed " + std::to_string(seed) + ", population " +
                             std::to_string(population) + ", shift " + std::to_string(shift));
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace cambrian::test
