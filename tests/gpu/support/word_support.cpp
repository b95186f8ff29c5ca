#include "cambrian/tests/gpu/support/word_support.hpp"

#include <bit>
#include <cstring>
#include <iomanip>
#include <span>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::test {
namespace {

template <class Target>
std::vector<Target> bits_as(const Words& words) {
    std::vector<Target> values(words.size());
    if (!words.empty()) std::memcpy(values.data(), words.data(), words.size() * sizeof(Target));
    return values;
}

std::unique_ptr<Buffer> upload(Backend& backend, ValueType type, const Words& words) {
    auto buffer = backend.allocate(type, static_cast<std::int64_t>(words.size()));
    if (type == ValueType::real)
        backend.upload(*buffer, 0, std::span<const float>(bits_as<float>(words)));
    else
        backend.upload(*buffer, 0, std::span<const std::int32_t>(bits_as<std::int32_t>(words)));
    return buffer;
}

template <class Element>
Words download_as(Backend& backend, const Buffer& buffer) {
    std::vector<Element> values(static_cast<std::size_t>(buffer.elements()));
    backend.download(buffer, 0, std::span<Element>(values));
    Words words(values.size());
    if (!words.empty()) std::memcpy(words.data(), values.data(), words.size() * sizeof(Element));
    return words;
}

Words download(Backend& backend, const Buffer& buffer) {
    return buffer.type() == ValueType::real ? download_as<float>(backend, buffer)
                                            : download_as<std::int32_t>(backend, buffer);
}

bool not_a_number(std::uint32_t bits) {
    return (bits & 0x7FFFFFFFU) > 0x7F800000U;
}

Words drawn(std::size_t count, std::uint64_t seed, std::uint32_t (*draw)(RandomStream&)) {
    RandomStream stream(random_key(seed, "words of a test"), 0);
    Words words(count);
    for (std::uint32_t& word : words) word = draw(stream);
    return words;
}

}  // namespace

std::size_t bound_words(const Graph& graph, ValueId id, std::int64_t population) {
    const ValueInfo& info = graph.value(id);
    return static_cast<std::size_t>(info.shape.elements() * (info.per_individual ? population : 1));
}

std::vector<Words> run_words(Backend& backend, const Graph& graph, std::int64_t population,
                             const std::vector<Words>& inputs) {
    const auto program = backend.compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> input_bindings;
    std::vector<Binding> output_bindings;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        buffers.push_back(upload(backend, graph.value(graph.inputs()[i]).type, inputs[i]));
        input_bindings.push_back({buffers.back().get(), 0});
    }
    for (const ValueId id : graph.outputs()) {
        const auto words = static_cast<std::int64_t>(bound_words(graph, id, population));
        buffers.push_back(backend.allocate(graph.value(id).type, words));
        output_bindings.push_back({buffers.back().get(), 0});
    }
    program->run(population, input_bindings, output_bindings);
    std::vector<Words> outputs;
    for (const Binding& binding : output_bindings)
        outputs.push_back(download(backend, *binding.buffer));
    return outputs;
}

Words hashed_words(std::size_t count, std::uint64_t seed) {
    return drawn(count, seed, [](RandomStream& stream) { return stream.bits(); });
}

Words uniform_words(std::size_t count, std::uint64_t seed) {
    return drawn(count, seed, [](RandomStream& stream) {
        return std::bit_cast<std::uint32_t>(2.0F * stream.uniform() - 1.0F);
    });
}

Words index_words(std::size_t count, std::uint32_t bound, std::uint64_t seed) {
    Words words = hashed_words(count, seed);
    for (std::uint32_t& word : words) word %= bound;
    return words;
}

void expect_same_words(const Words& actual, const Words& expected, ValueType type,
                       std::string_view what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    std::size_t differing = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const bool same =
            actual[i] == expected[i] ||
            (type == ValueType::real && not_a_number(actual[i]) && not_a_number(expected[i]));
        if (!same && differing++ == 0) first = i;
    }
    EXPECT_EQ(differing, 0U) << what << ": the first at " << first << ", " << std::hex
                             << actual[first] << " instead of " << expected[first];
}

void expect_equal_to_cpu(Backend& vulkan, const Graph& graph, std::int64_t population,
                         const std::vector<Words>& inputs, std::string_view what) {
    const auto cpu = make_cpu_backend({.threads = 1, .math = Math::strict});
    const std::vector<Words> expected = run_words(*cpu, graph, population, inputs);
    const std::vector<Words> actual = run_words(vulkan, graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
        expect_same_words(actual[i], expected[i], graph.value(graph.outputs()[i]).type, what);
}

std::map<Math, std::unique_ptr<Backend>> UnfusedTest::backends_;

void UnfusedTest::TearDownTestSuite() {
    backends_.clear();
}

Backend& UnfusedTest::backend(Math math) {
    std::unique_ptr<Backend>& made = backends_[math];
    if (!made) {
        VulkanOptions options = test_vulkan_options(math);
        options.fuse = false;
        made = make_vulkan_backend(options);
    }
    return *made;
}

}  // namespace cambrian::test
