// Speed of the Vulkan backend on whole graphs: TFLOP/s of products, TB/s of everything else, by the
// device's timestamps and by wall clock from the first run to the end of the last.
//
//     cambrian_vulkan_bench [--device NAME] [--scale N] [--runs N] [--strict] [--tile NAME]
//     [--tiles] [--team LANES] [--only TEXT]
//
// CAMBRIAN_TEST_DEVICE names the device where --device does not: by index, uuid or part of its
// name; without both it is the first one, and a software device only when it is named. --scale
// divides the sizes. --tile runs the products with one tile, --tiles with every one that the device
// can run.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"
#include "cambrian/tests/bench/vulkan/measurements.hpp"

namespace cambrian {
namespace {

struct Arguments {
    std::string device;
    std::int64_t scale = 1;
    int runs = 20;
    Math math = Math::fast;
    std::string tile;
    int row_team = 0;
    bool tiles = false;
    std::string only;
};

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    if (const char* device = std::getenv("CAMBRIAN_TEST_DEVICE")) arguments.device = device;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const auto value = [&]() -> std::string {
            if (i + 1 == argc)
                throw ConfigError(option + " has no value (it is the last word) add one");
            return argv[++i];
        };
        if (option == "--device") {
            arguments.device = value();
        } else if (option == "--scale") {
            arguments.scale = std::max(std::int64_t{1}, std::int64_t{std::stoi(value())});
        } else if (option == "--runs") {
            arguments.runs = std::max(1, std::stoi(value()));
        } else if (option == "--strict") {
            arguments.math = Math::strict;
        } else if (option == "--tile") {
            arguments.tile = value();
        } else if (option == "--team") {
            const std::string lanes = value();
            if (lanes != "0" && lanes != "1" && lanes != "2" && lanes != "4")
                throw ConfigError("--team " + lanes +
                                  " cannot be (lanes walk a row alone, in twos or in fours) "
                                  "give 1, 2 or 4, or 0 for what the networks need");
            arguments.row_team = std::stoi(lanes);
        } else if (option == "--tiles") {
            arguments.tiles = true;
        } else if (option == "--only") {
            arguments.only = value();
        } else {
            throw ConfigError(
                option +
                " is unknown (it is no option) use --device --scale --runs --strict --tile "
                "--tiles --team or --only");
        }
    }
    return arguments;
}

VulkanDeviceInfo pick_device(const std::string& name) {
    const VulkanDeviceList list = list_vulkan_devices();
    for (const VulkanDeviceInfo& device : list.devices) {
        const bool named = name == std::to_string(device.index) || name == device.uuid ||
                           device.name.find(name) != std::string::npos;
        if (name.empty() ? !device.software() : named) return device;
    }
    throw DeviceError("there is no device to measure (" +
                      (list.problem.empty() ? "none is \"" + name + "\"" : list.problem) +
                      ") name one of `cambrian devices` with --device");
}

/// What is measured: a graph, how many individuals, and what one run of it does.
struct Case {
    std::string name;
    Graph graph;
    std::int64_t population = 1;
    double flops = 0.0;  ///< Of one run; 0: count bytes.
    double bytes = 0.0;  ///< That one run must at least read and write.
};

constexpr std::int64_t batch = 256;
constexpr std::int64_t pixels = 784;
constexpr std::int64_t hidden = 128;
constexpr std::int64_t classes = 10;

Var dense(Var x, std::int64_t in, std::int64_t out) {
    Graph& graph = *x.graph;
    const Var weights = graph.input("weights", ValueType::real, {out, in}, true);
    const Var bias = graph.input("bias", ValueType::real, {out}, true);
    const Var code = graph.input("code", ValueType::integer, {}, true);
    return activate(matmul(x, weights, false, true) + bias, code);
}

