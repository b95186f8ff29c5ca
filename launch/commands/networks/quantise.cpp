#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/evaluation/calibration.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

/// A round that no run reaches.
constexpr std::uint64_t quantised_round = std::uint64_t{1} << 41U;

Dtype chosen_dtype(const char* option, const std::string& text) {
    if (const auto dtype = dtype_named(text)) return *dtype;
    throw ConfigError(fmt::format("{} is {} (formats are {}) name one of them", option, text,
                                  fmt::join(dtype_names, ", ")));
}

Scales chosen_scales(Dtype dtype, const std::string& text) {
    const auto* const found = std::ranges::find(scales_names, text);
    if (found == scales_names.end())
        throw ConfigError(fmt::format("--scales is {} (they are {}) name one of them", text,
                                      fmt::join(scales_names, ", ")));
    const auto scales = static_cast<Scales>(found - scales_names.begin());
    if (scales != Scales::format && !takes_scales(dtype))
        throw ConfigError(
            fmt::format("--scales is {} ({} takes none but its own) leave it out, or "
                        "choose another format",
                        text, name(dtype)));
    return scales;
}

evolve::Phase last_phase(const evolve::Task& task) {
    const evolve::TaskSignature signature = task.signature();
    if (signature.tests) return evolve::Phase::test;
    return signature.validates ? evolve::Phase::validation : evolve::Phase::train;
}

/// What a network is worth on its task.
class Judge {
  public:
    Judge(const ResolvedConfig& config, std::shared_ptr<const evolve::Task> task,
          const distributed::Experiment& experiment)
        : task_(std::move(task)),
          seed_(experiment.seed),
          backend_(make_backend(device_settings(config.effective->at("engine"), RankPlace{}))),
          evaluator_(*backend_, *task_, seed_,
                     evolve::family_of(experiment.family, experiment.variation)) {}

    [[nodiscard]] std::string text(const evolve::Genome& genome) {
        const evolve::EvaluationRound round{last_phase(*task_), quantised_round};
        const std::array<const evolve::Genome*, 1> genomes{&genome};
        const evolve::Evaluation result = evaluator_.evaluate(genomes, round).front();
        std::string text =
            fmt::format("{} fitness {:.6g}", evolve::name(round.phase), result.fitness);
        if (const auto share = evolve::accuracy(*backend_, *task_, genome, seed_, round))
            text += fmt::format(", accuracy {:.2f}%", 100.0 * *share);
        return text;
    }
    [[nodiscard]] evolve::CalibratedNetwork calibrate(evolve::Genome genome) {
        return evolve::calibrated(evaluator_, std::move(genome),
                                  {evolve::Phase::train, quantised_round});
    }

  private:
    std::shared_ptr<const evolve::Task> task_;
    std::uint64_t seed_;
    std::unique_ptr<Backend> backend_;
    evolve::Evaluator evaluator_;
};

void print_errors(std::ostream& out, const evolve::Genome& genome) {
    out << fmt::format("  {:<28} {:<14} {:>12} {:>10} {:>10} {:>11} {:>11}\n", "tensor", "dtype",
                       "shape", "bytes", "cosine", "largest", "rms");
    for (const evolve::TensorError& tensor : evolve::tensor_errors(genome))
        out << fmt::format(
            "  {:<28} {:<14} {:>12} {:>10} {:>10.6f} {:>11.4g} {:>11.4g}\n", tensor.name,
            name(tensor.dtype), fmt::format("{}x{}", tensor.extents.rows, tensor.extents.columns),
            tensor.bytes, tensor.error.cosine, tensor.error.largest, tensor.error.rms);
    const evolve::Structure structure{evolve::Genome(genome)};
    const std::int64_t float_bytes = 4 * structure.weight_count();
    if (float_bytes == 0) {
        out << "  stored: 0 bytes (it has no weights)\n";
        return;
    }
    out << fmt::format(
        "  stored: {} bytes, {:.3f} of {} in float32\n", structure.stored_bytes(),
        static_cast<double>(structure.stored_bytes()) / static_cast<double>(float_bytes),
        float_bytes);
}

}  // namespace

int quantise_command(const CommandContext& context, const QuantiseOptions& options) {
    require_network_ending(options.output);
    std::optional<Destination> output;
    if (!options.output.empty())
        output.emplace(context, options.output,
                       std::vector<std::string>{options.network, options.config});
    std::ostream& lines = output ? output->lines() : context.out;
    distributed::NetworkFile network = distributed::read_network(options.network);
    distributed::require_network(network, options.network);
    const Dtype dtype = chosen_dtype("--dtype", options.dtype);
    const LayerFormats formats{
        .weights = dtype,
        .activations = chosen_dtype("--activation-dtype", options.activation_dtype),
        .scales = chosen_scales(dtype, options.scales)};
    const evolve::Genome before = evolve::with_formats(network.genome, {});
    replace_genome(network, evolve::with_formats(network.genome, formats));
    lines << fmt::format("{}: weights in {}, rows in {}\n", options.network, weights_text(formats),
                         name(formats.activations));
    print_errors(lines, network.genome);
    const bool has_task = !options.config.empty() || !network.identity_json.empty();
    if (options.calibrate && !has_task)
        throw ConfigError(fmt::format(
            "--calibrate has no data ({} comes from no run, so no task is known) name its config "
            "with --config",
            options.network));
    if (has_task) {
        const Schema schema(context.tasks, context.genomes);
        const ResolvedConfig config =
            config_of_network(options.network, network, options.config, options.overrides, schema);
        std::shared_ptr<const evolve::Task> task = make_whole_task(config, context.tasks);
        evolve::check_task_fits(*task, network.genome.blueprint);
        if (const std::string note = preparation_note({options.network, network}, *task);
            !note.empty())
            lines << "warning: " << note << '\n';
        const distributed::Experiment experiment =
            make_experiment(config, schema, task, {network.genome.blueprint, nullptr, {}},
                            Purpose::evaluate, context.strategies, context.genomes);
        Judge judge(config, task, experiment);
        lines << fmt::format("  float32:    {}\n", judge.text(before));
        lines << fmt::format("  in formats: {}\n", judge.text(network.genome));
        if (options.calibrate) {
            evolve::CalibratedNetwork calibrated = judge.calibrate(network.genome);
            for (const evolve::ChosenClip& chosen : calibrated.clips)
                lines << fmt::format("  clip {:.2f} of {} (train fitness {:.6g})\n", chosen.clip,
                                     chosen.name, chosen.fitness);
            replace_genome(network, std::move(calibrated.genome));
            lines << fmt::format("  calibrated: {}\n", judge.text(network.genome));
        }
    }
    if (output) {
        output->write(distributed::encode(network));
        output->finish();
    }
    return exit_done;
}

}  // namespace cambrian::launch
