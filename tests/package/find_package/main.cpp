#include <cambrian/engine/graph/graph.hpp>
#include <cambrian/evolve/tasks/task.hpp>
#include <cambrian/launch/main.hpp>

#include "engine/graph/graph.hpp"

// The ten-line program of docs/own-fitness.md: a fitness of one's own, evolved by the standard
// program.
std::vector<double> fitness(cambrian::evolve::Population& networks) {
    const std::vector<float> inputs{0.0F, 0.5F, 1.0F};
    const std::vector<float> outputs = networks.outputs(inputs, 3);
    std::vector<double> result(networks.size());
    for (std::size_t i = 0; i < result.size(); ++i)
        for (std::size_t row = 0; row < 3; ++row) {
            const double error = double{outputs[3 * i + row]} - double{inputs[row] * inputs[row]};
            result[i] -= error * error;
        }
    return result;
}

int main(int argc, char** argv) {
    cambrian::evolve::TaskRegistry tasks = cambrian::evolve::standard_tasks();
    tasks.add("square", [](const auto&, const auto&) {
        return cambrian::evolve::make_callback_task(1, 1, fitness);
    });
    return consumer::answer() == 42 ? cambrian::main(argc, argv, tasks) : 1;
}