Case layer(const std::string& name, std::int64_t population, std::int64_t in, std::int64_t out,
           bool own_rows) {
    Case result{.name = name, .graph = {}, .population = population};
    result.graph.output(
        dense(result.graph.input("x", ValueType::real, {batch, in}, own_rows), in, out));
    result.flops = 2.0 * static_cast<double>(population * batch * in * out);
    return result;
}

Case perceptrons(std::int64_t population) {
    Case result{.name = "population MLP 784-128-10", .graph = {}, .population = population};
    const Var x = result.graph.input("x", ValueType::real, {batch, pixels});
    result.graph.output(dense(dense(x, pixels, hidden), hidden, classes));
    result.flops = 2.0 * static_cast<double>(population * batch * hidden * (pixels + classes));
    return result;
}

/// A real value as codes of f16, which a product takes them from.
Var halves(Graph& graph, std::string_view name, Shape shape, bool per_individual) {
    const Shape words{shape[0], words_of(NumberFormat::f16, shape[1])};
    return decode(graph.input(name, ValueType::integer, words, per_individual), NumberFormat::f16,
                  shape[1]);
}

Var dense_halves(Var x, std::int64_t in, std::int64_t out) {
    Graph& graph = *x.graph;
    const Var weights = halves(graph, "weights", {out, in}, true);
    const Var bias = graph.input("bias", ValueType::real, {out}, true);
    const Var code = graph.input("code", ValueType::integer, {}, true);
    return activate(matmul(x, weights, false, true) + bias, code);
}

/// Weights, data and hidden activations in f16.
Case half_perceptrons(std::int64_t population) {
    Case result{.name = "population MLP 784-128-10, f16", .graph = {}, .population = population};
    const Var x = halves(result.graph, "x", {batch, pixels}, false);
    const Var y = encode(dense_halves(x, pixels, hidden), NumberFormat::f16);
    result.graph.output(dense_halves(decode(y, NumberFormat::f16, hidden), hidden, classes));
    result.flops = 2.0 * static_cast<double>(population * batch * hidden * (pixels + classes));
    return result;
}

Case half_square(std::int64_t size) {
    Case result{.name = fmt::format("matmul {0} x {0}, f16", size), .graph = {}};
    result.graph.output(matmul(halves(result.graph, "a", {size, size}, false),
                               halves(result.graph, "b", {size, size}, false), false, true));
    const auto n = static_cast<double>(size);
    result.flops = 2.0 * n * n * n;
    return result;
}

Case square(std::int64_t size) {
    Case result{.name = fmt::format("matmul {0} x {0}", size), .graph = {}};
    const Var a = result.graph.input("a", ValueType::real, {size, size});
    const Var b = result.graph.input("b", ValueType::real, {size, size});
    result.graph.output(matmul(a, b));
    const auto n = static_cast<double>(size);
    result.flops = 2.0 * n * n * n;
    return result;
}

constexpr std::int64_t row_words = 1024;

/// A graph over rows of 1024 words, and how often its bytes pass through memory.
template <class Build>
Case streaming(const std::string& name, std::int64_t rows, double passes, Build&& build) {
    Case result{.name = name, .graph = {}};
    result.graph.output(build(result.graph, Shape{rows, row_words}));
    result.bytes = passes * 4.0 * static_cast<double>(rows * row_words);
    return result;
}

Var rms_norm(Graph& graph, Shape shape) {
    const Var x = graph.input("x", ValueType::real, shape);
    const Var gain = graph.input("gain", ValueType::real, {row_words});
    return x * rsqrt(reduce_mean(square(x), -1, true) + 1e-5) * gain;
}

std::vector<Case> product_cases(std::int64_t scale) {
    const std::int64_t population = std::max<std::int64_t>(4096 / scale, 1);
    std::vector<Case> cases;
    cases.push_back(perceptrons(population));
    cases.push_back(layer("first layer 256 x 784 x 128", population, pixels, hidden, false));
    cases.push_back(layer("last layer 256 x 128 x 10", population, hidden, classes, true));
    cases.push_back(square(std::max<std::int64_t>(4096 / scale, 64)));
    return cases;
}

