// What formats of weights cost where they stay in their codes, each beside float32: bytes of a
// network's operands, and the most that a run of it holds; milliseconds of a layer of 4,096 x 4,096
// numbers for one row and for 256, of a population of perceptrons 784-128-10 on 256 rows, and of a
// convolution of 3 x 3 from 256 to 256 channels on 16 images of 14 x 14. Every number that a
// format gives is compared with that of the float32 network of the numbers that its codes stand
// for: the bits are equal, or it says how far they are apart.
//
//     cambrian_formats_bench [cpu | vulkan] [--threads N] [--strict] [--population N] [--size N]
//     [--runs N] [--only FORMAT] [--one-row]
//
// Times on a GPU are those of its timestamps, medians over runs; on a CPU they are those of the
// clock.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {
namespace {

using Json = nlohmann::json;

struct Settings {
    bool vulkan = false;
    bool software = false;  ///< A device that is none.
    int threads = 1;
    Math math = Math::fast;
    std::int64_t population = 512;
    std::int64_t size = 4096;
    int runs = 20;
    bool one_row = false;  ///< Nothing but the layer on one row.
    std::string only;      ///< A format beside float32; empty: all.
};

std::unique_ptr<Backend> backend_of(const Settings& settings) {
    if (!settings.vulkan)
        return make_cpu_backend({.threads = settings.threads, .math = settings.math});
    VulkanOptions options;
    for (const VulkanDeviceInfo& device : list_vulkan_devices().devices)
        if (options.uuid.empty() && device.software() == settings.software)
            options.uuid = device.uuid;
    options.math = settings.math;
    options.profile = true;
    return make_vulkan_backend(options);
}

std::vector<float> normals(std::int64_t count, std::uint64_t id) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomField{random_key(1, "formats bench"), id}.fill_normal(0, values);
    return values;
}

/// Networks of one structure on rows that they share.
struct Case {
    std::string name;
    Json layers;
    Json input;  ///< The shape of a row.
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t rows = 1;
    std::int64_t population = 1;
};

struct Measured {
    double milliseconds = 0.0;
    std::int64_t operand_bytes = 0;
    std::int64_t peak_bytes = 0;  ///< The most that a run holds, rows and outputs too.
    std::vector<float> outputs;
};

class Run {
  public:
    Run(Backend& backend, const Case& measured, const std::string& dtype, bool decoded)
        : backend_(backend),
          measured_(measured),
          network_(blueprint_from_json(
              {{"input", measured.input}, {"layers", measured.layers}, {"dtype", dtype}})) {
        const std::int64_t smallest =
            decoded ? std::numeric_limits<std::int64_t>::max() : min_packed_numbers;
        for (std::int64_t i = 0; i < measured.population; ++i) {
            // The same few networks again and again: to make masters is no part of it.
            if (i < distinct)
                own_.push_back(evaluated_operands(
                    network_, normals(network_.weight_count(), static_cast<std::uint64_t>(i)),
                    smallest));
            place(i, own_[static_cast<std::size_t>(i % distinct)]);
        }
        compile();
    }

