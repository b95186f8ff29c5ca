// Plug-ins with a fault each, chosen by FAULT.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/plugins/plugin.hpp"

namespace {

using namespace cambrian;

enum { adding_throws, layer_taken, task_taken, mutation_key, late_faults, other_interface };

struct Echo {
    static constexpr std::string_view name = FAULT == layer_taken ? "dense" : "echo";
    static constexpr LayerText about{.summary = "x", .formula = "x", .source = "x"};
    std::int64_t fails = 0;
    static constexpr auto fields = std::tuple{Field{"fails", &Echo::fails}};
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

}  // namespace

CAMBRIAN_PLUGIN("faulty", "1") {
    if (FAULT == adding_throws) throw std::runtime_error("not today");
    if (FAULT == layer_taken || FAULT == late_faults) plugin.add_layer<Echo>();
    if (FAULT == task_taken || FAULT == late_faults)
        plugin.add_task({FAULT == task_taken ? "xor" : "failing", "A task.", failing, nullptr});
    if (FAULT == mutation_key) plugin.add_mutation({"weight_rate", "A mutation.", broken});
    if (FAULT == late_faults) plugin.add_mutation({"broken_rate", "A mutation.", broken});
}
