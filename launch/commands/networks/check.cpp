#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/engine_keys.hpp"
#include "cambrian/launch/convert/network_source.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A network of a file, or fresh weights for what a config describes.
evolve::Genome genome_of(const CommandContext& context, const CheckOptions& options) {
    const fs::path extension = fs::path(options.network).extension();
    if (extension == ".cmb" || extension == ".safetensors")
        return distributed::read_to_answer(options.network).genome;
    const NetworkSource source = network_source(options.network, context.tasks, context.genomes);
    RandomStream rng(random_key(options.check.seed, "check.weights"), 0);
    return evolve::sample_genome(source.blueprint, rng, 0);
}

/// Throws ConfigError for what is no key of the engine.
void check_overrides(const std::vector<std::string>& overrides) {
    for (const std::string& assignment : overrides)
        if (!assignment.starts_with("engine."))
            throw ConfigError(fmt::format(
                "--set has {} (a check takes nothing of a run but its engine) set keys such as "
                "engine.backend",
                shortened(assignment)));
}

/// Takes the number formats out of a network, whose rounding has no slope: one that was measured
/// would be zero nearly everywhere. Says how many layers had some.
int leave_formats_out(Blueprint& blueprint) {
    int layers = 0;
    for_each_formats(blueprint, [&](LayerFormats& formats) {
        layers += formats.is_plain() ? 0 : 1;
        formats = {};
    });
    return layers;
}

/// Makes hard softmaxes soft: their gradient is that of the soft one by definition, while the slope
/// of what they give is zero. Says how many there were.
int leave_hardness_out(AnyLayer& layer) {
    int layers = 0;
    if (auto* softmax = std::get_if<Softmax>(&layer.variant())) {
        layers += softmax->hard ? 1 : 0;
        softmax->hard = false;
    }
    layer.each_inner([&](AnyLayer& inner) { layers += leave_hardness_out(inner); });
    return layers;
}
int leave_hardness_out(Blueprint& blueprint) {
    int layers = leave_hardness_out(blueprint.head);
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) layers += leave_hardness_out(slot->layer);
    return layers;
}

/// JSON has no infinity.
Json finite_or_text(double value) {
    return std::isfinite(value) ? Json(value) : Json("infinite");
}

Json json_of(const CheckReport& report) {
    Json tensors = Json::array();
    for (const CheckedTensor& tensor : report.tensors) {
        Json object{{"name", tensor.name},
                    {"elements", tensor.elements},
                    {"checked", tensor.checked},
                    {"kinks", tensor.kinks},
                    {"largest", finite_or_text(tensor.largest)},
                    {"error", finite_or_text(tensor.error)},
                    {"passed", tensor.error <= report.bound}};
        if (tensor.worst >= 0)
            object["worst"] = {{"element", tensor.worst},
                               {"measured", finite_or_text(tensor.measured)},
                               {"computed", finite_or_text(tensor.computed)}};
        tensors.push_back(std::move(object));
    }
    Json pairs = Json::array();
    for (const CheckedPair& pair : report.pairs)
        pairs.push_back({{"name", pair.name},
                         {"error", finite_or_text(pair.error)},
                         {"bound", pair.bound},
                         {"passed", pair.passed()}});
    return {{"passed", report.passed()},
            {"bound", report.bound},
            {"tensors", std::move(tensors)},
            {"pairs", std::move(pairs)}};
}

std::string text_of(const CheckReport& report) {
    std::string text = fmt::format("{:<28} {:>9} {:>8} {:>6} {:>11} {:>11}\n", "gradient of",
                                   "elements", "checked", "kinks", "largest", "error");
    for (const CheckedTensor& tensor : report.tensors) {
        text += fmt::format("{:<28} {:>9} {:>8} {:>6} {:>11.4g} {:>11.2e}\n", tensor.name,
                            tensor.elements, tensor.checked, tensor.kinks, tensor.largest,
                            tensor.error);
        if (!(tensor.error <= report.bound))
            text +=
                fmt::format("  WRONG: element {} has the slope {:.9g}, its gradient is {:.9g}\n",
                            tensor.worst, tensor.measured, tensor.computed);
    }
    for (const CheckedPair& pair : report.pairs)
        text +=
            fmt::format("{:<64} {:>11.2e}{}\n", pair.name, pair.error,
                        pair.passed() ? "" : fmt::format("  WRONG: the bound is {}", pair.bound));
    return text + (report.passed() ? "right: no bound is passed\n" : "wrong: a bound is passed\n");
}

}  // namespace

int check_command(const CommandContext& context, const CheckOptions& options) {
    check_overrides(options.overrides);
    evolve::Genome genome = genome_of(context, options);
    if (const int layers = leave_formats_out(genome.blueprint); layers > 0)
        context.err << fmt::format(
            "note: number formats of {} layer{} are left out (rounding has no slope; training "
            "passes gradients through it): what is checked computes in float\n",
            layers, layers == 1 ? "" : "s");
    if (const int layers = leave_hardness_out(genome.blueprint); layers > 0)
        context.err << fmt::format(
            "note: \"hard\" of {} softmax layer{} is left out (the gradient is that of the soft "
            "one): what is checked is soft\n",
            layers, layers == 1 ? "" : "s");
    CheckSettings settings = options.check;
    if (options.all) settings.samples = 0;
    const auto backend =
        make_backend(device_settings(engine_section(options.overrides), RankPlace{}));
    const std::array<Backend*, 1> backends{backend.get()};
    const Network network(genome.blueprint);
    const CheckReport report = check_network(network, network, genome.weights, backends, settings);
    context.out << (options.json ? json_of(report).dump(2) + '\n' : text_of(report));
    return report.passed() ? exit_done : exit_failed;
}

}  // namespace cambrian::launch