std::vector<Case> half_cases(std::int64_t scale) {
    std::vector<Case> cases;
    cases.push_back(half_perceptrons(std::max<std::int64_t>(4096 / scale, 1)));
    cases.push_back(half_square(std::max<std::int64_t>(4096 / scale, 64)));
    return cases;
}

std::vector<Case> streaming_cases(std::int64_t scale) {
    const std::int64_t rows = std::max<std::int64_t>((std::int64_t{1} << 18) / scale, 16);
    const auto input = [](Graph& graph, Shape shape) {
        return graph.input("x", ValueType::real, shape);
    };
    std::vector<Case> cases;
    cases.push_back(streaming("add", rows, 3.0, [&](Graph& graph, Shape shape) {
        return input(graph, shape) + input(graph, shape);
    }));
    cases.push_back(streaming(
        "sum", rows, 1.0, [&](Graph& graph, Shape shape) { return sum_all(input(graph, shape)); }));
    cases.push_back(streaming("softmax of rows of 1024", rows, 2.0, [&](Graph& graph, Shape shape) {
        return softmax(input(graph, shape));
    }));
    cases.push_back(streaming("rms_norm of rows of 1024", rows, 2.0, rms_norm));
    return cases;
}

/// Words of a piece again and again.
template <class Word>
void fill_with(Backend& backend, Buffer& buffer, const std::vector<Word>& piece) {
    const auto size = static_cast<std::int64_t>(piece.size());
    for (std::int64_t first = 0; first < buffer.elements(); first += size) {
        const auto count = static_cast<std::size_t>(std::min(size, buffer.elements() - first));
        backend.upload(buffer, first, std::span<const Word>(piece).first(count));
    }
}

/// Uniform numbers in [-1, 1), in words of integers as pairs of f16; codes of activations are 1
/// (relu).
void fill(Backend& backend, Buffer& buffer, const ValueInfo& info) {
    const auto elements =
        static_cast<std::size_t>(std::min(buffer.elements(), std::int64_t{1} << 20));
    RandomStream stream(random_key(1, "vulkan bench"), 0);
    const auto number = [&] { return stream.uniform() * 2.0F - 1.0F; };
    if (info.type == ValueType::real) {
        std::vector<float> piece(elements);
        std::ranges::generate(piece, number);
        fill_with(backend, buffer, piece);
        return;
    }
    std::vector<std::int32_t> piece(elements, 1);
    const auto encode = row(NumberFormat::f16).encode;
    if (info.shape.rank() > 0)
        std::ranges::generate(piece, [&] {
            return static_cast<std::int32_t>(encode(number()) | encode(number()) << 16U);
        });
    fill_with(backend, buffer, piece);
}

/// The buffers of one side of a graph.
struct Buffers {
    Buffers(Backend& backend, const Case& measured, std::span<const ValueId> values, bool filled) {
        for (const ValueId id : values) {
            const ValueInfo& info = measured.graph.value(id);
            const std::int64_t individuals = info.per_individual ? measured.population : 1;
            owned.push_back(backend.allocate(info.type, individuals * info.shape.elements()));
            bindings.push_back({owned.back().get(), 0});
            if (filled) fill(backend, *owned.back(), info);
        }
    }
    std::vector<std::unique_ptr<Buffer>> owned;
    std::vector<Binding> bindings;
};

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void report(const Case& measured, const std::string& tile, const std::vector<KernelTime>& kernels,
            double wall, int runs) {
    double device = 0.0;
    for (const KernelTime& kernel : kernels) device += kernel.seconds / runs;
    const double work = (measured.flops > 0.0 ? measured.flops : measured.bytes) * 1e-12;
    fmt::print("{:<28} {:<14} {:>10.3f} {:>10.3f} {:>9.3f} {:>9.3f} {}\n", measured.name, tile,
               device * 1e3, wall * 1e3, device > 0.0 ? work / device : 0.0, work / wall,
               measured.flops > 0.0 ? "TFLOP/s" : "TB/s");
    if (kernels.size() > 1)
        for (const KernelTime& kernel : kernels)
            fmt::print("    {:>10.3f} ms in {:>3}  {}\n", kernel.seconds / runs * 1e3,
                       kernel.dispatches / runs, kernel.kernel);
    std::fflush(stdout);
}