    Measured measure(int runs) {
        run();  // Kernels are compiled at their first use.
        // Until a GPU runs at its full clock.
        const auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begin <
               std::chrono::milliseconds(runs > 1 ? 700 : 0))
            run(at_once);
        static_cast<void>(backend_.take_profile());
        std::vector<double> times;
        for (int i = 0; i < runs; ++i) {
            const auto start = std::chrono::steady_clock::now();
            run(at_once);
            const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
            double device = 0.0;
            for (const KernelTime& kernel : backend_.take_profile()) device += kernel.seconds;
            times.push_back(1e3 / at_once * (device > 0.0 ? device : wall.count()));
        }
        std::ranges::sort(times);
        std::vector<float> outputs(
            static_cast<std::size_t>(measured_.population * measured_.rows * measured_.out));
        backend_.download(*output_, 0, std::span(outputs));
        return {.milliseconds = times[times.size() / 2],
                .operand_bytes = operand_bytes_,
                .peak_bytes = operand_bytes_ +
                              4 * (measured_.rows * measured_.in +
                                   measured_.population * measured_.rows * measured_.out) +
                              program_->peak_bytes(measured_.population),
                .outputs = std::move(outputs)};
    }

  private:
    static constexpr std::int64_t distinct = 4;
    static constexpr int at_once = 4;  ///< Runs that follow each other.

    void place(std::int64_t index, const EvaluatedOperands& own) {
        const auto put = [&](std::unique_ptr<Buffer>& buffer, ValueType type, auto values) {
            const auto count = static_cast<std::int64_t>(values.size());
            if (!buffer) {
                buffer = backend_.allocate(type, measured_.population * count);
                operand_bytes_ += 4 * measured_.population * count;
            }
            backend_.upload(*buffer, index * count, values);
        };
        put(weights_, ValueType::real, std::span<const float>(own.weights));
        put(activations_, ValueType::integer, std::span<const std::int32_t>(own.activations));
    }

    void compile() {
        const EvaluatedOperands& own = own_[0];
        Graph graph;
        NetworkOperands operands{
            .weights = graph.input("weights", ValueType::real,
                                   Shape{static_cast<std::int64_t>(own.weights.size())}),
            .activations = graph.input("activations", ValueType::integer,
                                       Shape{static_cast<std::int64_t>(own.activations.size())}),
            .enabled =
                graph.input("enabled", ValueType::boolean,
                            Shape{static_cast<std::int64_t>(network_.enabled_flags().size())}),
            .packed = own.packed};
        const Var rows = graph.input("rows", ValueType::real, Shape{measured_.rows, measured_.in});
        graph.output(network_.apply(rows, operands));
        program_ = backend_.compile(
            measured_.population > 1 ? vmap(graph, std::vector<std::size_t>{0, 1}) : graph);
        enabled_ = backend_.allocate(ValueType::boolean,
                                     static_cast<std::int64_t>(network_.enabled_flags().size()));
        backend_.upload(*enabled_, 0, std::span<const std::int32_t>(network_.enabled_flags()));
        rows_ = backend_.allocate(ValueType::real, measured_.rows * measured_.in);
        backend_.upload(*rows_, 0,
                        std::span<const float>(normals(measured_.rows * measured_.in, 99)));
        output_ = backend_.allocate(ValueType::real,
                                    measured_.population * measured_.rows * measured_.out);
    }

    void run(int times = 1) {
        const std::vector<Binding> inputs{
            {weights_.get(), 0}, {activations_.get(), 0}, {enabled_.get(), 0}, {rows_.get(), 0}};
        const std::vector<Binding> outputs{{output_.get(), 0}};
        for (int i = 0; i < times; ++i) program_->run(measured_.population, inputs, outputs);
        float last = 0.0F;
        backend_.download(*output_, 0, std::span(&last, 1));
    }

    Backend& backend_;
    const Case& measured_;
    Network network_;
    std::vector<EvaluatedOperands> own_;
    std::int64_t operand_bytes_ = 0;
    std::unique_ptr<Buffer> weights_, activations_, enabled_, rows_, output_;
    std::unique_ptr<Program> program_;
};

/// The largest difference beside the largest number; below zero where all bits are equal.
double apart(const std::vector<float>& a, const std::vector<float>& b) {
    if (std::memcmp(a.data(), b.data(), 4 * a.size()) == 0) return -1.0;
    double difference = 0.0;
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
        largest = std::max(largest, std::abs(double{b[i]}));
    }
    return difference / largest;
}

