// Plug-ins with a fault each, chosen by a number that is linked to this.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/plugins/plugin.hpp"

namespace {

using namespace cambrian;

enum Fault { adding_throws, layer_taken, task_taken, mutation_key, late_faults };

/// It may have the name of a layer of Cambrian.
template <bool taken>
struct Echo {
    static constexpr std::string_view name = taken ? "dense" : "echo";
    static constexpr LayerText about{.summary = "x", .formula = "x", .source = "x"};
    std::int64_t fails = 0;
    static constexpr auto fields = FieldTable{Field{"fails", &Echo::fails}};
    static Echo example() { return {}; }
    static std::optional<Echo> fitted(const Shape&, const Shape&) { return std::nullopt; }
    void resolve(const Shape&) {
        if (fails == 1) throw std::runtime_error("no shape pleases");
        if (fails == 2) throw 42;
    }
    Shape output_shape(const Shape& input) const { return input; }
    std::vector<ParameterSpec> parameters() const { return {}; }
    Var build(Var x, const LayerOperands&) const {
        if (fails == 3) throw std::out_of_range("nothing is built");
        return x;
    }
    bool operator==(const Echo&) const = default;
};

std::optional<evolve::Mutant> broken(RandomStream&, const evolve::MutationSettings&,
                                     const evolve::GenomeLimits&, const evolve::Genome& genome,
                                     std::uint64_t) {
    evolve::Mutant child{genome};
    child.edits.push_back({0, 1, {}});
    return child;
}

std::unique_ptr<evolve::Task> failing(const nlohmann::json&, const evolve::TaskContext&) {
    throw std::logic_error("there is no problem");
}

/// One whose preparation is none of its networks.
class Unprepared final : public evolve::Task {
  public:
    std::string_view type() const override { return "unprepared"; }
    evolve::TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1, .host = true};
    }
    std::optional<evolve::Preparation> preparation() const override {
        evolve::Preparation wrong;
        wrong.inputs.resize(7);
        wrong.outputs.resize(1);
        return wrong;
    }
};

std::unique_ptr<evolve::Task> unprepared(const nlohmann::json&, const evolve::TaskContext&) {
    return std::make_unique<Unprepared>();
}

}  // namespace

extern const int chosen_fault;

CAMBRIAN_PLUGIN("faulty", "1") {
    switch (chosen_fault) {
        case adding_throws:
            throw std::runtime_error("not today");
        case layer_taken:
            plugin.add_layer<Echo<true>>();
            break;
        case task_taken:
            plugin.add_task({"xor", "A task.", failing, nullptr});
            break;
        case mutation_key:
            plugin.add_mutation({"weight_rate", "A mutation.", broken});
            break;
        default:
            plugin.add_layer<Echo<false>>();
            plugin.add_task({"failing", "A task.", failing, nullptr});
            plugin.add_task({"unprepared", "A task.", unprepared, nullptr});
            plugin.add_mutation({"broken_rate", "A mutation.", broken});
    }
}