void measure(const Case& measured, VulkanOptions options, int runs) {
    options.profile = true;
    const auto backend = make_vulkan_backend(options);
    const auto program = backend->compile(measured.graph);
    const Buffers inputs(*backend, measured, measured.graph.inputs(), true);
    const Buffers outputs(*backend, measured, measured.graph.outputs(), false);
    float first = 0.0F;
    const auto finish = [&] {
        backend->download(*outputs.owned[0], 0, std::span<float>(&first, 1));
    };
    for (int i = 0; i < 2; ++i)
        program->run(measured.population, inputs.bindings, outputs.bindings);
    finish();
    static_cast<void>(backend->take_profile());
    const double start = seconds_now();
    for (int i = 0; i < runs; ++i)
        program->run(measured.population, inputs.bindings, outputs.bindings);
    finish();
    const double wall = (seconds_now() - start) / runs;
    report(measured, options.matmul_tile, backend->take_profile(), wall, runs);
}

vulkan::DeviceLimits limits_of(const VulkanOptions& options) {
    vulkan::DeviceOptions device_options;
    device_options.uuid = options.uuid;
    return vulkan::Device(device_options).limits();
}

template <class Tile>
void measure_tiles(const Case& measured, VulkanOptions options, int runs,
                   std::span<const Tile> tiles) {
    const vulkan::DeviceLimits limits = limits_of(options);
    for (const Tile& tile : tiles) {
        if (!tile.fits(limits)) continue;
        options.matmul_tile = tile.name;
        measure(measured, options, runs);
    }
}

void run(const Arguments& arguments) {
    const VulkanDeviceInfo device = pick_device(arguments.device);
    VulkanOptions options;
    options.uuid = device.uuid;
    options.math = arguments.math;
    options.matmul_tile = arguments.tile;
    options.row_team = arguments.row_team;
    fmt::print("{}, {}, {} runs each\n", device.name, device.driver, arguments.runs);
    fmt::print("{:<28} {:<14} {:>10} {:>10} {:>9} {:>9}\n", "case", "tile", "device ms", "wall ms",
               "device", "wall");
    const auto wanted = [&](const Case& measured) {
        return measured.name.find(arguments.only) != std::string::npos;
    };
    for (const Case& measured : product_cases(arguments.scale)) {
        if (!wanted(measured)) continue;
        measure(measured, options, arguments.runs);
        if (arguments.tiles) measure_tiles(measured, options, arguments.runs, gpu::matmul_tiles());
    }
    for (const Case& measured : half_cases(arguments.scale)) {
        if (!wanted(measured)) continue;
        measure(measured, options, arguments.runs);
        if (arguments.tiles)
            measure_tiles(measured, options, arguments.runs, gpu::cooperative_tiles());
    }
    for (const Case& measured : streaming_cases(arguments.scale))
        if (wanted(measured)) measure(measured, options, arguments.runs);
    measure_training(options, arguments.scale, arguments.runs, arguments.only);
    measure_trainings(options, arguments.only);
    measure_attention(options, arguments.scale, arguments.runs, arguments.only);
    measure_selective_scan(options, arguments.scale, arguments.runs, arguments.only);
    measure_rollouts(options, arguments.scale, arguments.runs, arguments.only);
    measure_evolution(options, arguments.scale, arguments.runs, arguments.only);
    measure_neurons(options, arguments.scale, arguments.runs, arguments.only);
}

}  // namespace
}  // namespace cambrian

int main(int argc, char** argv) {
    try {
        cambrian::run(cambrian::parse(argc, argv));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 1;
    }
}
