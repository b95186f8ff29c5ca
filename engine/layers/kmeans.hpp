#pragma once

#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// How near each row is to learned centers: as probabilities, or as the mean of the centers with
/// these weights.
struct Kmeans {
    static constexpr std::string_view name = "kmeans";
    static constexpr LayerText about{
        .summary =
            "How near each row is to learned centers: as probabilities, or as the mean of the "
            "centers with these weights",
        .formula = "a = softmax(−‖x − c‖² / (2 temperature²)); y = a, or y = a C",
        .source =
            "soft k-means: MacKay, \"Information Theory, Inference, and Learning Algorithms\", "
            "2003"};

    std::int64_t clusters = 0;
    std::int64_t features = 0;
    float temperature = 1.0F;
    std::string output = "probabilities";

    static constexpr auto fields = FieldTable{
        Field{"clusters", &Kmeans::clusters, "0: told by what follows, for probabilities"},
        Field{"features", &Kmeans::features, "0: all elements of a row"},
        Field{"temperature", &Kmeans::temperature},
        Field{"output", &Kmeans::output, "or \"features\""},
    };

    static Kmeans example() { return {.clusters = 4, .features = 3, .temperature = 1.5F}; }
    static std::optional<Kmeans> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        if (in != out) return Kmeans{.clusters = out.elements(), .features = in.elements()};
        constexpr std::int64_t few = 8;
        return Kmeans{.clusters = few, .features = in.elements(), .output = "features"};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const {
        if (output != "probabilities" && output != "features")
            return "output is \"probabilities\" or \"features\"";
        return temperature_fault(temperature);
    }
    void resolve(const Shape& input) {
        require_no_fault(name, fault());
        resolve_width(name, "features", features, input);
        require_width(name, "clusters", clusters);
    }
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (clusters == 0 && !gives_features()) clusters = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const {
        return gives_features() ? input : with_width(input, features, clusters);
    }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {{.name = "centers",
                 .shape = {clusters, features},
                 .initial = Initial::weight,
                 .fan_in = features,
                 .undecayed = true}};
    }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        // By differences: products would lose what tells clusters apart far from the origin.
        const Var centers = operands.parameters[0];
        const Var rows = shape_rows(as_vectors(x, features, operands.row), 1, {1, features});
        const Var distances = reduce_sum(square(rows - centers), -1);
        const auto spread = static_cast<double>(temperature);
        const Var near = softmax(distances * (-0.5 / (spread * spread)));
        return gives_features() ? shaped(project(near, transpose(centers)), x.shape()) : near;
    }

    bool operator==(const Kmeans&) const = default;

  private:
    [[nodiscard]] bool gives_features() const { return output == "features"; }
};

}  // namespace cambrian