std::vector<Case> cases_of(const Settings& settings) {
    const std::int64_t n = settings.size;
    const Json square = Json::array({{{"type", "dense"}, {"out", n}, {"bias", false}}});
    if (settings.one_row) return {{"1 row", square, {n}, n, n, 1, 1}};
    const Json perceptron = Json::array({{{"type", "dense"}, {"out", 128}, {"activation", "relu"}},
                                         {{"type", "dense"}, {"out", 10}}});
    const Json images = Json::array({{{"type", "conv2d"},
                                      {"out_channels", 256},
                                      {"kernel", 3},
                                      {"padding", 1},
                                      {"bias", false}},
                                     {{"type", "average_pool2d"}, {"kernel", 14}},
                                     {{"type", "dense"}, {"out", 4}}});
    return {
        {"1 row", square, {n}, n, n, 1, 1},
        {"256 rows", square, {n}, n, n, 256, 1},
        {"population", perceptron, {784}, 784, 10, settings.vulkan ? 256 : 64, settings.population},
        {"convolution", images, {256, 14, 14}, 256 * 14 * 14, 4, 16, 1}};
}

void table(Backend& backend, const Settings& settings) {
    const std::vector<Case> cases = cases_of(settings);
    std::string head = "| format ";
    std::string line = "|---";
    for (const Case& each : cases) {
        head +=
            fmt::format("| {}: bytes of operands | most of a run | ms | of float32 ", each.name);
        line += "|---|---|---|---";
    }
    fmt::print("{}| bits |\n{}|---|\n", head, line);
    std::vector<Measured> plain;  // Of float32, the first.
    for (const std::string_view dtype : dtype_names) {
        if (dtype == "float64") continue;  // Runs as float32 does.
        if (!settings.only.empty() && dtype != "float32" && dtype != settings.only) continue;
        std::string own_line;
        double difference = -1.0;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const std::string format(dtype);
            const Measured own = Run(backend, cases[i], format, false).measure(settings.runs);
            backend.trim();
            const Measured same = Run(backend, cases[i], format, true).measure(1);
            backend.trim();
            difference = std::max(difference, apart(own.outputs, same.outputs));
            if (plain.size() < cases.size()) plain.push_back(own);
            const auto share = [](auto a, auto b) {
                return static_cast<double>(a) / static_cast<double>(b);
            };
            own_line += fmt::format("| {:.3f} | {:.3f} | {:.4f} | {:.2f} ",
                                    share(own.operand_bytes, plain[i].operand_bytes),
                                    share(own.peak_bytes, plain[i].peak_bytes), own.milliseconds,
                                    share(own.milliseconds, plain[i].milliseconds));
        }
        fmt::print("| {} {}| {} |\n", dtype, own_line,
                   difference < 0.0 ? "equal" : fmt::format("{:.1e} apart", difference));
        std::fflush(stdout);
    }
}

Settings parse(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = [&] {
            if (i + 1 == argc)
                throw ConfigError(word + " has no value (it is the last word) add one");
            return std::max(1, std::stoi(argv[++i]));
        };
        if (word == "cpu" || word == "vulkan")
            settings.vulkan = word == "vulkan";
        else if (word == "--threads")
            settings.threads = number();
        else if (word == "--population")
            settings.population = number();
        else if (word == "--size")
            settings.size = number();
        else if (word == "--runs")
            settings.runs = number();
        else if (word == "--only")
            settings.only = i + 1 < argc ? argv[++i] : "";
        else if (word == "--one-row")
            settings.one_row = true;
        else if (word == "--software")
            settings.software = true;
        else if (word == "--strict")
            settings.math = Math::strict;
        else
            throw ConfigError(word + " is unknown (it is no option) read the head of this file");
    }
    return settings;
}

}  // namespace
}  // namespace cambrian

int main(int argc, char** argv) {
    try {
        const cambrian::Settings settings = cambrian::parse(argc, argv);
        const auto backend = cambrian::backend_of(settings);
        fmt::print("{}\n\n", backend->describe().text());
        cambrian::table(*backend, settings);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 1;
    }
}
