// A layer, a mutation and a task, which a config names without a change to Cambrian.
#include <cambrian/engine/core/json/field_json.hpp>
#include <cambrian/engine/graph/builders/builders.hpp>
#include <cambrian/engine/layers/support/width.hpp>
#include <cambrian/evolve/genome/genome_layout.hpp>
#include <cambrian/evolve/plugins/plugin.hpp>
#include <cambrian/evolve/variation/mutation_detail.hpp>
#include <nlohmann/json.hpp>

namespace {

using namespace cambrian;

/// Adds a wave of its own to each feature.
struct Wave {
    static constexpr std::string_view name = "wave";
    static constexpr LayerText about{.summary = "Adds a wave of its own to each feature",
                                     .formula = "y = x + amplitude · activation(frequency · x)",
                                     .source = "an example"};

    std::int64_t features = 0;
    float frequency = 3.0F;
    Activation activation = Activation::sin;

    static constexpr auto fields = FieldTable{
        Field{"features", &Wave::features, "0: all elements of a row"},
        Field{"frequency", &Wave::frequency, positive, "What frequencies start with."},
        Field{"activation", &Wave::activation},
    };

    static Wave example() { return {.features = 3}; }
    static std::optional<Wave> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return Wave{.features = in.elements()};
    }
    void resolve(const Shape& input) { resolve_width(name, "features", features, input); }
    Shape output_shape(const Shape& input) const { return input; }
    std::vector<ParameterSpec> parameters() const {
        return {{.name = "amplitude", .shape = {features}, .initial = Initial::zeros},
                {.name = "frequency", .shape = {features}, .initial = Initial::ones}};
    }
    Var build(Var x, const LayerOperands& operands) const {
        const Var rows = as_vectors(x, features, operands.row);
        const Var angle = rows * operands.parameters[1] * static_cast<double>(frequency);
        return shaped(rows + operands.parameters[0] * operands.activated(angle), x.shape());
    }

    bool operator==(const Wave&) const = default;
};

/// A wave of no height in an empty slot: the function stays what it is.
std::optional<evolve::Mutant> insert_wave(RandomStream& rng,
                                          const evolve::MutationSettings& settings,
                                          const evolve::GenomeLimits&, const evolve::Genome& genome,
                                          std::uint64_t birth) {
    const std::vector<int> empty = evolve::empty_slots(genome.blueprint);
    if (empty.empty()) return std::nullopt;
    const int slot = evolve::pick(rng, empty);
    if (evolve::parts_a_residual(genome.blueprint, slot)) return std::nullopt;
    AnyLayer layer = *default_layer(Wave::name);
    layer.resolve(evolve::chain_shapes(genome.blueprint)[static_cast<std::size_t>(slot)]);
    std::vector<float> weights;
    for (const ParameterSpec& parameter : layer.parameters())
        weights.insert(weights.end(), static_cast<std::size_t>(parameter.shape.elements()),
                       parameter.initial == Initial::ones ? 1.0F : 0.0F);
    return evolve::with_layer(genome, slot,
                              {layer, weights, "insert", Wave::name, settings.formats}, birth);
}

struct ChirpSettings {
    std::int64_t points = 32;

    static constexpr auto fields = FieldTable{
        Field{"points", &ChirpSettings::points, FieldRange{2.0, 4096.0}, "Of the curve."},
    };
};

/// A curve whose waves grow shorter: sin(8 x²) from 0 to 1.
class Chirp final : public evolve::Task {
  public:
    explicit Chirp(ChirpSettings settings) : settings_(settings) {}

    std::string_view type() const override { return "chirp"; }
    evolve::TaskSignature signature() const override { return {.observations = 1, .outputs = 1}; }
    evolve::Objective build(const evolve::ObjectiveContext& context, evolve::Phase) const override {
        const std::int64_t points = settings_.points;
        std::vector<double> places;
        for (std::int64_t i = 0; i < points; ++i)
            places.push_back(static_cast<double>(i) / static_cast<double>(points - 1));
        const Var x = context.graph.constant(Tensor(ValueType::real, Shape{points, 1}, places));
        const Var wanted = sin(x * x * 8.0);
        const Var errors = square(context.network.apply(x, context.operands) - wanted);
        return {.fitness = -sum_all(errors), .env_steps = {}, .per_sample = {}};
    }

  private:
    ChirpSettings settings_;
};

evolve::TaskKind chirp() {
    const auto make = [](const nlohmann::json& json, const evolve::TaskContext&) {
        static constexpr std::array<std::string_view, 1> others{"type"};
        ChirpSettings settings;
        field_json::read_fields(settings, json, "task", others);
        return std::make_unique<Chirp>(settings);
    };
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<ChirpSettings>(schema["properties"]);
    };
    return {"chirp", "A curve whose waves grow shorter.", make, describe};
}

}  // namespace

CAMBRIAN_PLUGIN("waves", "1.0") {
    plugin.add_layer<Wave>();
    plugin.add_task(chirp());
    plugin.add_mutation({.key = "wave_insert_rate",
                         .meaning = "Per genome: a wave of no height in an empty slot.",
                         .apply = insert_wave});
}
